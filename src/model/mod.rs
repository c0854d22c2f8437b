//! Models: what scores.
//!
//! A [`Model`] is an intercept and a weighted sum of [`Component`]s: forests, classes, linear parts,
//! nets, other models. It can hold only what has been checked, so that whatever scores it need not check again.
//! Its text (the grammar is in [`mod@format`]) reads back to the same bits or is refused.
//!
//! Knows nothing of the rest of the crate but its errors and the list of vector instructions, so
//! that a service can embed it alone.

mod classes;
mod composite;
mod dictionary;
#[cfg(feature = "train")]
mod explain;
mod file;
mod forest;
pub mod format;
#[cfg(feature = "interop")]
pub mod interop;
mod linear;
pub(crate) mod mlp;
mod normalisation;
mod parallel;
mod ranks;
mod read;
pub mod scorer;
mod stack;
mod tree;
mod write;

pub use classes::{Class, Classes, Expectation, Link};
pub use composite::{Component, Model, Part};
#[cfg(feature = "train")]
pub use explain::Explainer;
pub use file::write_whole;
pub use forest::{Cells, Forest, Set};
pub use linear::Linear;
pub use mlp::{Input, Layer, Mlp};
pub use normalisation::Normalisation;
pub use ranks::query_ranks;
pub use scorer::{ClassScorer, Scorer, Value};
pub use stack::{Derived, Ranker, Stack, Statistic, derive};
pub use tree::{Child, Leaf, Split, Tree};
