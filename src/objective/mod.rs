//! Objectives: from scores and labels to gradients, query by query. They never see trees.

mod kernel;
mod lambda;
mod options;
mod order;
mod pairwise;
mod pointwise;
mod preference;
mod tasks;
mod ties;
mod values;
mod weight;
mod xendcg;

pub use lambda::{LambdaRank, RankNet};
pub use options::{
    Kind, LambdaOptions, ObjectiveOptions, PairNormaliser, QueryNormaliser, ScoreNoise, TiedPairs,
};
pub use pointwise::{BalancedLogistic, Logistic, Regression};
pub use preference::{Preference, PreferenceNet};
pub use xendcg::XeNdcg;

use crate::error::Result;
use crate::gradient::Gradient;
use crate::{Interrupt, Queries};
use std::fmt::Debug;

/// What is judged: everything an objective may know of the docs, in the dataset's order.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The label of each doc.
    pub labels: &'a [f32],
    /// The docs of each query.
    pub queries: &'a Queries,
    /// The weight of each query: multiplies the gradients of its docs.
    pub query_weight: Option<&'a [f64]>,
    /// The weight of each doc: multiplies its gradient.
    pub row_weight: Option<&'a [f64]>,
    /// The content of each doc, its identity for everything random.
    pub doc_hash: &'a [u64],
}

/// How far training has come.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// The number of rounds before this one.
    pub round: u64,
    /// The score of each doc.
    pub scores: &'a [f64],
}

/// A loss with its gradients.
///
/// Gradients depend on the state and the target alone: never on threads or row order.
pub trait Objective: Send + Sync + Debug {
    /// The gradient of each doc at the given scores.
    ///
    /// Runs on the current rayon pool. A score or gradient that is not finite is an error.
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()>;

    /// The constant score that training starts from where no base is given.
    fn start(&self, _target: &Target<'_>) -> f64 {
        0.0
    }

    /// Whether a query whose labels are all equal has no gradient at any scores.
    fn needs_pairs(&self) -> bool;
}
