//! Logistic regression: a document is relevant or not.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::Result;
use crate::gradient::Gradient;
use crate::objective::pointwise::{
    RelevanceLabels, class_weights, cross_entropy, log_odds, sums_of,
};
use crate::objective::{GradientCall, Objective, Target};

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "logistic",
    user_name: "logistic",
    estimator: "MART",
    other_names: &["binary", "binary:logistic", "Logloss"],
    uses: LossUses { relevant_from: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(Logistic::new(options.relevant_from)?))),
};

/// Cross entropy: p = 1 / (1 + exp(-score)) is the probability that a doc is relevant.
#[derive(Debug, Clone, Copy)]
pub struct Logistic {
    relevance: RelevanceLabels,
}

impl Logistic {
    /// Docs with at least the label `relevant_from` are relevant; without it, labels are from 0 to 1
    /// and are the probabilities themselves.
    pub fn new(relevant_from: Option<f32>) -> Result<Self> {
        Ok(Self { relevance: RelevanceLabels::new(relevant_from)? })
    }
}

impl Objective for Logistic {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        call.check(gradients)?;
        self.relevance.check(call.target)?;
        cross_entropy(call, gradients, self.relevance, [1.0; 2])
    }

    /// That of the weighted share of relevant docs.
    fn start_of(&self, words: &[u64]) -> f64 {
        log_odds(sums_of(words))
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        class_weights(target, self.relevance)
    }
}
