//! XGBoost's JSON and UBJSON, as `save_model` writes them.
//!
//! Read: scores are those of `predict(output_margin=True)`, up to its single precision: there, leaf
//! values are summed in `f32`, here in `f64`. Values are compared as singles and a value equal to
//! the threshold goes right, so our threshold is the next single below; where nothing is below, the sides are swapped. `gbtree`, `dart` and
//! `gblinear` with one score a doc; categories are sets.
//!
//! Written: trees, with intercept and weights, under an objective of rankers. Leaf values are rounded to
//! singles, which changes nothing in those that our training finds. What compares doubles is
//! compared as singles. A split that only tells missing values from known ones compares with the lowest single (XGBoost
//! refuses infinite values). Sets of categories, zeros that count as missing and parts that are no trees
//! are refused. A model that was read from the library's file and has no other trees keeps the attributes of the file,
//! such as the best iteration of early stopping, and the number of trees of a round.

mod read;
mod write;

pub(super) use read::{is_json, is_ubjson};
pub use read::{read, read_ubjson};
pub use write::write;

/// The names of the library's attributes, as notes of the model, start with this.
const ATTRIBUTE: &str = "xgboost.";
/// The note of how many trees a round has, if it has several.
const TREES_OF_ROUND: &str = "num_parallel_tree";
/// The parameters of its rankers that its default metric follows, and notes of the model under the same names.
const RANKING: [&str; 3] =
    ["lambdarank_pair_method", "lambdarank_num_pair_per_sample", "ndcg_exp_gain"];
