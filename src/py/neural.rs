//! Nets for Python: raw datasets, the plan of a training, and weights.

use super::arrays::{ReadArgs, TableArg};
use super::booster::PyBooster;
use super::dataset::RowArgs;
use super::errors::to_python;
use super::gil::detached;
use super::trainer::Preferences;
use crate::data;
use crate::error::{Error, Result};
use crate::model::{Component, Mlp, Model, Part};
use crate::neural::{NetLoss, NetPlan, Restarts};
use crate::rounds::{EarlyStopping, RawEvaluationSet};
use crate::settings::NetTrainOptions;
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
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
    fn new(
        py: Python<'_>,
        block: TableArg<'_>,
        rows: RowArgs<'_>,
        reading: ReadArgs,
    ) -> PyResult<Self> {
        let cells = block.cells(py, reading.policy(py)?)?;
        let rows = rows.copied().map_err(|error| to_python(py, &error))?;
        let inner = detached(py, reading.num_threads, |interrupt| {
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

/// Takes the data of evaluation sets.
pub(super) fn evaluation_sets(
    sets: &[(String, Py<PyRawDataset>)],
) -> Result<Vec<RawEvaluationSet>> {
    let taken = |(name, set): &(String, Py<PyRawDataset>)| {
        Ok(RawEvaluationSet { name: name.clone(), data: set.get().take()? })
    };
    sets.iter().map(taken).collect()
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
        let NetTrainOptions { net, run, loss, labels } = options;
        let loss = if let Some(preferences) = &self.preferences {
            NetLoss::of_preferences(preferences.listed(), loss.sigma)
        } else {
            let first = self.metrics.first().map(String::as_str);
            NetLoss::new(loss.options(&labels, first, net.seed)?)?
        };
        let evaluation_sets = evaluation_sets(&self.valid)?;
        let metrics = self.metrics.iter().filter(|_| !evaluation_sets.is_empty());
        let patience = |rounds| EarlyStopping { rounds, set: 0, metric: 0 };
        Ok(NetPlan {
            params: net,
            loss,
            metrics: metrics.map(|name| labels.metric(name)).collect::<Result<_>>()?,
            patience: run.patience.filter(|_| !evaluation_sets.is_empty()).map(patience),
            restarts: Restarts { most: run.restarts, factor: run.restart_factor },
            evaluation_sets,
        })
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
pub(super) fn net_weights<'py>(
    py: Python<'py>,
    booster: &PyBooster,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let (_, mlp) = only_net(booster.model()).map_err(|error| to_python(py, &error))?;
    Ok(mlp.weights().to_pyarray(py))
}

/// The same net with other weights.
#[pyfunction]
pub(super) fn with_net_weights(
    py: Python<'_>,
    booster: &PyBooster,
    weights: PyReadonlyArray1<'_, f32>,
) -> PyResult<PyBooster> {
    let made = || {
        let model = booster.model();
        let (component, mlp) = only_net(model)?;
        let part = Part::Mlp(mlp.with_weights(&weights.as_array().to_vec())?);
        let mut other = Model::new(model.num_features());
        other.set_feature_names(model.feature_names().map(<[String]>::to_vec))?;
        other.set_intercept(model.intercept())?;
        other.add(Component { part, ..component.clone() })?;
        Ok(PyBooster::of(other))
    };
    made().map_err(|error: Error| to_python(py, &error))
}
