//! The importance of features by splits: how much those on each feature reduce the loss, and how many there are.

use super::composite::AVERAGES;
use super::{Forest, Model, Normalisation, Part, Tree};

/// The importance of each feature by splits.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitImportance {
    /// The reduction of the loss by splits on each feature. In a sum of models, that of each counts with the
    /// absolute value of its weight, as its scores do.
    pub reduction: Vec<f64>,
    /// The number of splits on each feature, in models whose weight is not 0.
    pub count: Vec<f64>,
    /// What the model has besides that makes its score, such as `a net`.
    pub left_out: Vec<&'static str>,
}

impl Model {
    /// The importance of features by splits, with those of models inside: of raw features, then of their ranks
    /// within queries if the model [looks at them](Self::looks_at_ranks).
    pub fn split_importance(&self) -> SplitImportance {
        let none = vec![0.0; self.num_explained_features()];
        let mut found =
            SplitImportance { reduction: none.clone(), count: none, left_out: Vec::new() };
        found.add_model(self, 1.0);
        found
    }
}

impl SplitImportance {
    fn add_model(&mut self, model: &Model, weight: f64) {
        let is_alone = model.components().len() == 1;
        for component in model.components() {
            let mut weight = weight * component.weight.abs();
            match component.normalisation {
                // Of a random forest: as other libraries have it, of all trees together.
                Normalisation::Fixed { .. } if model.attributes().contains_key(AVERAGES) => {}
                Normalisation::Fixed { scale, .. } => weight /= scale.abs(),
                Normalisation::AsIs => {}
                _ if is_alone || weight == 0.0 => {}
                _ => self.leave_out("how scores are normalised"),
            }
            if weight != 0.0 {
                self.add_part(&component.part, weight, is_alone);
            }
        }
    }

    fn add_part(&mut self, part: &Part, weight: f64, is_alone: bool) {
        match part {
            Part::Forest(_) | Part::Classes(_) => {
                part.forests().iter().for_each(|forest| self.add_forest(forest, weight));
            }
            Part::Model(model) => self.add_model(model, weight),
            Part::Calibrated(_) => {
                if !is_alone {
                    self.leave_out("how a model is calibrated");
                }
                part.kind().models().into_iter().for_each(|model| self.add_model(model, weight));
            }
            _ => self.leave_out(part.kind().noun()),
        }
    }

    fn add_forest(&mut self, forest: &Forest, weight: f64) {
        for split in forest.trees().iter().flat_map(Tree::splits) {
            let feature = forest.feature_of(split.feature) as usize;
            self.reduction[feature] += weight * split.reduction;
            self.count[feature] += 1.0;
        }
    }

    fn leave_out(&mut self, what: &'static str) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }
}
