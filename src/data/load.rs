//! Loads LETOR text into a binned dataset.
//!
//! A text whose packed cells fit into a buffer is parsed once, on all threads, and then binned like a
//! table in memory. A longer text is parsed twice, first for the sample that chooses the bins, then into
//! the bins, and takes no more memory than the buffer, the sample and the binned rows; where features
//! that a line does not mention are missing, it is parsed once more before, to count the features. With
//! the bins of another dataset, a text is parsed once and nothing is buffered. The dataset is the same
//! in all cases. Where there is a base, rows are scored as they are binned.

use super::builder::{DatasetBuilder, RowData};
use super::dataset::{BinSource, Dataset};
use super::labels::{BlockLabels, QueryLabels, TextLabels};
use super::letor::LetorOptions;
use super::line_source::{LineOptions, LineSource, TextBlock};
use super::parallel_parse::parse_blocks;
use super::parsed_table::{ParsedTable, RowChunk, RowParser, absent};
use super::text_base::{ChunkScores, TextBase};
use crate::binning::{BinOptions, Binning, CellSource as _, RowSample, nearest};
use crate::error::{Error, Result, room_for};
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
    /// The most bytes of cells held in memory before the bins are chosen; all cells are held where ranks
    /// within queries are features, or the scores of the base depend on the query.
    pub buffer_bytes: usize,
    /// The model whose scores become base scores. Rows have at least its features.
    pub base: Option<TextBase>,
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
            buffer_bytes: 1 << 30,
            base: None,
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
    let mut loader = TextLoader::of(sources);
    let known = like.as_ref();
    let query_ranks = known.map_or(options.bins.query_ranks, |binning| binning.query_ranks());
    let buffer_bytes = options.kept_bytes(query_ranks);
    if let Some(binning) = like.clone().filter(|_| buffer_bytes < usize::MAX) {
        let builder = DatasetBuilder::new(binning, 0)?;
        return loader.binned(builder, options, interrupt);
    }
    loader.buffer(buffer_bytes, options, interrupt)?;
    if let Some(binning) = like {
        return loader.dataset(binning, options, interrupt);
    }
    if let Some(mut table) = loader.table.take() {
        table.widen(loader.num_features);
        return loader.of_table(&table, BinSource::Choose(&options.bins), options, interrupt);
    }
    let sample = loader.sample(loader.num_features, options, interrupt)?;
    let binning = Binning::choose(sample, &options.bins, interrupt)?;
    loader.dataset(Arc::new(binning), options, interrupt)
}

/// A text, or the shard of one worker, while it is loaded.
#[derive(Default)]
pub(crate) struct TextLoader {
    text: LetorText,
    /// The number of features that have been read, or that the base has.
    pub(crate) num_features: usize,
    /// All rows, unless there are too many for the buffer.
    table: Option<ParsedTable>,
    /// A sample of rows that are too many for the buffer. It is not made of the first pass if hashes
    /// depend on the number of features.
    sample: Option<RowSample>,
}

impl TextLoader {
    fn of(sources: Vec<LineSource>) -> Self {
        Self { text: LetorText { sources, ..LetorText::default() }, ..Self::default() }
    }

    /// Reads the text of a shard for the first time.
    pub(crate) fn read(
        &mut self,
        paths: &[impl AsRef<Path>],
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        options.bins.check()?;
        if options.bins.query_ranks {
            let what = "ranks within queries are not made by a team";
            return Err(
                Error::param("query_ranks", what).hint("rank values before the data are cut")
            );
        }
        self.text.sources = options.open(paths)?;
        self.buffer(options.kept_bytes(false), options, interrupt)
    }

    /// Reads the text for the first time and keeps its rows, or a sample if they take more bytes.
    fn buffer(
        &mut self,
        buffer_bytes: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Self { text, num_features, table, sample } = self;
        *num_features = options.base.as_ref().map_or(0, TextBase::num_features);
        *table = Some(options.table());
        text.read(options, true, interrupt, |chunk| {
            *num_features = chunk.num_features.max(*num_features);
            if let Some(rows) = table {
                rows.push(chunk);
                if rows.memory > buffer_bytes {
                    let rows = table.take().filter(|rows| !rows.absent_is_missing());
                    *sample = rows.map(|rows| options.sample_of(&rows, interrupt)).transpose()?;
                }
            } else if let Some(sample) = sample {
                sample.push(&options.table_of(chunk, 0), interrupt)?;
            }
            Ok(())
        })
    }

    /// The sample of all rows, which have at least `width` features.
    pub(crate) fn sample(
        &mut self,
        width: usize,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<RowSample> {
        if let Some(table) = &mut self.table {
            table.widen(width);
            return options.sample_of(table, interrupt);
        }
        if let Some(mut sample) = self.sample.take() {
            sample.widen(width);
            return Ok(sample);
        }
        let mut sample = RowSample::new(options.bins.sample_rows, width);
        self.text.read(options, false, interrupt, |chunk| {
            sample.push(&options.table_of(chunk, width), interrupt)
        })?;
        Ok(sample)
    }

    /// The dataset of a shard, with the bins of all workers.
    pub(crate) fn finish(
        self,
        binning: Arc<Binning>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        if self.text.labels.labels.is_empty() {
            let has_base_scores = options.base_for(&binning)?.is_some();
            let dataset = Dataset::empty(binning, has_base_scores)?;
            return Ok(Loaded { dataset, query_ids: Vec::new() });
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
        let Some(mut table) = self.table.take() else {
            let builder = DatasetBuilder::new(binning, self.text.labels.labels.len())?;
            return self.binned(builder, options, interrupt);
        };
        refuse_wider(table.num_features(), binning.num_raw_features())?;
        table.widen(binning.num_raw_features());
        self.of_table(&table, BinSource::Like(binning), options, interrupt)
    }

    /// The dataset of all rows of the text.
    fn of_table(
        mut self,
        table: &ParsedTable,
        bins: BinSource<'_>,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        let (rows, query_ids) = self.text.rows()?;
        let queries = rows.grouping.queries.clone();
        let base = |binning: &Binning| {
            let base = options.base_for(binning)?;
            base.map(|base| base.score_table(table, &queries, interrupt)).transpose()
        };
        Ok(Loaded { dataset: Dataset::with_base(table, rows, bins, &base, interrupt)?, query_ids })
    }

    /// Reads the text into the bins of a dataset.
    fn binned(
        mut self,
        mut builder: DatasetBuilder,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Loaded> {
        let num_features = builder.binning().num_features();
        self.text.scores = options.base_for(builder.binning())?.cloned().map(ChunkScores::new);
        self.text.read(options, false, interrupt, |chunk| {
            refuse_wider(chunk.num_features, num_features)?;
            builder.push(&options.table_of(chunk, num_features), interrupt)
        })?;
        let (rows, query_ids) = self.text.rows()?;
        Ok(Loaded { dataset: builder.finish(rows)?, query_ids })
    }
}

/// The values and labels of documents, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LetorTable {
    /// The values, document by document; 0 where a line mentions none.
    pub values: Vec<f32>,
    /// The values per document: the highest feature of the text.
    pub num_features: usize,
    /// Labels and queries.
    pub labels: QueryLabels,
}

/// Reads LETOR text with all its values, for uses that need them, such as distances between documents.
///
/// The rows as they were parsed are held beside the values until these are filled.
pub fn read_letor_table(
    source: LineSource,
    letor: LetorOptions,
    interrupt: &Interrupt,
) -> Result<LetorTable> {
    let options = LoadOptions { letor, ..LoadOptions::default() };
    let mut loader = TextLoader::of(vec![source]);
    loader.buffer(usize::MAX, &options, interrupt)?;
    let labels = loader.text.labels()?;
    let (num_docs, num_features) = (labels.labels.len(), loader.num_features);
    room_for("the values of the text", 4 * num_docs as u64 * num_features as u64)?;
    let mut values = vec![0.0; num_docs * num_features];
    loader.table.unwrap_or_default().read(0..num_docs, &mut values)?;
    Ok(LetorTable { values, num_features, labels })
}

fn refuse_wider(got: usize, expected: usize) -> Result<()> {
    if got <= expected {
        return Ok(());
    }
    let what = "the text has more features than the training set";
    Err(Error::data("features", what).got(got).expected(expected))
}

/// Files of LETOR text, read as one.
#[derive(Default)]
struct LetorText {
    sources: Vec<LineSource>,
    /// Those of the first reading.
    labels: TextLabels,
    was_read: bool,
    /// The scores of the base, if rows are scored while they are read.
    scores: Option<ChunkScores>,
}

impl LetorText {
    /// Reads all files, one after the other, and passes their rows to `take`; `kept` are rows that stay
    /// in memory.
    fn read(
        &mut self,
        options: &LoadOptions,
        kept: bool,
        interrupt: &Interrupt,
        mut take: impl FnMut(RowChunk) -> Result<()>,
    ) -> Result<()> {
        let Self { sources, labels, was_read, scores } = self;
        let again = std::mem::replace(was_read, true);
        let missing = options.missing.map(nearest);
        let parser = RowParser { letor: &options.letor, missing, kept };
        for source in sources {
            if again {
                source.rewind()?;
            } else {
                labels.tracker.next_file();
            }
            // Only a hint, so it does not matter which thread saw which chunk first.
            let width_hint = AtomicUsize::new(0);
            let parse = |block: &TextBlock<'_>| {
                let mut of_block = BlockLabels::default();
                let expected = width_hint.load(Ordering::Relaxed);
                let (chunk, outcome) = RowChunk::parse(parser, block, expected, |row, line| {
                    of_block.push(row, line);
                });
                options.progress.add(block.text().len() as u64);
                width_hint.fetch_max(chunk.num_features, Ordering::Relaxed);
                ((chunk, of_block), outcome)
            };
            parse_blocks(source, interrupt, parse, |(chunk, of_block), before| {
                if !again {
                    labels.add(of_block, before)?;
                }
                scores.as_mut().map_or(Ok(()), |scores| scores.push(&chunk, interrupt))?;
                take(chunk)
            })?;
        }
        scores.as_mut().map_or(Ok(()), |scores| scores.flush(interrupt))
    }

    /// The labels and queries of all files.
    fn labels(&mut self) -> Result<QueryLabels> {
        std::mem::take(&mut self.labels).finish().map_err(|error| match &self.sources[..] {
            [source, ..] => error.path(source.path()),
            [] => error,
        })
    }

    /// The row data and query ids of all files.
    fn rows(&mut self) -> Result<(RowData, Vec<Box<str>>)> {
        let QueryLabels { labels, queries, ids } = self.labels()?;
        let mut rows = RowData::new(labels, Grouping::in_row_order(queries));
        rows.base_score = self.scores.take().map(ChunkScores::into_scores);
        Ok((rows, ids))
    }
}

impl LoadOptions {
    fn open(&self, paths: &[impl AsRef<Path>]) -> Result<Vec<LineSource>> {
        paths.iter().map(|path| LineSource::open(path, &self.lines)).collect()
    }

    /// The bytes of cells that may be held; all of them where whole queries are needed.
    fn kept_bytes(&self, query_ranks: bool) -> usize {
        let needs_queries = self.base.as_ref().is_some_and(TextBase::needs_queries);
        if query_ranks || needs_queries { usize::MAX } else { self.buffer_bytes }
    }

    /// The base, if datasets with these bins have base scores.
    fn base_for(&self, binning: &Binning) -> Result<Option<&TextBase>> {
        let base = self.base.as_ref().map(|base| base.is_needed(binning).map(|need| (base, need)));
        Ok(base.transpose()?.filter(|(_, is_needed)| *is_needed).map(|(base, _)| base))
    }

    /// A table without rows.
    fn table(&self) -> ParsedTable {
        ParsedTable::new(absent(self.missing.map(nearest)))
    }

    /// The rows of a chunk as a table of at least `num_features` features.
    fn table_of(&self, chunk: RowChunk, num_features: usize) -> ParsedTable {
        let mut table = self.table();
        table.push(chunk);
        table.widen(num_features);
        table
    }

    /// A sample of rows, which grows if more are added.
    fn sample_of(&self, rows: &ParsedTable, interrupt: &Interrupt) -> Result<RowSample> {
        let mut sample = RowSample::growing(self.bins.sample_rows);
        sample.push(rows, interrupt)?;
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &'static str, zero_based: bool) -> Result<LetorTable> {
        let reader = Box::new(text.as_bytes());
        let source = LineSource::from_reader("text", reader, &LineOptions::default())?;
        let letor = LetorOptions { zero_based, ..LetorOptions::default() };
        read_letor_table(source, letor, &Interrupt::new())
    }

    #[test]
    fn values_stand_where_lines_put_them() {
        let read =
            table("2 qid:a 1:0.5 3:nan\n0 qid:a # none\n1 qid:7 2:-4 # doc\n", false).unwrap();
        assert_eq!(read.num_features, 3);
        assert_eq!(read.labels.labels, [2.0, 0.0, 1.0]);
        assert_eq!(read.labels.ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "7"]);
        assert!(read.values[2].is_nan());
        let rest: Vec<f32> = read.values.iter().copied().filter(|value| !value.is_nan()).collect();
        assert_eq!(rest, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0, 0.0]);
        assert_eq!(table("0 qid:1 0:3\n", true).unwrap().values, [3.0]);
    }

    #[test]
    fn a_fault_is_told_with_its_line() {
        let said = table("0 qid:1 1:2\n0 qid:1 1:x\n", false).unwrap_err().to_string();
        assert!(said.contains("text:2:11"), "{said}");
    }
}
