//! A model to LightGBM's text.

use super::super::super::Model;
use super::super::super::normalisation::Normalisation;
use super::super::super::parts::{CellType, Forest, ScoreTerms};
use super::super::super::tree::{Child, Leaf, Split, Tree};
use super::{CATEGORICAL, DEFAULT_LEFT, Missing};
use crate::error::{Error, Result};
use std::fmt::{Display, Write};

/// The model as LightGBM's text.
pub fn write(model: &Model) -> Result<String> {
    let mut trees = Vec::new();
    collect(model, 1.0, &mut trees)?;
    let trees: Vec<String> = trees.into_iter().enumerate().map(|(i, t)| section(i, &t)).collect();
    let features = model.num_features();
    if features == 0 {
        return Err(cannot("a model without features"));
    }
    let names = match model.feature_names() {
        // Its names cannot have spaces.
        Some(names) => names.iter().map(|n| n.replace(char::is_whitespace, "_")).collect(),
        None => (0..features).map(|i| format!("Column_{i}")).collect::<Vec<_>>(),
    };
    let range = vec!["[-1e308:1e308]"; features];
    let sizes: Vec<usize> = trees.iter().map(String::len).collect();
    Ok(format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
         max_feature_idx={}\nobjective=lambdarank\nfeature_names={}\nfeature_infos={}\n\
         tree_sizes={}\n\n{}end of trees\n\nfeature_importances:\n\nparameters:\n\
         end of parameters\n\npandas_categorical:null\n",
        features - 1,
        names.join(" "),
        range.join(" "),
        join(&sizes),
        trees.concat(),
    ))
}

fn cannot(what: &str) -> Error {
    Error::param("lightgbm.write", format!("LightGBM's text cannot hold {what}"))
}

/// A tree with what its splits mean.
struct Written<'a> {
    tree: Tree,
    decisions: Vec<u32>,
    /// The categories of each categorical split.
    sets: Vec<&'a [u32]>,
}

fn collect<'a>(model: &'a Model, weight: f64, trees: &mut Vec<Written<'a>>) -> Result<()> {
    if model.intercept() != 0.0 {
        let leaf = Leaf { value: weight * model.intercept(), cover: 0.0, docs: 0 };
        trees.push(Written::new(Tree::new(vec![], vec![leaf])));
    }
    for component in model.components() {
        let mut inner = weight * component.weight;
        match component.normalisation {
            Normalisation::AsIs => {}
            Normalisation::Fixed { mean: 0.0, scale } => inner /= scale,
            _ => return Err(cannot("normalised scores")),
        }
        let part = component.part.kind();
        match part.terms() {
            Some(ScoreTerms::Trees(forest)) => {
                for tree in forest.trees() {
                    let mut tree = tree.clone();
                    tree.scale(inner);
                    trees.push(Written::new(tree).decided(forest)?);
                }
            }
            Some(ScoreTerms::Model(inside))
                if inside.ranks_features() != model.ranks_features() =>
            {
                return Err(cannot("ranks within queries"));
            }
            Some(ScoreTerms::Model(model)) => collect(model, inner, trees)?,
            Some(ScoreTerms::Features(_)) | None => return Err(cannot(part.noun())),
        }
    }
    Ok(())
}

impl<'a> Written<'a> {
    fn new(tree: Tree) -> Self {
        Self { tree, decisions: Vec::new(), sets: Vec::new() }
    }

    fn decided(mut self, forest: &'a Forest) -> Result<Self> {
        let mut splits = self.tree.splits().to_vec();
        for split in &mut splits {
            let decision = self.decide(forest, split)?;
            self.decisions.push(decision);
        }
        self.tree = Tree::new(splits, self.tree.leaves().to_vec());
        Ok(self)
    }

    /// The decision type of a split, which is given the feature and threshold that it has there.
    fn decide(&mut self, forest: &'a Forest, split: &mut Split) -> Result<u32> {
        let default = if split.missing_left { DEFAULT_LEFT } else { 0 };
        let Some(set) = (split.feature as usize).checked_sub(forest.num_features()) else {
            let zero = forest.zero_is_missing().binary_search(&split.feature).is_ok();
            let missing = if zero { Missing::Zero } else { Missing::NaN };
            if forest.cells() == CellType::F32 {
                split.threshold = largest(split.threshold);
            }
            return Ok(default | missing.bits());
        };
        let set = &forest.sets()[set];
        split.feature = set.feature;
        if set.categories.is_empty() && split.threshold >= 1.0 {
            split.threshold = f64::INFINITY;
            return Ok(default | Missing::NaN.bits());
        }
        if split.missing_left || !(0.0..1.0).contains(&split.threshold) {
            return Err(cannot("a split on categories that sends others or missing values left"));
        }
        if set.categories.last().is_some_and(|&last| last > LARGEST_CATEGORY) {
            return Err(cannot("categories above a million"));
        }
        split.threshold = self.sets.len() as f64;
        self.sets.push(&set.categories);
        Ok(CATEGORICAL | Missing::NaN.bits())
    }
}

/// A set has a bit for each category up to its largest.
const LARGEST_CATEGORY: u32 = 1_000_000;

/// The largest double whose nearest single, for finite ones a finite one, is at most `threshold`.
fn largest(threshold: f64) -> f64 {
    let near = threshold as f32;
    let single = if f64::from(near) > threshold { near.next_down() } else { near };
    if single >= f32::MAX {
        return f64::MAX;
    }
    // Half way to the next single: it goes to the even one of the two.
    let half = f64::midpoint(f64::from(single), f64::from(single.next_up()));
    if half as f32 == single { half } else { half.next_down() }
}

fn join(items: &[impl Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn floats(items: impl Iterator<Item = f64>) -> String {
    items.map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}

fn section(number: usize, written: &Written<'_>) -> String {
    let (splits, leaves) = (written.tree.splits(), written.tree.leaves());
    let mut text = format!("Tree={number}\nnum_leaves={}\n", leaves.len());
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}={value}");
    };
    line("num_cat", written.sets.len().to_string());
    if splits.is_empty() {
        line("leaf_value", floats(leaves.iter().map(|leaf| leaf.value)));
    } else {
        let child = |child: Child| match child {
            Child::Split(at) => i64::from(at),
            Child::Leaf(at) => -1 - i64::from(at),
        };
        let each = |field: &dyn Fn(&Split) -> String| {
            splits.iter().map(field).collect::<Vec<_>>().join(" ")
        };
        line("split_feature", each(&|s| s.feature.to_string()));
        line("split_gain", floats(splits.iter().map(|s| s.reduction)));
        let threshold = |s: &Split| format!("{:?}", s.threshold);
        line("threshold", each(&threshold));
        line("decision_type", join(&written.decisions));
        line("left_child", each(&|s| child(s.left).to_string()));
        line("right_child", each(&|s| child(s.right).to_string()));
        line("leaf_value", floats(leaves.iter().map(|leaf| leaf.value)));
        line("leaf_weight", floats(leaves.iter().map(|leaf| leaf.cover)));
        line("leaf_count", join(&leaves.iter().map(|leaf| leaf.docs).collect::<Vec<_>>()));
        line("internal_value", floats(splits.iter().map(|_| 0.0)));
        line("internal_weight", floats(splits.iter().map(|s| s.cover)));
        line("internal_count", each(&|s| s.docs.to_string()));
        if !written.sets.is_empty() {
            let (mut bounds, mut words) = (vec![0], Vec::<u32>::new());
            for set in &written.sets {
                let start = words.len();
                let last = set.last().copied().unwrap_or_default();
                words.resize(start + last as usize / 32 + 1, 0);
                for category in *set {
                    words[start + *category as usize / 32] |= 1 << (category % 32);
                }
                bounds.push(words.len());
            }
            line("cat_boundaries", join(&bounds));
            line("cat_threshold", join(&words));
        }
    }
    line("is_linear", "0".to_owned());
    line("shrinkage", "1".to_owned());
    text.push_str("\n\n");
    text
}
