//! A model to LightGBM's text.

use super::super::super::Model;
use super::super::super::parts::{CellType, Forest, Term, at_most};
use super::super::super::tree::{Child, Split, Tree};
use super::super::super::write::put;
use super::super::GAIN_OF_REDUCTION;
use super::{CATEGORICAL, DEFAULT_LEFT, Missing, pandas};
use crate::error::{Error, Result};
use std::fmt::Display;

/// The model as LightGBM's text.
pub fn write(model: &Model) -> Result<String> {
    let mut trees = Vec::new();
    for term in model.terms().map_err(|no_sum| cannot(no_sum.what()))? {
        match term {
            // No tree is needed.
            Term::Constant(0.0) => {}
            Term::Constant(value) => {
                let (decisions, sets) = (Vec::new(), Vec::new());
                trees.push(Written { tree: Tree::constant(value), decisions, sets });
            }
            Term::Feature(..) => return Err(cannot("a linear part")),
            Term::Trees(weight, forest) => {
                for tree in forest.trees() {
                    trees.push(Written::of(tree.scaled(weight), forest)?);
                }
            }
        }
    }
    let values = trees.iter().flat_map(|written| written.tree.leaves());
    if values.into_iter().any(|leaf| !leaf.value.is_finite()) {
        return Err(cannot("weighted scores beyond the largest double"));
    }
    check_words(&trees)?;
    let trees: Vec<String> = trees.into_iter().enumerate().map(|(i, t)| section(i, &t)).collect();
    let features = model.num_features();
    if features == 0 {
        return Err(cannot("a model without features"));
    }
    let names = match model.feature_names() {
        // Its names cannot have spaces.
        Some(names) => join(names.iter().map(|name| name.replace(char::is_whitespace, "_"))),
        None => join((0..features).map(|feature| format!("Column_{feature}"))),
    };
    Ok(format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
         max_feature_idx={}\nobjective=lambdarank\nfeature_names={}\nfeature_infos={}\n\
         tree_sizes={}\n\n{}end of trees\n\nfeature_importances:\n\nparameters:\n\
         end of parameters\n\npandas_categorical:{}\n",
        features - 1,
        names,
        pandas::infos(model),
        join(trees.iter().map(String::len)),
        trees.concat(),
        pandas::json(model),
    ))
}

/// An error if each split's set, which is written once for each split, takes too many words in all.
fn check_words(trees: &[Written<'_>]) -> Result<()> {
    let sets = trees.iter().flat_map(|written| &written.sets);
    let words = |set: &&[u32]| u64::from(set.last().copied().unwrap_or_default()) / 32 + 1;
    let all: u64 = sets.map(words).sum();
    if all <= MOST_WORDS {
        return Ok(());
    }
    let what =
        "LightGBM's text would repeat the sets of categories, which splits share, for each split";
    Err(Error::param("lightgbm.write", what)
        .got(format!("{all} words of 32 categories"))
        .expected(format!("at most {MOST_WORDS}"))
        .hint("`save` keeps the model, in our own format"))
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

impl<'a> Written<'a> {
    fn of(mut tree: Tree, forest: &'a Forest) -> Result<Self> {
        let mut sets = Vec::new();
        let splits = tree.splits_mut().iter_mut();
        let decisions =
            splits.map(|split| Self::decide(&mut sets, forest, split)).collect::<Result<_>>()?;
        Ok(Self { tree, decisions, sets })
    }

    /// The decision type of a split, which is given the feature and threshold that it has there.
    fn decide(sets: &mut Vec<&'a [u32]>, forest: &'a Forest, split: &mut Split) -> Result<u32> {
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
        if set.categories.is_empty() {
            // No known value is in it.
            if split.threshold < 1.0 {
                split.turn();
            }
            split.threshold = f64::INFINITY;
            let default = if split.missing_left { DEFAULT_LEFT } else { 0 };
            return Ok(default | Missing::NaN.bits());
        }
        if split.missing_left || !(0.0..1.0).contains(&split.threshold) {
            let what = "a split on categories that sends missing values with some categories";
            return Err(cannot(&format!("{what}; `save` keeps the model, in our own format")));
        }
        if set.categories.last().is_some_and(|&last| last > LARGEST_CATEGORY) {
            return Err(cannot("categories above a million"));
        }
        split.threshold = sets.len() as f64;
        sets.push(&set.categories);
        Ok(CATEGORICAL | Missing::NaN.bits())
    }
}

/// The most words of sets in a text.
const MOST_WORDS: u64 = 1 << 25;
/// A set has a bit for each category up to its largest.
const LARGEST_CATEGORY: u32 = 1_000_000;

/// The largest double whose nearest single, for finite ones a finite one, is at most `threshold`. Where that is all
/// of them, infinity, as LightGBM has it: an infinite value goes with the finite ones. Where it is none, the least
/// double.
fn largest(threshold: f64) -> f64 {
    let single = at_most(threshold);
    if single >= f32::MAX {
        return f64::INFINITY;
    }
    // Half way to the next single: it goes to the even one of the two.
    let half = f64::midpoint(f64::from(single), f64::from(single.next_up()));
    let largest = if half as f32 == single { half } else { half.next_down() };
    largest.max(f64::MIN)
}

/// From 0 on splits, and below 0 leaves, the first of which is -1.
fn number_of(child: Child) -> i64 {
    match child {
        Child::Split(at) => i64::from(at),
        Child::Leaf(at) => -1 - i64::from(at),
    }
}

fn join(items: impl IntoIterator<Item: Display>) -> String {
    let mut text = String::new();
    for (at, item) in items.into_iter().enumerate() {
        put(&mut text, format_args!("{}{item}", if at > 0 { " " } else { "" }));
    }
    text
}

fn floats(items: impl Iterator<Item = f64>) -> String {
    join(items.map(|x| format!("{x:?}")))
}

/// The numbers of docs of the splits, and of the leaves, as the file says them.
///
/// LightGBM's SHAP values are divided by them. So in a tree with empty leaves, such as a symmetric one, each of these
/// counts as one doc, and a split has what its leaves have. A tree that tells no docs at all stays as it is.
fn doc_counts(tree: &Tree) -> [Vec<u64>; 2] {
    let mut splits: Vec<u64> = tree.splits().iter().map(|split| split.docs).collect();
    let mut leaves: Vec<u64> = tree.leaves().iter().map(|leaf| leaf.docs).collect();
    if !leaves.contains(&0) || leaves.iter().all(|&docs| docs == 0) {
        return [splits, leaves];
    }
    for docs in &mut leaves {
        *docs = (*docs).max(1);
    }
    for (at, split) in tree.splits().iter().enumerate().rev() {
        let [left, right] = [split.left, split.right].map(|child| match child {
            Child::Split(below) => splits[below as usize],
            Child::Leaf(leaf) => leaves[leaf as usize],
        });
        splits[at] = left.saturating_add(right);
    }
    [splits, leaves]
}

fn section(number: usize, written: &Written<'_>) -> String {
    let (splits, leaves) = (written.tree.splits(), written.tree.leaves());
    let mut text = format!("Tree={number}\nnum_leaves={}\n", leaves.len());
    let mut line = |name: &str, value: String| {
        put(&mut text, format_args!("{name}={value}\n"));
    };
    line("num_cat", written.sets.len().to_string());
    let by_split = |field: fn(&Split) -> String| join(splits.iter().map(field));
    let leaf_values = floats(leaves.iter().map(|leaf| leaf.value));
    if splits.is_empty() {
        line("leaf_value", leaf_values);
    } else {
        let [docs_of_splits, docs_of_leaves] = doc_counts(&written.tree);
        line("split_feature", by_split(|s| s.feature.to_string()));
        line("split_gain", floats(splits.iter().map(|s| s.reduction * GAIN_OF_REDUCTION)));
        line("threshold", by_split(|s| format!("{:?}", s.threshold)));
        line("decision_type", join(&written.decisions));
        line("left_child", by_split(|s| number_of(s.left).to_string()));
        line("right_child", by_split(|s| number_of(s.right).to_string()));
        line("leaf_value", leaf_values);
        line("leaf_weight", floats(leaves.iter().map(|leaf| leaf.cover)));
        line("leaf_count", join(docs_of_leaves));
        line("internal_value", floats(splits.iter().map(|_| 0.0)));
        line("internal_weight", floats(splits.iter().map(|s| s.cover)));
        line("internal_count", join(docs_of_splits));
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
