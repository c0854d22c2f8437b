//! Binning: turns raw values into codes of at most one byte.
//!
//! A *cell* is the value of one feature for one document as the nearest `f32`, whatever its
//! original type or text. NaN means *missing*. A *threshold* is an `f32`; a cell `x` has code `i`
//! if `t[i-1] < x <= t[i]`, and a missing cell has the code after the last one.
//!
//! ```text
//! cells --hash--> RowSample --sort--> a BinMapper per feature --pack--> ColumnLayout --encode--> BinnedMatrix
//! ```
//!
//! A feature may be *categorical*: then each of its most frequent categories has a bin.
//!
//! Invariants: the sample depends on the content of the rows and not on their order, so thresholds
//! are the same for any row order, number of threads and division into batches. Raw values are read
//! block by block and never kept.

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
