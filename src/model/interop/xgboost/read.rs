//! XGBoost's JSON to a model.

use super::super::super::format::check_num_features;
use super::super::super::parts::{CellType, Forest, Linear};
use super::super::super::tree::{Leaf, Split, Tree};
use super::super::super::{Component, Model, Part};
use super::super::GAIN_OF_REDUCTION;
use super::super::arrange::{ForeignNode, ForeignSets, arrange};
use super::super::one_score;
use super::super::ubjson;
use super::{ATTRIBUTE, RANKING, TREES_OF_ROUND};
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
    let features = number(&params["num_feature"]).ok_or_else(|| fault("num_feature"))?;
    check_num_features(features as u64)?;
    let features = features as u32;
    let mut model = Model::new(features as usize);
    if let Ok(names) = list(learner, "feature_names", |name| name.as_str().map(str::to_owned))
        && names.len() == features as usize
    {
        model.set_feature_names(Some(names))?;
    }
    let objective = learner["objective"]["name"].as_str().unwrap_or_default();
    model.set_attribute("objective", objective);
    model.set_attribute("source", "XGBoost");
    for name in RANKING {
        if let Some(value) = learner["objective"]["lambdarank_param"][name].as_str() {
            model.set_attribute(name, value);
        }
    }
    // What the library keeps beside the trees, such as the best iteration.
    for (name, value) in learner["attributes"].as_object().into_iter().flatten() {
        if let Some(value) = value.as_str() {
            model.set_attribute(format!("{ATTRIBUTE}{name}"), value);
        }
    }
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
        "binary:logistic" | "reg:logistic" => -(1.0 / base - 1.0).ln(),
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
    let parallel = &booster["gbtree_model_param"]["num_parallel_tree"];
    if let Some(trees) = number(parallel).filter(|&trees| trees > 1.0) {
        model.set_attribute(TREES_OF_ROUND, trees.to_string());
    }
    let trees = booster["trees"].as_array().ok_or_else(|| fault("trees"))?;
    if list(booster, "tree_info", integer)?.iter().any(|&class| class != 0) {
        return Err(fault("tree_info"));
    }
    let mut sets = ForeignSets { features: model.num_features(), ..ForeignSets::default() };
    let mut grown = Vec::new();
    for (number, tree) in trees.iter().enumerate() {
        let mut tree =
            read_tree(tree, &mut sets).map_err(|error| error.hint(format!("in tree {number}")))?;
        if let Some(weights) = weights {
            tree = tree.scaled(*weights.get(number).ok_or_else(|| fault("weight_drop"))?);
        }
        grown.push(tree);
    }
    let ForeignSets { features, sets } = sets;
    let forest = Forest::foreign(features, CellType::F32, vec![], sets, grown)?;
    model.add(Component::new(Part::Forest(forest)))
}

/// A list of a tree, with an item for each node.
struct NodeList<'a> {
    name: &'static str,
    items: &'a [Value],
}

impl<'a> NodeList<'a> {
    fn of(tree: &'a Value, name: &'static str) -> Self {
        Self { name, items: tree[name].as_array().map(Vec::as_slice).unwrap_or_default() }
    }

    /// The item of a node, if there is one.
    fn at<T>(&self, node: usize, read: impl FnOnce(&Value) -> Option<T>) -> Result<T> {
        self.items.get(node).and_then(read).ok_or_else(|| fault(self.name))
    }
}

fn read_tree(tree: &Value, sets: &mut ForeignSets) -> Result<Tree> {
    if number(&tree["tree_param"]["size_leaf_vector"]).unwrap_or(0.0) > 1.0 {
        return Err(Error::model("xgboost.classes", "leaves of many values cannot be read"));
    }
    let lists = ["left_children", "right_children", "split_conditions", "split_indices"];
    let [left, right, conditions, indices] = lists.map(|name| NodeList::of(tree, name));
    let lists = ["default_left", "loss_changes", "sum_hessian"];
    let [default_left, changes, hessians] = lists.map(|name| NodeList::of(tree, name));
    let count = left.items.len();
    let others = [&right, &conditions, &indices, &default_left, &changes, &hessians];
    if count == 0 || others.iter().any(|list| list.items.len() != count) {
        return Err(fault("left_children"));
    }
    let mut by_node = categories(tree)?;
    arrange(0i64, count, |node| {
        let at = usize::try_from(node).ok().filter(|&at| at < count);
        let at = at.ok_or_else(|| fault("left_children").got(node))?;
        // JSON has infinities as text, if at all.
        let condition = conditions.at(at, number)? as f32;
        let (mut left, mut right) = (left.at(at, integer)?, right.at(at, integer)?);
        let cover = hessians.at(at, single)?;
        if left < 0 {
            return Ok(ForeignNode::Leaf(Leaf { value: f64::from(condition), cover, docs: 0 }));
        }
        let feature = indices.at(at, integer)?;
        let in_range = u32::try_from(feature).ok().filter(|&f| (f as usize) < sets.features);
        let mut split = Split {
            feature: in_range.ok_or_else(|| fault("split_indices").got(feature))?,
            // Equal goes right: the next single below goes left.
            threshold: f64::from(condition.next_down()),
            missing_left: default_left.at(at, integer)? != 0,
            reduction: changes.at(at, single)? / GAIN_OF_REDUCTION,
            cover,
            ..Split::default()
        };
        if let Some(categories) = by_node.get_mut(&node) {
            // Those in the set go right there, and left here.
            split.missing_left = !split.missing_left;
            // A second link to the node would copy them.
            let categories = categories.take().ok_or_else(|| fault("left_children").got(node))?;
            split = sets.split(split, categories);
            (left, right) = (right, left);
        } else if split.threshold == f64::NEG_INFINITY {
            // Nothing but missing values goes left: from here on it goes right, and all finite values left.
            split.threshold = f64::from(f32::MAX);
            split.missing_left = !split.missing_left;
            (left, right) = (right, left);
        }
        Ok(ForeignNode::Split { split, left, right })
    })
}

/// The categories of each node that has some, to be taken once.
fn categories(tree: &Value) -> Result<BTreeMap<i64, Option<Vec<u32>>>> {
    if tree["categories_nodes"].is_null() {
        return Ok(BTreeMap::new());
    }
    let category = |value: &Value| integer(value).and_then(|c| u32::try_from(c).ok());
    let length = |value: &Value| integer(value).and_then(|length| usize::try_from(length).ok());
    let all = list(tree, "categories", category)?;
    let nodes = list(tree, "categories_nodes", integer)?;
    let segments = list(tree, "categories_segments", length)?;
    let sizes = list(tree, "categories_sizes", length)?;
    let mut end = 0;
    // XGBoost writes one after the other: some that overlap could stand for any number of categories.
    let of_node = |(i, node): (usize, i64)| {
        let (&from, &size) = (segments.get(i).filter(|&&from| from >= end)?, sizes.get(i)?);
        end = from.checked_add(size)?;
        let mut own = all.get(from..end)?.to_vec();
        own.sort_unstable();
        own.dedup();
        Some((node, Some(own)))
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
