//! Growth of one regression tree from binned features and gradients.
//!
//! This module knows no labels, queries or losses. A *packed gradient* holds the gradient and the
//! hessian of a document as two integers in one `u64`. A *histogram* holds the sums of packed
//! gradients for each column and byte value. A *slot* is the place of a feature in the binned
//! table: several features with few codes share a column.
//!
//! ```text
//! gradients --pack--> histogram of the root --search--> best split --partition--> documents of two children
//!                        histogram of the smaller child, parent - smaller --search--> best splits --> ...
//! ```
//!
//! Invariants: sums are integers that cannot overflow, so a tree depends neither on the order of
//! the documents nor on the number of threads. All SIMD levels choose the same splits.
//!
//! Cost: a quarter of a nanosecond per document and column for each histogram that is summed from
//! documents (the smaller child of each split; both children if they are small); a nanosecond per
//! document for each split above it; a quarter of a nanosecond per bin and feature for each new
//! node.

mod binned_tree;
mod categorical;
mod column_scan;
mod column_strips;
mod constrained_search;
mod constraints;
mod data_parallel;
mod doc_counts;
mod features;
mod grower;
mod histogram;
mod kernel;
mod leaf_search;
mod leaf_values;
mod options;
mod packed_gradients;
mod partition;
mod reducer;
mod sparse_runs;
mod split_noise;
mod split_search;
mod symmetric;

/// What memory is requested for, in error messages.
const GROWING: &str = "growing trees";

pub use binned_tree::BinnedTree;
pub use categorical::CategoryOptions;
pub use constraints::{Constraints, MonotoneDirection};
pub use grower::{Grower, TrainingTable, TreeJob};
pub use options::{Criterion, GrowOptions, LeafValues, TreeShape};
pub(crate) use reducer::{GrowthReducer, LocalReducer, REDUCER_ROOM};
pub(crate) use split_search::{SearchResult, SplitCandidate, SplitTest};
