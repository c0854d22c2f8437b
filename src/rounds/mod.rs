//! The loop that every training shares: rounds, their values, early stopping and the best round.
//!
//! A [`RoundDriver`] runs a [`RoundLearner`]: trees ([`BoostingTrainer`](crate::boosting::BoostingTrainer)),
//! single features ([`LambdaBoostTrainer`](crate::boosting::LambdaBoostTrainer)) or a net
//! ([`NetTrainer`](crate::neural::NetTrainer)). The learner does one round and returns the *values* of its
//! evaluation sets: the mean of each metric on each set, set by set. The driver keeps the history of
//! values and decides when training ends.
//!
//! Invariants: a round that fails or is interrupted has no effect. The best round is the first with the
//! largest value; NaN is never the largest.

mod driver;
mod early_stopping;
mod raw_evaluation;

pub use driver::{LearnedRound, RoundDriver, RoundLearner, RoundPlan, RoundResult};
pub use early_stopping::{EarlyStopping, StopReason};
pub use raw_evaluation::RawEvaluationSet;
pub(crate) use raw_evaluation::metric_means;
