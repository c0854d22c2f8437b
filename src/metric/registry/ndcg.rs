//! NDCG: DCG divided by the DCG of the ideal order (Järvelin and Kekäläinen 2002).

use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::discounted_sum;
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;

#[derive(Debug)]
pub(super) struct Ndcg;

impl MetricDefinition for Ndcg {
    fn facts(&self) -> MetricFacts {
        MetricFacts::new("ndcg", LabelUse::Gain, Normaliser::Ideal)
    }

    fn ideal(
        &self,
        metric: &PreparedMetric,
        ranking: &Ranking,
        scratch: &mut MetricScratch,
    ) -> f64 {
        discounted_sum::ideal(metric, ranking, scratch)
    }

    fn discount(&self, rank: usize) -> Option<f64> {
        Some(super::dcg::discount(rank))
    }
}
