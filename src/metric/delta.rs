//! What exchanging the scores of two docs would change: exact, signed, O(1) a pair.
//!
//! `delta(a, b)` is the metric after the exchange minus the metric before, with the cut, with ties
//! in expectation and with docs that are not retrieved. It is exactly 0 for docs of one block and
//! for docs whose labels are worth the same.
//!
//! Each metric fills tables for one query (see its module for what they hold and cost) and then
//! answers from them. Tables are reused: a warm `prepare` does not allocate. Loops over many pairs
//! go through [`SwapDelta::fill`], which looks the metric up once a row of pairs.

use crate::error::{Error, Result};
use crate::metric::dcg::WorthTable;
use crate::metric::err::StopTable;
use crate::metric::evaluate::{nan_score, wrong_length};
use crate::metric::gains::LabelFacts;
use crate::metric::judge::{Judge, Scratch};
use crate::metric::pairwise::PairTable;
use crate::metric::ranking::Ranking;
use crate::metric::relevance::{FirstTable, PrecisionsTable};
use crate::metric::{Measure, Metric, Ties};
use std::ops::Range;

/// The tables of one metric for one query.
pub(super) trait SwapTable {
    /// The change by exchanging the scores of docs `a` and `b`.
    fn delta(&self, a: usize, b: usize) -> f64;
}

/// Swap deltas of one metric, for one prepared query at a time. A clone for each thread.
#[derive(Debug, Clone)]
pub struct SwapDelta {
    judge: Judge,
    ranking: Ranking,
    scratch: Scratch,
    table: Table,
    /// How many docs the prepared query has.
    num_docs: usize,
    /// Nothing can be found in the query: its value is a constant.
    empty: bool,
}

#[derive(Debug, Clone)]
enum Table {
    Worth(WorthTable),
    Precisions(PrecisionsTable),
    First(FirstTable),
    Stop(StopTable),
    Pair(PairTable),
}

impl SwapDelta {
    /// Checks all labels of the data; see [`Metric::swap_delta`].
    pub(super) fn new(metric: &Metric, labels: &[f32]) -> Result<Self> {
        if metric.convention().ties != Ties::Expected {
            return Err(Error::param("metric.ties", "deltas exist for ties by expectation only")
                .got(metric.convention().ties)
                .expected(Ties::Expected));
        }
        let judge = Judge::new(metric, labels, LabelFacts::scan(labels)?)?;
        let table = match metric.measure() {
            Measure::Ndcg | Measure::Dcg | Measure::Precision | Measure::Recall => {
                Table::Worth(WorthTable::default())
            }
            Measure::Map => Table::Precisions(PrecisionsTable::default()),
            Measure::Mrr => Table::First(FirstTable::default()),
            Measure::Err => Table::Stop(StopTable::default()),
            Measure::Pairwise => Table::Pair(PairTable::default()),
        };
        let (ranking, scratch) = (Ranking::default(), Scratch::default());
        Ok(Self { judge, ranking, scratch, table, num_docs: 0, empty: true })
    }

    /// Makes the deltas of one query ready; labels must be among those checked at construction.
    pub fn prepare(&mut self, scores: &[f64], labels: &[f32]) -> Result<()> {
        (self.num_docs, self.empty) = (0, true);
        if scores.len() != labels.len() {
            return Err(wrong_length("score", scores.len(), labels.len()));
        }
        if let Some(row) = scores.iter().position(|score| score.is_nan()) {
            return Err(nan_score(row));
        }
        self.num_docs = scores.len();
        self.ranking.rank_docs(scores, labels);
        let discounts = &mut self.scratch.discounts;
        if let Some(divisor) = self.judge.divisor(&self.ranking, discounts) {
            self.empty = false;
            self.fill_table(divisor);
        }
        Ok(())
    }

    fn fill_table(&mut self, divisor: f64) {
        let Self { judge, ranking, scratch, table, .. } = self;
        let (cut, from) = (judge.depth(), judge.metric.convention().relevant_from);
        let discounts = &mut scratch.discounts;
        let ranks = cut.min(ranking.retrieved());
        match table {
            Table::Worth(table) => match judge.metric.measure() {
                Measure::Ndcg | Measure::Dcg => {
                    table.fill_dcg(ranking, &judge.gains, discounts, (cut, divisor));
                }
                _ => table.fill_hits(ranking, from, (cut, divisor)),
            },
            Table::Precisions(table) => {
                table.fill(ranking, from, cut, discounts.reciprocal(ranks));
            }
            Table::First(table) => table.fill(ranking, from, cut, discounts.reciprocal(ranks)),
            Table::Stop(table) => {
                table.fill(ranking, |l| judge.stops(l), cut, discounts.reciprocal(ranks));
            }
            Table::Pair(table) => table.fill(ranking, cut, divisor),
        }
    }

    /// The metric after exchanging the scores of docs `a` and `b` of the prepared query, minus the
    /// metric before.
    ///
    /// # Panics
    /// If the prepared query has no such doc.
    pub fn delta(&self, a: usize, b: usize) -> f64 {
        self.check(a.max(b) + 1);
        if self.empty {
            return 0.0;
        }
        match &self.table {
            Table::Worth(table) => table.delta(a, b),
            Table::Precisions(table) => table.delta(a, b),
            Table::First(table) => table.delta(a, b),
            Table::Stop(table) => table.delta(a, b),
            Table::Pair(table) => table.delta(a, b),
        }
    }

    /// The deltas of doc `a` with each of `docs`, in order, into `deltas`.
    ///
    /// # Panics
    /// If the prepared query has no such docs.
    pub fn fill(&self, a: usize, docs: Range<usize>, deltas: &mut Vec<f64>) {
        self.check(docs.end.max(a + 1));
        deltas.clear();
        if self.empty {
            deltas.resize(docs.len(), 0.0);
            return;
        }
        match &self.table {
            Table::Worth(table) => deltas.extend(docs.map(|b| table.delta(a, b))),
            Table::Precisions(table) => deltas.extend(docs.map(|b| table.delta(a, b))),
            Table::First(table) => deltas.extend(docs.map(|b| table.delta(a, b))),
            Table::Stop(table) => deltas.extend(docs.map(|b| table.delta(a, b))),
            Table::Pair(table) => deltas.extend(docs.map(|b| table.delta(a, b))),
        }
    }

    /// The docs of the prepared query by rank; those that are not retrieved come last.
    pub fn order(&self) -> &[u32] {
        if self.num_docs == 0 { &[] } else { self.ranking.docs() }
    }

    /// The docs of the prepared query in blocks of equal scores, best first; the last block may be
    /// that of the docs that are not retrieved.
    pub fn blocks(&self) -> impl Iterator<Item = &[u32]> {
        let blocks = self.ranking.all_blocks().take_while(|_| self.num_docs > 0);
        blocks.map(|block| &self.ranking.docs()[block.start..][..block.labels.len()])
    }

    /// Whether nothing can be found in the prepared query, so that all its deltas are 0.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The value of the prepared query; NaN if it is skipped.
    pub fn value(&mut self) -> f64 {
        if self.num_docs == 0 {
            return self.judge.metric.convention().empty_value();
        }
        self.judge.value(&self.ranking, &mut self.scratch)
    }

    fn check(&self, end: usize) {
        assert!(end <= self.num_docs, "doc {} of {}", end.wrapping_sub(1), self.num_docs);
    }
}
