//! Single features for Python: values that are kept, and rounds one by one.

use super::booster::Booster;
use super::door::detached;
use super::errors::to_python;
use super::metrics::Judging;
use super::neural::RawDataset;
use super::trainer::Losing;
use crate::boosting::{EarlyStopping, LambdaBoostPlan, LambdaBoostTrainer as Inner, StopReason};
use crate::error::{Error, Result};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Everything but the training set: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct FeaturePlanned {
    num_rounds: usize,
    learning_rate: f64,
    seed: u64,
    objective: Losing,
    valid: Vec<(String, Py<RawDataset>)>,
    metrics: Vec<String>,
    judging: Judging,
    /// Rounds, the place of the set, the place of the metric.
    patience: Option<(usize, usize, usize)>,
    base: Option<Py<Booster>>,
    num_threads: Option<usize>,
}

/// Training, feature by feature.
#[pyclass(frozen)]
pub(super) struct FeatureTrainer {
    inner: Mutex<Inner>,
    num_threads: Option<usize>,
}

impl FeaturePlanned {
    /// The plan as the core takes it.
    fn plan(&self) -> Result<LambdaBoostPlan> {
        let taken = |(name, set): &(String, Py<RawDataset>)| Ok((name.clone(), set.get().take()?));
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
impl FeatureTrainer {
    #[new]
    fn new(py: Python<'_>, dataset: &RawDataset, planned: FeaturePlanned) -> PyResult<Self> {
        let plan = planned.plan().map_err(|error| to_python(py, &error))?;
        let data = dataset.take().map_err(|error| to_python(py, &error))?;
        let num_threads = planned.num_threads;
        let made = detached(py, num_threads, |interrupt| Inner::new(data, plan, interrupt))?;
        Ok(Self { inner: Mutex::new(made), num_threads })
    }

    /// Adds the next feature; None once training has ended.
    fn next_round(&self, py: Python<'_>) -> PyResult<Option<PickedFacts>> {
        let picked =
            detached(py, self.num_threads, |interrupt| self.lock()?.next_round(interrupt))?;
        Ok(picked.map(|p| (p.number, p.feature, p.coefficient, p.values, p.is_best)))
    }

    /// The model of the first rounds.
    fn booster(&self, py: Python<'_>, rounds: usize) -> PyResult<Booster> {
        let model = self.lock().and_then(|trainer| trainer.model(rounds));
        model.map(Booster::of).map_err(|error| to_python(py, &error))
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
        self.look(py, Inner::best_round)
    }

    /// Whether nothing fits any more.
    #[getter]
    fn is_spent(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |trainer| trainer.end() == Some(StopReason::Nothing))
    }
}

impl FeatureTrainer {
    /// Not waited for: who holds it may be waiting for the interpreter.
    fn lock(&self) -> Result<MutexGuard<'_, Inner>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::internal("a trainer was used while a round was under way"))
            }
        }
    }

    fn look<T>(&self, py: Python<'_>, take: impl FnOnce(&Inner) -> T) -> PyResult<T> {
        self.lock().map(|trainer| take(&trainer)).map_err(|error| to_python(py, &error))
    }
}
