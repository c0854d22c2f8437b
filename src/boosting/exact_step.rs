//! How far a tree moves the scores.
//!
//! A *Newton step* adds leaf values as they are. An *exact step* multiplies them by the alpha that is
//! best for a metric, found by a [sweep](crate::combine::sweep) between the scores so far and the
//! tree's outputs (Wu, Burges, Svore and Gao 2008, section 3). The learning rate shrinks either.
//! Where a Newton step is as good as the best there is, it is taken: on the first tree, whose order of
//! docs no alpha changes, any other step would be arbitrary.
//!
//! Cost of an exact step: a sweep over all docs, of the order of growing the tree.

use crate::combine::{Judged, Range, SweepOptions, sweep};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::{Convention, Interrupt};

/// What leaf values are multiplied by, besides the learning rate.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StepRule {
    /// Nothing.
    #[default]
    Newton,
    /// The best alpha for a metric, one a tree.
    Exact(ExactStep),
}

/// Which alpha is best, and where it is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactStep {
    /// What should be as high as possible.
    pub metric: Metric,
    /// The least alpha: from 0.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// The watched set whose docs decide; the training set if there is none.
    pub set: Option<usize>,
}

impl ExactStep {
    /// On the training set, between 0.1 and 100 as in the paper.
    pub fn new(metric: Metric) -> Self {
        Self { metric, from: 0.1, to: 100.0, set: None }
    }

    /// The best alpha between the scores of docs and what the tree says of them.
    pub(super) fn alpha(
        &self,
        dataset: &Dataset,
        scores: &[f64],
        outputs: &[f64],
        interrupt: &Interrupt,
    ) -> Result<f64> {
        let (from, to) = (self.from, self.to);
        let mut options = SweepOptions::new(self.metric.clone(), Range::Along { from, to });
        (options.curve_steps, options.few_outputs) = (0, true);
        let found = sweep(scores, outputs, &judged(dataset), &options, interrupt);
        let found = dataset.told(found)?;
        let (low, high) = found.interval;
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

    /// All that a tree depends on.
    pub(super) fn named(&self) -> String {
        let Self::Exact(ExactStep { metric, from, to, set }) = self else {
            return "newton".to_owned();
        };
        let set = set.map_or_else(|| "train".to_owned(), |set| format!("set {set}"));
        let mut named = format!("exact {metric} on {set}, {from} to {to}");
        if *metric.convention() != Convention::default() {
            named = format!("{named}, {:?}", metric.convention());
        }
        named
    }
}

/// Refuses a range that is empty or holds numbers below 0.
pub(super) fn check_bounds(name: &'static str, from: f64, to: f64) -> Result<()> {
    if from >= 0.0 && from < to && to.is_finite() {
        return Ok(());
    }
    Err(Error::param(name, "the range of weights of a tree")
        .got(format!("{from} to {to}"))
        .expected("two finite numbers from 0, the smaller one first"))
}

/// What the docs of a dataset are judged by.
pub(super) fn judged(dataset: &Dataset) -> Judged<'_> {
    Judged {
        labels: dataset.labels(),
        queries: dataset.queries(),
        query_weight: dataset.query_weight(),
    }
}
