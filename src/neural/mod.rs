//! Nets that rank: `RankNet` and `LambdaRank`, linear or with one or two hidden layers.
//!
//! A net is a function of a doc's values with weights (`model::mlp`); what it learns from are
//! the lambdas of [`objective`](crate::objective), the same that trees are grown from. A *step* takes
//! a batch of queries, one by default as in the papers, and moves all weights; an *epoch* is
//! a step for each batch, in an order that is drawn anew. A *restart* goes back to the best weights by
//! a metric on a watched set and lowers the learning rate.
//!
//! Invariants: the weights depend on the data, the parameters and the seed alone, bit for bit: docs and
//! queries are taken in the order of their content, sums have one order whatever the threads and the
//! instructions. Queries without a gradient at any scores make no step.
//!
//! Cost: an epoch is two multiplications and additions a doc and weight beside the lambdas; memory
//! is four bytes a cell, in which the inputs stand.
//!
//! ```
//! use rustrank::data::{Policy, RawDataset, RowData, Strided};
//! use rustrank::neural::{Loss, Params, Plan, Trainer};
//! use rustrank::objective::{ObjectiveKind, LambdaOptions};
//! use rustrank::{Grouping, Interrupt, Queries};
//!
//! // Forty queries of five docs; the higher the feature, the better.
//! let features: Vec<f32> = (0..200).map(|doc| (doc * 7 % 5) as f32).collect();
//! let labels = features.clone();
//! let queries = Queries::from_sizes(&[5; 40], 200)?;
//! let never = Interrupt::new();
//! let table = Strided::by_row(&features, 1, Policy::default());
//! let rows = RowData::new(labels, Grouping::in_row_order(queries));
//! let data = RawDataset::new(&table, rows, &never)?;
//!
//! let plan = Plan {
//!     params: Params { epochs: 5, learning_rate: 0.01, ..Params::default() },
//!     loss: Loss::new(ObjectiveKind::LambdaRank, LambdaOptions::new("ndcg".parse()?))?,
//!     watched: Vec::new(),
//!     metrics: Vec::new(),
//!     patience: None,
//! };
//! let mut trainer = Trainer::new(data, plan, &never)?;
//! while let Some(epoch) = trainer.next_epoch(&never)? {
//!     assert!(epoch.number <= 5);
//! }
//! let scorer = trainer.model()?.scorer();
//! assert!(scorer.score_row(&[4f32])? > scorer.score_row(&[0f32])?);
//! # Ok::<(), rustrank::Error>(())
//! ```

mod inputs;
mod kernel;
mod loss;
mod params;
mod step;
mod trainer;

pub use loss::Loss;
pub use params::{Inputs, Optimiser, Params, Patience, Schedule};
pub use trainer::{Epoch, Plan, Trainer};
