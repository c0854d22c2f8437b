//! Recall: the relevant documents above the cut, divided by all relevant documents. As `trec_eval`
//! computes it, in expectation over the orders of tied documents.

use super::relevance;
use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;

#[derive(Debug)]
pub(super) struct Recall;

impl MetricDefinition for Recall {
    fn facts(&self) -> MetricFacts {
        MetricFacts {
            other_names: &["r"],
            needs_cut: true,
            ..MetricFacts::new("recall", LabelUse::Relevance, Normaliser::RelevantDocs)
        }
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, _scratch: &mut MetricScratch) -> f64 {
        relevance::hits(ranking, metric.relevant_from(), metric.cut())
    }

    fn discount(&self, _rank: usize) -> Option<f64> {
        Some(1.0)
    }
}
