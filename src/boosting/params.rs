//! What training can be told, besides the loss.

use super::{DocSampling, Dropout, StepRule};
use crate::error::{Error, Result};
use crate::tree::{CategoryOptions, Constraints, Criterion, GrowOptions};

/// How many trees, how large their steps, and what each may see.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostingParams {
    /// The most trees to add: 1 to 2^20.
    pub num_trees: usize,
    /// What leaf values are multiplied by: above 0, up to 10.
    pub learning_rate: f64,
    /// The share of the queries that a tree is grown from: above 0, up to 1.
    pub queries_per_tree: f64,
    /// The share of the docs of these that a tree is grown from: above 0, up to 1.
    pub docs_per_tree: f64,
    /// How these docs are chosen.
    pub doc_sampling: DocSampling,
    /// What is added to the hessians of a position, if the dataset has positions: from 0.
    pub position_l2: f64,
    /// What else they are multiplied by.
    pub step: StepRule,
    /// Whether, and how, trees are dropped while others are grown.
    pub dropout: Option<Dropout>,
    /// How a tree is grown, and the seed of everything random.
    pub grow: GrowOptions,
}

impl Default for BoostingParams {
    fn default() -> Self {
        Self {
            num_trees: 100,
            learning_rate: 0.1,
            queries_per_tree: 1.0,
            docs_per_tree: 1.0,
            doc_sampling: DocSampling::Uniform,
            position_l2: 1.0,
            step: StepRule::Newton,
            dropout: None,
            grow: GrowOptions::default(),
        }
    }
}

/// The most trees of one training.
const MAX_TREES: usize = 1 << 20;

impl BoostingParams {
    /// Refuses what is out of range.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_TREES).contains(&self.num_trees) {
            return Err(Error::param("num_trees", "num_trees is out of range")
                .got(self.num_trees)
                .expected("1 to 2^20"));
        }
        above_zero("learning_rate", self.learning_rate, 10.0)?;
        above_zero("queries_per_tree", self.queries_per_tree, 1.0)?;
        above_zero("docs_per_tree", self.docs_per_tree, 1.0)?;
        self.doc_sampling.check(self.docs_per_tree)?;
        if !(self.position_l2 >= 0.0 && self.position_l2.is_finite()) {
            return Err(Error::param("position_l2", "position_l2 is out of range")
                .got(self.position_l2)
                .expected("a finite number from 0"));
        }
        let by_squares = self.grow.criterion == Criterion::LeastSquares;
        if by_squares && self.doc_sampling != DocSampling::Uniform {
            let what = "least squares counts docs, and docs chosen by their gradients do not count";
            return Err(Error::param("doc_sampling", what).hint("criterion=\"second_order\""));
        }
        self.step.check()?;
        self.dropout.as_ref().map_or(Ok(()), Dropout::check)?;
        self.grow.check()
    }

    /// The names of [`named`](Self::named) that are there only if they are used.
    pub(super) fn optional() -> impl Iterator<Item = &'static str> {
        Constraints::NAMES.into_iter().chain(CategoryOptions::NAMES)
    }

    /// All that a tree depends on, by name; the number of trees is not part of it.
    pub(crate) fn named(&self) -> Vec<(&'static str, String)> {
        let grow = &self.grow;
        let criterion = match grow.criterion {
            Criterion::SecondOrder => "second_order",
            Criterion::LeastSquares => "least_squares",
        };
        let dropout = self.dropout.as_ref().map_or_else(|| "none".to_owned(), Dropout::named);
        let depth = grow.max_depth.map_or_else(|| "none".to_owned(), |depth| depth.to_string());
        let mut named = vec![
            ("learning_rate", self.learning_rate.to_string()),
            ("queries_per_tree", self.queries_per_tree.to_string()),
            ("docs_per_tree", self.docs_per_tree.to_string()),
            ("doc_sampling", self.doc_sampling.named()),
            ("position_l2", self.position_l2.to_string()),
            ("step", self.step.named()),
            ("dropout", dropout),
            ("tree_shape", grow.tree_shape.name().to_owned()),
            ("num_leaves", grow.num_leaves.to_string()),
            ("max_depth", depth),
            ("min_leaf_docs", grow.min_leaf_docs.to_string()),
            ("min_leaf_hess", grow.min_leaf_hess.to_string()),
            ("l2", grow.l2.to_string()),
            ("min_reduction", grow.min_reduction.to_string()),
            ("criterion", criterion.to_owned()),
            ("features_per_tree", grow.features_per_tree.to_string()),
            ("features_per_node", grow.features_per_node.to_string()),
            ("rows_per_node", grow.rows_per_node.to_string()),
            ("random_strength", grow.random_strength.to_string()),
            ("random_decay", grow.random_decay.to_string()),
            ("seed", grow.seed.to_string()),
        ];
        named.extend(grow.limits.named());
        named.extend(grow.categories.named());
        named
    }
}

fn above_zero(name: &'static str, value: f64, most: f64) -> Result<()> {
    // Written so that NaN is refused too.
    if value > 0.0 && value <= most {
        return Ok(());
    }
    Err(Error::param(name, format!("{name} is out of range"))
        .got(value)
        .expected(format!("a number above 0, up to {most}")))
}
