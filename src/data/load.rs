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
use super::labels::{BlockLabels, TextLabels};
use super::letor::LetorOptions;
use super::line_source::{LineOptions, LineSource, TextBlock};
use super::parallel_parse::parse_blocks;
use super::parsed_table::{ParsedTable, RowChunk, RowParser};
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

/// Reads LETOR text, with the bins of another dataset if given.
pub fn load(
    path: impl AsRef<Path>,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    load_files(&[path], like, options, interrupt)
}

/// Reads several files as if they were one. All documents of a query are in one file.
pub fn load_files(
    paths: &[impl AsRef<Path>],
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let open = |path| LineSource::open(path, &options.lines);
    load_from(paths.iter().map(open).collect::<Result<_>>()?, like, options, interrupt)
}

/// [`load_files`] from open sources.
pub fn load_from(
    mut sources: Vec<LineSource>,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    options.bins.check()?;
    if options.query_ranks || like.as_ref().is_some_and(|binning| binning.query_ranks()) {
        return load_ranked(sources, like, options, interrupt);
    }
    let mut labels = TextLabels::default();
    let mut sink = match like {
        Some(binning) => RowSink::Bins(Box::new(DatasetBuilder::new(binning, 0)?)),
        None => RowSink::Buffer(ParsedTable::new(options.parser(None))),
    };
    options.fill_all(&mut sink, &mut sources, interrupt, Some(&mut labels))?;
    let num_rows = labels.labels.len();
    while let Some(next) = sink.next(num_rows, options, interrupt)? {
        sink = next;
        sources.iter_mut().try_for_each(LineSource::rewind)?;
        options.fill_all(&mut sink, &mut sources, interrupt, None)?;
    }
    let (rows, query_ids) = rows_and_ids(labels, &sources)?;
    let dataset = match sink {
        RowSink::Buffer(table) => {
            check_rows(&table, &rows)?;
            Dataset::of_hashed(&table, &table.hashes(interrupt)?, rows, &options.bins, interrupt)?
        }
        RowSink::Bins(builder) => builder.finish(rows)?,
        RowSink::Width(_) | RowSink::Sample { .. } => {
            return Err(Error::internal("rows that went nowhere"));
        }
    };
    Ok(Loaded { dataset, query_ids })
}

/// The shard of one worker while it is loaded.
#[derive(Default)]
pub(crate) struct ShardLoader {
    sources: Vec<LineSource>,
    labels: TextLabels,
    sink: Option<RowSink>,
}

impl ShardLoader {
    /// Reads the text for the first time.
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
        let open = |path| LineSource::open(path, &options.lines);
        self.sources = paths.iter().map(open).collect::<Result<_>>()?;
        let mut sink = RowSink::Buffer(ParsedTable::new(options.parser(None)));
        options.fill_all(&mut sink, &mut self.sources, interrupt, Some(&mut self.labels))?;
        self.sink = Some(sink);
        Ok(())
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
        let mut sample = RowSample::growing(options.bins.sample_rows);
        match self.sink.take() {
            Some(RowSink::Buffer(table)) => {
                let table = table.widened(width);
                sample.push_hashed(&table, &table.hashes(interrupt)?)?;
                self.sink = Some(RowSink::Buffer(table));
                Ok(sample)
            }
            Some(RowSink::Sample { sample, .. }) => Ok(*sample),
            _ => {
                let mut sink = RowSink::Sample { sample: Box::new(sample), min_features: width };
                self.read_again(&mut sink, options, interrupt)?;
                let RowSink::Sample { sample, .. } = sink else {
                    return Err(Error::internal("rows that went nowhere"));
                };
                Ok(*sample)
            }
        }
    }

    /// The dataset, with the bins of all workers.
    pub(crate) fn finish(
        mut self,
        binning: Arc<Binning>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        if self.labels.labels.is_empty() {
            return Ok(Loaded { dataset: Dataset::empty(binning)?, query_ids: Vec::new() });
        }
        let labels = std::mem::take(&mut self.labels);
        let num_rows = labels.labels.len();
        let (rows, query_ids) = rows_and_ids(labels, &self.sources)?;
        if let Some(RowSink::Buffer(table)) = self.sink.take() {
            let dataset = Dataset::like(&table, rows, binning, interrupt)?;
            return Ok(Loaded { dataset, query_ids });
        }
        let mut sink = RowSink::Bins(Box::new(DatasetBuilder::new(binning, num_rows)?));
        self.read_again(&mut sink, options, interrupt)?;
        let RowSink::Bins(builder) = sink else {
            return Err(Error::internal("rows that went nowhere"));
        };
        Ok(Loaded { dataset: builder.finish(rows)?, query_ids })
    }

    fn read_again(
        &mut self,
        sink: &mut RowSink,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.sources.iter_mut().try_for_each(LineSource::rewind)?;
        options.fill_all(sink, &mut self.sources, interrupt, None)
    }
}

/// Reads text whose values are ranked within queries, which needs all of them in memory.
fn load_ranked(
    mut sources: Vec<LineSource>,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let options = LoadOptions { buffer_bytes: usize::MAX, ..options.clone() };
    let mut labels = TextLabels::default();
    let mut sink = RowSink::Buffer(ParsedTable::new(options.parser(None)));
    options.fill_all(&mut sink, &mut sources, interrupt, Some(&mut labels))?;
    let RowSink::Buffer(table) = sink else {
        return Err(Error::internal("rows that went nowhere"));
    };
    let (rows, query_ids) = rows_and_ids(labels, &sources)?;
    let dataset = match like {
        Some(binning) => {
            let expected = binning.num_raw_features();
            if table.num_features() > expected {
                return Err(too_wide(table.num_features(), expected));
            }
            Dataset::like(&table.widened(expected), rows, binning, interrupt)?
        }
        None => Dataset::with_ranks(&table, rows, &options.bins, interrupt)?,
    };
    Ok(Loaded { dataset, query_ids })
}

/// The row data and query ids of all sources.
fn rows_and_ids(labels: TextLabels, sources: &[LineSource]) -> Result<(RowData, Vec<Box<str>>)> {
    let labels = labels.finish().map_err(|error| match sources {
        [source, ..] => error.path(source.path()),
        [] => error,
    })?;
    Ok((RowData::new(labels.labels, Grouping::in_row_order(labels.queries)), labels.ids))
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
        let alone = |chunk| ParsedTable::of(options.parser(None), chunk);
        match self {
            Self::Buffer(table) => {
                table.push(chunk);
                if table.memory() <= options.buffer_bytes {
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
                *width = chunk.num_features().max(*width);
                Ok(())
            }
            Self::Sample { sample, min_features } => {
                let table = alone(chunk).widened(*min_features);
                sample.push_hashed(&table, &table.hashes(interrupt)?)
            }
            Self::Bins(builder) => {
                let num_features = builder.binning().num_features();
                if chunk.num_features() > num_features {
                    return Err(too_wide(chunk.num_features(), num_features));
                }
                builder.push(&alone(chunk).widened(num_features), interrupt)
            }
        }
    }

    /// The sink of the next pass over the text; `None` if this one was the last.
    fn next(
        &mut self,
        num_rows: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        match self {
            Self::Buffer(_) | Self::Bins(_) => Ok(None),
            Self::Width(width) => {
                let sample = Box::new(RowSample::new(options.bins.sample_rows, *width));
                Ok(Some(Self::Sample { sample, min_features: *width }))
            }
            Self::Sample { sample, .. } => {
                let sample = std::mem::replace(&mut **sample, RowSample::growing(0));
                let num_features = sample.num_features();
                if num_features == 0 {
                    return Err(no_features());
                }
                let binning = Binning::choose(sample, num_features, &options.bins, interrupt)?;
                Ok(Some(Self::Bins(Box::new(DatasetBuilder::new(Arc::new(binning), num_rows)?))))
            }
        }
    }
}

impl LoadOptions {
    fn parser(&self, sink: Option<&RowSink>) -> RowParser<'_> {
        RowParser {
            letor: &self.letor,
            missing: self.missing.map(nearest),
            hashed: !matches!(sink, Some(RowSink::Bins(_))),
            kept: matches!(sink, Some(RowSink::Buffer(_))),
        }
    }

    /// Reads all sources, one after the other.
    fn fill_all(
        &self,
        sink: &mut RowSink,
        sources: &mut [LineSource],
        interrupt: &Interrupt,
        mut labels: Option<&mut TextLabels>,
    ) -> Result<()> {
        for source in sources {
            if let Some(labels) = &mut labels {
                labels.tracker.next_file();
            }
            self.fill(sink, source, interrupt, |block, before| match &mut labels {
                Some(labels) => labels.add(block, before),
                None => Ok(()),
            })?;
        }
        Ok(())
    }

    fn fill(
        &self,
        sink: &mut RowSink,
        source: &mut LineSource,
        interrupt: &Interrupt,
        mut each: impl FnMut(BlockLabels, u64) -> Result<()>,
    ) -> Result<()> {
        let parser = self.parser(Some(sink));
        // Only a hint, so it does not matter which thread saw which chunk first.
        let width_hint = AtomicUsize::new(0);
        let parse = |block: &TextBlock<'_>| {
            let mut labels = BlockLabels::default();
            let expected = width_hint.load(Ordering::Relaxed);
            let (chunk, outcome) = RowChunk::parse(parser, block, expected, |row, line| {
                labels.push(row, line);
            });
            self.progress.add(block.text().len() as u64);
            width_hint.fetch_max(chunk.num_features(), Ordering::Relaxed);
            ((chunk, labels), outcome)
        };
        parse_blocks(source, interrupt, parse, |(chunk, labels), before| {
            each(labels, before)?;
            sink.push(chunk, self, interrupt)
        })
    }
}
