//! Data: checked once, binned, immutable.
//!
//! A [`Dataset`] holds binned cells, labels, queries and weights. It is made in two passes over the
//! raw values, whole or in batches: a [`RowSample`](crate::binning::RowSample) sees all rows and chooses the
//! bins, a [`Builder`] bins all rows; a validation set shares its training set's bins and needs one
//! pass. Raw values are not kept; a [`RawDataset`] has nothing else, for nets.
//!
//! Inside a `Dataset` the docs stand in an order that depends on their content only, so that nothing
//! computed from it can depend on the order of the rows it came from; [`Dataset::rows`] leads back.

mod builder;
mod cells;
mod dataset;
pub mod inspect;
pub mod judged;
pub mod letor;
pub mod lines;
pub mod load;
pub mod number;
mod order;
pub mod packed;
mod parsed;
pub mod pieces;
pub mod qid;
mod ranked;
mod raw;
pub mod scan;
pub mod table;
mod together;
pub mod trec;

pub use builder::{Builder, RowData};
pub use cells::{Column, Columns, Infinite, Policy, Strided};
pub use dataset::Dataset;
pub use load::{LoadOptions, Loaded, load, load_all, load_together};
pub use raw::RawDataset;
pub use together::{NamedQueries, bins_together, check_queries};
