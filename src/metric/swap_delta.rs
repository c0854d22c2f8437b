//! The change of a metric by exchanging the scores of two documents: exact, signed, O(1) a pair.
//!
//! `delta(a, b)` is the metric after the exchange minus the metric before, with the cut, with ties
//! in expectation and with documents that are not retrieved. It is exactly 0 for documents of one
//! block and for documents whose labels are worth the same.
//!
//! Each metric fills a [`SwapTable`] for one query (see its file in `registry/` for its cost) and then
//! answers from it. Tables are reused: a warm `prepare` does not allocate. Loops over many pairs go
//! through [`SwapDelta::fill`], which calls the metric once a row of pairs.

use super::evaluate::nan_score;
use super::gains::LabelFacts;
use super::prepared::{MetricScratch, PreparedMetric};
use super::ranking::Ranking;
use super::{Metric, Ties};
use crate::error::{Error, Result, check_length};
use std::fmt::Debug;
use std::ops::Range;

/// A query for which swap deltas are prepared: its documents are ranked by `Ranking::rank_docs`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwapQuery<'a> {
    pub(crate) metric: &'a PreparedMetric,
    pub(crate) ranking: &'a Ranking,
    /// What the metric's sum is divided by.
    pub(crate) divisor: f64,
}

/// The tables of one metric for one query.
pub(crate) trait SwapTable: Debug + Send + Sync + CloneSwapTable {
    /// Makes the deltas of a query ready.
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch);

    /// The change by exchanging the scores of documents `a` and `b`.
    fn delta(&self, a: usize, b: usize) -> f64;

    /// Appends the changes by exchanging document `a` with each of `docs`. This body is compiled for
    /// each table: one dynamic call a row, and direct calls for its pairs.
    fn row(&self, a: usize, docs: Range<usize>, deltas: &mut Vec<f64>) {
        deltas.extend(docs.map(|b| self.delta(a, b)));
    }
}

/// Clones a boxed table.
pub(crate) trait CloneSwapTable {
    fn boxed(&self) -> Box<dyn SwapTable>;
}

impl<T: SwapTable + Clone + 'static> CloneSwapTable for T {
    fn boxed(&self) -> Box<dyn SwapTable> {
        Box::new(self.clone())
    }
}

/// Swap deltas of one metric, for one prepared query at a time. A clone for each thread.
#[derive(Debug)]
pub struct SwapDelta {
    metric: PreparedMetric,
    ranking: Ranking,
    scratch: MetricScratch,
    table: Box<dyn SwapTable>,
    /// How many documents the prepared query has.
    num_docs: usize,
    /// Nothing can be found in the query: its value is a constant.
    empty: bool,
}

impl Clone for SwapDelta {
    fn clone(&self) -> Self {
        Self {
            metric: self.metric.clone(),
            ranking: self.ranking.clone(),
            scratch: self.scratch.clone(),
            table: self.table.boxed(),
            ..*self
        }
    }
}

impl SwapDelta {
    /// Checks all labels of the data; see [`Metric::swap_delta`].
    pub(super) fn new(metric: &Metric, labels: &[f32]) -> Result<Self> {
        if metric.convention().ties != Ties::Expected {
            return Err(Error::param("metric.ties", "deltas exist for ties by expectation only")
                .got(metric.convention().ties)
                .expected(Ties::Expected));
        }
        let table = metric.swap_table();
        let metric = PreparedMetric::new(metric, labels, LabelFacts::scan(labels)?)?;
        let (ranking, scratch) = (Ranking::default(), MetricScratch::default());
        Ok(Self { metric, ranking, scratch, table, num_docs: 0, empty: true })
    }

    /// Makes the deltas of one query ready; labels must be among those checked at construction.
    pub fn prepare(&mut self, scores: &[f64], labels: &[f32]) -> Result<()> {
        (self.num_docs, self.empty) = (0, true);
        check_length("score", scores.len(), labels.len(), "docs")?;
        if let Some(row) = scores.iter().position(|score| score.is_nan()) {
            return Err(nan_score(row));
        }
        self.num_docs = scores.len();
        self.ranking.rank_docs(scores, labels);
        let Self { metric, ranking, scratch, .. } = self;
        if let Some(divisor) = metric.divisor(ranking, scratch) {
            self.empty = false;
            self.table.fill(SwapQuery { metric, ranking, divisor }, scratch);
        }
        Ok(())
    }

    /// The metric after exchanging the scores of documents `a` and `b` of the prepared query, minus
    /// the metric before.
    ///
    /// # Panics
    /// If the prepared query has no such document.
    pub fn delta(&self, a: usize, b: usize) -> f64 {
        self.check(a.max(b) + 1);
        if self.empty { 0.0 } else { self.table.delta(a, b) }
    }

    /// The deltas of document `a` with each of `docs`, in order, into `deltas`.
    ///
    /// # Panics
    /// If the prepared query has no such documents.
    pub fn fill(&self, a: usize, docs: Range<usize>, deltas: &mut Vec<f64>) {
        self.check(docs.end.max(a + 1));
        deltas.clear();
        if self.empty {
            deltas.resize(docs.len(), 0.0);
        } else {
            self.table.row(a, docs, deltas);
        }
    }

    /// The documents of the prepared query by rank; those that are not retrieved come last.
    pub fn order(&self) -> &[u32] {
        if self.num_docs == 0 { &[] } else { self.ranking.docs() }
    }

    /// The documents of the prepared query in blocks of equal scores, best first; the last block may
    /// be that of the documents that are not retrieved.
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
            return self.metric.metric.convention().empty_value();
        }
        self.metric.value(&self.ranking, &mut self.scratch)
    }

    fn check(&self, end: usize) {
        assert!(end <= self.num_docs, "doc {} of {}", end.wrapping_sub(1), self.num_docs);
    }
}

/// Deltas by definition, for a metric without a table of its own: a pair costs two evaluations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reevaluation {
    query: Option<(PreparedMetric, Ranking, f64)>,
    /// The rank of each document.
    rank_of: Vec<usize>,
}

impl SwapTable for Reevaluation {
    fn fill(&mut self, query: SwapQuery<'_>, _scratch: &mut MetricScratch) {
        self.rank_of.resize(query.ranking.docs().len(), 0);
        for (rank, &doc) in query.ranking.docs().iter().enumerate() {
            self.rank_of[doc as usize] = rank;
        }
        self.query = Some((query.metric.clone(), query.ranking.clone(), query.divisor));
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let Some((metric, before, divisor)) = &self.query else { return 0.0 };
        let Some(after) = before.swapped(self.rank_of[a], self.rank_of[b]) else { return 0.0 };
        let mut scratch = MetricScratch::default();
        let mut sum = |ranking| metric.sum(ranking, &mut scratch);
        (sum(&after) - sum(before)) / divisor + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Convention, Measure};
    use crate::random::{below, draw};

    #[test]
    fn every_table_agrees_with_reevaluation() {
        for seed in 0..40 {
            let n = 1 + below(draw(seed, 0, 0), 12) as usize;
            let number = |stream, doc, most| below(draw(seed, stream, doc as u64), most);
            let labels: Vec<f32> = (0..n).map(|doc| number(1, doc, 4) as f32).collect();
            let score = |doc| match number(2, doc, 6) {
                0 => f64::NEG_INFINITY,
                score => score as f64,
            };
            let scores: Vec<f64> = (0..n).map(score).collect();
            let cuts = [(None, None), (Some(3), None), (Some(4), Some(2))];
            for (measure, (cut, first)) in
                Measure::ALL.into_iter().flat_map(|m| cuts.map(|cuts| (m, cuts)))
            {
                let metric = Metric::new(measure, cut, Convention::default()).unwrap();
                let metric = match first {
                    Some(first) => metric.mean_from(first).unwrap(),
                    None => metric,
                };
                let mut fast = metric.swap_delta(&labels).unwrap();
                let mut slow =
                    SwapDelta { table: Box::new(Reevaluation::default()), ..fast.clone() };
                fast.prepare(&scores, &labels).unwrap();
                slow.prepare(&scores, &labels).unwrap();
                for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                    let miss = (fast.delta(a, b) - slow.delta(a, b)).abs();
                    assert!(miss < 1e-12, "{metric} {a} {b} {miss:e}");
                }
            }
        }
    }
}
