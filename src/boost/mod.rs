//! Boosting: rounds of gradients, a tree and a step, until a rule says stop.
//!
//! A [`Trainer`] is a sequence of rounds: [`next_round`](Trainer::next_round) asks the objective for
//! gradients at the current scores, grows a tree from them, adds its leaf values times the learning
//! rate to the scores of all docs, and evaluates. Callers loop, and do between rounds what they like.
//!
//! A *round* is one such step and adds one tree; its *number* is the number of trees of the model
//! after it, those of a base model included. A set is *watched* if it is evaluated after each round.
//! *Patience* is how many rounds without a better value are waited for.
//!
//! Invariants: nothing depends on threads or on the order of rows; a round that fails leaves no
//! trace; scores are the starting point plus the leaf values in the order of the trees, so that
//! training goes on from a model, or from a checkpoint, as if it had never stopped.
//!
//! Cost: beside gradients and tree, a round takes some nanoseconds a doc, and for each doc of a
//! watched set a walk down one tree and its share of the metrics.

mod diagnosis;
mod importance;
mod loss;
mod notes;
mod params;
mod sampler;
mod start;
mod stopping;
mod trainer;
mod watch;

pub use importance::permutation_importance;
pub use loss::Loss;
pub use params::Params;
pub use start::{binning_of, score_dataset};
pub use stopping::{End, Patience};
pub use trainer::{Plan, Round, Trainer};
pub use watch::{Measured, OtherMetric, Watched};
