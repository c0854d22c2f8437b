//! Recall: the relevant documents above the cut, divided by all relevant documents. As `trec_eval`
//! computes it, in expectation over the orders of tied documents.

use super::relevance;
use crate::metric::definition::{LabelUse, MetricDefinition, Normaliser};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;

#[derive(Debug)]
pub(super) struct Recall;

impl MetricDefinition for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn other_names(&self) -> &'static [&'static str] {
        &["r"]
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Relevance
    }

    fn normaliser(&self) -> Normaliser {
        Normaliser::RelevantDocs
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, _scratch: &mut MetricScratch) -> f64 {
        relevance::hits(ranking, metric.relevant_from(), metric.cut())
    }

    fn needs_cut(&self) -> bool {
        true
    }

    fn discount(&self, _rank: usize) -> Option<f64> {
        Some(1.0)
    }
}
