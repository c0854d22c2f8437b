//! Bins: from raw values to one byte, or less, a cell.
//!
//! A *cell* is the value of one feature for one doc as the nearest `f32`, whatever type it came in or
//! text it was written as. NaN is *missing*. A *threshold* is an `f32`; a cell `x` has the code `i` iff
//! `t[i-1] < x <= t[i]`, and a missing cell has the code after the last one.
//!
//! ```text
//! cells --hash--> RowSample --sort--> BinMapper a feature --pack--> ColumnLayout --encode--> BinnedMatrix of bytes
//! ```
//!
//! A feature may hold *categories* instead of amounts: each of the most frequent has a bin.
//!
//! Invariants: the sample depends on what the rows hold, never on where they stand, so thresholds
//! are the same for any row order, any number of threads and any cut into batches. Raw values are
//! looked at block by block and never kept.

mod categories;
mod cells;
mod feature_bins;
mod kernel;
mod layout;
mod mapper;
mod matrix;
mod sample;
mod sample_columns;
mod sample_exchange;
mod thresholds;

pub use categories::CategoryBins;
pub use cells::{CellSource, block_rows, nearest, row_hash, row_hashes};
pub use feature_bins::{BinOptions, Binning};
pub(crate) use kernel::transpose::{ColumnBlock, columns_to_strips};
pub use layout::{CodeLocation, ColumnLayout};
pub use mapper::BinMapper;
pub use matrix::BinnedMatrix;
pub use sample::RowSample;
pub use thresholds::{WeightedCell, thresholds};
