//! DCG@k = sum over ranks p <= k of gain / log2(1 + p) (Järvelin and Kekäläinen 2002, with the
//! discount of Burges et al. 2005).

use crate::metric::definition::{LabelUse, MetricDefinition, Normaliser};
use crate::metric::discounted_sum;
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;

#[derive(Debug)]
pub(super) struct Dcg;

/// 1/log2(1 + rank) of a rank counted from 0.
pub(super) fn discount(rank: usize) -> f64 {
    ((rank + 2) as f64).log2().recip()
}

impl MetricDefinition for Dcg {
    fn name(&self) -> &'static str {
        "dcg"
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Gain
    }

    fn normaliser(&self) -> Normaliser {
        Normaliser::One
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        discounted_sum::sum(metric, ranking, scratch)
    }

    fn upper_bound(&self, metric: &PreparedMetric, labels: &[f32]) -> f64 {
        labels.iter().map(|&label| metric.gain(label)).sum()
    }

    fn discount(&self, rank: usize) -> Option<f64> {
        Some(discount(rank))
    }
}
