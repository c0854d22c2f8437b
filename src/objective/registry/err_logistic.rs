//! Logistic regression on the probability of relevance that ERR sees in a label.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::Result;
use crate::gradient::Gradient;
use crate::metric::{LabelFacts, PreparedMetric};
use crate::objective::pointwise::{derivatives, each_doc, log_odds, sums_of, weighted};
use crate::objective::{GradientCall, Objective, Target};
use crate::{Convention, Measure, Metric};

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "err_logistic",
    user_name: "err_logistic",
    estimator: "MART",
    other_names: &[],
    uses: LossUses { gains: true, ..LossUses::NONE },
    build: |options| {
        let convention = options.lambda.metric.convention().clone();
        Ok(BuiltLoss::Scores(Box::new(ErrLogistic::new(convention)?)))
    },
};

/// Cross entropy with the probability of relevance that ERR sees in a label: `(2^l - 1) / 2^lmax`,
/// or what another gain makes of it (Burges et al., *Learning to rank using an ensemble of
/// lambda-gradient models*, 2011).
#[derive(Debug, Clone)]
pub struct ErrLogistic {
    err: Metric,
}

impl ErrLogistic {
    /// By the convention's gain and largest label; without the latter, that of the training set.
    pub fn new(convention: Convention) -> Result<Self> {
        Ok(Self { err: Metric::new(Measure::Err, None, convention)? })
    }

    fn prepared(&self, labels: &[f32]) -> Result<PreparedMetric> {
        PreparedMetric::new(&self.err, labels, LabelFacts::scan(labels)?)
    }
}

impl Objective for ErrLogistic {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        call.check(gradients)?;
        let err = self.prepared(call.target.labels)?;
        each_doc(call, gradients, |score, label| derivatives(score, err.satisfaction(label), 1.0))
    }

    /// That of the weighted mean.
    fn start_of(&self, words: &[u64]) -> f64 {
        log_odds(sums_of(words))
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        let Ok(err) = self.prepared(target.labels) else {
            // The call for gradients reports labels without a gain.
            return weighted(target, |_| [0.0; 2]);
        };
        weighted(target, |label| [1.0 - err.satisfaction(label), err.satisfaction(label)])
    }

    fn of_part(&self, max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        Some(Box::new(Self { err: self.err.with_largest_label(max_label).ok()? }))
    }
}
