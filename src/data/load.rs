//! LETOR text as a dataset.
//!
//! The text is parsed once, on all threads, while its cells fit into a buffer; they are then binned
//! like a table in memory. A longer text is parsed twice, first for the sample that chooses the bins,
//! then into them, and takes no more memory than the buffer, the sample and the binned rows. With
//! bins that exist, every text is parsed once and nothing is buffered. The dataset is the same
//! whichever way was taken.

use super::builder::{Builder, RowData};
use super::cells::{Infinite, Policy};
use super::dataset::Dataset;
use super::letor::LetorOptions;
use super::lines::{LineOptions, LineSource, Piece};
use super::parsed::{Chunk, Parsed};
use super::pieces::for_each_piece;
use super::qid::{QidRuns, QueryTracker};
use crate::bins::{BinOptions, Binning, Sample};
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
    load_from(LineSource::open(path, &options.lines)?, like, options, interrupt)
}

/// As [`load`], from an open source.
pub fn load_from(
    mut source: LineSource,
    like: Option<Arc<Binning>>,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    options.bins.check()?;
    let mut heads = Heads::default();
    let mut sink = match like {
        Some(binning) => Sink::Bins(Box::new(Builder::new(binning, 0)?)),
        None => Sink::Buffer(Parsed::new(options.policy())),
    };
    options.each_chunk(&mut source, interrupt, |chunk, part| {
        heads.extend(part)?;
        sink.push(chunk, options, interrupt)
    })?;
    if let Sink::Sample(sample) = sink {
        let num_features = sample.num_features();
        let binning = Binning::choose(*sample, num_features, &options.bins, interrupt)?;
        let mut builder = Builder::new(Arc::new(binning), heads.labels.len())?;
        source.rewind()?;
        options.each_chunk(&mut source, interrupt, |chunk, _| {
            push_into(&mut builder, chunk, options.policy(), interrupt)
        })?;
        sink = Sink::Bins(Box::new(builder));
    }
    let (rows, query_ids) = heads.finish().map_err(|error| error.path(source.path()))?;
    let dataset = match sink {
        Sink::Buffer(table) => Dataset::new(&table, rows, &options.bins, interrupt)?,
        Sink::Bins(builder) => builder.finish(rows)?,
        Sink::Sample(_) => return Err(Error::internal("a sample that was not used")),
    };
    Ok(Loaded { dataset, query_ids })
}

/// Where parsed rows go.
enum Sink {
    /// They are held until all have come.
    Buffer(Parsed),
    /// They were too many: they are only looked at.
    Sample(Box<Sample>),
    /// The bins are known.
    Bins(Box<Builder>),
}

impl Sink {
    fn push(&mut self, chunk: Chunk, options: &LoadOptions, interrupt: &Interrupt) -> Result<()> {
        match self {
            Self::Buffer(table) => {
                table.push(chunk);
                if table.memory() > options.buffer_bytes {
                    let mut sample = Sample::growing(options.bins.sample_rows);
                    sample.push(table, interrupt)?;
                    *self = Self::Sample(Box::new(sample));
                }
                Ok(())
            }
            Self::Sample(sample) => {
                let mut table = Parsed::new(options.policy());
                table.push(chunk);
                sample.push(&table, interrupt)
            }
            Self::Bins(builder) => push_into(builder, chunk, options.policy(), interrupt),
        }
    }
}

fn push_into(
    builder: &mut Builder,
    chunk: Chunk,
    policy: Policy,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut table = Parsed::new(policy);
    table.push(chunk);
    let table = table.widened(builder.binning().num_features())?;
    builder.push(&table, interrupt)
}

impl LoadOptions {
    fn policy(&self) -> Policy {
        // Infinite values are settled while the line, and so the place of a fault, is at hand.
        Policy { missing: self.missing, infinite: Infinite::Missing }
    }

    fn each_chunk(
        &self,
        source: &mut LineSource,
        interrupt: &Interrupt,
        mut take: impl FnMut(Chunk, Head) -> Result<()>,
    ) -> Result<()> {
        // Only a hint, so it does not matter which thread saw which chunk first.
        let about = AtomicUsize::new(0);
        let parse = |piece: Piece<'_>| {
            let mut head = Head::default();
            let expected = about.load(Ordering::Relaxed);
            let (chunk, outcome) = Chunk::parse(&self.letor, piece, expected, |row, line| {
                head.labels.push(row.label);
                head.runs.push(row, line);
            });
            self.progress.add(piece.text.len() as u64);
            about.fetch_max(chunk.num_features(), Ordering::Relaxed);
            ((chunk, head), outcome)
        };
        for_each_piece(source, interrupt, parse, |(chunk, head)| take(chunk, head))
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
