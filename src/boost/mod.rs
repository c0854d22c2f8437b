//! Boosting: rounds of gradients, a tree and a step, until a rule says stop.
//!
//! A [`Trainer`] is a sequence of rounds: [`next_round`](Trainer::next_round) asks the objective for
//! gradients at the current scores, grows a tree from them, adds its leaf values times the learning
//! rate to the scores of all docs, and evaluates. Callers loop, and do between rounds what they like.
//!
//! A *round* is one such step and adds one tree, or a tree for each class; its *number* is the number
//! of rounds of the model after it, those of a base model included. A set is *watched* if it is evaluated after each round.
//! *Patience* is how many rounds without a better value are waited for.
//!
//! Invariants: nothing depends on threads or on the order of rows; a round that fails leaves no
//! trace; scores are the starting point plus the leaf values in the order of the trees, so that
//! training goes on from a model, or from a checkpoint, as if it had never stopped. Dropout, which
//! takes trees out and puts them back, makes those sums exact, so that their order is none.
//!
//! Cost: beside gradients and tree, a round takes some nanoseconds a doc, and for each doc of a
//! watched set a walk down one tree and its share of the metrics.
//!
//! ```
//! use rustrank::bins::BinOptions;
//! use rustrank::boost::{Loss, Params, Plan, Trainer};
//! use rustrank::data::{Dataset, Policy, RowData, Strided};
//! use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
//! use rustrank::{Grouping, Interrupt, Queries};
//! use std::sync::Arc;
//!
//! // Forty queries of five docs; the higher the feature, the better.
//! let features: Vec<f32> = (0..200).map(|doc| (doc * 7 % 5) as f32).collect();
//! let labels = features.clone();
//! let queries = Queries::from_sizes(&[5; 40], 200)?;
//! let never = Interrupt::new();
//! let table = Strided::by_row(&features, 1, Policy::default());
//! let rows = RowData::new(labels, Grouping::in_row_order(queries));
//! let dataset = Dataset::new(&table, rows, &BinOptions::default(), &never)?;
//!
//! let plan = Plan {
//!     params: Params { num_trees: 10, ..Params::default() },
//!     loss: Loss::new(&ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg".parse()?))?,
//!     watched: Vec::new(),
//!     metrics: Vec::new(),
//!     patience: None,
//!     base: None,
//! };
//! let mut trainer = Trainer::new(Arc::new(dataset), plan, &never)?;
//! while let Some(round) = trainer.next_round(&never)? {
//!     assert_eq!(round.number, trainer.model().num_trees());
//! }
//! let scorer = trainer.model().scorer();
//! assert!(scorer.score_row(&[4f32])? > scorer.score_row(&[0f32])?);
//! # Ok::<(), rustrank::Error>(())
//! ```

mod diagnosis;
mod dropout;
mod features;
mod importance;
mod loss;
mod merge;
mod mode;
mod notes;
mod params;
mod position;
mod refit;
mod reweigh;
mod sampler;
mod scoring;
mod select;
mod standing;
mod start;
mod step;
mod stopping;
mod thinning;
mod together;
mod trainer;
mod watch;

pub use dropout::{Dropout, DropoutNormaliser};
pub use features::{FeaturePlan, FeatureTrainer, Picked};
pub use importance::permutation_importance;
pub use loss::Loss;
pub use merge::merged;
pub use mode::TeamMode;
pub use params::Params;
pub use refit::{RefitOptions, refit};
pub use reweigh::{ReweighOptions, Reweighed, reweigh};
pub use scoring::{binning_of, score_above, score_dataset};
pub use step::{ExactStep, Step};
pub use stopping::{End, Patience};
pub use thinning::DocSampling;
pub use trainer::{Base, Plan, Round, Trainer};
pub use watch::{Measured, OtherMetric, Watched};
