//! Training for Python: a plan, and its rounds one by one.

use super::booster::PyBooster;
use super::callables::{Function, FunctionMetric, FunctionObjective, Raised};
use super::comm::{PyTeam, team_of};
use super::dataset::PyDataset;
use super::errors::to_python;
use super::gil::detached;
use super::params::parsed;
use crate::boosting::{
    self, BaseModel, EarlyStopping, EvaluationMetric, EvaluationSet, StopReason, TrainingLoss,
    TrainingPlan,
};
use crate::data;
use crate::error::{Error, Result};
use crate::objective::Preference;
use crate::settings::{KnownNames, TrainOptions};
use crate::tree::{Constraints, MonotoneDirection};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Planned<'py> {
    params: Bound<'py, PyDict>,
    limits: Limiting,
    /// The loss, if it is not one of ours.
    function: Option<NamedFunction>,
    preferences: Option<Preferences>,
    valid: Vec<(String, Py<PyDataset>)>,
    metrics: Vec<MetricArg>,
    patience: Option<PatienceArg>,
    base: Option<Py<PyBooster>>,
    /// Whether base scores are those of the base.
    is_scored: bool,
    checkpoint: Option<Py<PyBooster>>,
}

/// What bounds the use of features, by number: the attributes of a Python object.
#[derive(FromPyObject)]
struct Limiting {
    /// Whether scores may rise with the feature, or fall.
    monotone: Vec<(u32, bool)>,
    interactions: Vec<Vec<u32>>,
    feature_weight: Vec<(u32, f64)>,
}

/// A function of the caller's: the attributes of a Python object.
#[derive(FromPyObject)]
struct NamedFunction {
    name: String,
    function: Py<PyAny>,
}

/// Pairs of rows: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Preferences {
    better: Vec<u32>,
    worse: Vec<u32>,
    probability: Vec<f64>,
    weight: Vec<f64>,
}

/// When to end early: the attributes of a Python object.
#[derive(FromPyObject)]
struct PatienceArg {
    rounds: usize,
    set: usize,
    metric: usize,
}

/// The name of a metric of ours, or a function with its name.
#[derive(FromPyObject)]
enum MetricArg {
    Ours(String),
    Function(NamedFunction),
}

impl MetricArg {
    fn ours(&self) -> Option<&str> {
        if let Self::Ours(name) = self { Some(name) } else { None }
    }
}

impl Preferences {
    pub(super) fn listed(&self) -> Vec<Preference> {
        let rows = self.better.iter().zip(&self.worse);
        let preference = |((&better, &worse), (&probability, &weight))| Preference {
            better,
            worse,
            probability,
            weight,
        };
        rows.zip(self.probability.iter().zip(&self.weight)).map(preference).collect()
    }
}

impl Limiting {
    fn limits(&self) -> Constraints {
        let direction = |&(feature, rises): &(u32, bool)| {
            (feature, if rises { MonotoneDirection::Rising } else { MonotoneDirection::Falling })
        };
        Constraints {
            monotone: self.monotone.iter().map(direction).collect(),
            interactions: self.interactions.clone(),
            feature_weight: self.feature_weight.clone(),
        }
    }
}

impl NamedFunction {
    fn called(&self, raised: &Raised) -> Function {
        Function {
            name: self.name.clone(),
            called: Python::attach(|py| self.function.clone_ref(py)),
            raised: raised.clone(),
        }
    }
}

impl Planned<'_> {
    /// The plan as the core takes it.
    fn plan(
        &self,
        options: &TrainOptions,
        dataset: &Arc<data::Dataset>,
        raised: &Raised,
    ) -> Result<TrainingPlan> {
        let (sets, metric): (Vec<&str>, _) = (
            self.valid.iter().map(|(name, _)| name.as_str()).collect(),
            self.metrics.iter().find_map(MetricArg::ours),
        );
        let mut params = options.params(&KnownNames { metric, sets: &sets })?;
        params.grow.limits = self.limits.limits();
        let loss = match (&self.function, &self.preferences) {
            (None, Some(preferences)) => {
                TrainingLoss::of_preferences(&preferences.listed(), dataset, options.loss.sigma)?
            }
            (None, None) => TrainingLoss::new(&options.loss.options(
                &options.labels,
                metric,
                params.grow.seed,
            )?)?,
            (Some(function), _) => {
                let (function, dataset) = (function.called(raised), dataset.clone());
                TrainingLoss::other(
                    function.name.clone(),
                    Box::new(FunctionObjective { function, dataset }),
                )
            }
        };
        let measured = |metric: &MetricArg| {
            Ok(match metric {
                MetricArg::Ours(name) => EvaluationMetric::Metric(options.labels.metric(name)?),
                MetricArg::Function(function) => {
                    EvaluationMetric::Other(Arc::new(FunctionMetric(function.called(raised))))
                }
            })
        };
        let evaluation_sets = |(name, set): &(String, Py<PyDataset>)| EvaluationSet {
            name: name.clone(),
            dataset: set.get().inner.clone(),
        };
        let patience = |&PatienceArg { rounds, set, metric }: &PatienceArg| EarlyStopping {
            rounds,
            set,
            metric,
        };
        Ok(TrainingPlan {
            params,
            loss,
            evaluation_sets: self.valid.iter().map(evaluation_sets).collect(),
            metrics: self.metrics.iter().map(measured).collect::<Result<_>>()?,
            patience: self.patience.as_ref().map(patience),
            base: self.base.as_ref().map(|base| BaseModel {
                model: base.get().model().clone(),
                is_scored: self.is_scored,
            }),
        })
    }
}

/// Training, round by round.
#[pyclass(frozen, name = "Trainer")]
pub(super) struct PyTrainer {
    inner: Mutex<boosting::BoostingTrainer>,
    raised: Raised,
    num_threads: Option<usize>,
}

/// The number of a round, its values, whether it is the best, and the number of its leaves.
type RoundFacts = (usize, Vec<f64>, bool, usize);

#[pymethods]
impl PyTrainer {
    #[new]
    #[pyo3(signature = (dataset, planned, team=None))]
    fn new(
        py: Python<'_>,
        dataset: &PyDataset,
        planned: Planned<'_>,
        team: Option<&Bound<'_, PyTeam>>,
    ) -> PyResult<Self> {
        let options: TrainOptions = parsed(&planned.params)?;
        let team = (team_of(team), options.workers.mode);
        let (raised, dataset) = (Raised::default(), dataset.inner.clone());
        let plan = planned.plan(&options, &dataset, &raised);
        let plan = plan.map_err(|error| to_python(py, &error))?;
        let checkpoint = planned.checkpoint.as_ref().map(|model| model.get().model().clone());
        let num_threads = options.run.num_threads;
        let made = detached(py, num_threads, |interrupt| match checkpoint {
            Some(model) => boosting::BoostingTrainer::resume_with_workers(
                dataset, plan, model, team, interrupt,
            ),
            None => boosting::BoostingTrainer::with_workers(dataset, plan, team, interrupt),
        });
        let inner = Mutex::new(made.map_err(|error| raised.or(error))?);
        Ok(Self { inner, raised, num_threads })
    }

    /// Grows the next tree; None once training has ended.
    fn next_round(&self, py: Python<'_>) -> PyResult<Option<RoundFacts>> {
        let round = detached(py, self.num_threads, |interrupt| self.lock()?.next_round(interrupt));
        let round = round.map_err(|error| self.raised.or(error))?;
        Ok(round.map(|round| (round.number, round.values, round.is_best, round.num_leaves)))
    }

    /// Drops the latest round.
    fn take_back(&self, py: Python<'_>) -> PyResult<()> {
        self.look(py, boosting::BoostingTrainer::take_back)?.map_err(|error| to_python(py, &error))
    }

    /// The model as it was after so many rounds.
    fn booster_at(&self, py: Python<'_>, rounds: usize) -> PyResult<PyBooster> {
        let model = self.look(py, |trainer| trainer.model_at(rounds))?;
        model.map(PyBooster::of).map_err(|error| to_python(py, &error))
    }

    /// The model so far.
    fn booster(&self, py: Python<'_>) -> PyResult<PyBooster> {
        self.look(py, |trainer| PyBooster::of(trainer.model().clone()))
    }

    /// The model so far, with what is needed to go on from it.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<PyBooster> {
        self.look(py, |trainer| PyBooster::of(trainer.checkpoint()))
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

    /// The number of trees there were at the start.
    #[getter]
    fn num_before(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |trainer| trainer.num_before())
    }

    /// The number of trees at the best value.
    #[getter]
    fn best_round(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.look(py, |trainer| trainer.best_round())
    }

    /// Why training has ended, if it has: "done", "patience" or "nothing".
    #[getter]
    fn end(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        let name = |end| match end {
            StopReason::Done => "done",
            StopReason::EarlyStopping => "patience",
            StopReason::Nothing => "nothing",
        };
        self.look(py, |trainer| trainer.end().map(name))
    }
}

impl PyTrainer {
    /// Not waited for: who holds it may be waiting for the interpreter.
    fn lock(&self) -> Result<MutexGuard<'_, boosting::BoostingTrainer>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::internal("a trainer was used while a round was under way"))
            }
        }
    }

    fn look<T>(
        &self,
        py: Python<'_>,
        take: impl FnOnce(&mut boosting::BoostingTrainer) -> T,
    ) -> PyResult<T> {
        self.lock().map(|mut trainer| take(&mut trainer)).map_err(|error| to_python(py, &error))
    }
}
