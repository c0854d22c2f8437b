//! A model to XGBoost's JSON.

use super::super::super::composite::Model;
use super::super::super::parts::at_most;
use super::super::super::tree::{Split, Tree};
use super::super::GAIN_OF_REDUCTION;
use super::super::arrange::{ListedNode, listed};
use super::super::flat::{Flat, flat_in_singles, note};
use super::{ATTRIBUTE, RANKING, TREES_OF_ROUND};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The model as XGBoost's JSON.
pub fn write(model: &Model) -> Result<String> {
    let Flat { intercept, trees } = flat_in_singles(model, "XGBoost's JSON")?;
    let features = model.num_features();
    let trees: Vec<Value> =
        trees.iter().enumerate().map(|(id, tree)| nodes(id, tree, features)).collect();
    let count = trees.len();
    let names: &[String] = model.feature_names().unwrap_or_default();
    let kept = Kept::of(model, count);
    let rounds: Vec<usize> = (0..=count).step_by(kept.trees_of_round).collect();
    let text = json!({
        "version": [3, 0, 0],
        "learner": {
            "attributes": kept.attributes,
            "feature_names": names,
            "feature_types": vec!["float"; names.len()],
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {
                        "num_parallel_tree": kept.trees_of_round.to_string(),
                        "num_trees": count.to_string(),
                    },
                    "iteration_indptr": rounds,
                    "tree_info": vec![0; count],
                    "trees": trees,
                },
            },
            "learner_model_param": {
                "base_score": format!("{:?}", intercept as f32),
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": features.to_string(),
                "num_target": "1",
            },
            "objective": ranking(model),
        },
    });
    serde_json::to_string(&text).map_err(|error| Error::internal(error.to_string()))
}

/// The objective of a file: that of the file that the model was read from, or what the notes of our training say.
fn ranking(model: &Model) -> Value {
    let notes = model.attributes();
    let trained = notes.contains_key(OF_TRAINING);
    let note = |name: &str| notes.get(name).map(String::as_str).unwrap_or_default();
    let name = match (note("objective"), note("objective_metric")) {
        (name, _) if !trained && name.starts_with("rank:") => name,
        ("ranknet", _) if trained => "rank:pairwise",
        (_, "map") if trained => "rank:map",
        _ => "rank:ndcg",
    };
    let [method, pairs, gain] = if trained {
        let scale: Value = serde_json::from_str(note("label_scale")).unwrap_or_default();
        let gain = if scale["gain"] == "linear" { "0" } else { "1" };
        match note("pairs_to") {
            "none" => ["mean", UNSET, gain],
            pairs if pairs.parse::<u32>().is_ok() => ["topk", pairs, gain],
            _ => ["topk", UNSET, gain],
        }
    } else {
        let kept = |at: usize, default| notes.get(RANKING[at]).map_or(default, String::as_str);
        [kept(0, "topk"), kept(1, UNSET), kept(2, "1")]
    };
    json!({
        "name": name,
        "lambdarank_param": {
            (RANKING[0]): method,
            (RANKING[1]): pairs,
            (RANKING[2]): gain,
            "lambdarank_unbiased": "0",
            "lambdarank_bias_norm": "1",
        },
    })
}

/// What the library's own file had beside its trees, of a model that is read from one.
struct Kept<'a> {
    attributes: BTreeMap<&'a str, &'a str>,
    trees_of_round: usize,
}

impl<'a> Kept<'a> {
    /// Nothing is kept of a model that training went on from, whose trees are no longer those of the file alone.
    fn of(model: &'a Model, num_trees: usize) -> Self {
        let notes = model.attributes();
        let trees = notes.get(TREES_OF_ROUND).and_then(|trees| trees.parse().ok()).unwrap_or(1);
        if notes.contains_key(OF_TRAINING) || trees == 0 || !num_trees.is_multiple_of(trees) {
            return Self { attributes: BTreeMap::new(), trees_of_round: 1 };
        }
        let named = |(name, value): (&'a String, &'a String)| {
            Some((name.strip_prefix(ATTRIBUTE)?, value.as_str()))
        };
        let mut attributes: BTreeMap<_, _> = notes.iter().filter_map(named).collect();
        let best: Option<usize> = attributes.get(BEST[0]).and_then(|best| best.parse().ok());
        if best.is_none_or(|best| best >= num_trees / trees) {
            // Not a round of this model: it has been cut off.
            attributes.retain(|name, _| !BEST.contains(name));
        }
        Self { attributes, trees_of_round: trees }
    }
}

/// A note that each of our trainings makes.
const OF_TRAINING: &str = "learning_rate";
/// The number of pairs that nobody set, as the library writes it.
const UNSET: &str = "4294967295";
/// The attributes of early stopping: the round, from 0, that the library's rankers predict to, and its metric.
const BEST: [&str; 2] = ["best_iteration", "best_score"];

/// The single with which "below it" says what "at most the threshold" says.
fn condition(threshold: f64) -> f32 {
    at_most(threshold).next_up().min(f32::MAX)
}

/// The tree in which splits that only tell missing values send the known ones right: every finite single is at least
/// the lowest one, while none is above all of them.
fn known_right(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let sends_all_left = |split: &&mut Split| at_most(split.threshold) >= f32::MAX;
    for split in tree.splits_mut().iter_mut().filter(sends_all_left) {
        split.turn();
        split.threshold = f64::NEG_INFINITY;
    }
    tree
}

/// Gives leaves without hessians, such as the empty ones of symmetric trees, the least that another leaf has, and
/// splits what their leaves have: XGBoost's SHAP values are divided by these sums. A tree that tells none stays as it is.
fn fill_empty(nodes: &mut [ListedNode]) {
    let leaves = nodes.iter().filter(|node| node.left.is_none());
    let covers: Vec<f32> = leaves.map(|leaf| note(leaf.split.cover)).collect();
    let least = covers.iter().copied().filter(|&cover| cover > 0.0).min_by(f32::total_cmp);
    let Some(least) = least.filter(|_| covers.contains(&0.0)) else { return };
    for at in (0..nodes.len()).rev() {
        if let Some(left) = nodes[at].left {
            let left = left as usize;
            nodes[at].split.cover = nodes[left].split.cover + nodes[left + 1].split.cover;
        } else if note(nodes[at].split.cover) == 0.0 {
            nodes[at].split.cover = f64::from(least);
        }
    }
}

fn nodes(id: usize, tree: &Tree, features: usize) -> Value {
    let mut nodes = listed(&known_right(tree));
    fill_empty(&mut nodes);
    let each = |field: &dyn Fn(&ListedNode) -> Value| nodes.iter().map(field).collect::<Vec<_>>();
    let conditions = each(&|n| match n.left {
        Some(_) => json!(condition(n.split.threshold)),
        None => json!(n.value as f32),
    });
    let empty: [i64; 0] = [];
    json!({
        "id": id,
        "base_weights": conditions,
        "categories": empty,
        "categories_nodes": empty,
        "categories_segments": empty,
        "categories_sizes": empty,
        "default_left": each(&|n| json!(i32::from(n.split.missing_left))),
        "left_children": each(&|n| json!(n.left.unwrap_or(-1))),
        "loss_changes": each(&|n| json!(note(n.split.reduction * GAIN_OF_REDUCTION))),
        "parents": each(&|n| json!(n.parent)),
        "right_children": each(&|n| json!(n.left.map_or(-1, |left| left + 1))),
        "split_conditions": conditions,
        "split_indices": each(&|n| json!(n.split.feature)),
        "split_type": vec![0; nodes.len()],
        "sum_hessian": each(&|n| json!(note(n.split.cover))),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": features.to_string(),
            "num_nodes": nodes.len().to_string(),
            "size_leaf_vector": "1",
        },
    })
}
