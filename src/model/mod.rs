//! Models: what scores.
//!
//! Knows nothing of the rest of the crate but its errors, so that a service can embed it alone.

mod tree;

pub use tree::{Child, Leaf, Split, Tree};
