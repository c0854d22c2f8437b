//! A metric with its labels checked and its scales fixed, and its value for one ranking.

use super::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use super::discounts::Discounts;
use super::gains::{Gains, LabelFacts};
use super::ranking::Ranking;
use super::registry::{err, pairwise};
use super::{Empty, Metric};
use crate::error::Result;

/// A metric whose labels are checked and whose scales are fixed.
#[derive(Debug, Clone)]
pub(crate) struct PreparedMetric {
    pub(crate) metric: Metric,
    pub(crate) gains: Gains,
    /// How the metric reads labels.
    pub(crate) facts: MetricFacts,
    /// What gains are divided by to be probabilities of satisfaction.
    top: Option<f64>,
    /// For a mean over cuts: the metric at each.
    single_cuts: Vec<PreparedMetric>,
}

/// Buffers and tables for one thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricScratch {
    pub(crate) discounts: Discounts,
    pub(super) tied_products: err::TiedProducts,
    pub(super) level_counter: pairwise::LevelCounter,
}

impl PreparedMetric {
    /// Checks all labels of the data against the metric.
    pub(crate) fn new(metric: &Metric, labels: &[f32], facts: LabelFacts) -> Result<Self> {
        let convention = metric.convention();
        let gains = Gains::new(&convention.gain);
        let facts_of_metric = metric.definition().facts();
        let mut top = None;
        if matches!(facts_of_metric.label_use, LabelUse::Gain | LabelUse::Satisfaction) {
            gains.check(&convention.gain, labels, facts)?;
        }
        if facts_of_metric.label_use == LabelUse::Satisfaction {
            top = Some(gains.top(convention, labels, facts)?);
        }
        let single_cuts = metric.single_cuts().map(|metric| Self::new(&metric, labels, facts));
        let single_cuts = single_cuts.collect::<Result<_>>()?;
        Ok(Self { metric: metric.clone(), gains, facts: facts_of_metric, top, single_cuts })
    }

    /// The definition of the metric.
    pub(crate) fn definition(&self) -> &dyn MetricDefinition {
        self.metric.definition()
    }

    /// Whether queries of one label are left out.
    fn skips_one_label(&self) -> bool {
        self.metric.convention().empty == Empty::SkipOneLabel
    }

    /// The number of ranks that count.
    pub(crate) fn cut(&self) -> usize {
        self.metric.cut().unwrap_or(usize::MAX)
    }

    /// The smallest label that is relevant.
    pub(crate) fn relevant_from(&self) -> f32 {
        self.metric.convention().relevant_from
    }

    /// The probability that a document with this label satisfies the user (ERR): `gain(label) /
    /// (gain(max_label) + 1)`, which is `(2^l - 1) / 2^lmax` for the gain 2^l - 1, and below 1 for every gain.
    pub(crate) fn satisfaction(&self, label: f32) -> f64 {
        // Rounding alone could make it 1, for linear gains above 2^53; the deltas divide by its complement.
        let below_one = |top: f64| (self.gains.of(label) / top).min(1.0 - f64::EPSILON / 2.0);
        self.top.map_or(0.0, below_one)
    }

    /// What a document adds at a rank of discount 1, in a sum of gains times discounts.
    pub(crate) fn gain(&self, label: f32) -> f64 {
        match self.facts.label_use {
            LabelUse::Gain | LabelUse::Satisfaction => self.gains.of(label),
            _ => f64::from(u8::from(label >= self.relevant_from())),
        }
    }

    /// The metric at each of its cuts, if it is a mean over several; else none.
    pub(crate) fn single_cuts(&self) -> &[Self] {
        &self.single_cuts
    }

    /// What the sum of the query is divided by; `None` if nothing can be found in it. A sum over cuts,
    /// each divided already, is divided by their number.
    pub(crate) fn divisor(&self, ranking: &Ranking, scratch: &mut MetricScratch) -> Option<f64> {
        if let Some(single) = self.single_cuts.first() {
            return single.divisor(ranking, scratch).map(|_| self.single_cuts.len() as f64);
        }
        if self.skips_one_label() && ranking.levels().len() < 2 {
            return None;
        }
        let MetricFacts { normaliser, label_use, .. } = self.facts;
        let relevant = || ranking.num_at_least(self.relevant_from()) as f64;
        let divisor = match normaliser {
            Normaliser::Ideal => self.definition().ideal(self, ranking, scratch),
            Normaliser::RelevantDocs => relevant(),
            Normaliser::Ranks => self.metric.cut().unwrap_or(ranking.retrieved()).max(1) as f64,
            Normaliser::One => 1.0,
        };
        let found = match (normaliser, label_use) {
            (Normaliser::Ideal, _) | (_, LabelUse::Order) => divisor,
            (_, LabelUse::Relevance) => relevant(),
            (_, LabelUse::Gain | LabelUse::Satisfaction) => {
                self.gains.of(ranking.levels().first().map_or(0.0, |level| level.label))
            }
        };
        (found > 0.0).then_some(divisor)
    }

    /// The value of the query; NaN if it is skipped.
    pub(crate) fn value(&self, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        match self.divisor(ranking, scratch) {
            Some(divisor) => self.sum(ranking, scratch) / divisor,
            None => self.metric.convention().empty_value(),
        }
    }

    /// The value of a query in which something can be found, before it is divided.
    pub(super) fn sum(&self, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        if self.single_cuts.is_empty() {
            return self.definition().sum(self, ranking, scratch);
        }
        self.single_cuts.iter().map(|single| single.value(ranking, scratch)).sum()
    }

    /// A number that the value of a query with these labels never exceeds; 0 for a query that does
    /// not count.
    pub(crate) fn upper_bound(&self, labels: &[f32]) -> f64 {
        let differ = || labels.iter().any(|label| *label != labels[0]);
        let can_be_found = match self.facts.label_use {
            LabelUse::Order => differ(),
            _ if self.skips_one_label() && !differ() => false,
            _ => labels.iter().any(|&label| self.gain(label) > 0.0),
        };
        match (can_be_found, self.metric.convention().empty) {
            (true, _) => self.definition().upper_bound(self, labels),
            (false, Empty::One) => 1.0,
            (false, _) => 0.0,
        }
    }
}
