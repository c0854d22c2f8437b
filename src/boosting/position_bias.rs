//! Position bias: separates the effect of a document's position on clicks from its relevance.
//!
//! Click labels say what was relevant *and looked at*. So the loss is computed on scores plus a
//! *bias* per displayed position, `s + b[position]`, and both are learned together: a tree from the
//! gradients, and a Newton step on each bias from the sum of the gradients at its position. The
//! model contains the scores only; the biases are stored as an attribute.
//!
//! Why a sum: let a document be clicked with probability `theta[position] * relevance`. Of two
//! documents of which one was clicked, the odds that it is the first are
//! `theta_i r_i (1 - theta_j r_j)` to `theta_j r_j (1 - theta_i r_i)`. If clicks are rare, the log odds are the difference of
//! `log theta + log r`, and pairwise and logistic losses depend on differences of such sums. So a
//! bias is the logarithm of how often its position is looked at, relative to others.
//!
//! Sums over documents are sums of integers, so neither threads nor the order of documents matter.

use super::trainer::{lists_of_text, lists_to_text, numbers_of_text, numbers_to_text};
use super::{BoostingParams, StepRule};
use crate::Gradient;
use crate::data::Dataset;
use crate::error::{Error, Result, foreign};
use crate::model::Model;
use rayon::prelude::*;

/// The model attribute with the biases.
pub(super) const NOTE: &str = "position_bias";
/// Documents per task.
const DOCS_A_TASK: usize = 1 << 16;
/// The largest step, as a share of a Newton step: steps on all biases at once may overshoot
/// twofold.
const LONGEST: f64 = 0.5;

/// The biases after each round.
#[derive(Debug)]
pub(super) struct PositionBias {
    /// The position of each document, from 0.
    position: Vec<u32>,
    rate: f64,
    l2: f64,
    /// The biases at the start, and after each round.
    rounds: Vec<Vec<f64>>,
    /// The biases after the current round.
    next: Vec<f64>,
    /// The scores with biases.
    scores: Vec<f64>,
}

impl PositionBias {
    /// The biases at the start, from the model if it has some; `None` if the data set has no
    /// positions.
    pub(super) fn new(
        params: &BoostingParams,
        is_of_scores: bool,
        dataset: &Dataset,
        model: &mut Model,
    ) -> Result<Option<Self>> {
        let Some(position) = dataset.position() else { return Ok(None) };
        if !is_of_scores {
            let what = "classes have no position bias: it is added to scores";
            return Err(Error::param("position", what)
                .hint("another objective, or a dataset without position="));
        }
        if params.step != StepRule::Newton {
            let what = "an exact step is best for clicks where they were shown, biased as they are";
            return Err(Error::param("step", what).hint("train on positions with step=\"newton\""));
        }
        let mut values = match model.attributes().get(NOTE) {
            Some(note) => {
                numbers_of_text(note).filter(|values| are_finite(values)).ok_or_else(|| {
                    let what = "the attribute position_bias of the model is wrong";
                    Error::model("model.note", what)
                        .got(foreign(note.as_bytes()))
                        .expected("finite numbers")
                })?
            }
            None => Vec::new(),
        };
        let most = position.iter().copied().max().unwrap_or(1) as usize;
        values.resize(values.len().max(most), 0.0);
        model.set_attribute(NOTE, numbers_to_text(&values));
        Ok(Some(Self {
            position: position.iter().map(|position| position - 1).collect(),
            rate: params.learning_rate.min(LONGEST),
            l2: params.position_l2,
            next: values.clone(),
            rounds: vec![values],
            scores: vec![0.0; position.len()],
        }))
    }

    /// The scores with biases.
    pub(super) fn shifted(&mut self, scores: &[f64]) -> &[f64] {
        let values = &self.rounds[self.rounds.len() - 1];
        let parts = self.scores.par_chunks_mut(DOCS_A_TASK);
        let given = scores.par_chunks(DOCS_A_TASK).zip(self.position.par_chunks(DOCS_A_TASK));
        parts.zip(given).for_each(|(shifted, (scores, position))| {
            for ((shifted, score), &at) in shifted.iter_mut().zip(scores).zip(position) {
                *shifted = score + values[at as usize];
            }
        });
        &self.scores
    }

    /// Computes the biases that follow from the gradients of a round.
    pub(super) fn step(&mut self, gradients: &[Gradient]) {
        let values = &self.rounds[self.rounds.len() - 1];
        let most = |of: fn(&Gradient) -> f32| {
            let most = gradients.par_iter().map(|g| of(g).abs()).reduce(|| 0.0, f32::max);
            // Sums of 2^32 documents stay below 2^63.
            2f64.powi(30 - f64::from(most.max(f32::MIN_POSITIVE)).log2().ceil() as i32)
        };
        let scales = [most(|g| g.grad), most(|g| g.hess)];
        let whole = |value: f32, scale: f64| (f64::from(value) * scale).round() as i64;
        let tasks = gradients.par_chunks(DOCS_A_TASK).zip(self.position.par_chunks(DOCS_A_TASK));
        let none = || vec![[0i64; 2]; values.len()];
        let sums = tasks.map(|(gradients, position)| {
            let mut sums = none();
            for (gradient, &at) in gradients.iter().zip(position) {
                sums[at as usize][0] += whole(gradient.grad, scales[0]);
                sums[at as usize][1] += whole(gradient.hess, scales[1]);
            }
            sums
        });
        let sums = sums.reduce(none, |mut sums, more| {
            sums.iter_mut().zip(more).for_each(|(a, b)| *a = [a[0] + b[0], a[1] + b[1]]);
            sums
        });
        let step = |(value, sums): (&f64, &[i64; 2])| {
            let (grad, hess) = (sums[0] as f64 / scales[0], sums[1] as f64 / scales[1]);
            let hess = hess + self.l2;
            let step = if hess > 0.0 { self.rate * (grad + self.l2 * value) / hess } else { 0.0 };
            value - step
        };
        self.next = values.iter().zip(&sums).map(step).collect();
    }

    /// Commits the biases of a completed round.
    pub(super) fn keep(&mut self, model: &mut Model) {
        model.set_attribute(NOTE, numbers_to_text(&self.next));
        self.rounds.push(self.next.clone());
    }

    /// Undoes the latest round.
    pub(super) fn pop(&mut self) {
        self.rounds.pop();
    }

    /// Stores the biases after this many rounds of this training in a model.
    pub(super) fn note(&self, rounds: usize, model: &mut Model) {
        let at = rounds.min(self.rounds.len() - 1);
        model.set_attribute(NOTE, numbers_to_text(&self.rounds[at]));
    }

    /// The biases of all rounds, for a checkpoint.
    pub(super) fn to_text(&self) -> String {
        lists_to_text(&self.rounds)
    }

    /// Restores the biases of a checkpoint; `false` if they do not fit the number of rounds.
    pub(super) fn restore(&mut self, given: &str, rounds: usize) -> bool {
        let Some(given) = lists_of_text(given) else { return false };
        let len = self.rounds[0].len();
        let fits = given.len() == rounds + 1
            && given.iter().all(|values| values.len() == len && are_finite(values));
        if fits {
            self.rounds = given;
        }
        fits
    }
}

fn are_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}
