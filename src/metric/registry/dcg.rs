//! DCG@k = sum over ranks p <= k of gain / log2(1 + p) (Järvelin and Kekäläinen 2002, with the
//! discount of Burges et al. 2005).

use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::prepared::PreparedMetric;

#[derive(Debug)]
pub(super) struct Dcg;

/// 1/log2(1 + rank) of a rank counted from 0.
pub(super) fn discount(rank: usize) -> f64 {
    ((rank + 2) as f64).log2().recip()
}

impl MetricDefinition for Dcg {
    fn facts(&self) -> MetricFacts {
        MetricFacts::new("dcg", LabelUse::Gain, Normaliser::One)
    }

    fn upper_bound(&self, metric: &PreparedMetric, labels: &[f32]) -> f64 {
        labels.iter().map(|&label| metric.gain(label)).sum()
    }

    fn discount(&self, rank: usize) -> Option<f64> {
        Some(discount(rank))
    }
}
