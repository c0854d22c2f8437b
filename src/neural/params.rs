//! What can be chosen of a net and its training.

use crate::error::{Error, Result};
use crate::model::mlp::{MOST_LAYERS, MOST_UNITS};
use crate::schema::{ParamRange, Parameters, choices, parameters};

parameters! {
    /// A net and how it learns.
    pub struct Params in "net" {
        /// The units of each hidden layer, tanh: none for a linear ranker, at most two layers. Sixteen
        /// cost no more than the papers' ten.
        pub hidden: Vec<usize> = vec![16], typed "Sequence[int]";
        /// The most passes over all queries.
        pub epochs: usize = 30, within ParamRange::from(1.0).to(4_294_967_295.0);
        /// The size of a step.
        pub learning_rate: f64 = 3e-3, within ParamRange::from(1e-12).to(1e3);
        /// How a gradient becomes a step: `adam` (Kingma and Ba 2015: the mean of the latest gradients
        /// over the root of their mean square), or `sgd`, the papers': the gradient times the
        /// learning rate.
        pub optimiser: Optimiser = Optimiser::Adam;
        /// Whether the learning rate falls from epoch to epoch, towards 0 after the last, beside what
        /// restarts take.
        pub schedule: Schedule = Schedule::Linear;
        /// How many queries make a step together: their gradients are averaged. 1 is the papers'. Only
        /// the docs of a batch are worked on in parallel.
        pub batch_queries: usize = 1, within ParamRange::from(1.0).to(4_294_967_295.0);
        /// What a step takes off each weight, as a share of the learning rate. Clean labels and much
        /// data want less.
        pub weight_decay: f64 = 0.1, within ParamRange::from(0.0).to(1.0);
        /// Whether to take `sign(x) * log(1 + |x|)` of values before they are standardised: `auto` does
        /// so for features with long tails (a kurtosis above 6), such as counts, where it shortens
        /// these.
        pub inputs: Inputs = Inputs::Auto;
        /// Standardised values beyond this count as this.
        pub limit: f64 = 10.0, within ParamRange::from(1e-3).to(1e6);
        /// The seed of the first weights and of the order of queries.
        pub seed: u64 = 0, elsewhere "random_state random_seed";
    }
}

choices! {
    /// How a gradient becomes a step.
    pub enum Optimiser {
        /// Adam (Kingma and Ba 2015): the mean of the latest gradients over the root of their mean
        /// square.
        Adam = "adam",
        /// The gradient times the learning rate, as in the papers.
        Sgd = "sgd",
    }
}

choices! {
    /// What a net takes of a feature's values, before these are standardised.
    pub enum Inputs {
        /// The logarithms of features with long tails (a kurtosis above 6) where they shorten these.
        Auto = "auto",
        /// The values.
        Plain = "plain",
        /// Their logarithms, see [`NetInput`](crate::model::NetInput).
        Log = "log",
    }
}

choices! {
    /// How the learning rate falls from epoch to epoch, beside what restarts take.
    pub enum Schedule {
        /// By as much each epoch, so that 0 would follow the last.
        Linear = "linear",
        /// Not at all.
        Constant = "constant",
    }
}

impl Params {
    /// An error that names the first option out of its range.
    pub fn check(&self) -> Result<()> {
        if self.hidden.len() > MOST_LAYERS {
            return Err(Error::param("hidden", "hidden is out of range")
                .got(self.hidden.len())
                .expected(format!("at most {MOST_LAYERS} hidden layers")));
        }
        let units = self.hidden.iter().find(|&&units| units == 0 || units > MOST_UNITS);
        if let Some(units) = units {
            return Err(Error::param("hidden", "hidden")
                .got(units)
                .expected(format!("a whole number from 1 to {MOST_UNITS} units a hidden layer")));
        }
        self.check_ranges()
    }
}

/// The range of `restart_factor`.
pub(crate) const FACTOR: ParamRange = ParamRange::above(0.0).to(1.0);

/// How often early stopping begins again before it ends the training of a net.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restarts {
    /// The most restarts.
    pub most: usize,
    /// What a restart multiplies the learning rate by: above 0, at most 1.
    pub factor: f64,
    /// The weights that it begins with.
    pub from: RestartFrom,
}

choices! {
    /// The weights that a restart begins with.
    pub enum RestartFrom {
        /// The best so far.
        Best = "best",
        /// Random ones, as at the start. The best net of all starts is kept.
        Random = "random",
    }
}

impl Default for Restarts {
    fn default() -> Self {
        Self { most: 0, factor: 1.0, from: RestartFrom::Best }
    }
}

impl Restarts {
    /// An error that names the factor if it is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        FACTOR.check("restart_factor", &self.factor)
    }
}
