//! Logistic regression: a document is relevant or not.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::objective::pointwise::{
    RelevanceLabels, derivatives, each_doc, log_odds, sums_of, weighted,
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
pub type Logistic = CrossEntropy<false>;

/// The cross entropy of relevance. If `BALANCED`, relevant and irrelevant docs weigh the same in total.
#[derive(Debug, Clone, Copy)]
pub struct CrossEntropy<const BALANCED: bool> {
    relevance: RelevanceLabels,
    /// The weights of all irrelevant and relevant docs, where the training set is only a part.
    of_all: Option<[f64; 2]>,
}

impl<const BALANCED: bool> CrossEntropy<BALANCED> {
    /// Docs with at least the label `relevant_from` are relevant; without it, labels are from 0 to 1
    /// and are the probabilities themselves.
    pub fn new(relevant_from: Option<f32>) -> Result<Self> {
        Ok(Self { relevance: RelevanceLabels::new(relevant_from)?, of_all: None })
    }

    /// What a doc loses as an irrelevant and as a relevant one is multiplied by.
    fn factors(&self, target: &Target<'_>) -> Result<[f64; 2]> {
        if !BALANCED {
            return Ok([1.0; 2]);
        }
        let [no, yes] = self.of_all.unwrap_or_else(|| sums_of(&self.words(target)));
        if no <= 0.0 || yes <= 0.0 {
            return Err(Error::data("label.classes", "there is nothing to balance")
                .got(format!("{yes} relevant and {no} irrelevant docs, by weight"))
                .expected("some of each"));
        }
        let half = f64::midpoint(no, yes);
        Ok([half / no, half / yes])
    }
}

impl<const BALANCED: bool> Objective for CrossEntropy<BALANCED> {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        call.check(gradients)?;
        self.relevance.check(call.target)?;
        let factors = self.factors(call.target)?;
        each_doc(call, gradients, |score, label| {
            let yes = self.relevance.of(label) * factors[1];
            let both = yes + (1.0 - self.relevance.of(label)) * factors[0];
            derivatives(score, yes, both)
        })
    }

    fn check_labels(&self, target: &Target<'_>) -> Result<()> {
        self.relevance.check(target)
    }

    /// That of the weighted share of relevant docs; 0 if they are balanced.
    fn start_of(&self, words: &[u64]) -> f64 {
        if BALANCED { 0.0 } else { log_odds(sums_of(words)) }
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        weighted(target, |label| [1.0 - self.relevance.of(label), self.relevance.of(label)])
    }

    fn of_part(&self, _max_label: f32, words: &[u64]) -> Option<Box<dyn Objective>> {
        let of_all = (!words.is_empty()).then(|| sums_of(words));
        BALANCED.then(|| Box::new(Self { of_all, ..*self }) as Box<dyn Objective>)
    }
}
