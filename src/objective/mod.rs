//! Losses and their gradients, query by query, from scores and labels. They do not depend on trees.
//!
//! [`LambdaRank`] optimises any [`Metric`](crate::Metric), [`RankNet`] the order of pairs,
//! [`PreferenceNet`] pairs that are given one by one, [`XeNdcg`] a bound on NDCG, and
//! [`Regression`], [`Logistic`], [`BalancedLogistic`] and [`ErrLogistic`] the labels themselves.
//! [`ClassLoss`] takes them as classes, and has a gradient for each: it is no [`Objective`].
//! [`ObjectiveOptions`] makes one by name. Each is one file in `registry/`.
//!
//! A *pair* is two docs of a query with different labels; by rank it has an *upper* and a *lower*
//! doc, by label a *better* and a *worse* one. Its *lambda* is the gradient that pushes the two apart. A
//! *copy* is one order of the docs by scores with noise; a *shape* is a variant of the pair loop.
//!
//! Invariants: the gradients of a query depend on its own docs, the round and the seed, and neither
//! on the order of the docs nor on threads or the level of instructions, bit for bit. Docs that
//! nothing tells apart get the same gradient. A query whose labels are all worth the same gets zeros
//! from everything that needs pairs.
//!
//! Cost: with pairs to rank 30, a doc of a query of 120 takes less than 15 ns (`benches/lambda.rs`).
//! Nothing is allocated per query once a thread has seen the longest.
//!
//! ```
//! use rustrank::objective::{LambdaOptions, LambdaRank, Objective, State, Target};
//! use rustrank::{Gradient, Interrupt, Queries};
//!
//! let queries = Queries::from_sizes(&[3], 3)?;
//! let target = Target {
//!     labels: &[0.0, 2.0, 1.0],
//!     queries: &queries,
//!     query_weight: None,
//!     row_weight: None,
//!     doc_hash: &[17, 4, 92],
//! };
//! let objective = LambdaRank::new(LambdaOptions::new("ndcg@10".parse()?))?;
//! let state = State { round: 0, scores: &[0.3, 0.2, 0.1] };
//! let mut gradients = [Gradient::default(); 3];
//! objective.gradients(&target, state, &mut gradients, &Interrupt::new())?;
//! assert!(gradients[1].grad < 0.0); // the best doc should rise
//! # Ok::<(), rustrank::Error>(())
//! ```

mod augment;
mod kernel;
mod lambdas;
mod options;
mod pair_gains;
mod pair_weights;
mod pointwise;
mod preferences;
mod ranks;
mod registry;
mod tasks;
mod tied_pairs;

pub use augment::Augment;
pub(crate) use options::{COPIES, RANK, SCALE};
pub use options::{
    LambdaOptions, ObjectiveOptions, PairNormaliser, QueryNormaliser, ScoreNoise, TiedPairs,
};
pub use preferences::{Preference, PreferenceNet};
pub use registry::*;

use crate::error::Result;
use crate::gradient::Gradient;
use crate::{Interrupt, Queries};
use std::fmt::Debug;
use std::ops::Range;

/// The labels, weights and queries that a loss reads, in the dataset's order of docs.
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
    /// A hash of the content of each doc, its identity in random draws.
    pub doc_hash: &'a [u64],
}

impl<'a> Target<'a> {
    /// The weight of each doc: its query's times its own.
    pub(crate) fn weights(self) -> impl Iterator<Item = f64> + 'a {
        let of_query = move |(query, docs): (usize, Range<usize>)| {
            let weight = self.query_weight.map_or(1.0, |weights| weights[query]);
            docs.map(move |doc| weight * self.row_weight.map_or(1.0, |weights| weights[doc]))
        };
        self.queries.ranges().enumerate().flat_map(of_query)
    }
}

/// The round and the current scores of training.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// The number of rounds before this one.
    pub round: u64,
    /// The score of each doc.
    pub scores: &'a [f64],
}

/// What a loss is asked for.
#[derive(Debug, Clone, Copy)]
pub struct GradientCall<'a> {
    /// The labels, weights and queries.
    pub target: &'a Target<'a>,
    /// The round and the scores.
    pub state: State<'a>,
    /// Ends the work.
    pub interrupt: &'a Interrupt,
}

/// A loss with its gradients.
///
/// Gradients depend on the state and the target alone: never on threads or row order.
pub trait Objective: Send + Sync + Debug {
    /// The gradient of each doc at the given scores.
    ///
    /// Runs on the current rayon pool. A score or gradient that is not finite is an error.
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()>;

    /// An error for labels that the loss cannot learn. [`compute`](Self::compute) refuses them, too;
    /// training asks before it works out the score to [start](Self::start) from.
    fn check_labels(&self, _target: &Target<'_>) -> Result<()> {
        Ok(())
    }

    /// [`compute`](Self::compute) with the parts of a call.
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.compute(GradientCall { target, state, interrupt }, gradients)
    }

    /// The constant score that training starts from where no base is given.
    fn start(&self, target: &Target<'_>) -> f64 {
        self.start_of(&self.words(target))
    }

    /// Sums over all docs as integers, so that those of several shards can be added exactly.
    fn words(&self, _target: &Target<'_>) -> Vec<u64> {
        Vec::new()
    }

    /// The start that follows from [`words`](Self::words).
    fn start_of(&self, _words: &[u64]) -> f64 {
        0.0
    }

    /// The same loss for one shard of the docs, if it depends on the docs of the others: on the largest
    /// label of all, and on the added words of all once they are known.
    fn of_part(&self, _max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        None
    }

    /// Whether a query whose labels are all equal has no gradient at any scores.
    fn needs_pairs(&self) -> bool {
        false
    }
}
