//! LambdaBoost for Python: training with single features as weak learners, round by round.

use super::booster::PyBooster;
use super::errors::to_python;
use super::gil::detached;
use super::metrics::MetricArgs;
use super::neural::PyRawDataset;
use super::trainer::Losing;
use crate::boosting::{EarlyStopping, LambdaBoostPlan, LambdaBoostTrainer, StopReason};
use crate::error::{Error, Result};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Everything but the training set: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct FeaturePlanArgs {
    num_rounds: usize,
    learning_rate: f64,
    seed: u64,
    objective: Losing,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
    judging: MetricArgs,
    /// Rounds, the place of the set, the place of the metric.
    patience: Option<(usize, usize, usize)>,
    base: Option<Py<PyBooster>>,
    num_threads: Option<usize>,
}

/// Training, feature by feature.
#[pyclass(frozen, name = "FeatureTrainer")]
pub(super) struct PyFeatureTrainer {
    inner: Mutex<LambdaBoostTrainer>,
    num_threads: Option<usize>,
}

impl FeaturePlanArgs {
    /// The plan of the core.
    fn plan(&self) -> Result<LambdaBoostPlan> {
        let taken =
            |(name, set): &(String, Py<PyRawDataset>)| Ok((name.clone(), set.get().take()?));
        let metrics = self.metrics.iter().map(|name| self.judging.metric(name));
        let patience = |(rounds, set, metric)| EarlyStopping { rounds, set, metric };
        Ok(LambdaBoostPlan {
            num_rounds: self.num_rounds,
            learning_rate: self.learning_rate,
            loss: self.objective.built(&self.judging, self.seed)?,
            evaluation_sets: self.valid.iter().map(taken).collect::<Result<_>>()?,
            metrics: metrics.collect::<Result<_>>()?,
            patience: self.patience.map(patience),
            base: self.base.as_ref().map(|base| base.get().model().clone()),
        })
    }
}

/// The number of a round, its feature and coefficient, its values, and whether it is the best.
type PickedFacts = (usize, u32, f64, Vec<f64>, bool);

#[pymethods]
impl PyFeatureTrainer {
    #[new]
    fn new(py: Python<'_>, dataset: &PyRawDataset, planned: FeaturePlanArgs) -> PyResult<Self> {
        let plan = planned.plan().map_err(|error| to_python(py, &error))?;
        let data = dataset.take().map_err(|error| to_python(py, &error))?;
        let num_threads = planned.num_threads;
        let made =
            detached(py, num_threads, |interrupt| LambdaBoostTrainer::new(data, plan, interrupt))?;
        Ok(Self { inner: Mutex::new(made), num_threads })
    }

    /// Adds the next feature; None once training has ended.
    fn next_round(&self, py: Python<'_>) -> PyResult<Option<PickedFacts>> {
        let picked =
            detached(py, self.num_threads, |interrupt| self.lock()?.next_round(interrupt))?;
        Ok(picked.map(|p| (p.number, p.feature, p.coefficient, p.values, p.is_best)))
    }

    /// The model of the first rounds.
    fn booster(&self, py: Python<'_>, rounds: usize) -> PyResult<PyBooster> {
        let model = self.lock().and_then(|trainer| trainer.model(rounds));
        model.map(PyBooster::of).map_err(|error| to_python(py, &error))
    }

    /// The set and the metric of each value of a round.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let owned = |(set, metric): (&str, String)| (set.to_owned(), metric);
        self.look(py, |trainer| trainer.names().map(owned).collect())
    }

    /// The values of each round.
    fn history(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        self.look(py, |trainer| trainer.history().to_vec())
    }

    /// The feature of each round, and the weight that was added to it.
    fn path(&self, py: Python<'_>) -> PyResult<Vec<(u32, f64)>> {
        self.look(py, |trainer| trainer.path().to_vec())
    }

    /// The round of the best value.
    #[getter]
    fn best_round(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.look(py, LambdaBoostTrainer::best_round)
    }

    /// Whether no feature can improve the model any more.
    #[getter]
    fn is_spent(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |trainer| trainer.end() == Some(StopReason::Nothing))
    }
}

impl PyFeatureTrainer {
    /// Does not wait for the lock: the thread that has it may be waiting for the GIL.
    fn lock(&self) -> Result<MutexGuard<'_, LambdaBoostTrainer>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::internal("a trainer was used while a round was under way"))
            }
        }
    }

    fn look<T>(&self, py: Python<'_>, take: impl FnOnce(&LambdaBoostTrainer) -> T) -> PyResult<T> {
        self.lock().map(|trainer| take(&trainer)).map_err(|error| to_python(py, &error))
    }
}
