//! Precision: the relevant documents above the cut, divided by the cut; without a cut, by the number of
//! ranked documents. As `trec_eval` computes it, in expectation over the orders of tied documents.

use super::relevance;
use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;

#[derive(Debug)]
pub(super) struct Precision;

impl MetricDefinition for Precision {
    fn facts(&self) -> MetricFacts {
        MetricFacts {
            other_names: &["p", "prec"],
            needs_cut: true,
            ..MetricFacts::new("precision", LabelUse::Relevance, Normaliser::Ranks)
        }
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, _scratch: &mut MetricScratch) -> f64 {
        relevance::hits(ranking, metric.relevant_from(), metric.cut())
    }

    fn discount(&self, _rank: usize) -> Option<f64> {
        Some(1.0)
    }
}
