//! Models: their structure, their text format, the scorer, explanations, and models of other libraries.
//!
//! A [`Model`] is an intercept and a weighted sum of [`Component`]s; each has a [`Part`] of some kind: a forest,
//! a linear part, a net, another model. Parts are checked when they are added, so the scorer need not check again.
//! A model's text (the grammar is in [`mod@format`]) reads back to the same bits, or is an error.
//!
//! Depends on nothing else in the crate but `error`, `simd` and `category_list`, so that a service can embed it
//! alone.

pub(crate) mod binned;
mod category_lists;
mod composite;
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
#[cfg(feature = "train")]
mod split_importance;
mod tree;
mod write;

pub use composite::{Component, Model};
#[cfg(feature = "train")]
pub use explain::{Explainer, StopCheck};
pub use file::write_whole;
pub use normalisation::Normalisation;
#[cfg(feature = "train")]
pub(crate) use parts::mlp;
pub use parts::*;
pub use ranks::query_ranks;
pub use scorer::{ClassScorer, Scorer, Value};
#[cfg(feature = "train")]
pub use split_importance::SplitImportance;
pub use tree::{Child, Leaf, Split, Tree};
