//! What the trainer notes down in a model, and reads back from a checkpoint.
//!
//! Every model says what it was trained by. A checkpoint is a model with some more notes: which data
//! and parameters its rounds depend on, and their history. So it can be used like any other model,
//! is saved as atomically, and resuming needs nothing else: scores follow from the trees.

use super::super::BoostingParams;
use super::{BaseModel, BoostingTrainer, TrainingPlan, TreeLearner};
use crate::error::{Error, Result};
use crate::hash;
use crate::model::Model;

const DATASET: &str = "checkpoint.dataset";
const WATCHED: &str = "checkpoint.watched";
const BASE: &str = "checkpoint.base";
const HISTORY: &str = "checkpoint.history";
/// The leaf values that trees had when they were new, if later rounds changed them.
const BIRTHS: &str = "checkpoint.births";
/// The position biases of all rounds.
const BIASES: &str = "checkpoint.biases";

/// The values of several metrics before the first round.
const REFERENCE: &str = "checkpoint.reference";

/// Notes the parameters of training.
pub(super) fn write_params(model: &mut Model, plan: &TrainingPlan) {
    // Those of a base are its own.
    for name in BoostingParams::optional() {
        model.remove_attribute(name);
    }
    for (name, value) in params(plan) {
        model.set_attribute(name, value);
    }
}

fn params(plan: &TrainingPlan) -> Vec<(&'static str, String)> {
    let mut params = plan.params.named();
    params.extend(plan.loss.notes.iter().cloned());
    params
}

impl BoostingTrainer {
    /// The model so far, with all that [`resume`](Self::resume) needs.
    pub fn checkpoint(&self) -> Model {
        let learner = self.learner();
        let mut model = learner.model.clone();
        for (name, value) in learner.facts() {
            model.set_attribute(name, value);
        }
        model.set_attribute(HISTORY, lists_to_text(self.history()));
        if let Some(dropout_state) = &learner.dropout_state {
            model.set_attribute(BIRTHS, dropout_state.to_text());
        }
        if let Some(bias) = &learner.bias {
            model.set_attribute(BIASES, bias.to_text());
        }
        if let Some(balance) = &learner.balance {
            model.set_attribute(REFERENCE, numbers_to_text(balance.reference()));
        }
        model
    }
}

impl TreeLearner {
    /// What the rounds of a training depend on, besides the parameters.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Self { plan, evaluation, data_facts, .. } = self;
        let sets = evaluation.sets().zip(&data_facts.fingerprints[1..]);
        let sets = sets.map(|(set, fingerprint)| format!("{}={fingerprint:016x}", set.name));
        let evaluation_sets: Vec<String> = sets.chain(evaluation.described()).collect();
        let text = |base: &BaseModel| hash::bytes(base.model.to_text().as_bytes());
        let base = plan.base.as_ref().map_or(0, text);
        vec![
            (DATASET, format!("{:016x}", data_facts.fingerprints[0])),
            (WATCHED, evaluation_sets.join(" ")),
            (BASE, format!("{base:016x}")),
        ]
    }

    /// Takes the model of a checkpoint, if it is one of this very training; returns its history.
    pub(super) fn restore(&mut self, mut model: Model) -> Result<Vec<Vec<f64>>> {
        let known = params(&self.plan);
        for (name, expected) in self.facts().iter().chain(&known) {
            let Some(got) = model.attributes().get(*name) else {
                return Err(Error::data("checkpoint", "the file is a model, and no checkpoint"));
            };
            if got != expected {
                return Err(other(name, got, expected));
            }
        }
        for name in BoostingParams::optional() {
            if let Some(got) = model.attributes().get(name)
                && !known.iter().any(|(known, _)| *known == name)
            {
                return Err(other(name, got, "none"));
            }
        }
        let mut take = |name| model.remove_attribute(name).unwrap_or_default();
        let [history, births, biases, reference, ..] =
            [HISTORY, BIRTHS, BIASES, REFERENCE, DATASET, WATCHED, BASE].map(&mut take);
        let damaged = || Error::data("checkpoint", "the checkpoint is damaged");
        let num_before = self.num_before;
        let num_values = self.evaluation.round_plan(&self.plan).num_values();
        let history = lists_of_text(&history)
            .filter(|history| num_before + history.len() == model.num_rounds())
            .filter(|history| history.iter().all(|values| values.len() == num_values))
            .ok_or_else(damaged)?;
        self.model = model;
        if let Some(balance) = &mut self.balance {
            let reference = numbers_of_text(&reference).ok_or_else(damaged)?;
            if !balance.resume(reference, &history) {
                return Err(damaged());
            }
        }
        let (dropout_state, bias) = (self.dropout_state.as_mut(), self.bias.as_mut());
        let is_whole = dropout_state.is_none_or(|state| state.restore(&births, &self.model))
            && bias.is_none_or(|bias| bias.restore(&biases, history.len()));
        if is_whole { Ok(history) } else { Err(damaged()) }
    }
}

/// Numbers as text, exactly.
pub(in super::super) fn numbers_to_text(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(" ")
}

/// The numbers of a text, if it has nothing else.
pub(in super::super) fn numbers_of_text(text: &str) -> Option<Vec<f64>> {
    text.split(' ').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// Lists of numbers as text, exactly.
pub(in super::super) fn lists_to_text(lists: &[Vec<f64>]) -> String {
    lists.iter().map(|numbers| numbers_to_text(numbers) + ";").collect()
}

/// The lists of numbers of a text, if it has nothing else.
pub(in super::super) fn lists_of_text(text: &str) -> Option<Vec<Vec<f64>>> {
    text.split_terminator(';').map(numbers_of_text).collect()
}

fn other(name: &str, got: &str, expected: &str) -> Error {
    let what = match name {
        DATASET => "the checkpoint is of another training set".to_owned(),
        WATCHED => "the checkpoint is of a training that watched other sets or metrics".to_owned(),
        BASE => "the checkpoint is of a training with another base".to_owned(),
        param => format!("the checkpoint is of a training with another {param}"),
    };
    Error::data("checkpoint", what)
        .got(got)
        .expected(expected)
        .hint("resume with what the training began with, or begin anew")
}
