//! The parameters of boosting: rounds, steps and sampling. The loss has its own.

use super::{DocSampling, Dropout, StepRule};
use crate::error::{Error, Result};
use crate::schema::{ParamRange, Parameter, Parameters, parameters};
use crate::tree::{CategoryOptions, Constraints, Criterion, GrowOptions, LeafValues};

parameters! {
    /// How many trees, how large their steps, and what each may see.
    pub struct BoostingParams in "boosting" {
        /// The most trees to add; of `mcrank`, to each class.
        pub num_trees: usize = 100, within ParamRange::from(1.0).to(1_048_576.0),
            elsewhere "n_estimators num_boost_round num_round num_rounds num_iterations iterations \
                       max_iter nrounds";
        /// What leaf values are multiplied by.
        pub learning_rate: f64 = 0.1, within ParamRange::above(0.0).to(10.0),
            elsewhere "eta shrinkage_rate shrinkage";
        /// The share of the queries that a tree is grown from.
        pub queries_per_tree: f64 = 1.0, within ParamRange::above(0.0).to(1.0);
        /// The share of the docs of these queries that a tree is grown from.
        pub docs_per_tree: f64 = 1.0, within ParamRange::above(0.0).to(1.0),
            elsewhere "subsample bagging_fraction";
        /// For a dataset with positions: what is added to the hessians of a position. The larger, the
        /// nearer the biases of positions with few docs stay to 0. See `Booster.position_bias`.
        pub position_l2: f64 = 1.0, within ParamRange::from(0.0);
    } with {
        /// How the docs of a tree are chosen.
        pub doc_sampling: DocSampling = DocSampling::Uniform;
        /// What else leaf values are multiplied by.
        pub step: StepRule = StepRule::Newton;
        /// Whether, and how, trees are dropped while others are grown.
        pub dropout: Option<Dropout> = None;
        /// How a tree is grown, and the seed of everything random.
        pub grow: GrowOptions = GrowOptions::default();
    }
}

/// Parameters that every model notes; any other is noted where it is not the default.
const ALWAYS: &[&str] = &[
    "learning_rate",
    "queries_per_tree",
    "docs_per_tree",
    "position_l2",
    "tree_shape",
    "num_leaves",
    "max_depth",
    "min_leaf_docs",
    "min_leaf_hess",
    "l2",
    "min_reduction",
    "criterion",
    "features_per_tree",
    "features_per_node",
    "rows_per_node",
    "random_strength",
    "seed",
];
/// The number of trees is no part of what a tree depends on.
const NEVER: &str = "num_trees";

/// The parameters of a group that a model notes, by name.
fn noted<P: Parameters>(group: &P) -> impl Iterator<Item = (&'static str, String)> {
    let values = group.values().into_iter().zip(P::default().values());
    let is_noted =
        |name: &str, is_default: bool| ALWAYS.contains(&name) || !is_default && name != NEVER;
    values.filter_map(move |((name, value), (_, default))| {
        is_noted(name, value == default).then(|| (name, value.noted()))
    })
}

impl BoostingParams {
    /// Refuses what is out of range.
    pub fn check(&self) -> Result<()> {
        self.check_ranges()?;
        self.doc_sampling.check(self.docs_per_tree)?;
        let by_squares = self.grow.criterion == Criterion::LeastSquares;
        if by_squares && self.doc_sampling != DocSampling::Uniform {
            let what = "least squares counts docs, and docs chosen by their gradients do not count";
            return Err(Error::param("doc_sampling", what).hint("criterion=\"second_order\""));
        }
        if self.grow.leaf_values == LeafValues::Mean && self.doc_sampling != DocSampling::Uniform {
            let what =
                "mean leaf values count docs, and docs chosen by their gradients do not count";
            return Err(Error::param("doc_sampling", what).hint("leaf_values=\"newton\""));
        }
        self.step.check()?;
        self.dropout.as_ref().map_or(Ok(()), Dropout::check)?;
        self.grow.check()
    }

    /// The names of [`named`](Self::named) that are there only if they are used.
    pub(super) fn optional() -> impl Iterator<Item = &'static str> {
        let all = [Self::schema(), GrowOptions::schema(), CategoryOptions::schema()];
        let names = all.into_iter().flatten().map(|Parameter { name, .. }| name);
        names.filter(|name| !ALWAYS.contains(name) && *name != NEVER).chain(Constraints::NAMES)
    }

    /// All that a tree depends on, by name.
    pub(crate) fn named(&self) -> Vec<(&'static str, String)> {
        let grow = &self.grow;
        let dropout = self.dropout.as_ref().map_or_else(|| "none".to_owned(), Dropout::named);
        let others = [
            ("doc_sampling", self.doc_sampling.named()),
            ("step", self.step.named()),
            ("dropout", dropout),
            ("random_decay", grow.random_decay.to_string()),
        ];
        let groups = noted(self).chain(noted(grow)).chain(noted(&grow.categories));
        groups.chain(others).chain(grow.limits.named()).collect()
    }
}
