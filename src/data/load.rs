//! LETOR text as a dataset.
//!
//! The text is parsed once, on all threads, while its cells, packed, fit into a buffer; they are then
//! binned like a table in memory. A longer text is parsed twice, first for the sample that chooses the bins,
//! then into them, and takes no more memory than the buffer, the sample and the binned rows; where
//! what is not mentioned is missing, it is parsed once more before, to know how many features there
//! are. With bins that exist, every text is parsed once and nothing is buffered. The dataset is the
//! same whichever way was taken.

use super::builder::{Builder, RowData};
use super::dataset::{Dataset, check_rows, no_features};
use super::letor::LetorOptions;
use super::lines::{LineOptions, LineSource, Piece};
use super::parsed::{Chunk, Parsed, Parser};
use super::pieces::for_each_piece;
use super::qid::{QidRuns, QueryTracker};
use super::together::bins_together;
use crate::binning::{BinOptions, Binning, CellSource as _, RowSample, nearest};
use crate::distributed::{Collective, WorkerGroup};
use crate::error::{Error, Result};
use crate::{Grouping, Interrupt, Progress};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How LETOR text becomes a dataset.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// How bins are chosen, unless they exist.
    pub bins: BinOptions,
    /// How lines are read.
    pub letor: LetorOptions,
    /// A number that stands for a missing value, besides `nan`.
    pub missing: Option<f64>,
    /// How the text is cut.
    pub lines: LineOptions,
    /// Whether ranks within queries are added: then all cells are held, whatever `buffer_bytes` says.
    pub query_ranks: bool,
    /// The most bytes of cells that are held before the bins are chosen.
    pub buffer_bytes: usize,
    /// Counts the bytes of text that are parsed; those of a text that is read twice, twice.
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
    load_all(&[path], like, options, interrupt)
}

/// Reads several files, such as shards, as if they were one. A query stands in one of them.
pub fn load_all(
    paths: &[impl AsRef<Path>],
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let open = |path| LineSource::open(path, &options.lines);
    load_from(paths.iter().map(open).collect::<Result<_>>()?, like, options, interrupt)
}

/// As [`load_all`], from open sources.
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
    let mut heads = Heads::default();
    let mut sink = match like {
        Some(binning) => Sink::Bins(Box::new(Builder::new(binning, 0)?)),
        None => Sink::Buffer(Parsed::new(options.parser(None))),
    };
    options.fill_all(&mut sink, &mut sources, interrupt, Some(&mut heads))?;
    let num_rows = heads.labels.len();
    while let Some(next) = sink.next(num_rows, options, interrupt)? {
        sink = next;
        sources.iter_mut().try_for_each(LineSource::rewind)?;
        options.fill_all(&mut sink, &mut sources, interrupt, None)?;
    }
    let (rows, query_ids) = heads.finish().map_err(|error| placed(error, &sources))?;
    let dataset = match sink {
        Sink::Buffer(table) => {
            check_rows(&table, &rows)?;
            Dataset::of_hashed(&table, &table.hashes(interrupt)?, rows, &options.bins, interrupt)?
        }
        Sink::Bins(builder) => builder.finish(rows)?,
        Sink::Width(_) | Sink::RowSample(..) => {
            return Err(Error::internal("rows that went nowhere"));
        }
    };
    Ok(Loaded { dataset, query_ids })
}

/// As [`load_all`], of the part that a rank of a team has: with the bins that one process would
/// choose of all parts. Without paths, it has no docs.
pub fn load_together(
    paths: &[impl AsRef<Path>],
    team: &WorkerGroup,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let mut part = Part::default();
    let looked = part.look(paths, options, interrupt);
    let mut width = [part.num_features() as f64];
    team.max(Collective::at_start("the number of features"), looked, &mut width)?;
    let sampled = part.sample(width[0] as usize, options, interrupt);
    let binning = Arc::new(bins_together(team, sampled, &options.bins, interrupt)?);
    let loaded = part.loaded(binning, options, interrupt);
    team.agree(Collective::at_start("the parts of the data"), loaded)
}

/// The text of one rank on its way.
#[derive(Default)]
struct Part {
    sources: Vec<LineSource>,
    heads: Heads,
    sink: Option<Sink>,
}

impl Part {
    /// Reads all text once.
    fn look(
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
        let mut sink = Sink::Buffer(Parsed::new(options.parser(None)));
        options.fill_all(&mut sink, &mut self.sources, interrupt, Some(&mut self.heads))?;
        self.sink = Some(sink);
        Ok(())
    }

    fn num_features(&self) -> usize {
        match &self.sink {
            Some(Sink::Buffer(table)) => table.num_features(),
            Some(Sink::Width(width)) => *width,
            Some(Sink::RowSample(sample, _)) => sample.num_features(),
            Some(Sink::Bins(_)) | None => 0,
        }
    }

    /// The sample of all rows, which have at least so many features.
    fn sample(
        &mut self,
        width: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<RowSample> {
        let mut sample = RowSample::growing(options.bins.sample_rows);
        match self.sink.take() {
            Some(Sink::Buffer(table)) => {
                let table = table.widened(width);
                sample.push_hashed(&table, &table.hashes(interrupt)?)?;
                self.sink = Some(Sink::Buffer(table));
                Ok(sample)
            }
            Some(Sink::RowSample(sample, _)) => Ok(*sample),
            _ => {
                let mut sink = Sink::RowSample(Box::new(sample), width);
                self.read_again(&mut sink, options, interrupt)?;
                let Sink::RowSample(sample, _) = sink else {
                    return Err(Error::internal("rows that went nowhere"));
                };
                Ok(*sample)
            }
        }
    }

    fn loaded(
        mut self,
        binning: Arc<Binning>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        if self.heads.labels.is_empty() {
            return Ok(Loaded { dataset: Dataset::empty(binning)?, query_ids: Vec::new() });
        }
        let heads = std::mem::take(&mut self.heads);
        let num_rows = heads.labels.len();
        let (rows, query_ids) = heads.finish().map_err(|error| placed(error, &self.sources))?;
        if let Some(Sink::Buffer(table)) = self.sink.take() {
            let dataset = Dataset::like(&table, rows, binning, interrupt)?;
            return Ok(Loaded { dataset, query_ids });
        }
        let mut sink = Sink::Bins(Box::new(Builder::new(binning, num_rows)?));
        self.read_again(&mut sink, options, interrupt)?;
        let Sink::Bins(builder) = sink else {
            return Err(Error::internal("rows that went nowhere"));
        };
        Ok(Loaded { dataset: builder.finish(rows)?, query_ids })
    }

    fn read_again(
        &mut self,
        sink: &mut Sink,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.sources.iter_mut().try_for_each(LineSource::rewind)?;
        options.fill_all(sink, &mut self.sources, interrupt, None)
    }
}

/// Reads text whose values are ranked: they are held until all have come.
fn load_ranked(
    mut sources: Vec<LineSource>,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let options = LoadOptions { buffer_bytes: usize::MAX, ..options.clone() };
    let mut heads = Heads::default();
    let mut sink = Sink::Buffer(Parsed::new(options.parser(None)));
    options.fill_all(&mut sink, &mut sources, interrupt, Some(&mut heads))?;
    let Sink::Buffer(table) = sink else {
        return Err(Error::internal("rows that went nowhere"));
    };
    let (rows, query_ids) = heads.finish().map_err(|error| placed(error, &sources))?;
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

/// A fault of all that was read.
fn placed(error: Error, sources: &[LineSource]) -> Error {
    match sources {
        [source, ..] => error.path(source.path()),
        [] => error,
    }
}

fn too_wide(got: usize, expected: usize) -> Error {
    let what = "the text has more features than the training set";
    Error::data("features", what).got(got).expected(expected)
}

/// Where parsed rows go.
enum Sink {
    /// They are held until all have come.
    Buffer(Parsed),
    /// They were too many, and a row cannot be told without the number of features: they are only
    /// looked at for it.
    Width(usize),
    /// They were too many: they are only looked at, as rows of at least so many features.
    RowSample(Box<RowSample>, usize),
    /// The bins are known.
    Bins(Box<Builder>),
}

impl Sink {
    fn push(&mut self, chunk: Chunk, options: &LoadOptions, interrupt: &Interrupt) -> Result<()> {
        let alone = |chunk| Parsed::of(options.parser(None), chunk);
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
                    Self::RowSample(Box::new(sample), 0)
                };
                Ok(())
            }
            Self::Width(width) => {
                *width = chunk.num_features().max(*width);
                Ok(())
            }
            Self::RowSample(sample, width) => {
                let table = alone(chunk).widened(*width);
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

    /// Where the rows go when they are read once more, if they must be.
    fn next(
        &mut self,
        num_rows: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        match self {
            Self::Buffer(_) | Self::Bins(_) => Ok(None),
            Self::Width(width) => {
                let sample = RowSample::new(options.bins.sample_rows, *width);
                Ok(Some(Self::RowSample(Box::new(sample), *width)))
            }
            Self::RowSample(sample, _) => {
                let sample = std::mem::replace(&mut **sample, RowSample::growing(0));
                let num_features = sample.num_features();
                if num_features == 0 {
                    return Err(no_features());
                }
                let binning = Binning::choose(sample, num_features, &options.bins, interrupt)?;
                Ok(Some(Self::Bins(Box::new(Builder::new(Arc::new(binning), num_rows)?))))
            }
        }
    }
}

impl LoadOptions {
    fn parser(&self, sink: Option<&Sink>) -> Parser<'_> {
        Parser {
            letor: &self.letor,
            missing: self.missing.map(nearest),
            hashed: !matches!(sink, Some(Sink::Bins(_))),
            held: matches!(sink, Some(Sink::Buffer(_))),
        }
    }

    /// Reads one source after the other.
    fn fill_all(
        &self,
        sink: &mut Sink,
        sources: &mut [LineSource],
        interrupt: &Interrupt,
        mut heads: Option<&mut Heads>,
    ) -> Result<()> {
        for source in sources {
            if let Some(heads) = &mut heads {
                heads.tracker.next_file();
            }
            self.fill(sink, source, interrupt, |head| match &mut heads {
                Some(heads) => heads.extend(head),
                None => Ok(()),
            })?;
        }
        Ok(())
    }

    fn fill(
        &self,
        sink: &mut Sink,
        source: &mut LineSource,
        interrupt: &Interrupt,
        mut each: impl FnMut(Head) -> Result<()>,
    ) -> Result<()> {
        let parser = self.parser(Some(sink));
        // Only a hint, so it does not matter which thread saw which chunk first.
        let about = AtomicUsize::new(0);
        let parse = |piece: &Piece<'_>| {
            let mut head = Head::default();
            let expected = about.load(Ordering::Relaxed);
            let (chunk, outcome) = Chunk::parse(parser, piece, expected, |row, line| {
                head.labels.push(row.label);
                head.runs.push(row, line);
            });
            self.progress.add(piece.text().len() as u64);
            about.fetch_max(chunk.num_features(), Ordering::Relaxed);
            ((chunk, head), outcome)
        };
        for_each_piece(source, interrupt, parse, |(chunk, head), before| {
            each(Head { runs: head.runs.after_lines(before), ..head })?;
            sink.push(chunk, self, interrupt)
        })
    }
}

/// Labels and query ids of a piece.
#[derive(Debug, Default)]
struct Head {
    labels: Vec<f32>,
    runs: QidRuns,
}

/// Labels and queries of the text so far.
#[derive(Debug, Default)]
struct Heads {
    labels: Vec<f32>,
    tracker: QueryTracker,
}

impl Heads {
    fn extend(&mut self, part: Head) -> Result<()> {
        self.labels.extend(part.labels);
        self.tracker.extend(&part.runs)
    }

    fn finish(self) -> Result<(RowData, Vec<Box<str>>)> {
        let (queries, ids) = self.tracker.finish()?;
        Ok((RowData::new(self.labels, Grouping::in_row_order(queries)), ids))
    }
}
