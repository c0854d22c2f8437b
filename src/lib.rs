//! rustrank learns to rank: documents of a query, best first.
//!
//! What is here now is the ground on which rankers are built: data, binned once and blind to the
//! order they came in, and metrics, exact under ties and at every cut.
//!
//! - [`data`] reads tables in memory and LETOR, SVMlight and TREC text into a checked [`Dataset`].
//! - [`binning`] turns raw values into a byte, or less, a cell.
//! - [`boosting`] trains a [`model`] of trees on an [`objective`], round by round.
//! - [`combine`] finds the best linear combination of rankers for a metric, exactly.
//! - [`distributed`] lets many processes train one model.
//! - [`metric`] evaluates rankings, tells what a swap of two docs would change, and compares rankers.
//! - [`Queries`] and [`Grouping`] say which docs are ranked together.
//!
//! Work runs on the current rayon pool, ends early through an [`Interrupt`], and fails with an
//! [`Error`] that says what, where, got and expected. Nothing depends on the order of rows or on the
//! number of threads.
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
pub mod boosting;
#[cfg(feature = "capi")]
pub mod capi;
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
pub mod schema;
#[cfg(feature = "train")]
pub mod settings;
pub mod simd;
#[cfg(feature = "train")]
pub mod tree;

#[cfg(feature = "train")]
pub use data::Dataset;
pub use error::{Error, ErrorKind, Fault, Place, Result};
#[cfg(feature = "train")]
pub use gradient::Gradient;
#[cfg(feature = "train")]
pub use interrupt::Interrupt;
#[cfg(feature = "train")]
pub use metric::{Convention, Empty, Gain, Mean, Measure, Metric, SwapDelta, Ties};
#[cfg(feature = "train")]
pub use progress::Progress;
#[cfg(feature = "train")]
pub use queries::{Grouping, Queries};
