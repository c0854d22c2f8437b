//! The plan of a training of LambdaBoost, from Python.

use super::booster::PyBooster;
use super::neural::{PyRawDataset, evaluation_sets};
use crate::boosting::{EarlyStopping, LambdaBoostPlan, TrainingLoss};
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
        let evaluation_sets = evaluation_sets(&self.valid)?;
        let metrics = self.metrics.iter().filter(|_| !evaluation_sets.is_empty());
        let patience = |rounds| EarlyStopping { rounds, set: 0, metric: 0 };
        Ok(LambdaBoostPlan {
            num_rounds: rounds.num_rounds,
            learning_rate: rounds.learning_rate,
            loss: TrainingLoss::new(&loss)?,
            metrics: metrics.map(|name| labels.metric(name)).collect::<Result<_>>()?,
            patience: rounds.early_stopping.filter(|_| !evaluation_sets.is_empty()).map(patience),
            evaluation_sets,
            base: self.base.as_ref().map(|base| base.get().model().clone()),
        })
    }
}
