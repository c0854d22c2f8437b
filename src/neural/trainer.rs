//! The training loop of nets: epochs over all queries in a random order, metrics after each, early
//! stopping and restarts.

use super::gradient_step::{Learner, StepBuffers, StepInput, inputs_of};
use super::inputs::{choose_inputs, standardise};
use super::loss::{NetLoss, NetObjective, grouping};
use super::params::{Inputs, Optimiser, Params, Patience, Schedule};
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::{Mean, Metric, evaluate, evaluate_rows};
use crate::model::mlp::{Activations, Net};
use crate::model::{Component, Model, NetInput, Part};
use crate::random;
use crate::simd::Level;
use rayon::prelude::*;

/// Random streams of their own: other parts draw under the same seed.
const WEIGHTS: u64 = u64::from_le_bytes(*b"netstart");
const ORDER: u64 = u64::from_le_bytes(*b"netorder");

/// Docs that are scored by one task.
const DOCS_A_TASK: usize = 1024;

/// Everything about a training but its training set.
#[derive(Debug)]
pub struct NetPlan {
    /// The net and how it learns.
    pub params: Params,
    /// The loss.
    pub loss: NetLoss,
    /// The sets that are evaluated after each epoch.
    pub evaluation_sets: Vec<NetEvaluationSet>,
    /// The metrics that are evaluated on each set.
    pub metrics: Vec<Metric>,
    /// When to restart from the best weights and when to stop early; without it all epochs are done,
    /// and the model has the last weights.
    pub patience: Option<Patience>,
}

/// A dataset on which metrics are evaluated while a net is trained.
#[derive(Debug)]
pub struct NetEvaluationSet {
    /// The name under which its values are reported.
    pub name: String,
    /// The documents.
    pub data: RawDataset,
}

/// The result of an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Its number, from 1.
    pub number: usize,
    /// The mean of each metric on each evaluation set, set by set.
    pub values: Vec<f64>,
    /// Whether the value that early stopping looks at is the best so far.
    pub is_best: bool,
    /// The learning rate of the epoch.
    pub learning_rate: f64,
    /// Whether the next epoch starts again from the best weights.
    pub restarts: bool,
}

/// Training as a sequence of epochs.
///
/// An epoch that fails or is interrupted changes nothing.
#[derive(Debug)]
pub struct NetTrainer {
    data: RawDataset,
    plan: NetPlan,
    objective: NetObjective,
    inputs: Vec<NetInput>,
    /// The queries that can have a gradient.
    trainable: Vec<u32>,
    learner: Learner,
    buffers: StepBuffers,
    state: TrainingState,
    best_weights: Option<Vec<f32>>,
    history: Vec<Vec<f64>>,
}

/// The position of a training: epochs done, best epoch, restarts.
#[derive(Debug, Clone, Copy, Default)]
struct TrainingState {
    epoch: usize,
    best: Option<BestEpoch>,
    /// Epochs since the best one, or since the latest restart.
    since: usize,
    restarts: usize,
    stopped: bool,
}

/// The epoch with the best value of the metric of early stopping.
#[derive(Debug, Clone, Copy)]
struct BestEpoch {
    number: usize,
    value: f64,
}

/// What early stopping decides after an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoppingDecision {
    /// The epoch is the best so far.
    Best,
    Continue,
    /// Go on from the best weights, at a lower learning rate.
    Restart,
    Stop,
}

impl NetTrainer {
    /// Checks data and parameters, chooses the inputs and draws the first weights.
    pub fn new(mut data: RawDataset, mut plan: NetPlan, interrupt: &Interrupt) -> Result<Self> {
        plan.params.check()?;
        if let Some(patience) = &plan.patience {
            patience.check(plan.evaluation_sets.len(), plan.metrics.len())?;
        }
        check_sets(&data, &plan, interrupt)?;
        let objective = plan.loss.prepare(&data, interrupt)?;
        let trainable = objective.trainable_queries(&data);
        let params = &plan.params;
        let inputs = choose_inputs(&data, params.inputs, interrupt)?;
        let mut net = Net::zero(&inputs, params.limit as f32, &params.hidden);
        draw_weights(&mut net, params.seed);
        standardise(&mut data, &net, interrupt)?;
        for set in &mut plan.evaluation_sets {
            standardise(&mut set.data, &net, interrupt)?;
        }
        Ok(Self {
            learner: Learner::new(net, params),
            data,
            plan,
            objective,
            inputs,
            trainable,
            buffers: StepBuffers::default(),
            state: TrainingState::default(),
            best_weights: None,
            history: Vec::new(),
        })
    }

    /// Runs the next epoch; `None` once training has ended.
    pub fn next_epoch(&mut self, interrupt: &Interrupt) -> Result<Option<Epoch>> {
        if self.state.stopped || self.state.epoch >= self.plan.params.epochs {
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
        let (number, learning_rate) = (self.state.epoch, self.learning_rate());
        let stream = random::start(seed ^ ORDER, number as u64);
        let mut order: Vec<(u64, u32)> = self
            .trainable
            .iter()
            .map(|&query| (random::draw_in(stream, self.data.query_hash()[query as usize]), query))
            .collect();
        order.sort_unstable();
        let order: Vec<u32> = order.into_iter().map(|(_, query)| query).collect();
        for queries in order.chunks(batch_queries) {
            interrupt.check()?;
            let (data, objective, epoch) = (&self.data, &self.objective, number as u64);
            let input = StepInput { data, objective, queries, learning_rate, epoch };
            self.learner.step(&mut self.buffers, &input, interrupt)?;
        }
        let values = self.values(interrupt)?;
        let decision = self.stopping_decision(&values);
        self.state.epoch += 1;
        self.history.push(values.clone());
        let is_best = decision == StoppingDecision::Best;
        let restarts = decision == StoppingDecision::Restart;
        Ok(Epoch { number: number + 1, values, is_best, learning_rate, restarts })
    }

    /// The learning rate of the next epoch.
    fn learning_rate(&self) -> f64 {
        let Params { learning_rate, epochs, schedule, .. } = self.plan.params;
        let left = match schedule {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - self.state.epoch as f64 / epochs as f64,
        };
        let factor = self.plan.patience.map_or(1.0, |patience| patience.factor);
        (0..self.state.restarts).fold(learning_rate * left, |rate, _| rate * factor)
    }

    /// The mean of each metric on each evaluation set.
    fn values(&self, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        for NetEvaluationSet { data: set, .. } in &self.plan.evaluation_sets {
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

    /// Applies early stopping to the values of an epoch.
    fn stopping_decision(&mut self, values: &[f64]) -> StoppingDecision {
        let Some(patience) = self.plan.patience else { return StoppingDecision::Continue };
        let value = values[patience.set * self.plan.metrics.len() + patience.metric];
        let state = &mut self.state;
        if state.best.map_or(!value.is_nan(), |best| value > best.value) {
            state.best = Some(BestEpoch { number: state.epoch + 1, value });
            state.since = 0;
            self.best_weights = Some(self.learner.net.weights.clone());
            return StoppingDecision::Best;
        }
        state.since += 1;
        if state.since < patience.epochs {
            return StoppingDecision::Continue;
        }
        if state.restarts == patience.restarts {
            state.stopped = true;
            return StoppingDecision::Stop;
        }
        state.restarts += 1;
        state.since = 0;
        if let Some(best) = &self.best_weights {
            self.learner.net.weights.copy_from_slice(best);
        }
        self.learner.reset_optimiser();
        StoppingDecision::Restart
    }

    /// The net with the best weights, or with the latest without early stopping.
    pub fn model(&self) -> Result<Model> {
        let mut net = self.learner.net.clone();
        if let Some(best) = &self.best_weights {
            net.weights.copy_from_slice(best);
        }
        let mut model = Model::new(self.data.num_features());
        model.add(Component::new(Part::Mlp(net.to_mlp(&self.inputs)?)))?;
        let best = self.best_epoch().unwrap_or(self.state.epoch);
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
        self.plan.evaluation_sets.iter().flat_map(move |set| {
            metrics.iter().map(move |metric| (set.name.as_str(), metric.to_string()))
        })
    }

    /// The values of each epoch.
    pub fn history(&self) -> &[Vec<f64>] {
        &self.history
    }

    /// The epoch of the best value.
    pub fn best_epoch(&self) -> Option<usize> {
        self.state.best.map(|best| best.number)
    }

    /// How often training was restarted from the best weights.
    pub fn num_restarts(&self) -> usize {
        self.state.restarts
    }
}

/// Refuses evaluation sets with other features, and labels without a gain; errors name the caller's
/// rows.
fn check_sets(data: &RawDataset, plan: &NetPlan, interrupt: &Interrupt) -> Result<()> {
    for (at, NetEvaluationSet { name, data: set }) in plan.evaluation_sets.iter().enumerate() {
        if set.num_features() != data.num_features() {
            let what = format!("`{name}` has another number of features than the training set");
            return Err(Error::data("features", what)
                .got(set.num_features())
                .expected(data.num_features()));
        }
        if plan.evaluation_sets[..at].iter().any(|other| other.name == *name) {
            return Err(Error::param("valid", format!("two sets are called `{name}`")));
        }
        let labels = set.by_row(set.labels());
        let scores = vec![0.0; labels.len()];
        evaluate_rows(&plan.metrics, &scores, &labels, &grouping(set)?, interrupt)?;
    }
    Ok(())
}

/// Draws uniform weights around 0 in a range that shrinks with the inputs and units of a layer (Glorot
/// and Bengio 2010); the biases are 0.
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
