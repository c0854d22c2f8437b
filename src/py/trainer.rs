//! The plan of a training of trees, from Python.

use super::booster::PyBooster;
use super::callables::{Function, FunctionMetric, FunctionObjective, Raised};
use super::dataset::PyDataset;
use crate::boosting::{
    BaseModel, EarlyStopping, EvaluationMetric, EvaluationSet, Guard, SeveralMetrics, TrainingLoss,
    TrainingPlan,
};
use crate::data;
use crate::error::Result;
use crate::model::Model;
use crate::objective::Preference;
use crate::settings::{KnownNames, NamedMetric, TrainOptions};
use crate::tree::{Constraints, MonotoneDirection};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Everything but the data: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct Planned<'py> {
    pub(super) params: Bound<'py, PyDict>,
    limits: Limiting,
    /// The loss, if it is not one of ours.
    function: Option<NamedFunction>,
    preferences: Option<Vec<PreferenceArg>>,
    valid: Vec<(String, Py<PyDataset>)>,
    metrics: Vec<MetricArg>,
    /// The weight of each metric, if the loss is a weighted sum of them.
    weights: Option<Vec<f64>>,
    /// The numbers of metrics that may not fall, and how far they may.
    guards: Vec<(usize, f64)>,
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
    /// What breaks ties in exact steps.
    tie_feature: Option<usize>,
}

/// A function of the caller's: the attributes of a Python object.
#[derive(FromPyObject)]
struct NamedFunction {
    name: String,
    function: Py<PyAny>,
}

/// A pair of rows: the better one, the worse one, the probability and the weight.
#[derive(FromPyObject)]
pub(super) struct PreferenceArg(u32, u32, f64, f64);

/// When to end early: the attributes of a Python object.
#[derive(FromPyObject)]
struct PatienceArg {
    rounds: usize,
    set: usize,
    metric: usize,
    smooth: usize,
}

impl PatienceArg {
    fn rule(self) -> EarlyStopping {
        let Self { rounds, set, metric, smooth } = self;
        EarlyStopping { rounds, set, metric, smooth }
    }
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

impl PreferenceArg {
    pub(super) fn listed(pairs: &[Self]) -> Vec<Preference> {
        let preference = |&Self(better, worse, probability, weight)| Preference {
            better,
            worse,
            probability,
            weight,
        };
        pairs.iter().map(preference).collect()
    }
}

impl Limiting {
    fn constraints(self) -> Constraints {
        let direction = |(feature, rises)| {
            (feature, if rises { MonotoneDirection::Rising } else { MonotoneDirection::Falling })
        };
        let Self { monotone, interactions, feature_weight, .. } = self;
        let monotone = monotone.into_iter().map(direction).collect();
        Constraints { monotone, interactions, feature_weight }
    }
}

impl NamedFunction {
    fn called(self, raised: &Raised) -> Function {
        Function { name: self.name, called: self.function, raised: raised.clone() }
    }

    fn loss(self, dataset: &Arc<data::Dataset>, raised: &Raised) -> TrainingLoss {
        let (function, dataset) = (self.called(raised), dataset.clone());
        let name = function.name.clone();
        TrainingLoss::other(name, Box::new(FunctionObjective { function, dataset }))
    }
}

impl Planned<'_> {
    /// The checkpoint to continue from.
    pub(super) fn checkpoint(&self) -> Option<Model> {
        self.checkpoint.as_ref().map(|model| model.get().model().clone())
    }

    /// The plan as the core takes it.
    pub(super) fn plan(
        self,
        options: &TrainOptions,
        dataset: &Arc<data::Dataset>,
        raised: &Raised,
    ) -> Result<TrainingPlan> {
        let sets: Vec<&str> = self.valid.iter().map(|(name, _)| name.as_str()).collect();
        let extra: Vec<&str> = dataset.extra_label_names().collect();
        let ours = self.metrics.iter().filter_map(MetricArg::ours);
        let named: Vec<NamedMetric> = ours.map(|name| NamedMetric::read(name, &extra)).collect();
        let metric = named.iter().find(|metric| !metric.is_extra()).map(NamedMetric::name);
        let mut params = options.params(&KnownNames {
            metric,
            sets: &sets,
            tie_feature: self.limits.tie_feature,
        })?;
        params.grow.limits = self.limits.constraints();
        let measured = |metric| {
            Ok(match metric {
                MetricArg::Ours(name) => {
                    NamedMetric::read(&name, &extra).evaluated(&options.labels)?
                }
                MetricArg::Function(function) => {
                    EvaluationMetric::Other(Arc::new(FunctionMetric(function.called(raised))))
                }
            })
        };
        let metrics = self.metrics.into_iter().map(measured).collect::<Result<_>>()?;
        let loss = match self.weights {
            Some(weights) => {
                let is_ours = self.function.is_none() && self.preferences.is_none();
                let guards = self.guards.into_iter();
                let guards = guards.map(|(metric, fall)| Guard { metric, fall }).collect();
                options.weighted_loss(&named, SeveralMetrics { weights, guards }, is_ours)?
            }
            None => match (self.function, self.preferences) {
                (None, Some(preferences)) => {
                    let preferences = PreferenceArg::listed(&preferences);
                    TrainingLoss::of_preferences(&preferences, dataset, options.loss.sigma)?
                }
                (None, None) => {
                    let loss = options.loss.options(&options.labels, metric, params.grow.seed)?;
                    TrainingLoss::new(&loss)?
                }
                (Some(function), _) => function.loss(dataset, raised),
            },
        };
        let evaluation_sets = self.valid.into_iter().map(|(name, set)| {
            let dataset = set.get().inner.clone();
            EvaluationSet { name, dataset }
        });
        let base = |base: Py<PyBooster>| {
            let model = base.get().model().clone();
            BaseModel { model, is_scored: self.is_scored }
        };
        Ok(TrainingPlan {
            params,
            loss,
            evaluation_sets: evaluation_sets.collect(),
            metrics,
            patience: self.patience.map(PatienceArg::rule),
            base: self.base.map(base),
        })
    }
}
