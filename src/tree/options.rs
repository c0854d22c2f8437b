//! How trees are grown.

use super::categorical::CategoryOptions;
use super::constraints::Constraints;
use crate::error::{Error, Result};
use std::str::FromStr;

/// What a split is chosen by. Leaf values are the Newton step under both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// The loss that the Newton steps of both sides take off: `G² / (H + l2)`.
    #[default]
    SecondOrder,
    /// The squared error against the negative gradients, as in the papers: `G² / n`.
    LeastSquares,
}

/// Which leaves a split divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TreeShape {
    /// The one leaf that brings most: best first.
    #[default]
    Leafwise,
    /// All leaves of a level, by one question: the one whose reductions sum up to most. Such a tree
    /// has a leaf for each answer to its few questions, and is scored with one operation a level.
    ///
    /// A leaf that has less than it needs, or nothing, takes the value of the nearest node above it
    /// that has enough; to divide such a node counts as no reduction.
    Symmetric,
}

impl TreeShape {
    /// The name that parameters have.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leafwise => "leafwise",
            Self::Symmetric => "symmetric",
        }
    }
}

impl FromStr for TreeShape {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Leafwise, Self::Symmetric].into_iter().find(|shape| shape.name() == name).ok_or_else(
            || {
                Error::param("tree_shape", "tree_shape is not known")
                    .got(format!("\"{name}\""))
                    .expected("\"leafwise\" or \"symmetric\"")
            },
        )
    }
}

/// What bounds a tree, and what it may see.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowOptions {
    /// Which leaves a split divides.
    pub tree_shape: TreeShape,
    /// The most leaves: 2 to 65,536. A symmetric tree has a power of two of them: 32 for 63.
    pub num_leaves: usize,
    /// The most splits between the root and a leaf; `None` for no limit.
    pub max_depth: Option<u32>,
    /// The fewest docs of a leaf. Under [`Criterion::SecondOrder`] a doc counts by its hessian, and
    /// the docs of a node count as many as they are: exact where hessians are equal, as with
    /// regression, and else cheap.
    pub min_leaf_docs: u32,
    /// The least sum of hessians of a leaf. Under [`Criterion::LeastSquares`] a split that leaves
    /// less is not made, and its node stays a leaf.
    pub min_leaf_hess: f64,
    /// Added to the hessians of a leaf: draws its value to zero.
    pub l2: f64,
    /// The least reduction that a split must bring.
    pub min_reduction: f64,
    /// What a split is chosen by.
    pub criterion: Criterion,
    /// The part of the features that a tree may look at.
    pub features_per_tree: f64,
    /// The part of the tree's features that a node may look at.
    pub features_per_node: f64,
    /// The part of a node's docs that its split is chosen by.
    pub rows_per_node: f64,
    /// How far chance has a say in the choice of splits; 0 for not at all. The root of the value of
    /// each candidate is moved by a normal draw whose deviation is this times what gradients
    /// without a pattern would move it by.
    pub random_strength: f64,
    /// How fast that fades: in round `r` it is multiplied by `n / (n + exp(random_decay r))`, with
    /// `n` docs. Meant to be the learning rate, which says how far a model has come by then.
    pub random_decay: f64,
    /// What bounds the use of features.
    pub limits: Constraints,
    /// How splits on categories are chosen.
    pub categories: CategoryOptions,
    /// The seed of all sampling.
    pub seed: u64,
}

impl Default for GrowOptions {
    fn default() -> Self {
        Self {
            tree_shape: TreeShape::default(),
            num_leaves: 31,
            max_depth: None,
            min_leaf_docs: 20,
            min_leaf_hess: 1e-3,
            l2: 0.0,
            min_reduction: 0.0,
            criterion: Criterion::default(),
            features_per_tree: 1.0,
            features_per_node: 1.0,
            rows_per_node: 1.0,
            random_strength: 0.0,
            random_decay: 0.1,
            limits: Constraints::default(),
            categories: CategoryOptions::default(),
            seed: 0,
        }
    }
}

impl GrowOptions {
    /// Refuses what is out of range.
    pub fn check(&self) -> Result<()> {
        if !(2..=65_536).contains(&self.num_leaves) {
            return Err(out_of_range("num_leaves", self.num_leaves, "2 to 65536"));
        }
        if self.max_depth == Some(0) {
            return Err(out_of_range("max_depth", 0, "at least 1, or no limit"));
        }
        if self.min_leaf_docs == 0 {
            return Err(out_of_range("min_leaf_docs", 0, "at least 1"));
        }
        for (name, value) in [
            ("min_leaf_hess", self.min_leaf_hess),
            ("l2", self.l2),
            ("min_reduction", self.min_reduction),
            ("random_strength", self.random_strength),
            ("random_decay", self.random_decay),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(out_of_range(name, value, "a number from 0 on"));
            }
        }
        for (name, value) in [
            ("features_per_tree", self.features_per_tree),
            ("features_per_node", self.features_per_node),
            ("rows_per_node", self.rows_per_node),
        ] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(out_of_range(name, value, "above 0, up to 1"));
            }
        }
        self.categories.check()
    }
}

fn out_of_range(name: &'static str, got: impl std::fmt::Display, expected: &str) -> Error {
    Error::param(name, format!("{name} is out of range")).got(got).expected(expected)
}
