//! A metric made ready for given labels, and its value for one ranking.

use crate::error::Result;
use crate::metric::discounts::Discounts;
use crate::metric::gains::{Gains, LabelFacts, Satisfaction};
use crate::metric::ranking::Ranking;
use crate::metric::{Measure, Metric, dcg, err, pairwise, relevance};

/// A metric whose labels are checked and whose scales are fixed.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    pub(crate) metric: Metric,
    pub(crate) gains: Gains,
    pub(crate) satisfaction: Option<Satisfaction>,
}

/// Buffers and tables for one thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    pub(crate) discounts: Discounts,
    tied: err::Tied,
    counter: pairwise::Counter,
}

impl Judge {
    /// Checks all labels of the data against the metric.
    pub(crate) fn new(metric: &Metric, labels: &[f32], facts: LabelFacts) -> Result<Self> {
        let convention = metric.convention();
        let gains = Gains::new(&convention.gain);
        if matches!(metric.measure(), Measure::Ndcg | Measure::Dcg | Measure::Err) {
            gains.check(&convention.gain, labels, facts)?;
        }
        let satisfaction = match metric.measure() {
            Measure::Err => Some(Satisfaction::new(convention, &gains, labels, facts)?),
            _ => None,
        };
        Ok(Self { metric: metric.clone(), gains, satisfaction })
    }

    /// The last rank that counts.
    pub(crate) fn depth(&self) -> usize {
        self.metric.cut().unwrap_or(usize::MAX)
    }

    /// The probability that a doc with this label satisfies (ERR).
    pub(crate) fn stops(&self, label: f32) -> f64 {
        self.satisfaction.map_or(0.0, |s| s.of(self.gains.of(label)))
    }

    /// What the value is divided by: the ideal (NDCG, pairwise), the relevant docs (MAP, recall), the
    /// cut (precision) or 1; `None` if nothing can be found.
    pub(crate) fn divisor(&self, ranking: &Ranking, discounts: &mut Discounts) -> Option<f64> {
        let cut = self.depth();
        let relevant = ranking.num_at_least(self.metric.convention().relevant_from) as f64;
        let top = ranking.levels().first().map_or(0.0, |level| level.label);
        let (found, divisor) = match self.metric.measure() {
            Measure::Ndcg => {
                let num_docs = ranking.levels().iter().map(|level| level.count).sum::<usize>();
                let table = discounts.log(num_docs.min(cut));
                let ideal = dcg::ideal(ranking, &self.gains, table, cut);
                (ideal, ideal)
            }
            Measure::Dcg | Measure::Err => (self.gains.of(top), 1.0),
            Measure::Mrr => (relevant, 1.0),
            Measure::Map | Measure::Recall => (relevant, relevant),
            Measure::Precision => {
                let ranks = self.metric.cut().unwrap_or(ranking.retrieved()).max(1);
                (relevant, ranks as f64)
            }
            Measure::Pairwise => {
                let ideal = pairwise::ideal(ranking, cut);
                (ideal, ideal)
            }
        };
        (found > 0.0).then_some(divisor)
    }

    /// The value of the query; NaN if it is skipped.
    pub(crate) fn value(&self, ranking: &Ranking, scratch: &mut Scratch) -> f64 {
        let convention = self.metric.convention();
        let Some(divisor) = self.divisor(ranking, &mut scratch.discounts) else {
            return convention.empty_value();
        };
        let (cut, from) = (self.depth(), convention.relevant_from);
        let ranks = cut.min(ranking.retrieved());
        let discounts = &mut scratch.discounts;
        let value = match self.metric.measure() {
            Measure::Ndcg | Measure::Dcg => {
                dcg::dcg(ranking, &self.gains, discounts.log(ranks), cut)
            }
            Measure::Err => {
                let reciprocal = discounts.reciprocal(ranks);
                err::err(ranking, |l| self.stops(l), reciprocal, cut, &mut scratch.tied)
            }
            Measure::Map => {
                relevance::sum_of_precisions(ranking, from, discounts.reciprocal(ranks), cut)
            }
            Measure::Mrr => {
                relevance::reciprocal_rank(ranking, from, discounts.reciprocal(ranks), cut)
            }
            Measure::Precision | Measure::Recall => relevance::hits(ranking, from, cut),
            Measure::Pairwise => pairwise::pairs(ranking, cut, &mut scratch.counter),
        };
        value / divisor
    }
}
