//! Parameters that go together, by the name of their preset: what a caller gives besides wins.

use crate::boosting::BoostingParams;
use crate::schema::{ParamValue, Parameters, choices};
use crate::tree::{Criterion, GrowOptions, TreeShape};

use super::{LossOptions, PairScale};

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
        let (mut boosting, mut loss) = (BoostingParams::default(), LossOptions::default());
        let tree = match self {
            Self::Robust => {
                boosting.learning_rate = 0.05;
                GrowOptions {
                    num_leaves: 15,
                    max_depth: Some(5),
                    features_per_node: 0.7,
                    rows_per_node: 0.7,
                    ..GrowOptions::default()
                }
            }
            Self::Noisy => {
                loss.pair_normaliser = PairScale::None;
                loss.noise_copies = 2;
                GrowOptions {
                    tree_shape: TreeShape::Symmetric,
                    num_leaves: 16,
                    l2: 3.0,
                    features_per_tree: 0.7,
                    random_strength: 1.0,
                    ..GrowOptions::default()
                }
            }
            Self::Paper => {
                boosting.num_trees = 500;
                loss = LossOptions { pairs_to: None, ..LossOptions::plain() };
                GrowOptions {
                    num_leaves: 20,
                    criterion: Criterion::LeastSquares,
                    features_per_node: 0.7,
                    rows_per_node: 0.7,
                    ..GrowOptions::default()
                }
            }
        };
        [changed(&boosting), changed(&tree), changed(&loss)].concat()
    }
}

/// The parameters of a group that are not the default.
fn changed<P: Parameters>(group: &P) -> Vec<(&'static str, ParamValue)> {
    let values = group.values().into_iter().zip(P::default().values());
    values.filter(|(own, default)| own != default).map(|(own, _)| own).collect()
}
