//! Nets that rank: `RankNet` and `LambdaRank`, linear or with one or two hidden layers.
//!
//! The net itself is `model::mlp`; it is trained with the lambda gradients of
//! [`objective`](crate::objective), as trees are. A *step* updates all weights by the gradient of a
//! batch of queries, one by default as in the papers; an *epoch* is a step for each batch, in a new
//! random order. A *restart* goes back to the weights that were best by a metric on an evaluation set
//! and lowers the learning rate.
//!
//! Invariants: the weights depend on the data, the parameters and the seed alone, bit for bit:
//! documents and queries are taken in the order of their content, and sums have one order for any
//! number of threads and any instruction set. Queries that can have no gradient make no step.
//!
//! Cost: an epoch takes two multiplications and additions per document and weight, and the lambdas;
//! memory is four bytes a cell, where the inputs replace the raw values.
//!
//! ```
//! use rustrank::data::{MissingPolicy, RawDataset, RowData, StridedTable};
//! use rustrank::neural::{NetLoss, NetPlan, NetTrainer, Params, Restarts};
//! use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
//! use rustrank::{Grouping, Interrupt, Queries};
//!
//! // Forty queries of five docs; the higher the feature, the better.
//! let features: Vec<f32> = (0..200).map(|doc| (doc * 7 % 5) as f32).collect();
//! let labels = features.clone();
//! let queries = Queries::from_sizes(&[5; 40], 200)?;
//! let never = Interrupt::new();
//! let table = StridedTable::by_row(&features, 1, MissingPolicy::default());
//! let rows = RowData::new(labels, Grouping::in_row_order(queries));
//! let data = RawDataset::new(&table, rows, &never)?;
//!
//! let plan = NetPlan {
//!     params: Params { epochs: 5, learning_rate: 0.01, ..Params::default() },
//!     loss: NetLoss::new(ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg".parse()?))?,
//!     evaluation_sets: Vec::new(),
//!     metrics: Vec::new(),
//!     patience: None,
//!     restarts: Restarts::default(),
//! };
//! let mut trainer = NetTrainer::new(data, plan, &never)?;
//! while let Some(epoch) = trainer.next_round(&never)? {
//!     assert!(epoch.number <= 5);
//! }
//! let scorer = trainer.best_model()?.scorer();
//! assert!(scorer.score_row(&[4f32])? > scorer.score_row(&[0f32])?);
//! # Ok::<(), rustrank::Error>(())
//! ```

mod gradient_step;
mod inputs;
mod kernel;
mod loss;
mod params;
mod trainer;

pub use loss::NetLoss;
pub(crate) use params::FACTOR;
pub use params::{Inputs, Optimiser, Params, RestartFrom, Restarts, Schedule};
pub use trainer::{NetLearner, NetPlan, NetTrainer};
