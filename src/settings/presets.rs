//! Parameters that go together, by the name of their preset: what a caller gives besides wins.

use super::{PairScale, PairsTo};
use crate::neural::{Inputs, Optimiser, RestartFrom, Schedule};
use crate::schema::{ParamType, ParamValue, choices};
use crate::tree::{Criterion, TreeShape};

choices! {
    /// Parameters that go together. The presets of papers set what their paper says and nothing else.
    /// They have in common: lambdas of all pairs, without noise and normaliser; splits by least squares;
    /// leaf values by Newton's step (Burges 2010, section 7).
    pub enum Preset {
        /// Chosen from the data by the Python package; the defaults here.
        Auto = "auto",
        /// The defaults, and nothing chosen from the data.
        Plain = "plain",
        /// To adapt a base to a small sample of another market: at each node 0.7 of the docs and of the
        /// features (Gao et al. 2009, section 5.3); and the trees of Wu et al. 2008, shallow and
        /// shrunk.
        Robust = "robust",
        /// For small sets of noisy judgements: what did best on the validation folds of four small
        /// real sets (`benches/RESULTS.md`), where the datasets had the ranks of values within their
        /// queries too.
        Noisy = "noisy",
        /// For judgements without much noise: deep symmetric trees, and pairs of nearly equal scores count
        /// most.
        Clean = "clean",
        /// `LambdaSMART` of Wu, Burges, Svore and Gao 2008, section 5.2: 500 trees of 20 leaves, rate
        /// 0.1. For `LambdaMART`, without a base, the same section has 1000 trees, of 10 leaves on the
        /// artificial data and of 15 on Web-1.
        Wu2008 = "wu2008",
        /// Another name of `wu2008`.
        Paper = "paper",
        /// `LambdaMART` as the algorithm of Burges 2010, section 7, has it. That paper gives no sizes, so
        /// the number of trees, their leaves and the rate stay at their defaults.
        Burges2010 = "burges2010",
        /// `LambdaSMART` of Gao et al. 2009, sections 5.2 and 5.3: 500 trees of 20 leaves, rate 0.5, and
        /// at each node 0.7 of the docs and of the features.
        Gao2009 = "gao2009",
        /// The central `LambdaMART` of Svore and Burges 2011, section 1.5.3, Figure 1.3: 1000 trees of 200
        /// leaves, rate 0.1.
        Svore2011 = "svore2011",
        /// `LambdaMART` of Burges et al. 2011, section 4.2, in the ensemble that won the Yahoo! challenge
        /// of 2010: 3000 trees. The paper chose leaves from 50 to 400 and rates from 0.01 to 0.5 on
        /// validation sets and does not name the best: 110 leaves and rate 0.05 are of its grid.
        Yahoo2010 = "yahoo2010",
    }
}

impl Preset {
    /// The parameters that it sets, by name.
    pub fn values(self) -> Vec<(&'static str, ParamValue)> {
        match self {
            Self::Auto | Self::Plain => Vec::new(),
            Self::Clean => vec![
                ("tree_shape", TreeShape::Symmetric.value()),
                ("num_leaves", 64usize.value()),
                ("l2", 3.0.value()),
                ("features_per_tree", 0.7.value()),
                ("random_strength", 1.0.value()),
            ],
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
            Self::Burges2010 => of_papers(&[]),
            Self::Wu2008 | Self::Paper => of_papers(&sizes(500, 20, 0.1)),
            Self::Svore2011 => of_papers(&sizes(1000, 200, 0.1)),
            Self::Yahoo2010 => of_papers(&sizes(3000, 110, 0.05)),
            Self::Gao2009 => {
                let shares = [("features_per_node", 0.7.value()), ("rows_per_node", 0.7.value())];
                of_papers(&[&sizes(500, 20, 0.5)[..], &shares].concat())
            }
        }
    }
}

choices! {
    /// Parameters of nets that go together.
    pub enum NetPreset {
        /// As in Burges 2010, section 2, and Burges et al. 2011, section 4.2.
        Sgd = "sgd",
    }
}

impl NetPreset {
    /// The parameters that it sets, by name.
    pub fn values(self) -> Vec<(&'static str, ParamValue)> {
        match self {
            Self::Sgd => vec![
                ("optimiser", Optimiser::Sgd.value()),
                ("schedule", Schedule::Constant.value()),
                ("weight_decay", 0.0.value()),
                ("inputs", Inputs::Plain.value()),
                ("hidden", vec![25usize].value()),
                ("learning_rate", 1e-3.value()),
                ("epochs", 500usize.value()),
                ("restart_from", RestartFrom::Random.value()),
                ("restart_factor", 1.0.value()),
            ],
        }
    }
}

/// `LambdaMART` as all its papers have it, and what one of them adds.
fn of_papers(more: &[(&'static str, ParamValue)]) -> Vec<(&'static str, ParamValue)> {
    let same = [
        ("criterion", Criterion::LeastSquares.value()),
        ("pairs_to", PairsTo::All.value()),
        ("pair_normaliser", PairScale::None.value()),
        ("noise_scale", 0.0.value()),
    ];
    [&same, more].concat()
}

/// Trees, their leaves and the learning rate.
fn sizes(trees: usize, leaves: usize, rate: f64) -> [(&'static str, ParamValue); 3] {
    [("num_trees", trees.value()), ("num_leaves", leaves.value()), ("learning_rate", rate.value())]
}
