//! LambdaBoost for Python: training with single features as weak learners, round by round.

use super::booster::PyBooster;
use super::errors::to_python;
use super::gil::detached;
use super::neural::PyRawDataset;
use super::params::parsed;
use crate::boosting::{
    EarlyStopping, LambdaBoostPlan, LambdaBoostTrainer, StopReason, TrainingLoss,
};
use crate::error::{Error, Result};
use crate::settings::FeatureTrainOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct FeaturePlanArgs<'py> {
    params: Bound<'py, PyDict>,
    valid: Vec<(String, Py<PyRawDataset>)>,
    metrics: Vec<String>,
    base: Option<Py<PyBooster>>,
}

/// Training, feature by feature.
#[pyclass(frozen, name = "FeatureTrainer")]
pub(super) struct PyFeatureTrainer {
    inner: Mutex<LambdaBoostTrainer>,
    num_threads: Option<usize>,
}

impl FeaturePlanArgs<'_> {
    /// The plan as the core takes it.
    fn plan(&self, options: &FeatureTrainOptions) -> Result<LambdaBoostPlan> {
        let (labels, rounds) = (&options.labels, &options.rounds);
        let first = self.metrics.first().map(String::as_str);
        let loss = options.loss.options(labels, first, rounds.seed)?;
        let taken =
            |(name, set): &(String, Py<PyRawDataset>)| Ok((name.clone(), set.get().take()?));
        let evaluation_sets: Vec<_> = self.valid.iter().map(taken).collect::<Result<_>>()?;
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

/// The number of a round, its feature and coefficient, its values, and whether it is the best.
type PickedFacts = (usize, u32, f64, Vec<f64>, bool);

#[pymethods]
impl PyFeatureTrainer {
    #[new]
    fn new(py: Python<'_>, dataset: &PyRawDataset, planned: FeaturePlanArgs<'_>) -> PyResult<Self> {
        let options: FeatureTrainOptions = parsed(&planned.params)?;
        let plan = planned.plan(&options).map_err(|error| to_python(py, &error))?;
        let data = dataset.take().map_err(|error| to_python(py, &error))?;
        let num_threads = options.rounds.num_threads;
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
