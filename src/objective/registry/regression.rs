//! Regression: the squared error of each label.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::Result;
use crate::gradient::Gradient;
use crate::objective::pointwise::{each_doc, sums_of, weighted};
use crate::objective::{GradientCall, Objective, Target};

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "regression",
    user_name: "regression",
    estimator: "MART",
    other_names: &["RMSE", "reg:squarederror", "squared_error"],
    uses: LossUses::NONE,
    build: |_| Ok(BuiltLoss::Scores(Box::new(Regression))),
};

/// (score - label)² / 2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Regression;

impl Objective for Regression {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        each_doc(call, gradients, |score, label| (score - f64::from(label), 1.0))
    }

    /// The weighted mean of the labels.
    fn start_of(&self, words: &[u64]) -> f64 {
        let [sum, total] = sums_of(words);
        if total > 0.0 { sum / total } else { 0.0 }
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        weighted(target, |label| [f64::from(label), 1.0])
    }
}
