//! Training in rounds for Python: one class for trees, `LambdaBoost` and nets.

use super::booster::PyBooster;
use super::callables::Raised;
use super::comm::{PyTeam, number_of, team_of};
use super::dataset::PyDataset;
use super::gil::{detached, detached_for};
use super::neural::PyRawDataset;
use super::params::parsed;
use super::raw_plan::RawPlanArgs;
use super::trainer::Planned;
use crate::boosting::{BoostingTrainer, LambdaBoostTrainer};
use crate::distributed::DistributedTraining;
use crate::error::{Error, Result};
use crate::neural::NetTrainer;
use crate::rounds::{RoundDriver, RoundLearner, StopReason};
use crate::settings::{FeatureTrainOptions, NetTrainOptions, TrainOptions};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A training of one kind.
enum Training {
    Trees(Box<BoostingTrainer>),
    Features(Box<LambdaBoostTrainer>),
    Net(Box<NetTrainer>),
}

impl Training {
    fn driver(&mut self) -> &mut RoundDriver<dyn RoundLearner> {
        match self {
            Self::Trees(trainer) => &mut **trainer,
            Self::Features(trainer) => &mut **trainer,
            Self::Net(trainer) => &mut **trainer,
        }
    }
}

/// Training, round by round.
#[pyclass(frozen, name = "Trainer")]
pub(super) struct PyTrainer {
    inner: Mutex<Training>,
    raised: Raised,
    num_threads: Option<usize>,
    /// The number of its team.
    team: Option<u64>,
}

/// The number of a round, its values, whether it is the best, and the number of its leaves.
type RoundFacts = (usize, Vec<f64>, bool, usize);

#[pymethods]
impl PyTrainer {
    /// A training of trees.
    #[staticmethod]
    #[pyo3(signature = (dataset, planned, team=None))]
    fn trees(
        dataset: &PyDataset,
        planned: Planned<'_>,
        team: Option<&Bound<'_, PyTeam>>,
    ) -> PyResult<Self> {
        let options: TrainOptions = parsed(&planned.params)?;
        let training = DistributedTraining { group: team_of(team), mode: options.workers.mode };
        let (raised, dataset) = (Raised::default(), dataset.inner.clone());
        let checkpoint = planned.checkpoint();
        let plan = planned.plan(&options, &dataset, &raised)?;
        let num_threads = options.run.num_threads;
        let number = number_of(team);
        let made = detached_for(number, num_threads, |interrupt| {
            training.trainer(dataset, plan, checkpoint, interrupt)
        });
        let training = Training::Trees(Box::new(made.map_err(|error| raised.or(error))?));
        Ok(Self { inner: Mutex::new(training), raised, num_threads, team: number })
    }

    /// A training of `LambdaBoost`.
    #[staticmethod]
    fn features(dataset: &PyRawDataset, planned: RawPlanArgs<'_>) -> PyResult<Self> {
        let options: FeatureTrainOptions = parsed(&planned.params)?;
        let (plan, data) = (planned.features(&options)?, dataset.take()?);
        let num_threads = options.rounds.num_threads;
        let made =
            detached(num_threads, |interrupt| LambdaBoostTrainer::new(data, plan, interrupt));
        Ok(Self::of(Training::Features(Box::new(made?)), num_threads))
    }

    /// A training of a net.
    #[staticmethod]
    fn net(dataset: &PyRawDataset, planned: RawPlanArgs<'_>) -> PyResult<Self> {
        let options: NetTrainOptions = parsed(&planned.params)?;
        let num_threads = options.run.num_threads;
        let (plan, data) = (planned.net(options)?, dataset.take()?);
        let made = detached(num_threads, |interrupt| NetTrainer::new(data, plan, interrupt));
        Ok(Self::of(Training::Net(Box::new(made?)), num_threads))
    }

    /// Learns the next round; None once training has ended.
    fn next_round(&self) -> PyResult<Option<RoundFacts>> {
        let round = detached_for(self.team, self.num_threads, |interrupt| {
            self.lock()?.driver().next_round(interrupt)
        });
        let round = round.map_err(|error| self.raised.or(error))?;
        Ok(round.map(|round| (round.number, round.values, round.is_best, round.num_leaves)))
    }

    /// Undoes the latest round.
    fn take_back(&self) -> PyResult<()> {
        self.look(|training| training.driver().take_back())
    }

    /// The model as it was after so many rounds.
    fn booster_at(&self, rounds: usize) -> PyResult<PyBooster> {
        self.look(|training| training.driver().model_at(rounds)).map(PyBooster::of)
    }

    /// The model so far, with what is needed to go on from it.
    fn checkpoint(&self) -> PyResult<PyBooster> {
        self.look(|training| match training {
            Training::Trees(trainer) => Ok(PyBooster::of(trainer.checkpoint())),
            _ => Err(Error::internal("only a training of trees has checkpoints")),
        })
    }

    /// The set and the metric of each value of a round.
    fn names(&self) -> PyResult<Vec<(String, String)>> {
        let owned = |(set, metric): (&str, &str)| (set.to_owned(), metric.to_owned());
        self.look(|training| Ok(training.driver().names().map(owned).collect()))
    }

    /// The values of each round.
    fn history(&self) -> PyResult<Vec<Vec<f64>>> {
        self.look(|training| Ok(training.driver().history().to_vec()))
    }

    /// The feature of each round of `LambdaBoost`, and the weight that was added to it.
    fn path(&self) -> PyResult<Vec<(u32, f64)>> {
        self.look(|training| match training {
            Training::Features(trainer) => Ok(trainer.path().to_vec()),
            _ => Err(Error::internal("only LambdaBoost has a path")),
        })
    }

    /// How often the training of a net was restarted from the best weights.
    #[getter]
    fn num_restarts(&self) -> PyResult<usize> {
        self.look(|training| match training {
            Training::Net(trainer) => Ok(trainer.num_restarts()),
            _ => Err(Error::internal("only the training of a net restarts")),
        })
    }

    /// The number of rounds of the model so far, including those of the base model.
    #[getter]
    fn num_rounds(&self) -> PyResult<usize> {
        self.look(|training| Ok(training.driver().num_rounds()))
    }

    /// The most rounds of this training.
    #[getter]
    fn max_rounds(&self) -> PyResult<usize> {
        self.look(|training| Ok(training.driver().max_rounds()))
    }

    /// The number of rounds with the best value; None without early stopping.
    #[getter]
    fn best_round(&self) -> PyResult<Option<usize>> {
        self.look(|training| Ok(training.driver().best_round()))
    }

    /// Why training has ended, if it has: "done", "patience" or "nothing".
    #[getter]
    fn end(&self) -> PyResult<Option<&'static str>> {
        let name = |end| match end {
            StopReason::Done => "done",
            StopReason::EarlyStopping => "patience",
            StopReason::Nothing => "nothing",
        };
        self.look(|training| Ok(training.driver().end().map(name)))
    }
}

impl PyTrainer {
    /// A training that calls no function of the caller.
    fn of(training: Training, num_threads: Option<usize>) -> Self {
        Self { inner: Mutex::new(training), raised: Raised::default(), num_threads, team: None }
    }

    /// Does not wait for the lock: the thread that has it may be waiting for the GIL.
    fn lock(&self) -> Result<MutexGuard<'_, Training>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::internal("a trainer was used while a round was under way"))
            }
        }
    }

    fn look<T>(&self, take: impl FnOnce(&mut Training) -> Result<T>) -> PyResult<T> {
        Ok(take(&mut *self.lock()?)?)
    }
}
