//! The metric of one query while its list changes, in whole units.
//!
//! A sum of floats would depend on the order of events and of queries. So each query's value, times
//! its weight, is a whole number of *units*, small enough that the values of all queries fit 62 bits:
//! sums are exact in any order, and a change that is undone leaves nothing behind.
//!
//! Where a doc is worth its gain times the discount of its rank (DCG, NDCG, precision and recall
//! with ties by expectation) an exchange costs O(1): docs whose lines are the same each count with
//! the mean of their gains. All other metrics are asked anew after each alpha at which docs of
//! different labels were exchanged, at the price of their own pass over the list.

use super::lines::Twins;
use crate::error::Result;
use crate::metric::{LabelFacts, Metric, MetricScratch, PreparedMetric, Ranking, Ties};

/// What a walk tells of its exchanges.
pub(super) trait Tally {
    /// The docs of this rank and the next change places.
    fn swap(&mut self, rank: usize, upper: u32, lower: u32);
    /// The doc of the last rank leaves the list for another.
    fn enter(&mut self, last: usize, leaving: u32, entering: u32);
    /// Whether the value may be another than when it was last asked for.
    fn is_touched(&self) -> bool;
    /// The value of the list in units.
    fn value(&mut self, top: &[u32]) -> i64;
}

/// A query's labels and what counts of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) labels: &'a [f32],
    /// Units a value of 1 in this query.
    pub(super) unit: f64,
}

/// The metric made ready: which labels differ for it and which way of counting it takes.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) prepared: PreparedMetric,
    /// The metric is a sum of gains times discounts.
    pub(super) is_sum: bool,
}

impl Rules {
    pub(super) fn new(metric: &Metric, labels: &[f32]) -> Result<Self> {
        let prepared = PreparedMetric::new(metric, labels, LabelFacts::scan(labels)?)?;
        let is_sum = prepared.definition().discount(0).is_some()
            && metric.convention().ties == Ties::Expected;
        Ok(Self { prepared, is_sum })
    }

    /// How many ranks count in a query of `num_docs`.
    pub(super) fn ranks(&self, num_docs: usize) -> usize {
        self.prepared.cut().min(num_docs)
    }
}

/// The value of a query whose docs no order tells apart, or `None` if the order counts.
///
/// Values are NaN where the query is skipped. Leaves the query's labels in `ranking`.
pub(super) fn constant(rules: &Rules, labels: &[f32], buffers: &mut Buffers) -> Option<f64> {
    let Buffers { ranking, scratch, .. } = buffers;
    ranking.begin(labels);
    let empty = rules.prepared.divisor(ranking, scratch).is_none();
    if !empty && ranking.levels().len() > 1 {
        return None;
    }
    ranking.push_block(labels.iter().copied());
    Some(rules.prepared.value(ranking, scratch))
}

/// What tallies keep from query to query.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffers {
    ranking: Ranking,
    scratch: MetricScratch,
    /// Units a doc is worth at discount 1.
    gains: Vec<f64>,
}

/// A sum of gains times discounts.
#[derive(Debug)]
pub(super) struct Sum<'a> {
    gains: &'a [f64],
    discounts: &'a [f64],
    value: i64,
    is_new: bool,
}

impl<'a> Sum<'a> {
    /// For the query that [`constant`] was last asked about.
    pub(super) fn new(
        rules: &Rules,
        known: Known<'_>,
        twins: &Twins,
        buffers: &'a mut Buffers,
    ) -> Self {
        let Buffers { ranking, scratch, gains } = buffers;
        let ranks = rules.ranks(known.labels.len());
        let divisor = rules.prepared.divisor(ranking, scratch).unwrap_or(1.0);
        let unit = known.unit / divisor;
        gains.clear();
        gains.extend(known.labels.iter().map(|&label| rules.prepared.gain(label) * unit));
        if twins.any {
            for doc in 0..known.labels.len() as u32 {
                let set = twins.of(doc);
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

    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
    #[inline(always)]
    fn worth(&self, doc: u32, rank: usize) -> i64 {
        (self.gains[doc as usize] * self.discounts[rank]) as i64
    }
}

impl Tally for Sum<'_> {
    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
    #[inline(always)]
    fn swap(&mut self, rank: usize, upper: u32, lower: u32) {
        if self.gains[upper as usize] != self.gains[lower as usize] {
            let before = self.worth(upper, rank).wrapping_add(self.worth(lower, rank + 1));
            let after = self.worth(lower, rank).wrapping_add(self.worth(upper, rank + 1));
            self.value = self.value.wrapping_add(after.wrapping_sub(before));
        }
    }

    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
    #[inline(always)]
    fn enter(&mut self, last: usize, leaving: u32, entering: u32) {
        let delta = self.worth(entering, last).wrapping_sub(self.worth(leaving, last));
        self.value = self.value.wrapping_add(delta);
    }

    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
    #[inline(always)]
    fn is_touched(&self) -> bool {
        true
    }

    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
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

/// Any metric, asked anew.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    rules: &'a Rules,
    known: Known<'a>,
    twins: &'a Twins,
    buffers: &'a mut Buffers,
    is_touched: bool,
}

impl<'a> Asked<'a> {
    /// For the query that [`constant`] was last asked about.
    pub(super) fn new(
        rules: &'a Rules,
        known: Known<'a>,
        twins: &'a Twins,
        buffers: &'a mut Buffers,
    ) -> Self {
        Self { rules, known, twins, buffers, is_touched: true }
    }

    fn ask(&mut self, top: &[u32]) -> f64 {
        let Buffers { ranking, scratch, .. } = &mut *self.buffers;
        let labels = self.known.labels;
        let label = |&doc: &u32| labels[doc as usize];
        let ranks = self.rules.ranks(labels.len());
        let tied = self.rules.prepared.metric.convention().ties == Ties::Expected;
        ranking.clear_blocks();
        let mut rank = 0;
        while rank < top.len() {
            let set = if self.twins.any { self.twins.of(top[rank]) } else { &top[rank..=rank] };
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

impl Tally for Asked<'_> {
    fn swap(&mut self, _rank: usize, upper: u32, lower: u32) {
        let labels = self.known.labels;
        self.is_touched |= labels[upper as usize] != labels[lower as usize] || self.twins.any;
    }

    fn enter(&mut self, last: usize, leaving: u32, entering: u32) {
        self.swap(last, leaving, entering);
    }

    fn is_touched(&self) -> bool {
        self.is_touched
    }

    fn value(&mut self, top: &[u32]) -> i64 {
        self.is_touched = false;
        (self.ask(top) * self.known.unit) as i64
    }
}
