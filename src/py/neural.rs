//! Nets for Python: raw datasets, and training epoch by epoch.

use super::arrays::{ReadArgs, TableArg};
use super::booster::PyBooster;
use super::dataset::RowArgs;
use super::errors::to_python;
use super::gil::detached;
use super::params::parsed;
use super::trainer::Preferences;
use crate::data;
use crate::error::{Error, Result};
use crate::model::{Component, Mlp, Model, Part};
use crate::neural::{self, NetEvaluationSet, NetLoss, NetPlan, Patience};
use crate::settings::NetTrainOptions;
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

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

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct NetPlanArgs<'py> {
    params: Bound<'py, PyDict>,
    preferences: Option<Preferences>,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
}

impl NetPlanArgs<'_> {
    /// The plan as the core takes it.
    fn plan(&self, options: NetTrainOptions) -> Result<NetPlan> {
        let NetTrainOptions { net, run, loss, labels } = options;
        let loss = if let Some(preferences) = &self.preferences {
            NetLoss::of_preferences(preferences.listed(), loss.sigma)
        } else {
            let first = self.metrics.first().map(String::as_str);
            let options = loss.options(&labels, first, net.seed)?;
            NetLoss::new(options.kind, options.lambda)?
        };
        let evaluation_set = |(name, set): &(String, Py<PyRawDataset>)| {
            Ok(NetEvaluationSet { name: name.clone(), data: set.get().take()? })
        };
        let evaluation_sets: Vec<_> =
            self.valid.iter().map(evaluation_set).collect::<Result<_>>()?;
        let metrics = self.metrics.iter().filter(|_| !evaluation_sets.is_empty());
        let patience = |epochs| Patience {
            epochs,
            restarts: run.restarts,
            factor: run.restart_factor,
            set: 0,
            metric: 0,
        };
        Ok(NetPlan {
            params: net,
            loss,
            metrics: metrics.map(|name| labels.metric(name)).collect::<Result<_>>()?,
            patience: run.patience.filter(|_| !evaluation_sets.is_empty()).map(patience),
            evaluation_sets,
        })
    }
}

/// Training, epoch by epoch.
#[pyclass(frozen, name = "NetTrainer")]
pub(super) struct PyNetTrainer {
    inner: Mutex<neural::NetTrainer>,
    num_threads: Option<usize>,
}

/// The number of an epoch, its values, whether it is the best, its learning rate, and whether the
/// next one starts from the best weights.
type EpochFacts = (usize, Vec<f64>, bool, f64, bool);

#[pymethods]
impl PyNetTrainer {
    #[new]
    fn new(py: Python<'_>, dataset: &PyRawDataset, planned: NetPlanArgs<'_>) -> PyResult<Self> {
        let options: NetTrainOptions = parsed(&planned.params)?;
        let num_threads = options.run.num_threads;
        let plan = planned.plan(options).map_err(|error| to_python(py, &error))?;
        let data = dataset.take().map_err(|error| to_python(py, &error))?;
        let made =
            detached(py, num_threads, |interrupt| neural::NetTrainer::new(data, plan, interrupt))?;
        Ok(Self { inner: Mutex::new(made), num_threads })
    }

    /// Runs the next epoch; None once training has ended.
    fn next_epoch(&self, py: Python<'_>) -> PyResult<Option<EpochFacts>> {
        let epoch = detached(py, self.num_threads, |interrupt| self.lock()?.next_epoch(interrupt))?;
        Ok(epoch.map(|epoch| {
            let neural::Epoch { number, values, is_best, learning_rate, restarts } = epoch;
            (number, values, is_best, learning_rate, restarts)
        }))
    }

    /// The net with the best weights so far, or with the latest without early stopping.
    fn booster(&self, py: Python<'_>) -> PyResult<PyBooster> {
        let model = self.lock().and_then(|trainer| trainer.model());
        model.map(PyBooster::of).map_err(|error| to_python(py, &error))
    }

    /// The set and the metric of each value of an epoch.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let owned = |(set, metric): (&str, String)| (set.to_owned(), metric);
        self.look(py, |trainer| trainer.names().map(owned).collect())
    }

    /// The values of each epoch.
    fn history(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        self.look(py, |trainer| trainer.history().to_vec())
    }

    /// The epoch of the best value.
    #[getter]
    fn best_epoch(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.look(py, neural::NetTrainer::best_epoch)
    }

    /// How often training was restarted from the best weights.
    #[getter]
    fn num_restarts(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, neural::NetTrainer::num_restarts)
    }
}

impl PyNetTrainer {
    /// Does not wait for the lock: the thread that has it may be waiting for the GIL.
    fn lock(&self) -> Result<MutexGuard<'_, neural::NetTrainer>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::internal("a trainer was used while an epoch was under way"))
            }
        }
    }

    fn look<T>(&self, py: Python<'_>, take: impl FnOnce(&neural::NetTrainer) -> T) -> PyResult<T> {
        self.lock().map(|trainer| take(&trainer)).map_err(|error| to_python(py, &error))
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
