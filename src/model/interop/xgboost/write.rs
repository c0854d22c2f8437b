//! A model to XGBoost's JSON.

use super::super::super::composite::Model;
use super::super::super::parts::at_most;
use super::super::super::tree::{Child, Leaf, Tree};
use super::super::flat::{Flat, flat};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The model as XGBoost's JSON.
pub fn write(model: &Model) -> Result<String> {
    let Flat { intercept, trees } = flat(model, "XGBoost's JSON")?;
    let features = model.num_features();
    let trees: Vec<Value> =
        trees.iter().enumerate().map(|(id, tree)| nodes(id, tree, features)).collect();
    let count = trees.len();
    let names: &[String] = model.feature_names().unwrap_or_default();
    let rounds: Vec<usize> = (0..=count).collect();
    let text = json!({
        "version": [3, 0, 0],
        "learner": {
            "attributes": {},
            "feature_names": names,
            "feature_types": vec!["float"; names.len()],
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": { "num_parallel_tree": "1", "num_trees": count.to_string() },
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
            "objective": {
                "name": "rank:ndcg",
                "lambdarank_param": {
                    "lambdarank_num_pair_per_sample": "1",
                    "lambdarank_pair_method": "topk",
                    "lambdarank_unbiased": "0",
                    "lambdarank_bias_norm": "1",
                    "ndcg_exp_gain": "1",
                },
            },
        },
    });
    serde_json::to_string(&text).map_err(|error| Error::internal(error.to_string()))
}

/// The single with which "below it" says what "at most the threshold" says.
fn condition(threshold: f64) -> f32 {
    at_most(threshold).next_up().min(f32::MAX)
}

/// A node as XGBoost lists it.
#[derive(Default)]
struct XgboostNode {
    /// -1 in a leaf.
    left: i64,
    parent: i64,
    /// Where a missing value goes.
    default_left: bool,
    feature: u32,
    /// The threshold, or the value of a leaf.
    condition: f32,
    change: f64,
    cover: f64,
}

/// The nodes of a tree, the two children of a split side by side, as XGBoost's scorer expects.
fn listed(tree: &Tree) -> Vec<XgboostNode> {
    // The root has the largest `i32` for its parent.
    let mut open = VecDeque::from([(tree.root(), i64::from(i32::MAX))]);
    let mut nodes: Vec<XgboostNode> = Vec::new();
    while let Some((child, parent)) = open.pop_front() {
        let this = i64::from(nodes.len() as u32);
        nodes.push(match child {
            Child::Leaf(at) => {
                let Leaf { value, cover, .. } = tree.leaves()[at as usize];
                let condition = value as f32;
                XgboostNode { left: -1, parent, condition, cover, ..XgboostNode::default() }
            }
            Child::Split(at) => {
                let split = &tree.splits()[at as usize];
                open.extend([(split.left, this), (split.right, this)]);
                XgboostNode {
                    left: this + i64::from(open.len() as u32) - 1,
                    parent,
                    default_left: split.missing_left,
                    feature: split.feature,
                    condition: condition(split.threshold),
                    change: split.reduction,
                    cover: split.cover,
                }
            }
        });
    }
    nodes
}

fn nodes(id: usize, tree: &Tree, features: usize) -> Value {
    let nodes = listed(tree);
    let each = |field: &dyn Fn(&XgboostNode) -> Value| nodes.iter().map(field).collect::<Vec<_>>();
    let empty: [i64; 0] = [];
    json!({
        "id": id,
        "base_weights": each(&|n| json!(n.condition)),
        "categories": empty,
        "categories_nodes": empty,
        "categories_segments": empty,
        "categories_sizes": empty,
        "default_left": each(&|n| json!(i32::from(n.default_left))),
        "left_children": each(&|n| json!(n.left)),
        "loss_changes": each(&|n| json!(n.change as f32)),
        "parents": each(&|n| json!(n.parent)),
        "right_children": each(&|n| json!(if n.left < 0 { -1 } else { n.left + 1 })),
        "split_conditions": each(&|n| json!(n.condition)),
        "split_indices": each(&|n| json!(n.feature)),
        "split_type": vec![0; nodes.len()],
        "sum_hessian": each(&|n| json!(n.cover as f32)),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": features.to_string(),
            "num_nodes": nodes.len().to_string(),
            "size_leaf_vector": "1",
        },
    })
}
