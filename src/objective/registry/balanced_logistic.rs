//! Logistic regression in which relevant and irrelevant documents weigh the same in total.

use super::logistic::CrossEntropy;
use super::{BuiltLoss, LossDefinition, LossUses};

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
pub type BalancedLogistic = CrossEntropy<true>;
