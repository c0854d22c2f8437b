//! Trees from bins and gradients. Knows no labels, no queries and no loss.
//!
//! A *packed* gradient is a doc's gradient and hessian as integers in one `u64`; a *histogram* holds
//! their sums by column and byte; a *side* is a set of bytes that go left.
//!
//! ```text
//! gradients --pack--> histogram of the root --scan--> best split --part--> two runs of docs
//!                        histogram of the smaller, parent - smaller --scan--> best splits --> ...
//! ```
//!
//! Invariants: sums are integers that cannot overflow, so that a tree does not depend on the order of
//! docs or on threads; all levels of instructions choose the same splits.
//!
//! Cost: a quarter of a nanosecond a doc and column for each histogram that is summed from docs,
//! which is the smaller child's of each split, and both children's where they are small; a nanosecond
//! a doc for each split above it; a quarter of a nanosecond a bin and feature for each new node.

mod binned_tree;
mod categorical;
mod column_strips;
mod constrained_search;
mod constraints;
mod data_parallel;
mod feature_parallel;
mod features;
mod grower;
mod histogram;
mod kernel;
mod leaf_search;
mod leaf_values;
mod options;
mod packed_gradients;
mod parallel_sums;
mod partition;
mod sparse_runs;
mod split_noise;
mod split_search;
mod symmetric;
mod symmetric_search;

/// What the memory is for.
const GROWING: &str = "growing trees";

pub use binned_tree::BinnedTree;
pub use categorical::CategoryOptions;
pub use constraints::{Constraints, MonotoneDirection};
pub use grower::{Grower, TrainingTable, TreeJob};
pub use options::{Criterion, GrowOptions, TreeShape};
