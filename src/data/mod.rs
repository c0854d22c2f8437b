//! Datasets, and the readers of text formats: checked on input and immutable afterwards.
//!
//! A [`Dataset`] holds binned cells, labels, queries and weights. It is made in two passes over the raw
//! values, whole or in batches: a [`RowSample`](crate::binning::RowSample) sees all rows and chooses the bins,
//! then a [`DatasetBuilder`] bins all rows. An evaluation set shares the bins of its training set and
//! needs one pass. Raw values are kept of small datasets only, so that training may rank them within queries; a
//! [`RawDataset`], for nets, keeps only these.
//!
//! Documents are in an order that depends on their content only, so that no result can depend on the
//! order of the caller's rows; [`Documents::rows`] maps back to these.

mod arrays;
mod builder;
mod content_order;
mod dataset;
mod documents;
mod folds;
pub mod inspect;
mod kept_values;
pub mod labels;
pub mod letor;
pub mod line_source;
pub mod load;
pub mod number;
pub mod packed;
pub mod parallel_parse;
mod parsed_table;
pub mod qid;
mod query_ranks;
mod raw_dataset;
pub mod scan;
mod text_base;
pub mod trec;

pub use arrays::{
    ColumnTable, FeatureValue, Infinite, MissingPolicy, StridedTable, TableColumn, refuse_infinite,
};
pub use builder::{DatasetBuilder, ExtraLabels, RowData};
pub use dataset::Dataset;
pub use documents::Documents;
pub use folds::QueryPart;
pub use load::{LoadOptions, Loaded, load_files};
pub use raw_dataset::RawDataset;
pub use text_base::TextBase;
