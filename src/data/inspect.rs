//! Summarises a LETOR file and finds its faults, in one pass.
//!
//! Bad lines are collected and not counted, where a loader stops at the first. A feature that a line
//! does not mention has the value 0. Values are rounded to single precision. A row is *repeated* if an
//! earlier row of the same run of lines of its query has the same cells, whatever the labels.
//!
//! Memory: a table of features per thread, a few numbers per query, 8 bytes per document of the current
//! query and an entry per distinct label.

use super::letor::LetorOptions;
use super::line_source::{LineSource, TextBlock, after_lines, on_line};
use super::parallel_parse::parse_blocks;
use super::qid::{QidRuns, QueryTracker, qid_returns};
use crate::error::{Error, Result, lock};
use crate::hash;
use crate::interrupt::Interrupt;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The most findings that are kept.
const MAX_FINDINGS: usize = 20;

/// The summary of a LETOR file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The bytes of text.
    pub bytes: u64,
    /// The documents: lines that could be read.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// The fewest documents of a query.
    pub min_docs: usize,
    /// The median number of documents of a query, the lower one if there are two.
    pub median_docs: usize,
    /// The most documents of a query.
    pub max_docs: usize,
    /// The labels that occur, in rising order.
    pub labels: Vec<LabelCount>,
    /// Queries in which every document has label 0.
    pub queries_without_relevant: u64,
    /// Queries in which all documents have the same label.
    pub queries_with_one_label: u64,
    /// Rows that repeat another of their query.
    pub repeated_rows: u64,
    /// The features that occur, by index.
    pub features: Vec<FeatureSummary>,
    /// Whether the documents of each query are together.
    pub sorted_by_qid: bool,
    /// How many lines could not be read.
    pub bad_lines: u64,
    /// The first findings, in the order of the lines; not all if there are more than 20.
    pub findings: Vec<Finding>,
}

/// How many documents have a label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelCount {
    /// The label.
    pub label: f32,
    /// The number of documents.
    pub docs: u64,
}

/// A summary of the values of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureSummary {
    /// The index, as written.
    pub index: u32,
    /// Lines that mention it.
    pub rows: u64,
    /// Lines where it is missing.
    pub missing: u64,
    /// The smallest value; NaN if all are missing.
    pub min: f32,
    /// The largest value; NaN if all are missing.
    pub max: f32,
}

impl FeatureSummary {
    /// Whether all documents have the same value.
    pub fn is_constant(&self, rows: u64) -> bool {
        self.missing == rows || (self.missing == 0 && self.min == self.max)
    }
}

/// Something wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: u64,
    /// The byte in the line, from 1.
    pub column: u64,
    /// A stable name for programs, such as `letor.value`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

/// Summarises LETOR text; only a file that cannot be read is an error.
pub fn inspect(
    source: &mut LineSource,
    options: &LetorOptions,
    interrupt: &Interrupt,
) -> Result<Summary> {
    // Counts, minima and maxima do not depend on the order in which they are added up, so a table is
    // reused from block to block, and there are only as many as threads.
    let tables: Mutex<Vec<FeatureTable>> = Mutex::default();
    let mut counts = SummaryCounts::default();
    counts.summary.sorted_by_qid = true;
    let parse = |block: &TextBlock<'_>| {
        let mut table = lock(&tables).pop().unwrap_or_default();
        let rows = BlockRows::of(block, options, &mut table);
        lock(&tables).push(table);
        (rows, Ok(()))
    };
    parse_blocks(source, interrupt, parse, |rows, before| {
        counts.add(rows, before);
        Ok(())
    })?;
    let mut all = FeatureTable::default();
    for table in lock(&tables).iter() {
        all.merge(table);
    }
    let mut summary = counts.finish();
    summary.bytes = source.bytes();
    summary.features = all.finish(summary.rows);
    Ok(summary)
}

/// The rows of a block, with a hash of their cells.
#[derive(Default)]
struct BlockRows {
    runs: QidRuns,
    labels: Vec<f32>,
    hashes: Vec<u64>,
    bad_lines: u64,
    faults: Vec<Error>,
}

impl BlockRows {
    fn of(block: &TextBlock<'_>, options: &LetorOptions, table: &mut FeatureTable) -> Self {
        let mut rows = Self::default();
        let mut cells = Vec::new();
        let mut bytes = Vec::new();
        for (number, line) in block.lines() {
            cells.clear();
            match options.parse_line(line, |index, cell| cells.push((index, cell))) {
                Err(error) => {
                    rows.bad_lines += 1;
                    rows.faults.push(on_line(error, number));
                    rows.faults.truncate(MAX_FINDINGS);
                }
                Ok(row) => {
                    rows.runs.push(&row, number);
                    rows.labels.push(row.label);
                    rows.hashes.push(content(&cells, &mut bytes));
                    table.add(&cells);
                }
            }
        }
        rows
    }
}

/// A hash of the cells; zeros count as not mentioned.
fn content(cells: &[(u32, f32)], bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    for (index, cell) in cells.iter().filter(|(_, cell)| *cell != 0.0) {
        bytes.extend(index.to_le_bytes());
        bytes.extend(cell.to_le_bytes());
    }
    hash::bytes(bytes)
}

fn finding(error: &Error) -> Option<Finding> {
    let fault = error.fault()?;
    let (line, column) = (fault.place.line?, fault.place.column.unwrap_or(1));
    Some(Finding { line, column, code: fault.code, message: error.to_string() })
}

/// The counts of all rows so far.
#[derive(Default)]
struct SummaryCounts {
    /// What is known before the end of the text.
    summary: Summary,
    tracker: QueryTracker,
    /// The labels of each query.
    label_ranges: Vec<LabelRange>,
    current_query: usize,
    /// The hashes of the rows of the current run of lines.
    hashes: Vec<u64>,
    /// The count of each label, by the label's bits, which are in the order of the labels.
    labels: BTreeMap<u32, u64>,
}

/// The smallest and the largest label of a query.
struct LabelRange {
    min: f32,
    max: f32,
}

impl SummaryCounts {
    /// Adds the next block, which has so many lines before it.
    fn add(&mut self, rows: BlockRows, before: u64) {
        self.summary.bad_lines += rows.bad_lines;
        let faults = rows.faults.into_iter().map(|fault| after_lines(fault, before));
        let mut findings: Vec<_> = faults.filter_map(|fault| finding(&fault)).collect();
        let mut at = 0;
        for run in &rows.runs.after_lines(before).0 {
            let (query, returned) = self.tracker.add(run);
            if query != self.current_query {
                self.end_run();
                self.current_query = query;
            }
            if let Some(line) = returned
                && std::mem::replace(&mut self.summary.sorted_by_qid, false)
            {
                findings.extend(finding(&qid_returns(run, line)));
            }
            let docs = at..at + run.docs;
            at = docs.end;
            self.hashes.extend(&rows.hashes[docs.clone()]);
            self.add_labels(query, &rows.labels[docs]);
        }
        findings.sort_by_key(|finding| (finding.line, finding.column));
        self.summary.findings.extend(findings);
        self.summary.findings.truncate(MAX_FINDINGS);
    }

    fn add_labels(&mut self, query: usize, labels: &[f32]) {
        if query == self.label_ranges.len() {
            self.label_ranges.push(LabelRange { min: f32::INFINITY, max: 0.0 });
        }
        let LabelRange { min, max } = &mut self.label_ranges[query];
        for &label in labels {
            *min = min.min(label);
            *max = max.max(label);
            *self.labels.entry(label.to_bits()).or_default() += 1;
        }
    }

    fn end_run(&mut self) {
        let rows = self.hashes.len();
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.summary.repeated_rows += (rows - self.hashes.len()) as u64;
        self.hashes.clear();
    }

    fn finish(mut self) -> Summary {
        self.end_run();
        let mut sizes: Vec<usize> = self.tracker.sizes().collect();
        sizes.sort_unstable();
        let label_count =
            |(&bits, &docs): (&u32, &u64)| LabelCount { label: f32::from_bits(bits), docs };
        let count = |test: fn(&LabelRange) -> bool| {
            self.label_ranges.iter().filter(|range| test(range)).count() as u64
        };
        Summary {
            rows: sizes.iter().map(|&docs| docs as u64).sum(),
            queries: sizes.len() as u64,
            min_docs: sizes.first().copied().unwrap_or(0),
            median_docs: sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0),
            max_docs: sizes.last().copied().unwrap_or(0),
            queries_without_relevant: count(|range| range.max == 0.0),
            queries_with_one_label: count(|range| range.min == range.max),
            labels: self.labels.iter().map(label_count).collect(),
            ..self.summary
        }
    }
}

/// The counts of the features that occurred, in pages, so that a few large indices take little memory.
#[derive(Default)]
struct FeatureTable(Vec<Option<Box<[FeatureSummary; PAGE]>>>);

/// Features per page.
const PAGE: usize = 256;

const NO_ROWS: FeatureSummary =
    FeatureSummary { index: 0, rows: 0, missing: 0, min: f32::INFINITY, max: f32::NEG_INFINITY };

impl FeatureTable {
    fn page(&mut self, page: usize) -> &mut [FeatureSummary; PAGE] {
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        self.0[page].get_or_insert_with(|| Box::new([NO_ROWS; PAGE]))
    }

    fn add(&mut self, cells: &[(u32, f32)]) {
        for &(index, cell) in cells {
            let counts = &mut self.page(index as usize / PAGE)[index as usize % PAGE];
            counts.rows += 1;
            counts.missing += u64::from(cell.is_nan());
            // A comparison with NaN is false, so it changes nothing.
            counts.min = if cell < counts.min { cell } else { counts.min };
            counts.max = if cell > counts.max { cell } else { counts.max };
        }
    }

    fn merge(&mut self, other: &Self) {
        for (number, page) in other.0.iter().enumerate() {
            let Some(page) = page else { continue };
            for (counts, more) in self.page(number).iter_mut().zip(page.iter()) {
                counts.rows += more.rows;
                counts.missing += more.missing;
                counts.min = counts.min.min(more.min);
                counts.max = counts.max.max(more.max);
            }
        }
    }

    /// The features that occur; where one is not mentioned, it is 0.
    fn finish(self, rows: u64) -> Vec<FeatureSummary> {
        let pages = self.0.into_iter().enumerate();
        let all = pages.flat_map(|(number, page)| {
            let first = (number * PAGE) as u32;
            (first..).zip(page.into_iter().flat_map(|page| *page))
        });
        let summary = |(index, counts): (u32, FeatureSummary)| {
            let (min, max) = match counts {
                _ if counts.rows < rows => (counts.min.min(0.0), counts.max.max(0.0)),
                _ if counts.missing == rows => (f32::NAN, f32::NAN),
                _ => (counts.min, counts.max),
            };
            FeatureSummary { index, min, max, ..counts }
        };
        all.filter(|(_, counts)| counts.rows > 0).map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::line_source::LineOptions;

    fn summary(text: &'static str) -> Summary {
        let reader = Box::new(text.as_bytes());
        let mut source = LineSource::from_reader("text", reader, &LineOptions::default()).unwrap();
        inspect(&mut source, &LetorOptions::default(), &Interrupt::new()).unwrap()
    }

    #[test]
    fn a_small_file_is_told() {
        let text =
            "2 qid:a 1:1 2:5 3:nan\n0 qid:a 1:1 2:-6 3:0\n0 qid:a 1:1 2:-6\n0 qid:b 1:1 2:5\n";
        let summary = summary(text);
        assert_eq!((summary.rows, summary.queries, summary.bytes), (4, 2, text.len() as u64));
        assert_eq!((summary.min_docs, summary.median_docs, summary.max_docs), (1, 1, 3));
        let labels: Vec<_> = summary.labels.iter().map(|count| (count.label, count.docs)).collect();
        assert_eq!(labels, [(0.0, 3), (2.0, 1)]);
        assert_eq!((summary.queries_without_relevant, summary.queries_with_one_label), (1, 1));
        assert_eq!(summary.repeated_rows, 1);
        let constant: Vec<_> = summary.features.iter().map(|f| f.is_constant(4)).collect();
        assert_eq!(constant, [true, false, false]);
        let range: Vec<_> = summary.features.iter().map(|f| (f.index, f.min, f.max)).collect();
        assert_eq!(range, [(1, 1.0, 1.0), (2, -6.0, 5.0), (3, 0.0, 0.0)]);
        assert_eq!(summary.features[2].missing, 1);
        assert!(summary.sorted_by_qid && summary.findings.is_empty());
    }

    #[test]
    fn bad_lines_are_collected_and_left_out() {
        let text = "1 qid:a 1:1\nx qid:a 1:1\n0 qid:b 1:x\n1 qid:b 1:2\n1 qid:a 1:1\n";
        let summary = summary(text);
        assert_eq!((summary.rows, summary.queries, summary.bad_lines), (3, 2, 2));
        let found: Vec<_> = summary.findings.iter().map(|f| (f.line, f.column, f.code)).collect();
        assert_eq!(found, [(2, 1, "letor.label"), (3, 11, "letor.value"), (5, 3, "qid.returns")]);
        assert!(!summary.sorted_by_qid);
        assert!(summary.findings[2].message.contains("qid `a` returns"));
    }

    #[test]
    fn an_empty_file_is_no_error() {
        assert_eq!(summary("").queries, 0);
    }

    #[test]
    fn only_the_first_findings_are_kept() {
        let summary = summary("x\n".repeat(50).leak());
        assert_eq!((summary.bad_lines, summary.findings.len()), (50, MAX_FINDINGS));
        assert_eq!(summary.findings[19].line, 20);
    }
}
