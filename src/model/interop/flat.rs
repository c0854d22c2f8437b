//! A model as one list of trees, for formats that know nothing else.

use super::super::Model;
use super::super::parts::{Forest, NoSum, Term};
use super::super::tree::Tree;
use crate::error::{Error, Result};

/// A model whose score is the intercept and a leaf value of each tree.
pub(super) struct Flat {
    pub(super) intercept: f64,
    /// Weights are in the leaf values. A split with an infinite threshold sends every known value left, infinite
    /// ones too, and tells missing values from them.
    pub(super) trees: Vec<Tree>,
}

impl NoSum {
    /// What a format of trees cannot hold.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Logistic => "probabilities",
            Self::Queries => "scores normalised within queries",
            Self::Ranks => "ranks within queries",
            Self::Part(noun) => noun,
        }
    }
}

/// All trees of a model; an error that names `format` if there is more to it.
pub(super) fn flat(model: &Model, format: &str) -> Result<Flat> {
    let cannot = |what| Error::param("model.export", format!("{format} cannot hold {what}"));
    let mut flat = Flat { intercept: 0.0, trees: Vec::new() };
    for term in model.terms().map_err(|no_sum| cannot(no_sum.what()))? {
        match term {
            Term::Constant(value) => flat.intercept += value,
            Term::Feature(..) => return Err(cannot("a linear part")),
            Term::Trees(_, forest) if !forest.zero_is_missing().is_empty() => {
                return Err(cannot("zeros that count as missing"));
            }
            Term::Trees(weight, forest) => {
                for tree in forest.trees() {
                    let tree = without_sets(tree.scaled(weight), forest);
                    flat.trees.push(tree.ok_or_else(|| cannot("sets of categories"))?);
                }
            }
        }
    }
    let is_finite = |tree: &Tree| tree.leaves().iter().all(|leaf| leaf.value.is_finite());
    if !flat.intercept.is_finite() || !flat.trees.iter().all(is_finite) {
        return Err(cannot("weighted scores beyond the largest double"));
    }
    Ok(flat)
}

/// The tree with splits on features only; `None` if one needs a set of categories.
fn without_sets(mut tree: Tree, forest: &Forest) -> Option<Tree> {
    for split in tree.splits_mut() {
        if let Some(at) = (split.feature as usize).checked_sub(forest.num_features()) {
            let set = &forest.sets()[at];
            split.feature = set.feature;
            // The cell is 0 in the set, 1 outside, and nothing is in an empty one.
            let ways = [0.0 <= split.threshold, 1.0 <= split.threshold];
            match ways {
                [_, true] => {}
                [false, false] => split.turn(),
                [true, false] if set.categories.is_empty() => split.turn(),
                [true, false] => return None,
            }
            split.threshold = f64::INFINITY;
        }
    }
    Some(tree)
}

/// [`flat`] for a format of single precision.
pub(super) fn flat_in_singles(model: &Model, format: &str) -> Result<Flat> {
    let flat = flat(model, format)?;
    let fits = |value: f64| (value as f32).is_finite();
    let tree_fits = |tree: &Tree| tree.leaves().iter().all(|leaf| fits(leaf.value));
    if fits(flat.intercept) && flat.trees.iter().all(tree_fits) {
        return Ok(flat);
    }
    let what = format!("{format} cannot hold scores beyond the largest single");
    Err(Error::param("model.export", what).hint("`save` keeps the model, in our own format"))
}

/// The nearest finite single: for what a format says of training, which scores do not depend on.
pub(super) fn note(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}
