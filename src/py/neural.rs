//! Nets for Python: raw datasets, the plan of a training, and weights.

use super::arrays::{ArrayArg, NewArray, ReadArgs, TableArg};
use super::booster::PyBooster;
use super::dataset::RowArgs;
use super::gil::detached;
use super::trainer::Preferences;
use crate::Metric;
use crate::data;
use crate::error::{Error, Result};
use crate::model::{Component, Mlp, Model, Part};
use crate::neural::{NetLoss, NetPlan, Restarts};
use crate::rounds::{EarlyStopping, RawEvaluationSet};
use crate::settings::{LabelOptions, NetTrainOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// Documents with raw values, until a trainer takes them.
#[pyclass(frozen, name = "RawDataset")]
pub(super) struct PyRawDataset {
    inner: Mutex<Option<data::RawDataset>>,
}

#[pymethods]
impl PyRawDataset {
    #[new]
    fn new(block: TableArg<'_>, rows: RowArgs, reading: ReadArgs) -> PyResult<Self> {
        let (cells, rows) = (block.cells(reading.policy()?)?, rows.data()?);
        let inner = detached(reading.num_threads, |interrupt| {
            data::RawDataset::new(&*cells, rows, interrupt)
        })?;
        Ok(Self { inner: Mutex::new(Some(inner)) })
    }
}

impl PyRawDataset {
    pub(super) fn take(&self) -> Result<data::RawDataset> {
        let taken = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| Error::internal("a set of values was used twice"))
    }
}

/// What is evaluated after each round: sets, metrics, and after how many rounds without a new best
/// value training ends.
pub(super) type EvaluationPlan = (Vec<RawEvaluationSet>, Vec<Metric>, Option<EarlyStopping>);

/// Takes the data of evaluation sets; without any, nothing is evaluated.
pub(super) fn evaluation_plan(
    sets: &[(String, Py<PyRawDataset>)],
    metrics: &[String],
    labels: &LabelOptions,
    patience: Option<usize>,
) -> Result<EvaluationPlan> {
    let taken = |(name, set): &(String, Py<PyRawDataset>)| {
        Ok(RawEvaluationSet { name: name.clone(), data: set.get().take()? })
    };
    let taken = sets.iter().map(taken).collect::<Result<Vec<_>>>()?;
    if taken.is_empty() {
        return Ok((taken, Vec::new(), None));
    }
    let metrics = metrics.iter().map(|name| labels.metric(name)).collect::<Result<_>>()?;
    let patience = patience.map(|rounds| EarlyStopping { rounds, set: 0, metric: 0 });
    Ok((taken, metrics, patience))
}

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct NetPlanArgs<'py> {
    pub(super) params: Bound<'py, PyDict>,
    preferences: Option<Preferences>,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
}

impl NetPlanArgs<'_> {
    /// The plan as the core takes it.
    pub(super) fn plan(&self, options: NetTrainOptions) -> Result<NetPlan> {
        let NetTrainOptions { net: params, run, loss, labels } = options;
        let loss = if let Some(preferences) = &self.preferences {
            NetLoss::of_preferences(preferences.listed(), loss.sigma)
        } else {
            let first = self.metrics.first().map(String::as_str);
            NetLoss::new(loss.options(&labels, first, params.seed)?)?
        };
        let (evaluation_sets, metrics, patience) =
            evaluation_plan(&self.valid, &self.metrics, &labels, run.patience)?;
        let restarts =
            Restarts { most: run.restarts, factor: run.restart_factor, from: run.restart_from };
        Ok(NetPlan { params, loss, evaluation_sets, metrics, patience, restarts })
    }
}

/// The net of a model that has nothing else.
fn only_net(model: &Model) -> Result<(&Component, &Mlp)> {
    match model.components() {
        [component @ Component { part: Part::Mlp(mlp), .. }] => Ok((component, mlp)),
        _ => Err(Error::param("model.net", "the model is not a net alone")),
    }
}

/// All weights of a net: of each layer the biases, then the weights.
#[pyfunction]
pub(super) fn net_weights(booster: &PyBooster) -> PyResult<NewArray<f32>> {
    let (_, mlp) = only_net(booster.model())?;
    Ok(NewArray(mlp.weights()))
}

/// The same net with other weights.
#[pyfunction]
pub(super) fn with_net_weights(booster: &PyBooster, weights: ArrayArg<f32>) -> PyResult<PyBooster> {
    let model = booster.model();
    let (component, mlp) = only_net(model)?;
    let part = Part::Mlp(mlp.with_weights(&weights.0)?);
    let mut other = Model::new(model.num_features());
    other.set_feature_names(model.feature_names().map(<[String]>::to_vec))?;
    other.set_intercept(model.intercept())?;
    other.add(Component { part, ..component.clone() })?;
    Ok(PyBooster::of(other))
}
