//! CatBoost's JSON, as `save_model(..., format="json")` writes it. Read only.
//!
//! Scores are those of `predict(prediction_type="RawFormulaVal")` up to the order of the sum: leaf
//! values are doubles on both sides. Values are compared as singles; a value above the border goes
//! to the right. Symmetric trees and those of the other growing policies, with one score a doc.
//! Categories that are compared one by one are sets, where they are whole numbers and the file was
//! written with `pool=`, which lists them. Categories as statistics of labels, texts and embeddings
//! are refused.

use super::super::parts::{CellType, Forest};
use super::super::tree::{Child, Leaf, Split, Tree};
use super::super::{Component, Model, Part};
use super::arrange::{ForeignNode, ForeignSets, arrange};
use super::one_score;
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// What errors about several scores a document are called.
const CLASSES: &str = "catboost.classes";
/// The deepest symmetric tree: CatBoost's own limit.
const DEEPEST: usize = 16;

/// Whether a text looks like CatBoost's JSON.
pub(super) fn is_json(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&b'{')
        && memchr::memmem::find(text, b"\"features_info\"").is_some()
}

/// The model of a JSON text that CatBoost wrote.
pub fn read(text: &[u8]) -> Result<Model> {
    let root = super::json(text)?;
    let mut reading = CatboostReader::of(&root["features_info"])?;
    let trees = match (&root["oblivious_trees"], &root["trees"]) {
        (Value::Array(trees), Value::Null) => reading.trees(trees, CatboostReader::symmetric)?,
        (Value::Null, Value::Array(trees)) => reading.trees(trees, CatboostReader::nested)?,
        _ => return Err(fault("oblivious_trees")),
    };
    let ForeignSets { features, sets } = reading.sets;
    let mut model = Model::new(features);
    if reading.names.iter().all(|name| !name.is_empty()) {
        model.set_feature_names(Some(reading.names))?;
    }
    model.set_attribute("source", "CatBoost");
    let (scale, bias) = scale_and_bias(&root["scale_and_bias"])?;
    model.set_intercept(bias)?;
    let forest = Forest::foreign(features, CellType::F32, vec![], sets, trees)?;
    model.add(Component { weight: scale, ..Component::new(Part::Forest(forest)) })?;
    Ok(model)
}

fn fault(name: &str) -> Error {
    Error::model("catboost.syntax", format!("`{name}` is not as CatBoost writes it"))
}

fn refused(what: &str) -> Error {
    Error::model("catboost.features", format!("a model with {what} cannot be read"))
}

fn scale_and_bias(value: &Value) -> Result<(f64, f64)> {
    let scale = value[0].as_f64().ok_or_else(|| fault("scale_and_bias"))?;
    let bias = match &value[1] {
        Value::Array(all) if all.len() > 1 => return Err(one_score(CLASSES)),
        Value::Array(all) => all.first().map_or(Some(0.0), Value::as_f64),
        one => one.as_f64(),
    };
    Ok((scale, bias.ok_or_else(|| fault("scale_and_bias"))?))
}

/// What is known of the features.
#[derive(Default)]
struct CatboostReader {
    names: Vec<String>,
    /// For each number: where it stands in a row, and whether a missing value is above all borders.
    floats: BTreeMap<u64, (u32, bool)>,
    /// For each category: where it stands in a row.
    categories: BTreeMap<u64, u32>,
    /// The texts of categories by their hashes.
    hashes: BTreeMap<u64, String>,
    sets: ForeignSets,
}

impl CatboostReader {
    fn of(info: &Value) -> Result<Self> {
        for (list, what) in [
            ("ctrs", "statistics of labels for categories"),
            ("text_features", "texts"),
            ("embedding_features", "embeddings"),
        ] {
            if info[list].as_array().is_some_and(|list| !list.is_empty()) {
                return Err(refused(what));
            }
        }
        let list = |name: &str| info[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let (floats, categories) = (list("float_features"), list("categorical_features"));
        let features = floats.len() + categories.len();
        let sets = ForeignSets { features, ..ForeignSets::default() };
        let mut made = Self { names: vec![String::new(); features], sets, ..Self::default() };
        for feature in floats {
            let (number, at) = made.feature(feature)?;
            let above = match feature["nan_value_treatment"].as_str() {
                Some("AsTrue") => true,
                Some("AsFalse" | "AsIs") => false,
                _ => return Err(fault("nan_value_treatment")),
            };
            made.floats.insert(number, (at, above));
        }
        for feature in categories {
            let (number, at) = made.feature(feature)?;
            made.categories.insert(number, at);
        }
        for category in list("cat_features_hash") {
            if let (Some(hash), Some(text)) = (hash(&category["hash"]), category["value"].as_str())
            {
                made.hashes.insert(hash, text.to_owned());
            }
        }
        Ok(made)
    }

    /// The number of a feature among its kind, and its place in a row.
    fn feature(&mut self, feature: &Value) -> Result<(u64, u32)> {
        let number = feature["feature_index"].as_u64();
        let at = feature["flat_feature_index"].as_u64();
        let (Some(number), Some(at)) = (number, at) else { return Err(fault("feature_index")) };
        let name = usize::try_from(at).ok().and_then(|at| self.names.get_mut(at));
        let name = name.ok_or_else(|| fault("flat_feature_index").got(at))?;
        feature["feature_id"].as_str().unwrap_or_default().clone_into(name);
        Ok((number, at as u32))
    }

    fn trees(
        &mut self,
        trees: &[Value],
        read: impl Fn(&mut Self, &Value) -> Result<Tree>,
    ) -> Result<Vec<Tree>> {
        let tree = |(number, tree)| {
            read(self, tree).map_err(|error| error.hint(format!("in tree {number}")))
        };
        trees.iter().enumerate().map(tree).collect()
    }

    /// A split before its children are known, and whether those above the border are its left ones.
    fn test(&mut self, test: &Value) -> Result<(Split, bool)> {
        let number = |name: &str| test[name].as_u64().ok_or_else(|| fault(name));
        match test["split_type"].as_str() {
            Some("FloatFeature") => {
                let name = "float_feature_index";
                let &(feature, above) =
                    self.floats.get(&number(name)?).ok_or_else(|| fault(name))?;
                let border = test["border"].as_f64().ok_or_else(|| fault("border"))?;
                let threshold = f64::from(border as f32);
                let split = Split { feature, threshold, missing_left: !above, ..Split::default() };
                Ok((split, false))
            }
            Some("OneHotFeature") => {
                let name = "cat_feature_index";
                let &feature = self.categories.get(&number(name)?).ok_or_else(|| fault(name))?;
                let text = hash(&test["value"]).and_then(|hash| self.hashes.get(&hash));
                let category = text.and_then(|text| text.parse().ok()).ok_or_else(|| {
                    let expected = "whole numbers, in a file that was written with `pool=`";
                    refused("categories that are not known to be numbers").expected(expected)
                })?;
                let split = Split { feature, ..Split::default() };
                Ok((self.sets.split(split, vec![category]), true))
            }
            _ => Err(refused("statistics of labels for categories")),
        }
    }

    /// A tree with the same split at all nodes of a level: the first decides the lowest bit of the
    /// leaf's number.
    fn symmetric(&mut self, tree: &Value) -> Result<Tree> {
        let tests = tree["splits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let values = tree["leaf_values"].as_array().ok_or_else(|| fault("leaf_values"))?;
        if tests.len() > DEEPEST || values.len() % (1 << tests.len()) != 0 || values.is_empty() {
            return Err(fault("leaf_values").got(format!("{} values", values.len())));
        }
        if values.len() > 1 << tests.len() {
            return Err(one_score(CLASSES));
        }
        let tests: Vec<_> = tests.iter().map(|test| self.test(test)).collect::<Result<_>>()?;
        let weights = tree["leaf_weights"].as_array();
        let leaf = |at: usize| {
            let value = values[at].as_f64().ok_or_else(|| fault("leaf_values"))?;
            let cover = weights.and_then(|weights| weights.get(at)?.as_f64()).unwrap_or(0.0);
            Ok(Leaf { value, cover, docs: 0 })
        };
        // The tests that are left, and the bits that are decided.
        let tree = arrange((tests.len(), 0), 2 * values.len(), |(left, bits): (usize, usize)| {
            let Some(&test) = left.checked_sub(1).map(|at| &tests[at]) else {
                return Ok(ForeignNode::Leaf(leaf(bits)?));
            };
            let (below, above) = ((left - 1, bits), (left - 1, bits | 1 << (left - 1)));
            Ok(node(test, below, above))
        })?;
        Ok(with_covers(tree))
    }

    /// A tree of any shape: nodes inside nodes.
    fn nested(&mut self, tree: &Value) -> Result<Tree> {
        // Every node was parsed from some bytes of its own.
        let tree = arrange(tree, usize::MAX, |at| match &at["split"] {
            Value::Null => {
                let value = match &at["value"] {
                    Value::Array(_) => return Err(one_score(CLASSES)),
                    value => value.as_f64().ok_or_else(|| fault("value"))?,
                };
                let cover = at["weight"].as_f64().unwrap_or(0.0);
                Ok(ForeignNode::Leaf(Leaf { value, cover, docs: 0 }))
            }
            test => Ok(node(self.test(test)?, &at["left"], &at["right"])),
        })?;
        Ok(with_covers(tree))
    }
}

/// The node of a test with its children at or below the border, and above it.
fn node<Id>((split, is_swapped): (Split, bool), below: Id, above: Id) -> ForeignNode<Id> {
    let (left, right) = if is_swapped { (above, below) } else { (below, above) };
    ForeignNode::Split { split, left, right }
}

/// Hashes are unsigned, but may be written as if they had a sign.
fn hash(value: &Value) -> Option<u64> {
    let signed = || Some(i32::try_from(value.as_i64()?).ok()?.cast_unsigned().into());
    value.as_u64().or_else(signed)
}

/// The same tree with the covers of splits, which are the sums of those below.
fn with_covers(mut tree: Tree) -> Tree {
    for at in (0..tree.splits().len()).rev() {
        let cover = |child| match child {
            Child::Split(below) => tree.splits()[below as usize].cover,
            Child::Leaf(leaf) => tree.leaves()[leaf as usize].cover,
        };
        let split = &tree.splits()[at];
        tree.splits_mut()[at].cover = cover(split.left) + cover(split.right);
    }
    tree
}
