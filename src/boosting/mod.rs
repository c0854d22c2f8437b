//! Boosting: rounds of gradients, a tree and a step, until a rule says stop.
//!
//! A [`BoostingTrainer`] is a sequence of rounds: [`next_round`](BoostingTrainer::next_round) asks the objective for
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
//! use rustrank::binning::BinOptions;
//! use rustrank::boosting::{TrainingLoss, BoostingParams, TrainingPlan, BoostingTrainer};
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
//! let plan = TrainingPlan {
//!     params: BoostingParams { num_trees: 10, ..BoostingParams::default() },
//!     loss: TrainingLoss::new(&ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg".parse()?))?,
//!     evaluation_sets: Vec::new(),
//!     metrics: Vec::new(),
//!     patience: None,
//!     base: None,
//! };
//! let mut trainer = BoostingTrainer::new(Arc::new(dataset), plan, &never)?;
//! while let Some(round) = trainer.next_round(&never)? {
//!     assert_eq!(round.number, trainer.model().num_trees());
//! }
//! let scorer = trainer.model().scorer();
//! assert!(scorer.score_row(&[4f32])? > scorer.score_row(&[0f32])?);
//! # Ok::<(), rustrank::Error>(())
//! ```

mod bagging;
mod binned_scoring;
mod doc_sampling;
mod dropout;
mod early_stopping;
mod evaluation;
mod exact_step;
mod global_data;
mod importance;
mod initial_model;
mod lambdaboost;
mod loss;
mod merge_models;
mod no_split;
mod notes;
mod params;
mod position_bias;
mod refit;
mod score_cache;
mod trainer;
mod tree_selection;
mod tree_weights;
mod worker_mode;

pub use binned_scoring::{binning_of, score_above, score_dataset};
pub use doc_sampling::DocSampling;
pub use dropout::{Dropout, DropoutNormaliser};
pub use early_stopping::{EarlyStopping, StopReason};
pub use evaluation::{CustomMetric, EvaluationMetric, EvaluationSet};
pub use exact_step::{ExactStep, StepRule};
pub use importance::permutation_importance;
pub use lambdaboost::{LambdaBoostPlan, LambdaBoostRound, LambdaBoostTrainer};
pub use loss::TrainingLoss;
pub use merge_models::merged;
pub use params::BoostingParams;
pub use refit::{RefitOptions, refit};
pub use trainer::{BaseModel, BoostingTrainer, RoundResult, TrainingPlan};
pub use tree_weights::{ReweighOptions, Reweighed, reweigh};
pub use worker_mode::WorkerMode;
