//! Evaluation sets with raw feature values, for learners that do not bin.

use crate::Interrupt;
use crate::data::RawDataset;
use crate::error::Result;
use crate::metric::{Mean, Metric, evaluate};

/// A data set with raw values that is evaluated after each round.
#[derive(Debug)]
pub struct RawEvaluationSet {
    /// Its name in the history.
    pub name: String,
    /// The documents.
    pub data: RawDataset,
}

/// The mean of each metric over the queries of a set.
pub(crate) fn metric_means(
    data: &RawDataset,
    metrics: &[Metric],
    scores: &[f64],
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let per_query = evaluate(metrics, scores, data.labels(), data.queries(), interrupt)?;
    let mean = |values: Vec<f64>| Ok(Mean::of(&values, data.query_weight())?.value);
    per_query.into_iter().map(mean).collect()
}
