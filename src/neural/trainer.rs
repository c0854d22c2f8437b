//! Epochs: all queries once in an order that is drawn, then the metrics.

use super::inputs::{choose, settle};
use super::loss::{Lambdas, Loss, grouping};
use super::params::{Inputs, Optimiser, Params, Patience, Schedule};
use super::step::{Learner, Scratch, inputs_of};
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::{Mean, Metric, evaluate, evaluate_rows};
use crate::model::mlp::{Activations, Net};
use crate::model::{Component, Model, NetInput, Part};
use crate::random;
use crate::simd::Level;
use rayon::prelude::*;

/// Tell the draws of nets from others under the same seed.
const WEIGHTS: u64 = u64::from_le_bytes(*b"netstart");
const ORDER: u64 = u64::from_le_bytes(*b"netorder");

/// Docs that are scored by one task.
const DOCS_A_TASK: usize = 1024;

/// What to train, besides the data.
#[derive(Debug)]
pub struct Plan {
    /// The net and how it learns.
    pub params: Params,
    /// What it learns.
    pub loss: Loss,
    /// What is evaluated after each epoch, by name.
    pub watched: Vec<(String, RawDataset)>,
    /// By which metrics.
    pub metrics: Vec<Metric>,
    /// When to go back to the best weights, and when to end; without it all epochs are done, and the
    /// last weights are the model's.
    pub patience: Option<Patience>,
}

/// What an epoch has brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Its number, from 1.
    pub number: usize,
    /// The mean of each metric on each watched set, set by set.
    pub values: Vec<f64>,
    /// Whether the value that early stopping looks at is the best so far.
    pub is_best: bool,
    /// The learning rate it had.
    pub learning_rate: f64,
    /// Whether the next one starts again from the best weights.
    pub restarts: bool,
}

/// Training as a sequence of epochs.
///
/// An epoch that fails, or is interrupted, leaves no trace.
#[derive(Debug)]
pub struct Trainer {
    data: RawDataset,
    plan: Plan,
    lambdas: Lambdas,
    inputs: Vec<NetInput>,
    /// The queries with a gradient.
    useful: Vec<u32>,
    learner: Learner,
    scratch: Scratch,
    progress: Progress,
    best_weights: Option<Vec<f32>>,
    history: Vec<Vec<f64>>,
}

/// Where training stands.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    epoch: usize,
    /// The best epoch and its value.
    best: Option<(usize, f64)>,
    /// Epochs since the best one, or since the latest restart.
    since: usize,
    restarts: usize,
    ended: bool,
}

impl Trainer {
    /// Checks all there is to check, chooses the inputs and draws the first weights.
    pub fn new(mut data: RawDataset, mut plan: Plan, interrupt: &Interrupt) -> Result<Self> {
        plan.params.check()?;
        if let Some(patience) = &plan.patience {
            patience.check(plan.watched.len(), plan.metrics.len())?;
        }
        check_sets(&data, &plan, interrupt)?;
        let lambdas = plan.loss.settle(&data, interrupt)?;
        let useful = lambdas.useful(&data);
        let params = &plan.params;
        let inputs = choose(&data, params.inputs, interrupt)?;
        let mut net = Net::zero(&inputs, params.limit as f32, &params.hidden);
        draw_weights(&mut net, params.seed);
        settle(&mut data, &net, interrupt)?;
        for (_, set) in &mut plan.watched {
            settle(set, &net, interrupt)?;
        }
        Ok(Self {
            learner: Learner::new(net, params),
            data,
            plan,
            lambdas,
            inputs,
            useful,
            scratch: Scratch::default(),
            progress: Progress::default(),
            best_weights: None,
            history: Vec::new(),
        })
    }

    /// Does another epoch; `None` once training has ended.
    pub fn next_epoch(&mut self, interrupt: &Interrupt) -> Result<Option<Epoch>> {
        if self.progress.ended || self.progress.epoch >= self.plan.params.epochs {
            return Ok(None);
        }
        let before = self.learner.clone();
        let epoch = self.epoch(interrupt);
        if epoch.is_err() {
            self.learner = before;
        }
        epoch.map(Some)
    }

    fn epoch(&mut self, interrupt: &Interrupt) -> Result<Epoch> {
        let Params { seed, batch_queries, .. } = self.plan.params;
        let (number, learning_rate) = (self.progress.epoch, self.learning_rate());
        let stream = random::start(seed ^ ORDER, number as u64);
        let mut order: Vec<(u64, u32)> = self
            .useful
            .iter()
            .map(|&query| (random::draw_in(stream, self.data.query_hash()[query as usize]), query))
            .collect();
        order.sort_unstable();
        let order: Vec<u32> = order.into_iter().map(|(_, query)| query).collect();
        for members in order.chunks(batch_queries) {
            interrupt.check()?;
            let job = (&self.data, &self.lambdas, members);
            let when = (learning_rate, number as u64);
            self.learner.step(&mut self.scratch, job, when, interrupt)?;
        }
        let values = self.values(interrupt)?;
        let (is_best, restarts) = self.judge(&values);
        self.progress.epoch += 1;
        self.history.push(values.clone());
        Ok(Epoch { number: number + 1, values, is_best, learning_rate, restarts })
    }

    /// The learning rate of the next epoch.
    fn learning_rate(&self) -> f64 {
        let Params { learning_rate, epochs, schedule, .. } = self.plan.params;
        let left = match schedule {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - self.progress.epoch as f64 / epochs as f64,
        };
        let factor = self.plan.patience.map_or(1.0, |patience| patience.factor);
        (0..self.progress.restarts).fold(learning_rate * left, |rate, _| rate * factor)
    }

    /// The mean of each metric on each watched set.
    fn values(&self, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        for (_, set) in &self.plan.watched {
            let scores = self.scores(set, interrupt)?;
            let (labels, queries) = (set.labels(), set.queries());
            let all = evaluate(&self.plan.metrics, &scores, labels, queries, interrupt)?;
            for per_query in all {
                values.push(Mean::of(&per_query, set.query_weight())?.value);
            }
        }
        Ok(values)
    }

    fn scores(&self, set: &RawDataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; set.num_docs()];
        let net = &self.learner.net;
        scores.par_chunks_mut(DOCS_A_TASK).enumerate().try_for_each_init(
            Activations::default,
            |layers, (task, scores)| {
                interrupt.check()?;
                let start = task * DOCS_A_TASK;
                let rows = inputs_of(set, start..start + scores.len());
                net.forward(Level::best(), rows, layers, scores);
                Ok(())
            },
        )?;
        Ok(scores)
    }

    /// Whether the values are the best so far, and whether training restarts; it may end, too.
    fn judge(&mut self, values: &[f64]) -> (bool, bool) {
        let Some(patience) = self.plan.patience else { return (false, false) };
        let value = values[patience.set * self.plan.metrics.len() + patience.metric];
        let progress = &mut self.progress;
        if progress.best.map_or(!value.is_nan(), |(_, best)| value > best) {
            progress.best = Some((progress.epoch + 1, value));
            progress.since = 0;
            self.best_weights = Some(self.learner.net.weights.clone());
            return (true, false);
        }
        progress.since += 1;
        if progress.since < patience.epochs {
            return (false, false);
        }
        if progress.restarts == patience.restarts {
            progress.ended = true;
            return (false, false);
        }
        progress.restarts += 1;
        progress.since = 0;
        if let Some(best) = &self.best_weights {
            self.learner.net.weights.copy_from_slice(best);
        }
        self.learner.forget();
        (false, true)
    }

    /// The net with the best weights, or with the latest where nothing is waited for.
    pub fn model(&self) -> Result<Model> {
        let mut net = self.learner.net.clone();
        if let Some(best) = &self.best_weights {
            net.weights.copy_from_slice(best);
        }
        let mut model = Model::new(self.data.num_features());
        model.add(Component::new(Part::Mlp(net.to_mlp(&self.inputs)?)))?;
        let best = self.progress.best.map_or(self.progress.epoch, |(epoch, _)| epoch);
        for (name, value) in notes(&self.plan.params, best) {
            model.set_attribute(name, value);
        }
        for (name, value) in self.plan.loss.notes() {
            model.set_attribute(*name, value);
        }
        Ok(model)
    }

    /// The set and the metric of each value of an epoch.
    pub fn names(&self) -> impl Iterator<Item = (&str, String)> {
        let metrics = &self.plan.metrics;
        self.plan.watched.iter().flat_map(move |(name, _)| {
            metrics.iter().map(move |metric| (name.as_str(), metric.to_string()))
        })
    }

    /// The values of each epoch.
    pub fn history(&self) -> &[Vec<f64>] {
        &self.history
    }

    /// The epoch of the best value.
    pub fn best_epoch(&self) -> Option<usize> {
        self.progress.best.map(|(epoch, _)| epoch)
    }

    /// How often training has gone back to the best weights.
    pub fn num_restarts(&self) -> usize {
        self.progress.restarts
    }
}

/// Refuses sets of other features, and labels without a gain; faults name the caller's rows.
fn check_sets(data: &RawDataset, plan: &Plan, interrupt: &Interrupt) -> Result<()> {
    for (at, (name, set)) in plan.watched.iter().enumerate() {
        if set.num_features() != data.num_features() {
            let what = format!("`{name}` has another number of features than the training set");
            return Err(Error::data("features", what)
                .got(set.num_features())
                .expected(data.num_features()));
        }
        if plan.watched[..at].iter().any(|(other, _)| other == name) {
            return Err(Error::param("valid", format!("two sets are called `{name}`")));
        }
        let labels = set.by_row(set.labels());
        let scores = vec![0.0; labels.len()];
        evaluate_rows(&plan.metrics, &scores, &labels, &grouping(set)?, interrupt)?;
    }
    Ok(())
}

/// Uniform weights around 0, the narrower the more values and units a layer has (Glorot and Bengio
/// 2010); the biases are 0. The score of a net starts with weights small enough to move at once.
fn draw_weights(net: &mut Net, seed: u64) {
    let shape = net.shape.clone();
    let draw = |layer: usize, number: usize, reach: f64| {
        let bits = random::draw(seed ^ WEIGHTS, layer as u64, number as u64);
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        ((2.0 * unit - 1.0) * reach) as f32
    };
    for (at, block) in shape.blocks.iter().enumerate() {
        let (from, units, width) = (shape.sizes[at], shape.sizes[at + 1], shape.widths[at + 1]);
        let reach = (6.0 / (from + units) as f64).sqrt();
        let rows = net.weights[block.clone()].chunks_exact_mut(width).skip(1);
        for (value, row) in rows.enumerate() {
            for (unit, weight) in row[..units].iter_mut().enumerate() {
                *weight = draw(at, value * units + unit, reach);
            }
        }
    }
    let last = shape.sizes[shape.depth()];
    let reach = if shape.depth() == 0 { 0.0 } else { (6.0 / (last + 1) as f64).sqrt() };
    for (value, weight) in net.weights[shape.output][..last].iter_mut().enumerate() {
        *weight = draw(shape.blocks.len(), value, reach);
    }
}

fn notes(params: &Params, epochs: usize) -> Vec<(&'static str, String)> {
    let optimiser = match params.optimiser {
        Optimiser::Sgd => "sgd",
        Optimiser::Adam => "adam",
    };
    let schedule = match params.schedule {
        Schedule::Constant => "constant",
        Schedule::Linear => "linear",
    };
    let inputs = match params.inputs {
        Inputs::Plain => "plain",
        Inputs::Log => "log",
        Inputs::Auto => "auto",
    };
    let hidden: Vec<String> = params.hidden.iter().map(usize::to_string).collect();
    vec![
        ("trainer", "net".to_owned()),
        ("hidden", hidden.join(" ")),
        ("epochs", epochs.to_string()),
        ("learning_rate", params.learning_rate.to_string()),
        ("optimiser", optimiser.to_owned()),
        ("schedule", schedule.to_owned()),
        ("batch_queries", params.batch_queries.to_string()),
        ("inputs", inputs.to_owned()),
        ("weight_decay", params.weight_decay.to_string()),
        ("seed", params.seed.to_string()),
    ]
}
