//! Parameters that go together, by the name of their preset: what a caller gives besides wins.

use super::PairScale;
use crate::schema::{ParamType, ParamValue, choices};
use crate::tree::{Criterion, TreeShape};

choices! {
    /// Parameters that go together.
    pub enum Preset {
        /// To adapt a base to a small sample of another market: at each node 0.7 of the docs and of the
        /// features (Gao et al. 2009, section 5.3); and the trees of Wu et al. 2008, shallow and
        /// shrunk.
        Robust = "robust",
        /// For small sets of noisy judgements: what did best on the validation folds of four small
        /// real sets (`benches/RESULTS.md`), where the datasets had the ranks of values within their
        /// queries too.
        Noisy = "noisy",
        /// As in Wu et al. 2008, section 5.2, and Gao et al. 2009: 500 trees of 20 leaves, splits by
        /// least squares, and lambdas as they are.
        Paper = "paper",
    }
}

impl Preset {
    /// The parameters that it sets, by name.
    pub fn values(self) -> Vec<(&'static str, ParamValue)> {
        match self {
            Self::Robust => vec![
                ("learning_rate", 0.05.value()),
                ("num_leaves", 15usize.value()),
                ("max_depth", 5u32.value()),
                ("features_per_node", 0.7.value()),
                ("rows_per_node", 0.7.value()),
            ],
            Self::Noisy => vec![
                ("tree_shape", TreeShape::Symmetric.value()),
                ("num_leaves", 16usize.value()),
                ("l2", 3.0.value()),
                ("features_per_tree", 0.7.value()),
                ("random_strength", 1.0.value()),
                ("pair_normaliser", PairScale::None.value()),
                ("noise_copies", 2usize.value()),
            ],
            Self::Paper => vec![
                ("num_trees", 500usize.value()),
                ("num_leaves", 20usize.value()),
                ("criterion", Criterion::LeastSquares.value()),
                ("features_per_node", 0.7.value()),
                ("rows_per_node", 0.7.value()),
                ("pairs_to", ParamValue::None),
                ("pair_normaliser", PairScale::None.value()),
                ("noise_scale", 0.0.value()),
            ],
        }
    }
}
