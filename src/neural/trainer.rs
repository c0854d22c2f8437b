//! The training of nets: epochs over all queries in a random order, metrics after each, and restarts
//! from the best or from random weights.

use super::gradient_step::{Learner, StepBuffers, StepInput, inputs_of};
use super::inputs::{choose_inputs, standardise};
use super::loss::{NetLoss, NetObjective, check_labels};
use super::params::{Params, RestartFrom, Restarts, Schedule};
use crate::data::RawDataset;
use crate::error::{Error, Result, check_features};
use crate::interrupt::Interrupt;
use crate::metric::Metric;
use crate::model::mlp::{Activations, Net};
use crate::model::{Component, Model, NetInput, Part};
use crate::random;
use crate::rounds::{
    EarlyStopping, LearnedRound, RawEvaluationSet, RoundDriver, RoundLearner, RoundPlan,
    metric_means,
};
use crate::schema::Parameters;
use crate::simd::Level;
use rayon::prelude::*;

/// Random streams of their own: other parts draw under the same seed.
const WEIGHTS: u64 = u64::from_le_bytes(*b"netstart");
const RESTART: u64 = u64::from_le_bytes(*b"netagain");
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
    pub evaluation_sets: Vec<RawEvaluationSet>,
    /// The metrics that are evaluated on each set.
    pub metrics: Vec<Metric>,
    /// When to restart or to stop early; without it all epochs are done, and the model has the last
    /// weights.
    pub patience: Option<EarlyStopping>,
    /// How often early stopping begins again before it ends training.
    pub restarts: Restarts,
}

/// Training of a net as a sequence of epochs, which are its rounds.
pub type NetTrainer = RoundDriver<NetLearner>;

/// The learner of a [`NetTrainer`].
#[derive(Debug)]
pub struct NetLearner {
    data: RawDataset,
    plan: NetPlan,
    objective: NetObjective,
    inputs: Vec<NetInput>,
    /// The queries that can have a gradient.
    trainable: Vec<u32>,
    buffers: StepBuffers,
    state: NetState,
    /// The state before the latest epoch, unless that was undone.
    before: Option<NetState>,
}

/// What an epoch changes.
#[derive(Debug, Clone)]
struct NetState {
    learner: Learner,
    epoch: usize,
    best: Option<BestEpoch>,
    restarts: usize,
    /// The number of epochs at the latest restart; the next epoch begins with other weights.
    restarted_at: usize,
}

/// The epoch with the best value of early stopping.
#[derive(Debug, Clone)]
struct BestEpoch {
    number: usize,
    weights: Vec<f32>,
}

impl NetState {
    /// Goes back to the best weights, or begins with random ones.
    fn begin_again(&mut self, from: RestartFrom, seed: u64) {
        match (from, &self.best) {
            (RestartFrom::Random, _) => {
                let seed = random::draw(seed ^ RESTART, 0, self.restarts as u64);
                draw_weights(&mut self.learner.net, seed);
            }
            (RestartFrom::Best, Some(best)) => {
                self.learner.net.weights.copy_from_slice(&best.weights);
            }
            (RestartFrom::Best, None) => {}
        }
        self.learner.reset_optimiser();
    }
}

impl NetTrainer {
    /// Checks data and parameters, chooses the inputs and draws the first weights.
    pub fn new(mut data: RawDataset, mut plan: NetPlan, interrupt: &Interrupt) -> Result<Self> {
        plan.params.check()?;
        let rounds = RoundPlan {
            max_rounds: plan.params.epochs,
            patience: plan.patience,
            sets: plan.evaluation_sets.iter().map(|set| set.name.clone()).collect(),
            metrics: plan.metrics.iter().map(ToString::to_string).collect(),
            is_guarded: false,
        };
        rounds.check("patience")?;
        plan.restarts.check()?;
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
        let state = NetState {
            learner: Learner::new(net, params),
            epoch: 0,
            best: None,
            restarts: 0,
            restarted_at: 0,
        };
        let learner = NetLearner {
            data,
            plan,
            objective,
            inputs,
            trainable,
            buffers: StepBuffers::default(),
            state,
            before: None,
        };
        Ok(RoundDriver::of(learner, rounds, Vec::new()))
    }

    /// How often training was restarted.
    pub fn num_restarts(&self) -> usize {
        self.learner().state.restarts
    }
}

impl RoundLearner for NetLearner {
    fn learn_round(&mut self, interrupt: &Interrupt) -> Result<Option<LearnedRound>> {
        let before = self.state.clone();
        let values = self.epoch(interrupt).inspect_err(|_| self.state = before.clone())?;
        self.before = Some(before);
        Ok(Some(LearnedRound { values, num_leaves: 0 }))
    }

    fn undo_round(&mut self) -> Result<()> {
        let before = self.before.take();
        self.state = before.ok_or_else(|| Error::internal("a net can undo one epoch only"))?;
        Ok(())
    }

    /// The net with the best weights, or with the latest.
    fn model_at(&self, rounds: usize) -> Result<Model> {
        let NetState { learner, epoch, best, .. } = &self.state;
        let mut net = learner.net.clone();
        match best {
            Some(best) if best.number == rounds => net.weights.copy_from_slice(&best.weights),
            _ if *epoch == rounds => {}
            _ => return Err(Error::internal("a net keeps the best and the latest weights only")),
        }
        let mut model = Model::new(self.data.num_features());
        model.add(Component::new(Part::Mlp(net.to_mlp(&self.inputs)?)))?;
        let params = &self.plan.params;
        for (name, value) in params.values().into_iter().filter(|(name, _)| *name != "limit") {
            model.set_attribute(name, value.noted());
        }
        let hidden: Vec<String> = params.hidden.iter().map(usize::to_string).collect();
        model.set_attribute("hidden", hidden.join(" "));
        model.set_attribute("epochs", rounds.to_string());
        model.set_attribute("trainer", "net");
        for (name, value) in self.plan.loss.notes() {
            model.set_attribute(*name, value);
        }
        Ok(model)
    }

    fn keep_best(&mut self) {
        let NetState { learner, epoch, .. } = &self.state;
        self.state.best = Some(BestEpoch { number: *epoch, weights: learner.net.weights.clone() });
    }

    fn restart(&mut self) {
        let state = &mut self.state;
        if state.restarts < self.plan.restarts.most {
            state.restarts += 1;
            state.restarted_at = state.epoch;
        }
    }

    fn waits_from(&self) -> Option<usize> {
        Some(self.state.restarted_at)
    }

    fn begins_anew(&self) -> bool {
        self.plan.restarts.from == RestartFrom::Random
    }
}

impl NetLearner {
    /// Steps through all queries; returns the values of the evaluation sets.
    fn epoch(&mut self, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let Params { seed, batch_queries, .. } = self.plan.params;
        let (number, learning_rate) = (self.state.epoch, self.learning_rate());
        if number > 0 && self.state.restarted_at == number {
            self.state.begin_again(self.plan.restarts.from, seed);
        }
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
            self.state.learner.step(&mut self.buffers, &input, interrupt)?;
        }
        let values = self.values(interrupt)?;
        self.state.epoch += 1;
        Ok(values)
    }

    /// The learning rate of the next epoch.
    fn learning_rate(&self) -> f64 {
        let Params { learning_rate, epochs, schedule, .. } = self.plan.params;
        let left = match schedule {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - self.state.epoch as f64 / epochs as f64,
        };
        let factor = self.plan.restarts.factor;
        (0..self.state.restarts).fold(learning_rate * left, |rate, _| rate * factor)
    }

    /// The mean of each metric on each evaluation set.
    fn values(&self, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        for RawEvaluationSet { data, .. } in &self.plan.evaluation_sets {
            let scores = self.scores(data, interrupt)?;
            values.extend(metric_means(data, &self.plan.metrics, &scores, interrupt)?);
        }
        Ok(values)
    }

    fn scores(&self, set: &RawDataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; set.num_docs()];
        let net = &self.state.learner.net;
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
}

/// Refuses evaluation sets with other features, and labels without a gain; errors name the caller's
/// rows.
fn check_sets(data: &RawDataset, plan: &NetPlan, interrupt: &Interrupt) -> Result<()> {
    for RawEvaluationSet { name, data: set } in &plan.evaluation_sets {
        let what = format!("`{name}` has another number of features than the training set");
        check_features(&what, set.num_features(), data.num_features())?;
        check_labels(&plan.metrics, set, interrupt)?;
    }
    Ok(())
}

/// Draws uniform weights around 0 in a range that shrinks with the inputs and units of a layer (Glorot
/// and Bengio 2010); the biases are 0.
fn draw_weights(net: &mut Net, seed: u64) {
    let shape = net.shape.clone();
    net.weights.fill(0.0);
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
