//! Training for Python: a plan, and its rounds one by one.

use super::booster::PyBooster;
use super::callables::{Function, FunctionMetric, FunctionObjective, Raised};
use super::comm::{PyTeam, team_of};
use super::dataset::PyDataset;
use super::errors::to_python;
use super::gil::detached;
use super::metrics::MetricArgs;
use crate::boosting::{
    self, BaseModel, BoostingParams, DocSampling, Dropout, EarlyStopping, EvaluationMetric,
    EvaluationSet, ExactStep, StepRule, StopReason, TrainingLoss, TrainingPlan,
};
use crate::data;
use crate::distributed::DistributedTraining;
use crate::error::{Error, Result};
use crate::objective::{Augment, LambdaOptions, ObjectiveOptions, Preference, ScoreNoise};
use crate::tree::{CategoryOptions, Constraints, Criterion, GrowOptions, MonotoneDirection};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Planned {
    boosting: Boosting,
    growing: Growing,
    objective: ObjectiveArg,
    preferences: Option<Preferences>,
    valid: Vec<(String, Py<PyDataset>)>,
    metrics: Vec<MetricArg>,
    /// What metrics mean.
    judging: MetricArgs,
    /// Rounds, the place of the set, the place of the metric.
    patience: Option<(usize, usize, usize)>,
    base: Option<Py<PyBooster>>,
    /// Whether base scores are those of the base.
    is_scored: bool,
    checkpoint: Option<Py<PyBooster>>,
    num_threads: Option<usize>,
}

/// Rounds and steps: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Boosting {
    num_trees: usize,
    learning_rate: f64,
    queries_per_tree: f64,
    docs_per_tree: f64,
    /// Its name, and the share that is kept for its gradients.
    doc_sampling: (String, f64),
    position_l2: f64,
    step: Option<Stepping>,
    dropout: Option<Dropping>,
}

/// The exact step: its metric, the range of alpha, the place of the set that decides.
type Stepping = (String, f64, f64, Option<usize>);

/// Dropout: its rate, the share of rounds without, the most trees, the normaliser.
type Dropping = (f64, f64, Option<usize>, String);

/// How trees are grown: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Growing {
    tree_shape: String,
    num_leaves: usize,
    max_depth: Option<u32>,
    min_leaf_docs: u32,
    min_leaf_hess: f64,
    l2: f64,
    min_reduction: f64,
    criterion: String,
    features_per_tree: f64,
    features_per_node: f64,
    rows_per_node: f64,
    random_strength: f64,
    limits: Limiting,
    category_smooth: f64,
    min_category_docs: u32,
    max_categories: usize,
    category_one_by_one: usize,
    seed: u64,
}

/// What bounds the use of features, by number: the attributes of a Python object.
#[derive(FromPyObject)]
struct Limiting {
    /// Whether scores may rise with the feature, or fall.
    monotone: Vec<(u32, bool)>,
    interactions: Vec<Vec<u32>>,
    feature_weight: Vec<(u32, f64)>,
}

/// A loss of ours, or a function with its name.
#[derive(FromPyObject)]
pub(super) enum ObjectiveArg {
    Ours(Losing),
    Function(String, Py<PyAny>),
}

/// A loss of ours: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Losing {
    kind: String,
    metric: String,
    pairs_to: Option<usize>,
    sigma: f64,
    pair_normaliser: String,
    gap_offset: f64,
    query_normaliser: String,
    noise_scale: f64,
    noise_copies: usize,
    augment: Option<(f64, usize)>,
    tied_pairs: String,
    relevant_from: Option<f64>,
}

/// Rows that are better, rows that are worse, probabilities and weights.
pub(super) type Preferences = (Vec<u32>, Vec<u32>, Vec<f64>, Vec<f64>);

pub(super) fn listed((better, worse, probability, weight): &Preferences) -> Vec<Preference> {
    let rows = better.iter().zip(worse).zip(probability.iter().zip(weight));
    let preference = |((&better, &worse), (&probability, &weight))| Preference {
        better,
        worse,
        probability,
        weight,
    };
    rows.map(preference).collect()
}

/// The name of a metric of ours, or a function with its name.
#[derive(FromPyObject)]
pub(super) enum MetricArg {
    Ours(String),
    Function(String, Py<PyAny>),
}

impl Growing {
    fn options(&self, learning_rate: f64) -> Result<GrowOptions> {
        let criterion = match &*self.criterion {
            "second_order" => Criterion::SecondOrder,
            "least_squares" => Criterion::LeastSquares,
            other => {
                return Err(Error::param("criterion", "criterion is not known")
                    .got(format!("\"{other}\""))
                    .expected("\"second_order\" or \"least_squares\""));
            }
        };
        Ok(GrowOptions {
            tree_shape: self.tree_shape.parse()?,
            num_leaves: self.num_leaves,
            max_depth: self.max_depth,
            min_leaf_docs: self.min_leaf_docs,
            min_leaf_hess: self.min_leaf_hess,
            l2: self.l2,
            min_reduction: self.min_reduction,
            criterion,
            features_per_tree: self.features_per_tree,
            features_per_node: self.features_per_node,
            rows_per_node: self.rows_per_node,
            random_strength: self.random_strength,
            random_decay: learning_rate,
            limits: self.limits.limits(),
            categories: CategoryOptions {
                smooth: self.category_smooth,
                min_docs: self.min_category_docs,
                most: self.max_categories,
                one_by_one: self.category_one_by_one,
            },
            seed: self.seed,
        })
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

impl Losing {
    /// The loss of a training of trees.
    pub(super) fn built(&self, judging: &MetricArgs, seed: u64) -> Result<TrainingLoss> {
        TrainingLoss::new(&self.options(judging, seed)?)
    }

    /// The steepness of the sigmoid.
    pub(super) fn sigma(&self) -> f64 {
        self.sigma
    }

    /// All options there are.
    pub(super) fn options(&self, judging: &MetricArgs, seed: u64) -> Result<ObjectiveOptions> {
        let (scale, copies) = (self.noise_scale, self.noise_copies);
        let lambda = LambdaOptions {
            pairs_to: self.pairs_to,
            sigma: self.sigma,
            pair_normaliser: self.pair_normaliser.parse()?,
            gap_offset: self.gap_offset,
            query_normaliser: self.query_normaliser.parse()?,
            augment: self.augment.map(|(fraction, copies)| Augment { fraction, copies }),
            noise: (scale != 0.0).then_some(ScoreNoise { scale, copies }),
            ties: self.tied_pairs.parse()?,
            seed,
            ..LambdaOptions::new(judging.metric(&self.metric)?)
        };
        let relevant_from = self.relevant_from.map(|label| label as f32);
        Ok(ObjectiveOptions { kind: self.kind.parse()?, lambda, relevant_from })
    }
}

impl Planned {
    /// The plan as the core takes it.
    fn plan(&self, dataset: &Arc<data::Dataset>, raised: &Raised) -> Result<TrainingPlan> {
        let grow = self.growing.options(self.boosting.learning_rate)?;
        let function = |name: &String, called: &Py<PyAny>| Function {
            name: name.clone(),
            called: Python::attach(|py| called.clone_ref(py)),
            raised: raised.clone(),
        };
        let loss = match (&self.objective, &self.preferences) {
            (ObjectiveArg::Ours(losing), Some(preferences)) => {
                TrainingLoss::of_preferences(&listed(preferences), dataset, losing.sigma)?
            }
            (ObjectiveArg::Ours(losing), None) => losing.built(&self.judging, grow.seed)?,
            (ObjectiveArg::Function(name, called), _) => {
                let (function, dataset) = (function(name, called), dataset.clone());
                TrainingLoss::other(name, Box::new(FunctionObjective { function, dataset }))
            }
        };
        let metric = |metric: &MetricArg| {
            Ok(match metric {
                MetricArg::Ours(name) => EvaluationMetric::Metric(self.judging.metric(name)?),
                MetricArg::Function(name, called) => {
                    EvaluationMetric::Other(Arc::new(FunctionMetric(function(name, called))))
                }
            })
        };
        let watched = |(name, set): &(String, Py<PyDataset>)| EvaluationSet {
            name: name.clone(),
            dataset: set.get().inner.clone(),
        };
        let patience = |(rounds, set, metric)| EarlyStopping { rounds, set, metric };
        Ok(TrainingPlan {
            params: self.boosting.params(&self.judging, grow)?,
            loss,
            evaluation_sets: self.valid.iter().map(watched).collect(),
            metrics: self.metrics.iter().map(metric).collect::<Result<_>>()?,
            patience: self.patience.map(patience),
            base: self.base.as_ref().map(|base| BaseModel {
                model: base.get().model().clone(),
                is_scored: self.is_scored,
            }),
        })
    }
}

impl Boosting {
    fn params(&self, judging: &MetricArgs, grow: GrowOptions) -> Result<BoostingParams> {
        let step = match &self.step {
            None => StepRule::Newton,
            &Some((ref metric, from, to, set)) => {
                StepRule::Exact(ExactStep { metric: judging.metric(metric)?, from, to, set })
            }
        };
        let dropout = |&(rate, skip, most, ref normaliser): &Dropping| {
            Ok(Dropout { rate, skip, most, normaliser: normaliser.parse()? })
        };
        Ok(BoostingParams {
            num_trees: self.num_trees,
            learning_rate: self.learning_rate,
            queries_per_tree: self.queries_per_tree,
            docs_per_tree: self.docs_per_tree,
            doc_sampling: sampling(&self.doc_sampling)?,
            position_l2: self.position_l2,
            step,
            dropout: self.dropout.as_ref().map(dropout).transpose()?,
            grow,
        })
    }
}

/// How the docs of a tree are chosen, by name.
fn sampling((name, top): &(String, f64)) -> Result<DocSampling> {
    match &**name {
        "uniform" => Ok(DocSampling::Uniform),
        "one_sided" => Ok(DocSampling::OneSided { top: *top }),
        "importance" => Ok(DocSampling::Importance),
        other => Err(Error::param("doc_sampling", "doc_sampling is not known")
            .got(format!("\"{other}\""))
            .expected("\"uniform\", \"one_sided\" or \"importance\"")),
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
    #[pyo3(signature = (dataset, planned, team=None, mode="histogram"))]
    fn new(
        py: Python<'_>,
        dataset: &PyDataset,
        planned: Planned,
        team: Option<&Bound<'_, PyTeam>>,
        mode: &str,
    ) -> PyResult<Self> {
        let mode = mode.parse().map_err(|error| to_python(py, &error))?;
        let training = DistributedTraining { group: team_of(team), mode };
        let (raised, dataset) = (Raised::default(), dataset.inner.clone());
        let plan = planned.plan(&dataset, &raised).map_err(|error| to_python(py, &error))?;
        let checkpoint = planned.checkpoint.as_ref().map(|model| model.get().model().clone());
        let made = detached(py, planned.num_threads, |interrupt| match checkpoint {
            Some(model) => training.resume(dataset, plan, model, interrupt),
            None => training.trainer(dataset, plan, interrupt),
        });
        let inner = Mutex::new(made.map_err(|error| raised.or(error))?);
        Ok(Self { inner, raised, num_threads: planned.num_threads })
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
