//! Loads LETOR text into a binned dataset.
//!
//! A text whose packed cells fit into a buffer is parsed once, on all threads, and then binned like a
//! table in memory. A longer text is parsed twice, first for the sample that chooses the bins, then into
//! the bins, and takes no more memory than the buffer, the sample and the binned rows; where features
//! that a line does not mention are missing, it is parsed once more before, to count the features. With
//! the bins of another dataset, a text is parsed once and nothing is buffered. The dataset is the same
//! in all cases.

use super::builder::{DatasetBuilder, RowData};
use super::dataset::{Dataset, check_rows, no_features};
use super::labels::{BlockLabels, QueryLabels, TextLabels};
use super::letor::LetorOptions;
use super::line_source::{LineOptions, LineSource, TextBlock};
use super::parallel_parse::parse_blocks;
use super::parsed_table::{ParsedTable, RowChunk, RowParser, absent};
use crate::binning::{BinOptions, Binning, CellSource as _, RowSample, nearest};
use crate::error::{Error, Result};
use crate::{Grouping, Interrupt, Progress};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How LETOR text is loaded.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// How bins are chosen, unless they exist.
    pub bins: BinOptions,
    /// How lines are read.
    pub letor: LetorOptions,
    /// A number that stands for a missing value, besides `nan`.
    pub missing: Option<f64>,
    /// How the text is divided into blocks.
    pub lines: LineOptions,
    /// Whether ranks within queries are added as features; all cells are then held in memory, whatever
    /// `buffer_bytes` says.
    pub query_ranks: bool,
    /// The most bytes of cells held in memory before the bins are chosen.
    pub buffer_bytes: usize,
    /// Counts the bytes parsed; those of a text that is read twice count twice.
    pub progress: Progress,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            bins: BinOptions::default(),
            letor: LetorOptions::default(),
            missing: None,
            lines: LineOptions::default(),
            query_ranks: false,
            buffer_bytes: 1 << 30,
            progress: Progress::default(),
        }
    }
}

/// A dataset with the ids of its queries, in the order of the file.
#[derive(Debug)]
pub struct Loaded {
    /// The dataset.
    pub dataset: Dataset,
    /// The id of each query.
    pub query_ids: Vec<Box<str>>,
}

/// Reads files of LETOR text as if they were one, with the bins of another dataset if given. All
/// documents of a query are in one file.
pub fn load_files(
    paths: &[impl AsRef<Path>],
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    load_from(options.open(paths)?, like, options, interrupt)
}

/// [`load_files`] from open sources.
pub fn load_from(
    sources: Vec<LineSource>,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    options.bins.check()?;
    let ranked = options.query_ranks || like.as_ref().is_some_and(|binning| binning.query_ranks());
    let (sink, buffer_bytes) = match &like {
        // Ranks within queries need all values in memory.
        _ if ranked => (RowSink::Buffer(options.table()), usize::MAX),
        Some(binning) => {
            let builder = DatasetBuilder::new(binning.clone(), 0)?;
            (RowSink::Bins(Box::new(builder)), 0)
        }
        None => (RowSink::Buffer(options.table()), options.buffer_bytes),
    };
    let options = &LoadOptions { buffer_bytes, ..options.clone() };
    let mut loader = TextLoader::default();
    loader.fill(sources, sink, options, interrupt)?;
    let binning = match (like, &loader.sink) {
        (Some(binning), _) => binning,
        (None, Some(RowSink::Buffer(table))) => {
            let (rows, query_ids) = rows_and_ids(loader.labels, &loader.sources)?;
            let bins = &options.bins;
            let dataset = if ranked {
                Dataset::with_ranks(table, rows, bins, interrupt)?
            } else {
                check_rows(table, &rows)?;
                Dataset::of_hashed(table, &table.hashes(interrupt)?, rows, bins, interrupt)?
            };
            return Ok(Loaded { dataset, query_ids });
        }
        (None, _) => {
            let sample = loader.sample(loader.num_features(), options, interrupt)?;
            let num_features = sample.num_features();
            if num_features == 0 {
                return Err(no_features());
            }
            Arc::new(Binning::choose(sample, num_features, &options.bins, interrupt)?)
        }
    };
    loader.dataset(binning, options, interrupt)
}

/// A text, or the shard of one worker, while it is loaded.
#[derive(Default)]
pub(crate) struct TextLoader {
    sources: Vec<LineSource>,
    labels: TextLabels,
    sink: Option<RowSink>,
}

impl TextLoader {
    /// Reads the text of a shard for the first time.
    pub(crate) fn read(
        &mut self,
        paths: &[impl AsRef<Path>],
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        options.bins.check()?;
        if options.query_ranks {
            let what = "ranks within queries are not made by a team";
            return Err(
                Error::param("query_ranks", what).hint("rank values before the data are cut")
            );
        }
        self.fill(options.open(paths)?, RowSink::Buffer(options.table()), options, interrupt)
    }

    fn fill(
        &mut self,
        sources: Vec<LineSource>,
        mut sink: RowSink,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.sources = sources;
        options.fill(&mut sink, &mut self.sources, Some(&mut self.labels), interrupt)?;
        self.sink = Some(sink);
        Ok(())
    }

    /// All rows of text, in memory, and their labels.
    pub(super) fn all_rows(
        mut self,
        sources: Vec<LineSource>,
        options: LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<(ParsedTable, QueryLabels)> {
        let options = LoadOptions { buffer_bytes: usize::MAX, ..options };
        self.fill(sources, RowSink::Buffer(options.table()), &options, interrupt)?;
        let labels = query_labels(self.labels, &self.sources)?;
        match self.sink {
            Some(RowSink::Buffer(table)) => Ok((table, labels)),
            _ => Err(Error::internal("rows that went nowhere")),
        }
    }

    /// Reads the text once more.
    fn read_again(
        &mut self,
        mut sink: RowSink,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<RowSink> {
        self.sources.iter_mut().try_for_each(LineSource::rewind)?;
        options.fill(&mut sink, &mut self.sources, None, interrupt)?;
        Ok(sink)
    }

    /// The number of features that have been read.
    pub(crate) fn num_features(&self) -> usize {
        match &self.sink {
            Some(RowSink::Buffer(table)) => table.num_features(),
            Some(RowSink::Width(width)) => *width,
            Some(RowSink::Sample { sample, .. }) => sample.num_features(),
            Some(RowSink::Bins(_)) | None => 0,
        }
    }

    /// The sample of all rows, which have at least `width` features.
    pub(crate) fn sample(
        &mut self,
        width: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<RowSample> {
        let sink = match self.sink.take() {
            Some(RowSink::Buffer(table)) => {
                let table = table.widened(width);
                let mut sample = RowSample::growing(options.bins.sample_rows);
                sample.push_hashed(&table, &table.hashes(interrupt)?)?;
                self.sink = Some(RowSink::Buffer(table));
                return Ok(sample);
            }
            Some(sink @ RowSink::Sample { .. }) => sink,
            _ => {
                let sample = Box::new(RowSample::new(options.bins.sample_rows, width));
                let sink = RowSink::Sample { sample, min_features: width };
                self.read_again(sink, options, interrupt)?
            }
        };
        match sink {
            RowSink::Sample { sample, .. } => Ok(*sample),
            _ => Err(Error::internal("rows that went nowhere")),
        }
    }

    /// The dataset of a shard, with the bins of all workers.
    pub(crate) fn finish(
        self,
        binning: Arc<Binning>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        if self.labels.labels.is_empty() {
            return Ok(Loaded { dataset: Dataset::empty(binning)?, query_ids: Vec::new() });
        }
        self.dataset(binning, options, interrupt)
    }

    /// The dataset with these bins.
    fn dataset(
        mut self,
        binning: Arc<Binning>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        let labels = std::mem::take(&mut self.labels);
        let (rows, query_ids) = rows_and_ids(labels, &self.sources)?;
        let known = self.sink.take_if(|sink| matches!(sink, RowSink::Buffer(_) | RowSink::Bins(_)));
        let sink = if let Some(sink) = known {
            sink
        } else {
            let builder = DatasetBuilder::new(binning.clone(), rows.labels.len())?;
            self.read_again(RowSink::Bins(Box::new(builder)), options, interrupt)?
        };
        let dataset = match sink {
            RowSink::Buffer(table) => {
                let expected = binning.num_raw_features();
                if table.num_features() > expected {
                    return Err(too_wide(table.num_features(), expected));
                }
                Dataset::like(&table.widened(expected), rows, binning, interrupt)?
            }
            RowSink::Bins(builder) => builder.finish(rows)?,
            _ => return Err(Error::internal("rows that went nowhere")),
        };
        Ok(Loaded { dataset, query_ids })
    }
}

/// The labels and queries of all sources.
fn query_labels(labels: TextLabels, sources: &[LineSource]) -> Result<QueryLabels> {
    labels.finish().map_err(|error| match sources {
        [source, ..] => error.path(source.path()),
        [] => error,
    })
}

/// The row data and query ids of all sources.
fn rows_and_ids(labels: TextLabels, sources: &[LineSource]) -> Result<(RowData, Vec<Box<str>>)> {
    let QueryLabels { labels, queries, ids } = query_labels(labels, sources)?;
    Ok((RowData::new(labels, Grouping::in_row_order(queries)), ids))
}

fn too_wide(got: usize, expected: usize) -> Error {
    let what = "the text has more features than the training set";
    Error::data("features", what).got(got).expected(expected)
}

/// Where parsed rows go.
enum RowSink {
    /// All rows are kept in memory.
    Buffer(ParsedTable),
    /// Too many rows for the buffer, and their hashes depend on the number of features: this pass only
    /// counts the features.
    Width(usize),
    /// Too many rows for the buffer: this pass only samples them.
    Sample { sample: Box<RowSample>, min_features: usize },
    /// The bins are known, and rows are binned.
    Bins(Box<DatasetBuilder>),
}

impl RowSink {
    fn push(
        &mut self,
        chunk: RowChunk,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let alone = |chunk, num_features| {
            let mut table = options.table();
            table.push(chunk);
            table.widened(num_features)
        };
        match self {
            Self::Buffer(table) => {
                table.push(chunk);
                if table.memory <= options.buffer_bytes {
                    return Ok(());
                }
                let table = std::mem::take(table);
                *self = if table.absent_is_missing() {
                    Self::Width(table.num_features())
                } else {
                    let mut sample = RowSample::growing(options.bins.sample_rows);
                    sample.push_hashed(&table, &table.hashes(interrupt)?)?;
                    Self::Sample { sample: Box::new(sample), min_features: 0 }
                };
                Ok(())
            }
            Self::Width(width) => {
                *width = chunk.num_features.max(*width);
                Ok(())
            }
            Self::Sample { sample, min_features } => {
                let table = alone(chunk, *min_features);
                sample.push_hashed(&table, &table.hashes(interrupt)?)
            }
            Self::Bins(builder) => {
                let num_features = builder.binning().num_features();
                if chunk.num_features > num_features {
                    return Err(too_wide(chunk.num_features, num_features));
                }
                builder.push(&alone(chunk, num_features), interrupt)
            }
        }
    }
}

impl LoadOptions {
    fn open(&self, paths: &[impl AsRef<Path>]) -> Result<Vec<LineSource>> {
        paths.iter().map(|path| LineSource::open(path, &self.lines)).collect()
    }

    fn parser(&self, sink: &RowSink) -> RowParser<'_> {
        RowParser {
            letor: &self.letor,
            missing: self.missing.map(nearest),
            hashed: !matches!(sink, RowSink::Bins(_)),
            kept: matches!(sink, RowSink::Buffer(_)),
        }
    }

    /// A table without rows.
    fn table(&self) -> ParsedTable {
        ParsedTable::new(absent(self.missing.map(nearest)))
    }

    /// Reads all sources, one after the other.
    fn fill(
        &self,
        sink: &mut RowSink,
        sources: &mut [LineSource],
        mut labels: Option<&mut TextLabels>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        for source in sources {
            if let Some(labels) = &mut labels {
                labels.tracker.next_file();
            }
            let parser = self.parser(sink);
            // Only a hint, so it does not matter which thread saw which chunk first.
            let width_hint = AtomicUsize::new(0);
            let parse = |block: &TextBlock<'_>| {
                let mut labels = BlockLabels::default();
                let expected = width_hint.load(Ordering::Relaxed);
                let (chunk, outcome) = RowChunk::parse(parser, block, expected, |row, line| {
                    labels.push(row, line);
                });
                self.progress.add(block.text().len() as u64);
                width_hint.fetch_max(chunk.num_features, Ordering::Relaxed);
                ((chunk, labels), outcome)
            };
            parse_blocks(source, interrupt, parse, |(chunk, of_block), before| {
                if let Some(labels) = &mut labels {
                    labels.add(of_block, before)?;
                }
                sink.push(chunk, self, interrupt)
            })?;
        }
        Ok(())
    }
}
