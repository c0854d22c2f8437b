//! What can be chosen of a net and its training.

use crate::error::{Error, Result};
use crate::model::mlp::{MOST_LAYERS, MOST_UNITS};

/// A net and how it learns.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The units of each hidden layer: none for a linear ranker, at most two layers.
    pub hidden: Vec<usize>,
    /// The most epochs.
    pub epochs: usize,
    /// The size of a step.
    pub learning_rate: f64,
    /// How a gradient becomes a step.
    pub optimiser: Optimiser,
    /// How the learning rate falls.
    pub schedule: Schedule,
    /// So many queries make a step together: their gradients are averaged.
    pub batch_queries: usize,
    /// What a step takes off each weight, as a share of the learning rate.
    pub weight_decay: f64,
    /// What is taken of the values.
    pub inputs: Inputs,
    /// The largest magnitude of an input, in standard deviations.
    pub limit: f64,
    /// The seed of the first weights and of the order of queries.
    pub seed: u64,
}

/// How a gradient becomes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimiser {
    /// The gradient times the learning rate, as in the papers.
    Sgd,
    /// Adam (Kingma and Ba 2015): the mean of the latest gradients over the root of their mean square.
    Adam,
}

/// What a net takes of a feature's values, before these are standardised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// The values.
    Plain,
    /// Their logarithms, see [`Input`](crate::model::Input).
    Log,
    /// The logarithms of features with long tails (a kurtosis above 6) where they shorten these.
    Auto,
}

/// How the learning rate falls from epoch to epoch, beside what restarts take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Not at all.
    Constant,
    /// By as much each epoch, so that 0 would follow the last.
    Linear,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            hidden: vec![16],
            epochs: 30,
            learning_rate: 3e-3,
            optimiser: Optimiser::Adam,
            schedule: Schedule::Linear,
            batch_queries: 1,
            weight_decay: 0.1,
            inputs: Inputs::Auto,
            limit: 10.0,
            seed: 0,
        }
    }
}

impl Params {
    /// An error that names the first option out of its range.
    pub fn check(&self) -> Result<()> {
        if self.hidden.len() > MOST_LAYERS {
            return Err(wrong("hidden", self.hidden.len())
                .expected(format!("at most {MOST_LAYERS} hidden layers")));
        }
        let units = self.hidden.iter().find(|&&units| units == 0 || units > MOST_UNITS);
        if let Some(units) = units {
            return Err(wrong("hidden", units).expected(format!("1 to {MOST_UNITS} units a layer")));
        }
        for (name, value) in [("epochs", self.epochs), ("batch_queries", self.batch_queries)] {
            if value == 0 || value > u32::MAX as usize {
                return Err(wrong(name, value).expected("a whole number from 1 to 2^32 - 1"));
            }
        }
        for (name, value, least, most) in [
            ("learning_rate", self.learning_rate, 1e-12, 1e3),
            ("weight_decay", self.weight_decay, 0.0, 1.0),
            ("limit", self.limit, 1e-3, 1e6),
        ] {
            if !(least..=most).contains(&value) {
                return Err(wrong(name, value).expected(format!("a number from {least} to {most}")));
            }
        }
        Ok(())
    }
}

fn wrong(name: &'static str, got: impl std::fmt::Display) -> Error {
    Error::param(name, format!("{name} is out of range")).got(got)
}

/// How often early stopping goes on from the best weights before it ends the training of a net.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restarts {
    /// The most restarts.
    pub most: usize,
    /// What a restart multiplies the learning rate by: above 0, at most 1.
    pub factor: f64,
}

impl Default for Restarts {
    fn default() -> Self {
        Self { most: 0, factor: 1.0 }
    }
}

impl Restarts {
    /// An error that names the factor if it is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        if self.factor > 0.0 && self.factor <= 1.0 {
            return Ok(());
        }
        Err(wrong("restart_factor", self.factor).expected("above 0, at most 1"))
    }
}
