//! Logistic regression in which relevant and irrelevant documents weigh the same in total.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::objective::pointwise::{RelevanceLabels, class_weights, cross_entropy, sums_of};
use crate::objective::{GradientCall, Objective, Target};

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "balanced_logistic",
    user_name: "balanced_logistic",
    estimator: "MART",
    other_names: &[],
    uses: LossUses { relevant_from: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(BalancedLogistic::new(options.relevant_from)?))),
};

/// Cross entropy in which relevant and irrelevant docs weigh the same in total.
///
/// With W1 the weighted sum of the probabilities of relevance and W0 that of their complements, what
/// a doc loses as a relevant one is multiplied by (W0 + W1) / (2 W1), and as an irrelevant one by
/// (W0 + W1) / (2 W0). The weights in total stay what they were.
#[derive(Debug, Clone, Copy)]
pub struct BalancedLogistic {
    relevance: RelevanceLabels,
    /// The weights of all irrelevant and relevant docs, where the training set is only a part.
    of_all: Option<[f64; 2]>,
}

impl BalancedLogistic {
    /// As [`Logistic::new`](super::Logistic::new).
    pub fn new(relevant_from: Option<f32>) -> Result<Self> {
        Ok(Self { relevance: RelevanceLabels::new(relevant_from)?, of_all: None })
    }
}

impl Objective for BalancedLogistic {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        call.check(gradients)?;
        self.relevance.check(call.target)?;
        let [no, yes] = self.of_all.unwrap_or_else(|| sums_of(&self.words(call.target)));
        if no <= 0.0 || yes <= 0.0 {
            return Err(Error::data("label.classes", "there is nothing to balance")
                .got(format!("{yes} relevant and {no} irrelevant docs, by weight"))
                .expected("some of each"));
        }
        let half = f64::midpoint(no, yes);
        cross_entropy(call, gradients, self.relevance, [half / no, half / yes])
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        class_weights(target, self.relevance)
    }

    fn of_part(&self, _max_label: f32, words: &[u64]) -> Option<Box<dyn Objective>> {
        let of_all = (!words.is_empty()).then(|| sums_of(words));
        Some(Box::new(Self { of_all, ..*self }))
    }
}
