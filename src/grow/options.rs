//! How trees are grown.

use crate::error::{Error, Result};

/// What a split is chosen by. Leaf values are the Newton step under both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// The loss that the Newton steps of both sides take off: `G² / (H + l2)`.
    #[default]
    SecondOrder,
    /// The squared error against the negative gradients, as in the papers: `G² / n`.
    LeastSquares,
}

/// What bounds a tree, and what it may see.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowOptions {
    /// The most leaves: 2 to 65,536.
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
    /// The seed of all sampling.
    pub seed: u64,
}

impl Default for GrowOptions {
    fn default() -> Self {
        Self {
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
        Ok(())
    }
}

fn out_of_range(name: &'static str, got: impl std::fmt::Display, expected: &str) -> Error {
    Error::param(name, format!("{name} is out of range")).got(got).expected(expected)
}
