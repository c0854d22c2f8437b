//! Gradient boosting: each round computes gradients, grows trees from them and updates the scores.
//!
//! A [`BoostingTrainer`] runs the rounds: [`next_round`](crate::rounds::RoundDriver::next_round) asks the objective
//! for gradients at the current scores, grows a tree, adds its leaf values times the learning rate to
//! the scores of all documents, and evaluates. The caller loops, and may do anything between rounds.
//!
//! A *round* adds one tree, or one tree per class. Its *number* is the number of rounds of the model
//! after it, including those of a base model. An *evaluation set* is evaluated after each round.
//!
//! Invariants: nothing depends on threads or on the order of rows. A round that fails has no effect.
//! Scores are the initial scores plus the leaf values in the order of the trees, so training can
//! continue from a model or a checkpoint as if it had never stopped. Dropout, which removes trees and
//! adds them back, makes these sums exact, so that their order does not matter.
//!
//! Cost: beside gradients and trees, a round takes some nanoseconds per document; each document of an
//! evaluation set is routed through one tree and takes part in the metrics.
//!
//! ```
//! use rustrank::binning::BinOptions;
//! use rustrank::boosting::{TrainingLoss, BoostingParams, TrainingPlan, BoostingTrainer};
//! use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
//! use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
//! use rustrank::{Grouping, Interrupt, Queries};
//! use std::sync::Arc;
//!
//! // Forty queries of five docs; the higher the feature, the better.
//! let features: Vec<f32> = (0..200).map(|doc| (doc * 7 % 5) as f32).collect();
//! let labels = features.clone();
//! let queries = Queries::from_sizes(&[5; 40], 200)?;
//! let never = Interrupt::new();
//! let table = StridedTable::by_row(&features, 1, MissingPolicy::default());
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
mod evaluation;
mod exact_step;
mod importance;
mod initial_model;
mod lambdaboost;
mod loss;
mod merge_models;
mod no_split;
mod params;
mod position_bias;
mod reducer;
mod refit;
mod score_cache;
mod several_metrics;
mod trainer;
mod tree_weights;

pub use binned_scoring::{binning_of, score_above, score_dataset, scores_bins};
pub use doc_sampling::DocSampling;
pub use dropout::{Dropout, DropoutNormaliser};
pub(crate) use evaluation::EvaluationSets;
pub use evaluation::{CustomMetric, EvaluationMetric, EvaluationSet};
pub use exact_step::{ExactStep, StepRule, StepTies};
pub use importance::{Shuffles, permutation_importance};
pub use lambdaboost::{LambdaBoostLearner, LambdaBoostPlan, LambdaBoostTrainer};
pub(crate) use lambdaboost::{RATE, ROUNDS};
pub use loss::{TrainingLoss, WeightedObjective};
pub use merge_models::merged;
pub use params::BoostingParams;
pub(crate) use reducer::{DataFacts, RoundReducer, SelectionDocs, no_tree};
pub use refit::{RefitOptions, refit};
pub use several_metrics::{ExtraMetric, Guard, SeveralMetrics};
pub use trainer::{BaseModel, BoostingTrainer, TrainingPlan, TreeLearner};
pub use tree_weights::{ReweighOptions, Reweighed, reweigh};

pub use crate::rounds::{EarlyStopping, RoundResult, StopReason};
