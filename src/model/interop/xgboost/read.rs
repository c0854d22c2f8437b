//! XGBoost's JSON to a model.

use super::super::super::parts::{CellType, Forest, Linear};
use super::super::super::tree::{Leaf, Split, Tree};
use super::super::super::{Component, Model, Part};
use super::super::arrange::{ForeignNode, ForeignSets, arrange};
use super::super::one_score;
use super::super::ubjson;
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// The model of a JSON text that XGBoost wrote.
pub fn read(text: &[u8]) -> Result<Model> {
    model(&super::super::json(text)?)
}

/// The model of a UBJSON file that XGBoost wrote.
pub fn read_ubjson(bytes: &[u8]) -> Result<Model> {
    model(&ubjson::parse(bytes)?)
}

fn model(root: &Value) -> Result<Model> {
    let learner = &root["learner"];
    let params = &learner["learner_model_param"];
    if number(&params["num_class"]).unwrap_or(0.0) > 1.0
        || number(&params["num_target"]).unwrap_or(1.0) > 1.0
    {
        return Err(one_score("xgboost.classes"));
    }
    // Numbers of sets come after those of features.
    let features = number(&params["num_feature"]).filter(|&count| count < f64::from(1u32 << 31));
    let features = features.ok_or_else(|| fault("num_feature"))? as u32;
    let mut model = Model::new(features as usize);
    if let Ok(names) = list(learner, "feature_names", |name| name.as_str().map(str::to_owned))
        && names.len() == features as usize
    {
        model.set_feature_names(Some(names))?;
    }
    let objective = learner["objective"]["name"].as_str().unwrap_or_default();
    model.set_attribute("objective", objective);
    model.set_attribute("source", "XGBoost");
    let base = number(&params["base_score"]).ok_or_else(|| fault("base_score"))?;
    model.set_intercept(f64::from(margin(objective, base as f32)))?;
    let booster = &learner["gradient_booster"];
    match booster["name"].as_str() {
        Some("gbtree") => forest(&mut model, &booster["model"], None)?,
        Some("dart") => {
            let weights = list(booster, "weight_drop", single)?;
            forest(&mut model, &booster["gbtree"]["model"], Some(&weights))?;
        }
        Some("gblinear") => {
            let weights = list(&booster["model"], "weights", single)?;
            linear(&mut model, &weights)?;
        }
        _ => return Err(fault("gradient_booster")),
    }
    Ok(model)
}

fn fault(name: &str) -> Error {
    Error::model("xgboost.syntax", format!("`{name}` is not as XGBoost writes it"))
}

/// A number, or the text of one, as it may be in brackets.
fn number(value: &Value) -> Option<f64> {
    let text = |text: &str| text.trim_matches(['[', ']']).parse().ok();
    value.as_f64().or_else(|| value.as_str().and_then(text))
}

/// What the sum starts from, where the objective turns sums into something else.
fn margin(objective: &str, base: f32) -> f32 {
    match objective {
        "binary:logistic" | "binary:logitraw" | "reg:logistic" => -(1.0 / base - 1.0).ln(),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:aft" | "survival:cox" => {
            base.ln()
        }
        _ => base,
    }
}

/// A single, written with as many digits as singles need.
fn single(value: &Value) -> Option<f64> {
    value.as_f64().map(|x| f64::from(x as f32))
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_bool().map(i64::from))
}

/// The items of a list of an object.
fn list<T>(object: &Value, name: &str, item: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>> {
    let items = object[name].as_array().and_then(|items| items.iter().map(item).collect());
    items.ok_or_else(|| fault(name))
}

fn linear(model: &mut Model, weights: &[f64]) -> Result<()> {
    if weights.len() != model.num_features() + 1 {
        return Err(fault("weights"));
    }
    let (bias, weights) = weights.split_last().ok_or_else(|| fault("weights"))?;
    model.set_intercept(model.intercept() + bias)?;
    let terms = weights.iter().enumerate().map(|(feature, &weight)| (feature as u32, weight));
    model.add(Component::new(Part::Linear(Linear::new(terms.collect()))))
}

fn forest(model: &mut Model, booster: &Value, weights: Option<&[f64]>) -> Result<()> {
    let trees = booster["trees"].as_array().ok_or_else(|| fault("trees"))?;
    if list(booster, "tree_info", integer)?.iter().any(|&class| class != 0) {
        return Err(fault("tree_info"));
    }
    let mut sets = ForeignSets { features: model.num_features(), ..ForeignSets::default() };
    let mut grown = Vec::new();
    for (number, tree) in trees.iter().enumerate() {
        let tree = XgboostNodes::of(tree)
            .and_then(|nodes| nodes.tree(&mut sets))
            .map_err(|error| error.hint(format!("in tree {number}")))?;
        grown.push(match weights {
            Some(weights) => tree.scaled(*weights.get(number).ok_or_else(|| fault("weight_drop"))?),
            None => tree,
        });
    }
    let ForeignSets { features, sets } = sets;
    let forest = Forest::foreign(features, CellType::F32, vec![], sets, grown)?;
    model.add(Component::new(Part::Forest(forest)))
}

/// A tree as XGBoost has it: lists by node.
struct XgboostNodes {
    left: Vec<i64>,
    right: Vec<i64>,
    conditions: Vec<f64>,
    indices: Vec<i64>,
    default_left: Vec<i64>,
    changes: Vec<f64>,
    hessians: Vec<f64>,
    /// The categories that go right, by node.
    categories: BTreeMap<i64, Vec<u32>>,
}

impl XgboostNodes {
    fn of(tree: &Value) -> Result<Self> {
        if number(&tree["tree_param"]["size_leaf_vector"]).unwrap_or(0.0) > 1.0 {
            return Err(Error::model("xgboost.classes", "leaves of many values cannot be read"));
        }
        let left = list(tree, "left_children", integer)?;
        let integers = |name| column(tree, name, left.len(), integer);
        let singles = |name| column(tree, name, left.len(), single);
        // JSON has infinities as text, if at all.
        let condition = |x: &Value| number(x).map(|x| f64::from(x as f32));
        Ok(Self {
            right: integers("right_children")?,
            conditions: column(tree, "split_conditions", left.len(), condition)?,
            indices: integers("split_indices")?,
            default_left: integers("default_left")?,
            changes: singles("loss_changes")?,
            hessians: singles("sum_hessian")?,
            categories: categories(tree)?,
            left,
        })
    }

    fn tree(&self, sets: &mut ForeignSets) -> Result<Tree> {
        arrange(0i64, self.left.len(), |node| {
            let at = usize::try_from(node).ok().filter(|&at| at < self.left.len());
            let at = at.ok_or_else(|| fault("left_children").got(node))?;
            let cover = self.hessians[at];
            if self.left[at] < 0 {
                return Ok(ForeignNode::Leaf(Leaf { value: self.conditions[at], cover, docs: 0 }));
            }
            let feature = u32::try_from(self.indices[at]).ok();
            let feature = feature.filter(|&f| (f as usize) < sets.features);
            let feature = feature.ok_or_else(|| fault("split_indices").got(self.indices[at]))?;
            let default_left = self.default_left[at] != 0;
            let split = Split {
                feature,
                // Equal goes right: the next single below goes left.
                threshold: f64::from((self.conditions[at] as f32).next_down()),
                missing_left: default_left,
                reduction: self.changes[at],
                cover,
                ..Split::default()
            };
            let (left, right) = (self.left[at], self.right[at]);
            if let Some(categories) = self.categories.get(&node) {
                // Those in the set go right there, and left here.
                let split = Split { missing_left: !default_left, ..split };
                let split = sets.split(split, categories.clone());
                return Ok(ForeignNode::Split { split, left: right, right: left });
            }
            if split.threshold == f64::NEG_INFINITY {
                // Nothing but missing values goes left: nothing is in no set.
                return Ok(ForeignNode::Split { split: sets.split(split, vec![]), left, right });
            }
            Ok(ForeignNode::Split { split, left, right })
        })
    }
}

/// A list with an item for each of `count` nodes, at least one.
fn column<T>(
    tree: &Value,
    name: &str,
    count: usize,
    item: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>> {
    let column = list(tree, name, item)?;
    if column.len() == count && count > 0 { Ok(column) } else { Err(fault("left_children")) }
}

fn categories(tree: &Value) -> Result<BTreeMap<i64, Vec<u32>>> {
    if tree["categories_nodes"].is_null() {
        return Ok(BTreeMap::new());
    }
    let category = |value: &Value| integer(value).and_then(|c| u32::try_from(c).ok());
    let length = |value: &Value| integer(value).and_then(|length| usize::try_from(length).ok());
    let all = list(tree, "categories", category)?;
    let nodes = list(tree, "categories_nodes", integer)?;
    let segments = list(tree, "categories_segments", length)?;
    let sizes = list(tree, "categories_sizes", length)?;
    let of_node = |(i, node): (usize, i64)| {
        let (&from, &size) = (segments.get(i)?, sizes.get(i)?);
        let mut own = all.get(from..from.checked_add(size)?)?.to_vec();
        own.sort_unstable();
        own.dedup();
        Some((node, own))
    };
    let by_node: Option<_> = nodes.into_iter().enumerate().map(of_node).collect();
    by_node.ok_or_else(|| fault("categories_segments"))
}

/// Whether a text looks like XGBoost's JSON.
pub(in crate::model::interop) fn is_json(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    start.first() == Some(&b'{')
        && start[..start.len().min(1 << 16)].windows(9).any(|w| w == b"\"learner\"")
}

/// Whether bytes look like XGBoost's UBJSON: an object whose first key is a short text.
pub(in crate::model::interop) fn is_ubjson(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(64)];
    matches!(head, [b'{', b'i' | b'U' | b'I' | b'l' | b'L', ..])
        && head.windows(7).any(|w| w == b"learner")
}
