//! Queries as a text names them: one qid a line, the docs of a query together.
//!
//! A *run* is a stretch of lines with the same qid. Threads collect the runs of their pieces
//! ([`QidRuns`]); [`QueryTracker`] takes them in the order of the file, joins those that were cut,
//! and notices a qid that returns after another. Cost: a comparison a line and a look-up a run.

use super::letor::LetorHead;
use crate::error::{Error, Result, foreign};
use crate::queries::Queries;
use std::collections::HashMap;

/// A stretch of lines with the same qid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QidRun {
    /// The qid.
    pub id: Box<str>,
    /// How many docs it has here.
    pub docs: usize,
    /// The line of the first doc.
    pub first_line: u64,
    /// The line of the last doc.
    pub last_line: u64,
    /// Where the qid stands in the first line, from 1.
    pub column: u64,
}

/// The runs of some lines.
#[derive(Debug, Clone, Default)]
pub struct QidRuns(Vec<QidRun>);

impl QidRuns {
    /// Adds a row that stands on the given line.
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

    /// The runs so many lines further down.
    #[must_use]
    pub fn after_lines(mut self, before: u64) -> Self {
        for run in &mut self.0 {
            run.first_line += before;
            run.last_line += before;
        }
        self
    }

    /// The runs, in the order of the lines.
    pub fn as_slice(&self) -> &[QidRun] {
        &self.0
    }
}

/// The queries of a text, as their runs come in.
#[derive(Debug, Default)]
pub struct QueryTracker {
    queries: Vec<TrackedQuery>,
    numbers: HashMap<Box<str>, usize>,
    current: Option<usize>,
    /// How many queries came in before the current file.
    earlier: usize,
}

#[derive(Debug)]
struct TrackedQuery {
    id: Box<str>,
    docs: usize,
    last_line: u64,
}

/// What a run is to the queries before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A qid that was not there before.
    NewQuery,
    /// More docs of the current query.
    SameQuery,
    /// A qid that was left for another; its last doc was on this line.
    Returning(u64),
}

impl QueryTracker {
    /// Adds runs; a qid that returns is an error.
    pub fn extend(&mut self, runs: &QidRuns) -> Result<()> {
        for run in runs.as_slice() {
            match self.enter(run) {
                (query, RunKind::Returning(_)) if query < self.earlier => {
                    return Err(is_in_two(run));
                }
                (_, RunKind::Returning(line)) => return Err(returns(run, line)),
                _ => {}
            }
        }
        Ok(())
    }

    /// What comes in from now on is in another file, which has queries of its own.
    pub fn next_file(&mut self) {
        (self.current, self.earlier) = (None, self.queries.len());
    }

    /// Adds a run and gives the number of its query. The docs of a qid that returns are added to
    /// the query it had, which is then the current one.
    pub fn enter(&mut self, run: &QidRun) -> (usize, RunKind) {
        let current = self.current.filter(|&query| self.queries[query].id == run.id);
        let known = current.or_else(|| self.numbers.get(&run.id).copied());
        let query = known.unwrap_or(self.queries.len());
        let arrival = match (current, known) {
            (Some(_), _) => RunKind::SameQuery,
            (None, Some(query)) => RunKind::Returning(self.queries[query].last_line),
            (None, None) => {
                self.numbers.insert(run.id.clone(), query);
                self.queries.push(TrackedQuery { id: run.id.clone(), docs: 0, last_line: 0 });
                RunKind::NewQuery
            }
        };
        self.current = Some(query);
        self.queries[query].docs += run.docs;
        self.queries[query].last_line = run.last_line;
        (query, arrival)
    }

    /// The number of queries so far.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether no query came in yet.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The number of docs of each query so far.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.queries.iter().map(|query| query.docs)
    }

    /// The queries and their qids; an error if there are none.
    pub fn finish(self) -> Result<(Queries, Vec<Box<str>>)> {
        if self.is_empty() {
            return Err(Error::data("data.empty", "the data have no rows")
                .expected("at least one query with one document"));
        }
        let add = |end: &mut usize, docs| {
            *end += docs;
            Some(*end)
        };
        let offsets = std::iter::once(0).chain(self.sizes().scan(0, add)).collect();
        let ids = self.queries.into_iter().map(|query| query.id).collect();
        Ok((Queries::from_offsets(offsets), ids))
    }
}

fn is_in_two(run: &QidRun) -> Error {
    let id = foreign(run.id.as_bytes());
    Error::data("qid.files", format!("qid {id} stands in an earlier file, too"))
        .at(run.first_line, run.column)
        .hint("keep the docs of a query in one file, and let qids differ between files")
}

/// The fault of a qid that returns; its docs had ended on `line`.
pub(crate) fn returns(run: &QidRun, line: u64) -> Error {
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
