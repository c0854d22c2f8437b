//! What the trainer notes down in a model, and reads back from a checkpoint.
//!
//! Every model says what it was trained by. A checkpoint is a model with some more notes: which data
//! and parameters its rounds depend on, and their history. So it can be used like any other model,
//! is saved as atomically, and resuming needs nothing else: scores follow from the trees.

use super::BoostingParams;
use super::evaluation::EvaluationSets;
use super::trainer::TrainingPlan;
use crate::error::{Error, Result};
use crate::hash;
use crate::model::Model;

const DATASET: &str = "checkpoint.dataset";
const WATCHED: &str = "checkpoint.watched";
const BASE: &str = "checkpoint.base";
const HISTORY: &str = "checkpoint.history";
/// The leaf values that trees had when they were new, if later rounds changed them.
pub(super) const BIRTHS: &str = "checkpoint.births";
/// The position biases of all rounds.
pub(super) const BIASES: &str = "checkpoint.biases";
const PREFIX: &str = "checkpoint.";

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

/// A model that training can be resumed from.
pub(super) fn checkpoint(
    model: &Model,
    context: &CheckpointContext<'_>,
    history: &[Vec<f64>],
) -> Model {
    let mut model = model.clone();
    for (name, value) in context.facts() {
        model.set_attribute(name, value);
    }
    model.set_attribute(HISTORY, lists_to_text(history));
    model
}

/// The model and the history of a checkpoint, if it is one of this very training.
pub(super) fn restore(
    mut model: Model,
    context: &CheckpointContext<'_>,
) -> Result<(Model, Vec<Vec<f64>>)> {
    for (name, expected) in context.facts().into_iter().chain(params(context.plan)) {
        let got = model.attributes().get(name);
        let Some(got) = got else {
            return Err(Error::data("checkpoint", "the file is a model, and no checkpoint"));
        };
        if *got != expected {
            return Err(other(name, got, &expected));
        }
    }
    let known = params(context.plan);
    for name in BoostingParams::optional() {
        if let Some(got) = model.attributes().get(name)
            && !known.iter().any(|(known, _)| *known == name)
        {
            return Err(other(name, got, "none"));
        }
    }
    let (num_values, num_before) = (context.evaluation.num_values(), context.num_before);
    let history = model.attributes().get(HISTORY).and_then(|text| lists_of_text(text));
    let history = history
        .filter(|history| num_before + history.len() == model.num_rounds())
        .filter(|history| history.iter().all(|values| values.len() == num_values))
        .ok_or_else(damaged)?;
    let notes: Vec<String> =
        model.attributes().keys().filter(|name| name.starts_with(PREFIX)).cloned().collect();
    for name in notes {
        model.remove_attribute(&name);
    }
    Ok((model, history))
}

pub(super) fn damaged() -> Error {
    Error::data("checkpoint", "the checkpoint is damaged")
}

/// What the rounds of a training depend on, besides the parameters.
#[derive(Debug)]
pub(super) struct CheckpointContext<'a> {
    /// The fingerprints of the training set and of each watched set, on all ranks.
    pub(super) fingerprints: &'a [u64],
    pub(super) plan: &'a TrainingPlan,
    pub(super) evaluation: &'a EvaluationSets,
    /// The number of rounds of the base.
    pub(super) num_before: usize,
}

impl CheckpointContext<'_> {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let sets = self.evaluation.sets().zip(&self.fingerprints[1..]);
        let sets = sets.map(|(set, fingerprint)| format!("{}={fingerprint:016x}", set.name));
        let evaluation_sets: Vec<String> = sets.chain(self.evaluation.described()).collect();
        let text = |base: &super::BaseModel| hash::bytes(base.model.to_text().as_bytes());
        let base = self.plan.base.as_ref().map_or(0, text);
        vec![
            (DATASET, format!("{:016x}", self.fingerprints[0])),
            (WATCHED, evaluation_sets.join(" ")),
            (BASE, format!("{base:016x}")),
        ]
    }
}

/// Numbers as text, exactly.
pub(super) fn numbers_to_text(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(" ")
}

/// The numbers of a text, if it has nothing else.
pub(super) fn numbers_of_text(text: &str) -> Option<Vec<f64>> {
    text.split(' ').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// Lists of numbers as text, exactly.
pub(super) fn lists_to_text(lists: &[Vec<f64>]) -> String {
    lists.iter().map(|numbers| numbers_to_text(numbers) + ";").collect()
}

/// The lists of numbers of a text, if it has nothing else.
pub(super) fn lists_of_text(text: &str) -> Option<Vec<Vec<f64>>> {
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
