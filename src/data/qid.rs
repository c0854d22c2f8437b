//! Groups the lines of a text into queries by their qids; the lines of a query must be together.
//!
//! A *run* is a sequence of lines with the same qid. Threads collect the runs of their blocks
//! ([`QidRuns`]); [`QueryTracker`] takes them in the order of the file, joins runs that were cut by the
//! end of a block, and finds qids that return after another. Cost: a comparison per line and a look-up
//! per run.

use super::letor::LetorHead;
use crate::error::{Error, Result, foreign};
use crate::queries::Queries;
use std::collections::HashMap;

/// A sequence of lines with the same qid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QidRun {
    /// The qid.
    pub id: Box<str>,
    /// The number of documents.
    pub docs: usize,
    /// The line of the first document.
    pub first_line: u64,
    /// The line of the last document.
    pub last_line: u64,
    /// The column of the qid in the first line, from 1.
    pub column: u64,
}

/// The runs of some lines.
#[derive(Debug, Clone, Default)]
pub struct QidRuns(pub(super) Vec<QidRun>);

impl QidRuns {
    /// Adds a document on the given line.
    pub fn push(&mut self, row: &LetorHead<'_>, line: u64) {
        match self.0.last_mut() {
            Some(run) if *run.id == *row.qid => {
                run.docs += 1;
                run.last_line = line;
            }
            _ => self.0.push(QidRun {
                id: row.qid.into(),
                docs: 1,
                first_line: line,
                last_line: line,
                column: row.qid_column,
            }),
        }
    }

    /// The runs with `before` added to their lines.
    #[must_use]
    pub fn after_lines(mut self, before: u64) -> Self {
        for run in &mut self.0 {
            run.first_line += before;
            run.last_line += before;
        }
        self
    }
}

/// The queries of a text so far.
#[derive(Debug, Default)]
pub struct QueryTracker {
    queries: Vec<TrackedQuery>,
    numbers: HashMap<Box<str>, usize>,
    current: Option<usize>,
    /// The number of queries in earlier files.
    earlier: usize,
}

#[derive(Debug)]
struct TrackedQuery {
    id: Box<str>,
    docs: usize,
    last_line: u64,
}

impl QueryTracker {
    /// Adds runs; a qid that returns is an error.
    pub fn extend(&mut self, runs: &QidRuns) -> Result<()> {
        for run in &runs.0 {
            match self.add(run) {
                (query, Some(_)) if query < self.earlier => {
                    let id = foreign(run.id.as_bytes());
                    let what = format!("qid {id} stands in an earlier file, too");
                    return Err(Error::data("qid.files", what)
                        .at(run.first_line, run.column)
                        .hint("keep the docs of a query in one file, and let qids differ between files"));
                }
                (_, Some(line)) => return Err(qid_returns(run, line)),
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Starts another file, whose queries must be different ones.
    pub fn next_file(&mut self) {
        (self.current, self.earlier) = (None, self.queries.len());
    }

    /// Adds a run and returns the number of its query and, if the qid returns after another, the line of
    /// its last document. Documents of a qid that returns are added to its query, which becomes the
    /// current one.
    pub fn add(&mut self, run: &QidRun) -> (usize, Option<u64>) {
        let current = self.current.filter(|&query| self.queries[query].id == run.id);
        let known = current.or_else(|| self.numbers.get(&run.id).copied());
        let query = known.unwrap_or(self.queries.len());
        if known.is_none() {
            self.numbers.insert(run.id.clone(), query);
            self.queries.push(TrackedQuery { id: run.id.clone(), docs: 0, last_line: 0 });
        }
        let returns = known.is_some() && current.is_none();
        let before = returns.then_some(self.queries[query].last_line);
        self.current = Some(query);
        self.queries[query].docs += run.docs;
        self.queries[query].last_line = run.last_line;
        (query, before)
    }

    /// The number of documents of each query so far.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.queries.iter().map(|query| query.docs)
    }

    /// The queries and their qids; an error if there are none.
    pub fn finish(self) -> Result<(Queries, Vec<Box<str>>)> {
        if self.queries.is_empty() {
            return Err(Error::data("data.empty", "the data have no rows")
                .expected("at least one query with one document"));
        }
        let mut offsets = vec![0];
        offsets.extend(self.sizes().scan(0, |end, docs| {
            *end += docs;
            Some(*end)
        }));
        let ids = self.queries.into_iter().map(|query| query.id).collect();
        Ok((Queries::from_offsets(offsets), ids))
    }
}

/// The error for a qid that returns; its documents had ended on `line`.
pub(crate) fn qid_returns(run: &QidRun, line: u64) -> Error {
    let id = foreign(run.id.as_bytes());
    let what = format!("qid {id} returns after another qid; its docs had ended on line {line}");
    Error::data("qid.returns", what)
        .at(run.first_line, run.column)
        .hint("sort the lines by qid: a streamed file must keep the docs of a query together")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(qids: &[&str], first_line: u64) -> QidRuns {
        let mut runs = QidRuns::default();
        for (line, qid) in (first_line..).zip(qids) {
            runs.push(&LetorHead { label: 0.0, qid, qid_column: 3 }, line);
        }
        runs
    }

    #[test]
    fn runs_that_were_cut_join() {
        let mut tracker = QueryTracker::default();
        tracker.extend(&runs(&["a", "a", "b"], 1)).unwrap();
        tracker.extend(&runs(&["b", "b", "c"], 4)).unwrap();
        let (queries, ids) = tracker.finish().unwrap();
        assert_eq!(queries.ranges().collect::<Vec<_>>(), [0..2, 2..5, 5..6]);
        assert_eq!(ids, ["a".into(), "b".into(), "c".into()]);
    }

    #[test]
    fn a_qid_that_returns_is_named_with_both_lines() {
        let mut tracker = QueryTracker::default();
        tracker.extend(&runs(&["a", "a", "b"], 1)).unwrap();
        let error = tracker.extend(&runs(&["b", "a"], 4)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("qid `a` returns after another qid; its docs had ended on line 2")
        );
        assert!(text.contains("line 5:3"), "{text}");
    }

    #[test]
    fn a_file_has_queries_of_its_own() {
        let mut tracker = QueryTracker::default();
        tracker.extend(&runs(&["a", "b"], 1)).unwrap();
        tracker.next_file();
        tracker.extend(&runs(&["c"], 1)).unwrap();
        for (qid, line) in [("b", 2), ("a", 2), ("c", 9)] {
            let mut tracker = QueryTracker::default();
            tracker.extend(&runs(&["a", "b"], 1)).unwrap();
            tracker.next_file();
            tracker.extend(&runs(&["d"], 1)).unwrap();
            let outcome = tracker.extend(&runs(&[qid], line));
            assert_eq!(outcome.is_err(), qid != "c", "{qid}");
        }
        let error = tracker.extend(&runs(&["a"], 2)).unwrap_err();
        assert!(error.to_string().starts_with("qid `a` stands in an earlier file, too"), "{error}");
    }

    #[test]
    fn no_queries_are_an_error() {
        let error = QueryTracker::default().finish().unwrap_err();
        assert_eq!(error.fault().unwrap().code, "data.empty");
    }
}
