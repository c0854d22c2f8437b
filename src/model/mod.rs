//! Models: what scores.
//!
//! A [`Model`] is an intercept and a weighted sum of [`Component`]s: forests, classes, linear parts,
//! nets, other models. It can hold only what has been checked, so that whatever scores it need not check again.
//! Its text (the grammar is in [`mod@format`]) reads back to the same bits or is refused.
//!
//! Knows nothing of the rest of the crate but its errors and the list of vector instructions, so
//! that a service can embed it alone.

pub(crate) mod binned;
mod composite;
mod dictionary;
#[cfg(feature = "train")]
mod explain;
mod file;
pub mod format;
#[cfg(feature = "interop")]
pub mod interop;
mod normalisation;
mod parallel;
mod parts;
mod ranks;
mod read;
pub mod scorer;
mod tree;
mod write;

pub use composite::{Component, Model};
#[cfg(feature = "train")]
pub use explain::Explainer;
pub use file::write_whole;
pub use normalisation::Normalisation;
pub(crate) use parts::mlp;
pub use parts::*;
pub use ranks::query_ranks;
pub use scorer::{ClassScorer, Scorer, Value};
pub use tree::{Child, Leaf, Split, Tree};
