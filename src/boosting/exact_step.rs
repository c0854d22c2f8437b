//! The step size of a tree: a Newton step, or the exact optimum for a metric.
//!
//! A *Newton step* adds the leaf values as they are. An *exact step* multiplies them by the factor
//! alpha that maximises a metric, found by a [sweep](crate::combine::sweep) between the scores so
//! far and the tree's outputs (Wu, Burges, Svore and Gao 2008, section 3). The learning rate
//! applies to both; an exact step is meant for a rate of 1. If the Newton step is as good as the
//! optimum, it is taken: for the first tree, no alpha changes the order of documents, so any other
//! step would be arbitrary.
//!
//! Cost of an exact step: a sweep over all documents, comparable to growing the tree.

use crate::combine::{
    AlphaInterval, AlphaRange, JudgedQueries, SweepOptions, TieBreak, break_ties, sweep,
};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::{Convention, Interrupt};

/// The factor for leaf values, besides the learning rate.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StepRule {
    /// A factor of 1.
    #[default]
    Newton,
    /// The best alpha for a metric, computed for each tree.
    Exact(ExactStep),
}

/// How an exact step ranks docs with equal scores: the three ways of Wu et al. 2008, section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepTies {
    /// The metric is the expectation over all their orders.
    #[default]
    Expected,
    /// By very small pseudo-random numbers of a seed.
    Jitter(u64),
    /// By the bin of this feature, larger values first; missing values come last.
    Feature(usize),
}

/// Options of the exact step.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactStep {
    /// The metric to maximise.
    pub metric: Metric,
    /// The smallest alpha: from 0.
    pub from: f64,
    /// The largest alpha.
    pub to: f64,
    /// The evaluation set on which the metric is computed; `None` for the training set.
    pub set: Option<usize>,
    /// How docs with equal scores are ranked.
    pub ties: StepTies,
}

impl ExactStep {
    /// On the training set, between 0.1 and 100 as in the paper.
    pub fn new(metric: Metric) -> Self {
        Self { metric, from: 0.1, to: 100.0, set: None, ties: StepTies::Expected }
    }

    /// The best alpha for the outputs of a tree.
    pub(super) fn alpha(
        &self,
        dataset: &Dataset,
        scores: &[f64],
        outputs: &[f64],
        interrupt: &Interrupt,
    ) -> Result<f64> {
        let (from, to) = (self.from, self.to);
        let mut options = SweepOptions::new(self.metric.clone(), AlphaRange::Along { from, to });
        (options.curve_steps, options.few_outputs) = (0, self.ties == StepTies::Expected);
        let judged = judged(dataset);
        let bins;
        let tie_break = match self.ties {
            StepTies::Expected => None,
            StepTies::Jitter(seed) => Some(TieBreak::Jitter(seed)),
            StepTies::Feature(feature) => {
                bins = bins_of(dataset, feature);
                Some(TieBreak::Score(&bins))
            }
        };
        let shifted =
            tie_break.map(|by| break_ties(&[scores, outputs], &judged, by)).transpose()?;
        let [scores, outputs] =
            shifted.as_ref().map_or([scores, outputs], |both| [&both[0], &both[1]]);
        let found = sweep(scores, outputs, &judged, &options, interrupt);
        let found = dataset.name_caller_rows(found)?;
        let AlphaInterval { from: low, to: high } = found.interval;
        let is_all_one = low <= from && to <= high;
        let is_newton = low < 1.0 && 1.0 < high;
        Ok(if is_all_one || is_newton { 1f64.clamp(from, to) } else { found.alpha })
    }
}

impl StepRule {
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Exact(ExactStep { from, to, .. }) => check_bounds("step_min", *from, *to),
            Self::Newton => Ok(()),
        }
    }

    /// The rule as text, for models and checkpoints.
    pub(super) fn named(&self) -> String {
        let Self::Exact(ExactStep { metric, from, to, set, ties }) = self else {
            return "newton".to_owned();
        };
        let set = set.map_or_else(|| "train".to_owned(), |set| format!("set {set}"));
        let mut named = format!("exact {metric} on {set}, {from} to {to}");
        if *metric.convention() != Convention::default() {
            named = format!("{named}, {:?}", metric.convention());
        }
        if *ties != StepTies::Expected {
            named = format!("{named}, ties {ties:?}");
        }
        named
    }
}

/// The bin of a feature for each doc, -1 for missing values; 0 for all where the feature has one bin.
fn bins_of(dataset: &Dataset, feature: usize) -> Vec<f64> {
    let (binning, matrix) = (dataset.binning(), dataset.matrix());
    let missing = binning.mappers()[feature].num_bins() as u8;
    let Some(location) = binning.layout().locations()[feature] else {
        return vec![0.0; dataset.num_docs()];
    };
    let codes = (0..dataset.num_docs()).map(|doc| matrix.code(doc, location));
    codes.map(|code| if code == missing { -1.0 } else { f64::from(code) }).collect()
}

/// Returns an error for an empty range or one with negative numbers.
pub(super) fn check_bounds(name: &'static str, from: f64, to: f64) -> Result<()> {
    if from >= 0.0 && from < to && to.is_finite() {
        return Ok(());
    }
    Err(Error::param(name, "the range of weights of a tree")
        .got(format!("{from} to {to}"))
        .expected("two finite numbers from 0, the smaller one first"))
}

/// The labels, queries and weights of a data set.
pub(super) fn judged(dataset: &Dataset) -> JudgedQueries<'_> {
    JudgedQueries {
        labels: dataset.labels(),
        queries: dataset.queries(),
        query_weight: dataset.query_weight(),
    }
}
