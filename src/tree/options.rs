//! How trees are grown.

use super::categorical::CategoryOptions;
use super::constraints::Constraints;
use crate::error::Result;
use crate::schema::{ParamField, ParamRange, Parameters, choices, parameters};

choices! {
    /// What a split is chosen by. Leaf values are the Newton step under both.
    #[derive(Default)]
    pub enum Criterion {
        /// The loss that the Newton steps of both sides take off: `G² / (H + l2)`.
        #[default]
        SecondOrder = "second_order",
        /// The squared error against the negative gradients, as in the papers: `G² / n`.
        LeastSquares = "least_squares",
    }
}

choices! {
    /// Which leaves a split divides.
    #[derive(Default)]
    pub enum TreeShape {
        /// The one leaf that brings most: best first.
        #[default]
        Leafwise = "leafwise",
        /// All leaves of a level, by one question: the one whose reductions sum up to most. Such a
        /// tree has a leaf for each answer to its few questions, and is scored with one operation a
        /// level.
        ///
        /// A leaf that has less than it needs, or nothing, takes the value of the nearest node above
        /// it that has enough; to divide such a node counts as no reduction.
        Symmetric = "symmetric",
    }
}

choices! {
    /// What the value of a leaf is.
    #[derive(Default)]
    pub enum LeafValues {
        /// Newton's step: the sum of the negative gradients over the sum of the hessians.
        #[default]
        Newton = "newton",
        /// The mean of the negative gradients, as in a regression tree.
        Mean = "mean",
    }
}

parameters! {
    /// What bounds a tree, and what it may see.
    pub struct GrowOptions in "tree" {
        /// Whether a split divides the one leaf where that takes most off the loss, or all leaves of a
        /// level by the one question that is best for all together, as in CatBoost. Symmetric trees
        /// are full: of depth 6 with 64 leaves, and of depth 4 with 31. They are scored faster.
        pub tree_shape: TreeShape = TreeShape::Leafwise, elsewhere "grow_policy";
        /// The most leaves of a tree.
        pub num_leaves: usize = 31, within ParamRange::from(2.0).to(65_536.0),
            elsewhere "max_leaves max_leaf_nodes num_leaf";
        /// The most splits between the root of a tree and a leaf; None for no limit.
        pub max_depth: Option<u32> = None, within ParamRange::from(1.0), elsewhere "depth";
        /// The fewest docs of a leaf. Only docs with a gradient count: those of a query whose labels are
        /// all equal have none in LambdaMART, where LightGBM counts them. With the criterion
        /// `least_squares` all docs count. With `second_order` both sides of a split must also hold at
        /// least as much of the node's hessians as so many of its docs do on average. A leaf of a
        /// symmetric tree may have fewer docs: it then takes its value from the node above.
        pub min_leaf_docs: u32 = 20, within ParamRange::from(1.0),
            elsewhere "min_data_in_leaf min_child_samples min_samples_leaf";
        /// The least sum of hessians of a leaf. With the criterion `least_squares` a split that leaves
        /// less is not made, and its node stays a leaf.
        pub min_leaf_hess: f64 = 1e-3, within ParamRange::from(0.0),
            elsewhere "min_child_weight min_sum_hessian_in_leaf";
        /// Added to the hessians of a leaf: draws its value to zero.
        pub l2: f64 = 0.0, within ParamRange::from(0.0),
            elsewhere "reg_lambda lambda_l2 l2_regularization l2_leaf_reg lambda";
        /// Draws the value of a leaf to those of the nodes above it, as in LightGBM. The value of a node
        /// of `n` docs is `w` times its own and `1 - w` times its parent's, which is smoothed
        /// likewise, with `w = n / (n + path_smooth)`; the root keeps its own. Splits are chosen
        /// without it, where LightGBM chooses them by the smoothed values.
        pub path_smooth: f64 = 0.0, within ParamRange::from(0.0);
        /// The least that a split must take off the loss.
        pub min_reduction: f64 = 0.0, within ParamRange::from(0.0),
            elsewhere "gamma min_split_gain min_gain_to_split min_split_loss";
        /// What splits are chosen by: what the Newton steps of both sides take off the loss, or the
        /// squared error against the negative gradients, as in the papers.
        pub criterion: Criterion = Criterion::SecondOrder;
        /// What the value of a leaf is: Newton's step for its docs, or the mean of their negative
        /// gradients. Means are small: they are meant for `step="exact"`, which finds the length of a
        /// tree's step (Wu et al. 2008, section 5.6), and for losses whose hessians say nothing. Not for
        /// `monotone`, nor for docs that are chosen by their gradients.
        pub leaf_values: LeafValues = LeafValues::Newton, elsewhere "leaf_estimation_method";
        /// The share of the features that a tree looks at.
        pub features_per_tree: f64 = 1.0, within ParamRange::above(0.0).to(1.0),
            elsewhere "colsample_bytree feature_fraction rsm";
        /// The share of the tree's features that a node looks at.
        pub features_per_node: f64 = 1.0, within ParamRange::above(0.0).to(1.0),
            elsewhere "colsample_bynode feature_fraction_bynode max_features";
        /// The share of a node's docs that its split is chosen by.
        pub rows_per_node: f64 = 1.0, within ParamRange::above(0.0).to(1.0);
        /// How far chance has a say in the choice of splits, as in CatBoost, whose default is 1. The
        /// root of the value of each candidate is moved by a normal draw whose deviation is this times
        /// what gradients without a pattern would move it by. It fades as the model grows, the sooner
        /// the larger `learning_rate` is.
        pub random_strength: f64 = 0.0, within ParamRange::from(0.0);
        /// The seed of everything random.
        pub seed: u64 = 0, elsewhere "random_state random_seed";
    } with {
        /// How fast `random_strength` fades: in round `r` it is multiplied by
        /// `n / (n + exp(random_decay r))`, with `n` docs. Meant to be the learning rate, which says
        /// how far a model has come by then.
        pub random_decay: f64 = 0.1;
        /// What bounds the use of features.
        pub limits: Constraints = Constraints::default();
        /// How splits on categories are chosen.
        pub categories: CategoryOptions = CategoryOptions::default();
    }
}

impl GrowOptions {
    /// Refuses what is out of range.
    pub fn check(&self) -> Result<()> {
        self.check_ranges()?;
        DECAY.check(&self.random_decay)?;
        self.categories.check_ranges()
    }
}

const DECAY: ParamField = ParamField { name: "random_decay", range: Some(ParamRange::from(0.0)) };
