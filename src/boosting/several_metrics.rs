//! Training for several metrics at once: a weighted sum of them, and metrics that may not fall.
//!
//! The gradient of a document is the weighted sum of its gradients for each metric. A guarded metric has
//! a multiplier besides its weight, which rises while the metric is below its least value and falls while
//! it is above: the method of multipliers for constraints, as Momma et al. 2020 ("Multi-objective ranking
//! via constrained optimization") have it for boosted trees. Rounds in which a guarded metric is too low
//! have no value, so that the best round keeps all guards.
//!
//! Invariant: multipliers follow from the values of the rounds so far alone, so that a training that is
//! resumed goes on with the same ones.

use crate::error::{Error, Result};
use crate::metric::Metric;
use std::fmt;

/// The name of the weighted sum in the history.
const WEIGHTED: &str = "weighted";
/// The multiplier of a metric that is one unit below its least value; a unit is the fall that its guard
/// allows. This part follows the latest round alone.
const AT_ONCE: f64 = 4.0;
/// What each round with a metric one unit below its least value adds to the multiplier for good, and what
/// each round with one a unit above takes off.
const EACH_ROUND: f64 = 0.2;
/// The smallest unit, as a share of the value of the metric before the first round.
const LEAST_UNIT: f64 = 0.002;

/// A metric of labels other than the relevance, such as the revenue of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtraMetric {
    /// The name in the history.
    pub name: String,
    /// The name of the labels in the dataset.
    pub labels: String,
    /// The metric of these labels.
    pub metric: Metric,
}

/// What the metrics of a training are worth together.
#[derive(Debug, Clone, PartialEq)]
pub struct SeveralMetrics {
    /// The weight of each metric that is evaluated.
    pub weights: Vec<f64>,
    /// The metrics that may not fall.
    pub guards: Vec<Guard>,
}

/// A metric that may fall by so much at most below its value before the first round, on each set that
/// is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    /// The number of the metric.
    pub metric: usize,
    /// The most that it may fall.
    pub fall: f64,
}

impl SeveralMetrics {
    /// The name of the weighted sum in the history.
    pub const fn name() -> &'static str {
        WEIGHTED
    }

    /// Refuses weights and falls that mean nothing.
    pub(super) fn check(&self, num_metrics: usize, num_sets: usize) -> Result<()> {
        let is_weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        if self.weights.len() != num_metrics || !self.weights.iter().all(is_weight) {
            return Err(Error::param("metric", "metric: a weight is no finite number from 0"));
        }
        if self.weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::param("metric", "metric: all weights are 0"));
        }
        for guard in &self.guards {
            if guard.metric >= num_metrics || !guard.fall.is_finite() || guard.fall < 0.0 {
                return Err(Error::param("guard", "guard: a fall is no finite number from 0"));
            }
        }
        if num_sets == 0 && !self.guards.is_empty() {
            return Err(Error::param("guard", "guard: no set is evaluated"));
        }
        Ok(())
    }

    /// The weighted sum of the metrics of a set.
    fn weighted(&self, of_set: &[f64]) -> f64 {
        let terms = self.weights.iter().zip(of_set).filter(|(weight, _)| **weight != 0.0);
        terms.map(|(weight, value)| weight * value).sum()
    }
}

impl fmt::Display for SeveralMetrics {
    /// All numbers, exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weights {:?}", self.weights)?;
        self.guards
            .iter()
            .try_for_each(|guard| write!(f, " guard {}:{:?}", guard.metric, guard.fall))
    }
}

/// The state of a training for several metrics.
#[derive(Debug)]
pub(super) struct MetricBalance {
    metrics: SeveralMetrics,
    /// The value of each metric on each set before the first round, set by set.
    reference: Vec<f64>,
    /// What each guard has added up, before the first round and after each.
    sums: Vec<Vec<f64>>,
    /// What each guard lacked last, in units; less than 0 where the metric is above its least value.
    lacks: Vec<Vec<f64>>,
}

impl MetricBalance {
    pub(super) fn new(metrics: SeveralMetrics) -> Self {
        Self { metrics, reference: Vec::new(), sums: Vec::new(), lacks: Vec::new() }
    }

    /// Takes the values before the first round; the names are for errors.
    pub(super) fn start(&mut self, reference: Vec<f64>, names: &[String]) -> Result<()> {
        for guard in &self.metrics.guards {
            let values = reference.iter().skip(guard.metric).step_by(self.metrics.weights.len());
            if values.into_iter().any(|value| value.is_nan()) {
                let name = &names[guard.metric];
                let what = format!("the mean of {name} is NaN: its guard has nothing to look at");
                return Err(Error::data("metric.nan", what));
            }
        }
        self.begin(reference);
        Ok(())
    }

    fn begin(&mut self, reference: Vec<f64>) {
        self.reference = reference;
        let guards = self.metrics.guards.len();
        // Nothing is too low before the first round.
        (self.sums, self.lacks) = (vec![vec![0.0; guards]], vec![vec![f64::NEG_INFINITY; guards]]);
    }

    /// Takes the values before the first round and those of the rounds so far, with weighted sums;
    /// whether they are as many as there must be.
    pub(super) fn resume(&mut self, reference: Vec<f64>, history: &[Vec<f64>]) -> bool {
        let width = self.metrics.weights.len();
        let num_sets = reference.len() / width;
        let fits = |values: &Vec<f64>| values.len() == num_sets * (width + 1);
        if !reference.len().is_multiple_of(width) || !history.iter().all(fits) {
            return false;
        }
        self.begin(reference);
        for values in history {
            let plain = values.chunks_exact(width + 1).flat_map(|of_set| &of_set[..width]);
            self.push(&plain.copied().collect::<Vec<_>>());
        }
        true
    }

    /// The values before the first round.
    pub(super) fn reference(&self) -> &[f64] {
        &self.reference
    }

    /// The values of a round with the weighted sum after those of each set: NaN if a guard does not hold.
    pub(super) fn with_weighted(&self, values: &[f64]) -> Vec<f64> {
        let holds = self.holds(values);
        let of_set = |of_set: &[f64]| {
            let weighted = if holds { self.metrics.weighted(of_set) } else { f64::NAN };
            [of_set, &[weighted]].concat()
        };
        values.chunks_exact(self.metrics.weights.len()).flat_map(of_set).collect()
    }

    /// Whether all guards hold on all sets.
    fn holds(&self, values: &[f64]) -> bool {
        self.metrics.guards.iter().all(|guard| {
            self.pairs(*guard, values).all(|(reference, value)| value >= reference - guard.fall)
        })
    }

    /// The values of a guarded metric on each set, before the first round and now.
    fn pairs(&self, guard: Guard, values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
        let every = move |values: &[f64], step| -> Vec<f64> {
            values.iter().copied().skip(guard.metric).step_by(step).collect()
        };
        let step = self.metrics.weights.len();
        every(&self.reference, step).into_iter().zip(every(values, step))
    }

    /// Takes the values of a round.
    pub(super) fn push(&mut self, values: &[f64]) {
        let lacks: Vec<f64> =
            self.metrics.guards.iter().map(|&guard| self.lack(guard, values)).collect();
        let before = self.sums.last().map_or(&[][..], |sums| sums);
        let sums = before.iter().zip(&lacks).map(|(sum, lack)| (sum + EACH_ROUND * lack).max(0.0));
        self.sums.push(sums.collect());
        self.lacks.push(lacks);
    }

    /// Forgets the latest round.
    pub(super) fn pop(&mut self) {
        self.sums.pop();
        self.lacks.pop();
    }

    /// How far a metric is below its least value in units: on the set where that is most.
    fn lack(&self, guard: Guard, values: &[f64]) -> f64 {
        let lack = |(reference, value): (f64, f64)| {
            let unit = guard.fall.max(LEAST_UNIT * reference.abs()).max(f64::MIN_POSITIVE);
            (reference - guard.fall - value) / unit
        };
        self.pairs(guard, values).map(lack).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The weight of each metric in the gradients of the next round.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mut weights = self.metrics.weights.clone();
        let latest = self.sums.last().zip(self.lacks.last());
        let (sums, lacks) = latest.map_or((&[][..], &[][..]), |(sums, lacks)| (sums, lacks));
        for ((guard, sum), lack) in self.metrics.guards.iter().zip(sums).zip(lacks) {
            weights[guard.metric] += (sum + AT_ONCE * lack).max(0.0);
        }
        weights
    }
}
