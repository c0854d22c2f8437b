//! The metric of one query while its ranking changes, in whole units.
//!
//! A sum of floats would depend on the order of changes and of queries. So each query's value, times
//! its weight, is a whole number of *units*, small enough that the sum over all queries fits 62 bits:
//! sums are exact in any order, and a change that is undone leaves nothing behind.
//!
//! [`GainSum`]: where the metric is a sum of gains times discounts (DCG, NDCG, precision and recall with
//! ties by expectation) an exchange costs O(1); documents with equal lines count with the mean of their
//! gains. [`RecomputedMetric`]: all others are computed again after each alpha at which documents with
//! different labels were exchanged, in a pass over the list.
#![expect(clippy::inline_always, reason = "the walk is compiled for several levels")]

use super::score_lines::TiedDocs;
use crate::error::Result;
use crate::metric::{LabelFacts, Metric, MetricScratch, PreparedMetric, Ranking, Ties};

/// A metric that is updated by the exchanges of a walk.
pub(super) trait QueryMetric {
    /// The documents at this rank and the next exchange places.
    fn swap(&mut self, rank: usize, upper: u32, lower: u32);
    /// The document at the last rank leaves the list and another enters.
    fn enter(&mut self, last: usize, leaving: u32, entering: u32);
    /// Whether the value may have changed since it was last computed.
    fn is_changed(&self) -> bool;
    /// The value of the list in units.
    fn value(&mut self, top: &[u32]) -> i64;
}

/// The labels of a query, and the scale of its metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedLabels<'a> {
    pub(super) labels: &'a [f32],
    /// The units of a value of 1 in this query.
    pub(super) unit: f64,
}

/// A metric prepared for a set of labels.
#[derive(Debug, Clone)]
pub(super) struct MetricRules {
    pub(super) prepared: PreparedMetric,
    /// Whether the metric is a sum of gains times discounts.
    pub(super) is_sum: bool,
}

impl MetricRules {
    pub(super) fn new(metric: &Metric, labels: &[f32]) -> Result<Self> {
        let prepared = PreparedMetric::new(metric, labels, LabelFacts::scan(labels)?)?;
        let is_sum = prepared.definition().discount(0).is_some()
            && metric.first_cut().is_none()
            && metric.convention().ties == Ties::Expected;
        Ok(Self { prepared, is_sum })
    }

    /// The number of ranks that count in a query of `num_docs` documents.
    pub(super) fn ranks(&self, num_docs: usize) -> usize {
        self.prepared.cut().min(num_docs)
    }
}

/// The value of a query for which the order of documents makes no difference, else `None`.
///
/// It is NaN where the query is skipped. Leaves the query's labels in `ranking`.
pub(super) fn constant(
    rules: &MetricRules,
    labels: &[f32],
    buffers: &mut MetricBuffers,
) -> Option<f64> {
    let MetricBuffers { ranking, scratch, .. } = buffers;
    ranking.begin(labels);
    let empty = rules.prepared.divisor(ranking, scratch).is_none();
    if !empty && ranking.levels().len() > 1 {
        return None;
    }
    ranking.push_block(labels.iter().copied());
    Some(rules.prepared.value(ranking, scratch))
}

/// Buffers kept from query to query.
#[derive(Debug, Clone, Default)]
pub(super) struct MetricBuffers {
    ranking: Ranking,
    scratch: MetricScratch,
    /// The gain of each document in units.
    gains: Vec<f64>,
}

/// A metric that is a sum of gains times discounts.
#[derive(Debug)]
pub(super) struct GainSum<'a> {
    gains: &'a [f64],
    discounts: &'a [f64],
    value: i64,
    is_new: bool,
}

impl<'a> GainSum<'a> {
    /// For the query of the last call of [`constant`].
    pub(super) fn new(
        rules: &MetricRules,
        known: WeightedLabels<'_>,
        tied_docs: &TiedDocs,
        buffers: &'a mut MetricBuffers,
    ) -> Self {
        let MetricBuffers { ranking, scratch, gains } = buffers;
        let ranks = rules.ranks(known.labels.len());
        let divisor = rules.prepared.divisor(ranking, scratch).unwrap_or(1.0);
        let unit = known.unit / divisor;
        gains.clear();
        gains.extend(known.labels.iter().map(|&label| rules.prepared.gain(label) * unit));
        if tied_docs.any {
            for doc in 0..known.labels.len() as u32 {
                let set = tied_docs.of(doc);
                if set.len() > 1 {
                    let labels = set.iter().map(|&twin| known.labels[twin as usize]);
                    let sum: f64 = labels.map(|label| rules.prepared.gain(label)).sum();
                    gains[doc as usize] = sum / set.len() as f64 * unit;
                }
            }
        }
        let discounts = scratch.discounts.of(rules.prepared.metric.measure(), ranks);
        Self { gains, discounts, value: 0, is_new: true }
    }

    #[inline(always)]
    fn worth(&self, doc: u32, rank: usize) -> i64 {
        (self.gains[doc as usize] * self.discounts[rank]) as i64
    }
}

impl QueryMetric for GainSum<'_> {
    #[inline(always)]
    fn swap(&mut self, rank: usize, upper: u32, lower: u32) {
        if self.gains[upper as usize] != self.gains[lower as usize] {
            let before = self.worth(upper, rank).wrapping_add(self.worth(lower, rank + 1));
            let after = self.worth(lower, rank).wrapping_add(self.worth(upper, rank + 1));
            self.value = self.value.wrapping_add(after.wrapping_sub(before));
        }
    }

    #[inline(always)]
    fn enter(&mut self, last: usize, leaving: u32, entering: u32) {
        let delta = self.worth(entering, last).wrapping_sub(self.worth(leaving, last));
        self.value = self.value.wrapping_add(delta);
    }

    #[inline(always)]
    fn is_changed(&self) -> bool {
        true
    }

    #[inline(always)]
    fn value(&mut self, top: &[u32]) -> i64 {
        if self.is_new {
            self.is_new = false;
            let worths = top.iter().enumerate().map(|(rank, &doc)| self.worth(doc, rank));
            self.value = worths.fold(0, i64::wrapping_add);
        }
        self.value
    }
}

/// Any other metric, computed again after changes.
#[derive(Debug)]
pub(super) struct RecomputedMetric<'a> {
    rules: &'a MetricRules,
    known: WeightedLabels<'a>,
    tied_docs: &'a TiedDocs,
    buffers: &'a mut MetricBuffers,
    is_changed: bool,
}

impl<'a> RecomputedMetric<'a> {
    /// For the query of the last call of [`constant`].
    pub(super) fn new(
        rules: &'a MetricRules,
        known: WeightedLabels<'a>,
        tied_docs: &'a TiedDocs,
        buffers: &'a mut MetricBuffers,
    ) -> Self {
        Self { rules, known, tied_docs, buffers, is_changed: true }
    }

    fn compute(&mut self, top: &[u32]) -> f64 {
        let MetricBuffers { ranking, scratch, .. } = &mut *self.buffers;
        let labels = self.known.labels;
        let label = |&doc: &u32| labels[doc as usize];
        let ranks = self.rules.ranks(labels.len());
        let tied = self.rules.prepared.metric.convention().ties == Ties::Expected;
        ranking.clear_blocks();
        let mut rank = 0;
        while rank < top.len() {
            let set =
                if self.tied_docs.any { self.tied_docs.of(top[rank]) } else { &top[rank..=rank] };
            if tied {
                ranking.push_block(set.iter().map(label));
            } else {
                for doc in set {
                    ranking.push_block(std::iter::once(label(doc)));
                }
            }
            rank += set.len();
        }
        debug_assert!(rank >= ranks, "the list holds the ranks that count");
        self.rules.prepared.value(ranking, scratch)
    }
}

impl QueryMetric for RecomputedMetric<'_> {
    fn swap(&mut self, _rank: usize, upper: u32, lower: u32) {
        let labels = self.known.labels;
        self.is_changed |= labels[upper as usize] != labels[lower as usize] || self.tied_docs.any;
    }

    fn enter(&mut self, last: usize, leaving: u32, entering: u32) {
        self.swap(last, leaving, entering);
    }

    fn is_changed(&self) -> bool {
        self.is_changed
    }

    fn value(&mut self, top: &[u32]) -> i64 {
        self.is_changed = false;
        (self.compute(top) * self.known.unit) as i64
    }
}
