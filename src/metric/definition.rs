//! The trait that each file in `registry/` implements: what the library asks of a metric.
//!
//! Only the facts and the value, or the discounts that it follows from, are required. The other answers
//! have defaults that are exact and slow, so that a new metric evaluates, compares, trains and
//! combines as soon as its value is written; each fast answer can be added alone.
//!
//! | question | asked by | default |
//! | --- | --- | --- |
//! | value of a ranking | evaluation | from the discounts |
//! | ideal value | normalisation | the value of the ranking by falling label |
//! | discount of a rank | all below | none: the metric is no sum of gains times discounts |
//! | swap deltas | `SwapDelta`, `LambdaRank` | from the discounts, or evaluate after the swap minus before |
//! | pair weights | `LambdaRank` | from the discounts, or swap deltas, a row of pairs at a time |
//! | update | the combiner's sweep | from the discounts, or evaluate anew |
//!
//! None of these methods is called per pair of documents: a caller asks once a query or once a row of
//! pairs, and the loops are inside.

use super::discounted_sum::{self, DiscountSwaps};
use super::pair_weights::PairWeightTables;
use super::prepared::{MetricScratch, PreparedMetric};
use super::ranking::Ranking;
use super::swap_delta::{Reevaluation, SwapTable};
use super::{Measure, Metric};
use std::fmt::Debug;

/// How a metric reads labels. It decides which labels are valid and in which queries nothing can be
/// found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabelUse {
    /// As gains ([`Gain`](super::Gain)).
    Gain,
    /// As probabilities of satisfaction: gains relative to that of the largest label of the data.
    Satisfaction,
    /// As relevant or not, by [`Convention::relevant_from`](super::Convention::relevant_from).
    Relevance,
    /// By their order only.
    Order,
}

/// What the sum over ranks is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Normaliser {
    /// The sum of the ideal order.
    Ideal,
    /// The number of relevant documents of the query.
    RelevantDocs,
    /// The cut; without one, the number of ranked documents.
    Ranks,
    /// Nothing.
    One,
}

/// The parameter in a metric's name, such as `p` in `rbp(p=0.8)`; its value is above `low` and below
/// `high`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetricParameter {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// How `LambdaRank` weighs a pair of documents by what their exchange changes the metric by.
#[derive(Clone, Copy)]
pub(crate) enum PairWeights {
    /// The metric is a sum of gains times discounts: from [`MetricDefinition::discount`].
    Discounts,
    /// From tables that the metric fills for each query.
    Tables(&'static PairWeightTables),
    /// From its swap deltas, a row of pairs at a time.
    SwapDeltas,
    /// All pairs weigh the same: there is no metric.
    Equal,
}

impl PairWeights {
    /// Whether tied documents count with their expectation, exactly.
    pub(crate) fn expects_ties(self) -> bool {
        match self {
            Self::Discounts | Self::Equal => true,
            Self::Tables(tables) => tables.expect.is_some(),
            Self::SwapDeltas => false,
        }
    }
}

/// What a metric is called, and how it reads labels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetricFacts {
    /// The name, without parameter and cut.
    pub(crate) name: &'static str,
    /// What other tools call it, in lower case and without a cut.
    pub(crate) other_names: &'static [&'static str],
    /// How it reads labels.
    pub(crate) label_use: LabelUse,
    /// What [`MetricDefinition::sum`] is divided by.
    pub(crate) normaliser: Normaliser,
    /// Whether its value means little without a cut, so that training by it keeps the cut.
    pub(crate) needs_cut: bool,
}

impl MetricFacts {
    pub(super) fn new(name: &'static str, label_use: LabelUse, normaliser: Normaliser) -> Self {
        Self { name, other_names: &[], label_use, normaliser, needs_cut: false }
    }
}

/// A metric: its name, its value and the fast ways to update it.
pub(crate) trait MetricDefinition: Debug + Send + Sync {
    /// Its name, and how it reads labels.
    fn facts(&self) -> MetricFacts;

    /// The parameter that the name contains, if it has one.
    fn parameter(&self) -> Option<MetricParameter> {
        None
    }

    /// The metric with another value of its parameter, which is in range.
    fn with_parameter(&self, _value: f64) -> Option<Measure> {
        None
    }

    /// The expected value of a ranking before normalisation, down to the cut.
    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        discounted_sum::sum(metric, ranking, scratch)
    }

    /// The sum of the ideal order; only metrics with [`Normaliser::Ideal`] are asked.
    fn ideal(
        &self,
        metric: &PreparedMetric,
        ranking: &Ranking,
        scratch: &mut MetricScratch,
    ) -> f64 {
        self.sum(metric, &ranking.ideal(), scratch)
    }

    /// A number that the value of a query with these labels never exceeds.
    fn upper_bound(&self, _metric: &PreparedMetric, _labels: &[f32]) -> f64 {
        1.0
    }

    /// For a sum of gains times discounts: the discount of a rank, counted from 0.
    fn discount(&self, _rank: usize) -> Option<f64> {
        None
    }

    /// An empty table of swap deltas.
    fn swap_table(&self) -> Box<dyn SwapTable> {
        match self.discount(0) {
            Some(_) => Box::new(DiscountSwaps::default()),
            None => Box::new(Reevaluation::default()),
        }
    }

    /// How `LambdaRank` weighs pairs.
    fn pair_weights(&self) -> PairWeights {
        if self.discount(0).is_some() { PairWeights::Discounts } else { PairWeights::SwapDeltas }
    }
}

impl Metric {
    /// An empty table of swap deltas.
    pub(super) fn swap_table(&self) -> Box<dyn SwapTable> {
        match (self.first_cut(), self.definition().discount(0)) {
            (Some(_), None) => Box::new(Reevaluation::default()),
            _ => self.definition().swap_table(),
        }
    }

    /// How `LambdaRank` weighs pairs.
    pub(crate) fn pair_weights(&self) -> PairWeights {
        match self.first_cut() {
            Some(_) => PairWeights::SwapDeltas,
            None => self.definition().pair_weights(),
        }
    }

    /// The metric with the top of its label scale set to the largest label of the data, if it depends
    /// on it and the convention does not give it: values of parts of the data are then on one scale.
    pub(crate) fn with_largest_label(&self, largest: f32) -> crate::Result<Self> {
        let mut convention = self.convention().clone();
        if self.definition().facts().label_use == LabelUse::Satisfaction {
            convention.max_label = convention.max_label.or(Some(largest));
        }
        self.with_convention(&convention)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Convention, LabelFacts, Ties};

    #[test]
    fn every_ideal_is_the_value_of_the_ranking_by_label() {
        let labels = [2.0, 0.0, 3.0, 2.0, 0.0, 1.0];
        let mut ranking = Ranking::default();
        ranking.rank(&[0.5, 2.0, 0.1, f64::NEG_INFINITY, 2.0, 1.0], &labels, Ties::Expected, 6);
        for (measure, cut) in Measure::ALL.into_iter().flat_map(|m| [(m, None), (m, Some(2))]) {
            let metric = Metric::new(measure, cut, Convention::default()).unwrap();
            let facts = LabelFacts::scan(&labels).unwrap();
            let metric = PreparedMetric::new(&metric, &labels, facts).unwrap();
            if metric.definition().facts().normaliser == Normaliser::Ideal {
                let mut scratch = MetricScratch::default();
                let ideal = metric.definition().ideal(&metric, &ranking, &mut scratch);
                let slow = metric.definition().sum(&metric, &ranking.ideal(), &mut scratch);
                assert_eq!(ideal, slow, "{measure}");
            }
        }
    }
}
