//! The plan of a training on raw values, of `LambdaBoost` or a net, from Python.

use super::booster::PyBooster;
use super::neural::PyRawDataset;
use super::trainer::PreferenceArg;
use crate::Metric;
use crate::boosting::{LambdaBoostPlan, TrainingLoss};
use crate::error::Result;
use crate::neural::{NetLoss, NetPlan, Restarts};
use crate::rounds::{EarlyStopping, RawEvaluationSet};
use crate::settings::{FeatureTrainOptions, LabelOptions, NetTrainOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Everything but the data: the attributes of a Python object. A base is for `LambdaBoost`, preferences
/// are for nets.
#[derive(FromPyObject)]
pub(super) struct RawPlanArgs<'py> {
    pub(super) params: Bound<'py, PyDict>,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
    base: Option<Py<PyBooster>>,
    preferences: Option<Vec<PreferenceArg>>,
}

/// What is evaluated after each round: sets, metrics, and after how many rounds without a new best
/// value training ends.
type EvaluationPlan = (Vec<RawEvaluationSet>, Vec<Metric>, Option<EarlyStopping>);

impl RawPlanArgs<'_> {
    /// The plan of `LambdaBoost` as the core takes it.
    pub(super) fn features(&self, options: &FeatureTrainOptions) -> Result<LambdaBoostPlan> {
        let (labels, rounds) = (&options.labels, &options.rounds);
        let loss = options.loss.options(labels, self.first_metric(), rounds.seed)?;
        let (evaluation_sets, metrics, patience) =
            self.evaluation(labels, rounds.early_stopping)?;
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

    /// The plan of a net as the core takes it.
    pub(super) fn net(&self, options: NetTrainOptions) -> Result<NetPlan> {
        let NetTrainOptions { net: params, run, loss, labels } = options;
        let loss = if let Some(preferences) = &self.preferences {
            NetLoss::of_preferences(PreferenceArg::listed(preferences), loss.sigma)
        } else {
            NetLoss::new(loss.options(&labels, self.first_metric(), params.seed)?)?
        };
        let (evaluation_sets, metrics, patience) = self.evaluation(&labels, run.patience)?;
        let restarts =
            Restarts { most: run.restarts, factor: run.restart_factor, from: run.restart_from };
        Ok(NetPlan { params, loss, evaluation_sets, metrics, patience, restarts })
    }

    fn first_metric(&self) -> Option<&str> {
        self.metrics.first().map(String::as_str)
    }

    /// Takes the data of evaluation sets; without any, nothing is evaluated.
    fn evaluation(&self, labels: &LabelOptions, patience: Option<usize>) -> Result<EvaluationPlan> {
        let taken = |(name, set): &(String, Py<PyRawDataset>)| {
            Ok(RawEvaluationSet { name: name.clone(), data: set.get().take()? })
        };
        let taken = self.valid.iter().map(taken).collect::<Result<Vec<_>>>()?;
        if taken.is_empty() {
            return Ok((taken, Vec::new(), None));
        }
        let metrics = self.metrics.iter().map(|name| labels.metric(name)).collect::<Result<_>>()?;
        let patience = patience.map(EarlyStopping::after);
        Ok((taken, metrics, patience))
    }
}
