//! rustrank learns to rank: it orders the documents of a query by relevance.
//!
//! - [`data`] reads tables in memory and LETOR, SVMlight and TREC text into a checked [`Dataset`].
//! - [`binning`] turns raw values into codes of at most one byte.
//! - [`objective`] computes gradients, [`tree`] grows a tree from them, and [`boosting`] trains a
//!   [`model`] round by round.
//! - [`neural`] trains neural rankers.
//! - [`combine`] finds the linear combination of rankers with the best value of a metric, exactly.
//! - [`distributed`] lets several processes train one model.
//! - [`metric`] evaluates rankings, exactly under ties, and compares rankers.
//! - [`Queries`] and [`Grouping`] say which documents are ranked together.
//!
//! Work runs on the current rayon pool and can be ended through an [`Interrupt`]. An [`Error`] says what
//! is wrong, where, what was found and what was expected. No result depends on the order of rows or on
//! the number of threads.
//!
//! ```
//! use rustrank::binning::BinOptions;
//! use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
//! use rustrank::metric::Mean;
//! use rustrank::{Grouping, Interrupt, Metric, Queries};
//!
//! // Two queries of three and two docs, with two features each.
//! let features = [0.1f32, 7.0, 0.9, 3.0, 0.5, f32::NAN, 0.2, 1.0, 0.8, 2.0];
//! let labels = vec![0.0f32, 2.0, 1.0, 0.0, 1.0];
//! let queries = Queries::from_sizes(&[3, 2], 5)?;
//! let never = Interrupt::new();
//!
//! let table = StridedTable::by_row(&features, 2, MissingPolicy::default());
//! let rows = RowData::new(labels.clone(), Grouping::in_row_order(queries.clone()));
//! let dataset = Dataset::new(&table, rows, &BinOptions::default(), &never)?;
//! assert_eq!((dataset.num_docs(), dataset.num_features()), (5, 2));
//!
//! // How good is the first feature as a ranker?
//! let scores: Vec<f64> = features.iter().step_by(2).map(|&x| f64::from(x)).collect();
//! let ndcg: Metric = "ndcg@10".parse()?;
//! let per_query = ndcg.per_query(&scores, &labels, &queries, &never)?;
//! assert_eq!(Mean::of(&per_query, None)?.value, 1.0);
//! # Ok::<(), rustrank::Error>(())
//! ```

#[cfg(feature = "train")]
pub mod binning;
#[cfg(feature = "train")]
mod block_sums;
#[cfg(feature = "train")]
pub mod boosting;
#[cfg(feature = "capi")]
pub mod capi;
mod category_list;
#[cfg(feature = "train")]
pub mod combine;
#[cfg(feature = "train")]
pub mod data;
#[cfg(feature = "train")]
pub mod distributed;
mod error;
#[cfg(feature = "train")]
mod exact_sum;
#[cfg(feature = "train")]
mod gradient;
#[cfg(feature = "train")]
pub mod hash;
#[cfg(feature = "train")]
mod huge_pages;
#[cfg(feature = "train")]
mod interrupt;
#[cfg(feature = "train")]
mod memory_reserve;
#[cfg(feature = "train")]
pub mod metric;
pub mod model;
#[cfg(feature = "train")]
pub mod neural;
#[cfg(feature = "train")]
pub mod objective;
#[cfg(feature = "train")]
mod progress;
#[cfg(feature = "python")]
mod py;
#[cfg(feature = "train")]
mod queries;
#[cfg(feature = "train")]
pub mod random;
#[cfg(feature = "train")]
pub mod rounds;
#[cfg(feature = "train")]
pub mod schema;
#[cfg(feature = "train")]
pub mod settings;
pub mod simd;
#[cfg(feature = "train")]
pub mod tree;

pub use category_list::CategoryList;
#[cfg(feature = "train")]
pub use data::Dataset;
pub use error::{Error, ErrorKind, Fault, Place, Result};
#[cfg(feature = "train")]
pub use gradient::Gradient;
#[cfg(feature = "train")]
pub use interrupt::Interrupt;
#[cfg(feature = "train")]
pub use memory_reserve::MemoryReserve;
#[cfg(feature = "train")]
pub use metric::{Convention, Empty, Gain, Mean, Measure, Metric, SwapDelta, Ties};
#[cfg(feature = "train")]
pub use progress::Progress;
#[cfg(feature = "train")]
pub use queries::{Grouping, Queries};
