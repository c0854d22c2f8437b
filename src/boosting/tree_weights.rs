//! Optimises the weight of each tree for a metric, one tree after the other.
//!
//! These are the coordinate sweeps of the [combiner](crate::combine) with trees as rankers. The
//! outputs of a tree are computed when they are needed, so memory is that of two rankers. After
//! each pass the metric of the whole model is computed from scratch; a pass that has not raised it
//! is undone and is the last, so the metric never falls.
//!
//! Cost: per pass and tree, a sweep and two routings of all documents.

use super::binned_scoring::BinnedScorer;
use super::exact_step::{check_bounds, judged};
use super::initial_model::{check_features, is_plain, start_scores};
use super::trainer::scaled_tree;
use crate::Interrupt;
use crate::combine::{AlphaRange, JudgedQueries, SweepOptions, is_higher, sweep, values};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::model::{Model, Set, Tree};

/// Options of reweighing.
#[derive(Debug, Clone)]
pub struct ReweighOptions {
    /// The metric to maximise.
    pub metric: Metric,
    /// The smallest factor for a tree: from 0, which removes it.
    pub from: f64,
    /// The largest factor.
    pub to: f64,
    /// The most passes.
    pub most_passes: usize,
}

/// A model with new weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Reweighed {
    /// The model, with its leaf values multiplied by the weights.
    pub model: Model,
    /// The factor of each tree.
    pub weights: Vec<f64>,
    /// The metric before the first pass and after each, ascending.
    pub history: Vec<f64>,
    /// The same on the held-out set; the model is that of its first largest value.
    pub held_out: Vec<f64>,
}

impl ReweighOptions {
    /// Factors from 0 to 10, at most 20 passes.
    pub fn new(metric: Metric) -> Self {
        Self { metric, from: 0.0, to: 10.0, most_passes: 20 }
    }
}

/// Sets the weight of each tree in turn to the best one, until no pass raises the metric (on the
/// held-out set, if there is one).
///
/// The model must consist of native trees whose thresholds are those of the data sets' bins.
pub fn reweigh(
    model: &Model,
    dataset: &Dataset,
    held_out: Option<&Dataset>,
    options: &ReweighOptions,
    interrupt: &Interrupt,
) -> Result<Reweighed> {
    check_bounds("reweigh.bounds", options.from, options.to)?;
    if !is_plain(model) {
        return Err(Error::data(
            "base",
            "only a model of trees alone, of this library, can be reweighed",
        )
        .hint("combine it with others instead (Combiner), which any model allows"));
    }
    for dataset in std::iter::once(dataset).chain(held_out) {
        check_features(model, dataset)?;
    }
    let trees: Vec<(&Tree, &[Set])> = model.trees_with_sets().collect();
    let job = ReweighJob { trees: &trees, offset: model.intercept(), options, interrupt };
    let mut weights = vec![1.0; trees.len()];
    let mut history = vec![job.value(dataset, &weights)?];
    let theirs = held_out.map(|set| job.value(set, &weights)).transpose()?;
    let mut theirs: Vec<f64> = theirs.into_iter().collect();
    for _ in 0..options.most_passes {
        let tried = job.pass(dataset, &weights)?;
        let value = job.value(dataset, &tried)?;
        if !is_higher(value, history[history.len() - 1]) {
            break;
        }
        history.push(value);
        if let Some(set) = held_out {
            theirs.push(job.value(set, &tried)?);
            if theirs[theirs.len() - 1] <= theirs[theirs.len() - 2] {
                break;
            }
        }
        weights = tried;
    }
    Ok(Reweighed { model: job.model(model, &weights)?, weights, history, held_out: theirs })
}

struct ReweighJob<'a> {
    trees: &'a [(&'a Tree, &'a [Set])],
    offset: f64,
    options: &'a ReweighOptions,
    interrupt: &'a Interrupt,
}

impl ReweighJob<'_> {
    /// The outputs of a tree with this weight.
    fn outputs(&self, dataset: &Dataset, tree: usize, weight: f64) -> Result<Vec<f64>> {
        let mut outputs = vec![0.0; dataset.num_docs()];
        self.add(dataset, tree, weight, &mut outputs)?;
        Ok(outputs)
    }

    fn add(&self, dataset: &Dataset, tree: usize, weight: f64, to: &mut [f64]) -> Result<()> {
        let (tree, sets) = self.trees[tree];
        let scorer = BinnedScorer::new(dataset, self.interrupt);
        scorer.add_tree(&scaled_tree(tree, weight)?, sets, to)
    }

    /// The scores of the whole model, from scratch.
    fn scores(&self, dataset: &Dataset, weights: &[f64]) -> Result<Vec<f64>> {
        let mut scores = start_scores(dataset, self.offset);
        for (tree, &weight) in weights.iter().enumerate() {
            self.add(dataset, tree, weight, &mut scores)?;
        }
        Ok(scores)
    }

    fn value(&self, dataset: &Dataset, weights: &[f64]) -> Result<f64> {
        dataset.name_caller_rows(self.mean(&self.scores(dataset, weights)?, &judged(dataset)))
    }

    fn mean(&self, scores: &[f64], judged: &JudgedQueries<'_>) -> Result<f64> {
        let alone = [vec![1.0]];
        Ok(values(&[scores], judged, &self.options.metric, &alone, self.interrupt)?[0])
    }

    /// One pass over all trees.
    fn pass(&self, dataset: &Dataset, weights: &[f64]) -> Result<Vec<f64>> {
        let judged = judged(dataset);
        let (from, to) = (self.options.from, self.options.to);
        let mut sweeping =
            SweepOptions::new(self.options.metric.clone(), AlphaRange::Along { from, to });
        (sweeping.curve_steps, sweeping.few_outputs) = (0, true);
        let mut weights = weights.to_vec();
        let mut scores = self.scores(dataset, &weights)?;
        let mut best = self.mean(&scores, &judged)?;
        for (tree, weight) in weights.iter_mut().enumerate() {
            let outputs = self.outputs(dataset, tree, *weight)?;
            let rest: Vec<f64> = scores.iter().zip(&outputs).map(|(sum, own)| sum - own).collect();
            let outputs = self.outputs(dataset, tree, 1.0)?;
            let found = sweep(&rest, &outputs, &judged, &sweeping, self.interrupt)?;
            if !is_higher(found.value, best) {
                continue;
            }
            let mut tried = rest;
            self.add(dataset, tree, found.alpha, &mut tried)?;
            let value = self.mean(&tried, &judged)?;
            if is_higher(value, best) {
                (*weight, scores, best) = (found.alpha, tried, value);
            }
        }
        Ok(weights)
    }

    fn model(&self, model: &Model, weights: &[f64]) -> Result<Model> {
        let mut reweighed = model.clone();
        reweighed.truncate(0);
        let weighted = self.trees.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
        for ((tree, sets), &weight) in weighted {
            reweighed.push_with(scaled_tree(tree, weight)?, sets)?;
        }
        reweighed.set_attribute("reweighed", self.options.metric.to_string());
        Ok(reweighed)
    }
}
