//! The plan of a training of LambdaBoost, from Python.

use super::booster::PyBooster;
use super::neural::{PyRawDataset, evaluation_plan};
use crate::boosting::{LambdaBoostPlan, TrainingLoss};
use crate::error::Result;
use crate::settings::FeatureTrainOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct FeaturePlanArgs<'py> {
    pub(super) params: Bound<'py, PyDict>,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
    base: Option<Py<PyBooster>>,
}

impl FeaturePlanArgs<'_> {
    /// The plan as the core takes it.
    pub(super) fn plan(&self, options: &FeatureTrainOptions) -> Result<LambdaBoostPlan> {
        let (labels, rounds) = (&options.labels, &options.rounds);
        let first = self.metrics.first().map(String::as_str);
        let loss = options.loss.options(labels, first, rounds.seed)?;
        let (evaluation_sets, metrics, patience) =
            evaluation_plan(&self.valid, &self.metrics, labels, rounds.early_stopping)?;
        Ok(LambdaBoostPlan {
            num_rounds: rounds.num_rounds,
            learning_rate: rounds.learning_rate,
            loss: TrainingLoss::new(&loss)?,
            metrics,
            patience,
            evaluation_sets,
            base: self.base.as_ref().map(|base| base.get().model().clone()),
        })
    }
}
