//! `LambdaRank`: gradients from pairs of documents with different labels, weighted by a metric.
//!
//! For a pair of which the label of i is the larger (Burges, Ragno, Le 2006; Wu et al. 2010):
//!
//! `rho = 1 / (1 + exp(sigma (s_i - s_j)))`, `lambda = sigma |delta| rho`,
//! `grad_i -= lambda`, `grad_j += lambda`, and `sigma² |delta| rho (1 - rho)` to `hess` of both,
//!
//! where delta is the change of the metric by the exchange of the two documents. Pairs count if one of the
//! two ranks is at most `pairs_to`.
//!
//! Cost: `O(n log n + n pairs_to / 16)` a query and copy of noise.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::Result;
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::objective::lambdas;
use crate::objective::pair_weights::WeightRule;
use crate::objective::tasks::GradientCall;
use crate::objective::{LambdaOptions, Objective, State, Target};
use crate::simd::Level;

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "lambdarank",
    user_name: "lambdamart",
    estimator: "LambdaMART",
    other_names: &["lambdarank", "rank:ndcg", "YetiRank", "StochasticRank"],
    uses: LossUses { pairs: true, metric: true, gains: true, copies: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(LambdaRank::new(options.lambda.clone())?))),
};

/// Pairs weighted by the change of a metric.
#[derive(Debug, Clone)]
pub struct LambdaRank {
    options: LambdaOptions,
    level: Level,
}

impl LambdaRank {
    /// The objective, if the options are in range.
    pub fn new(options: LambdaOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { options, level: Level::best() })
    }

    /// With the kernels of a level that may not be the best; the gradients are the same bits.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }
}

impl Objective for LambdaRank {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let rule = WeightRule::of(&self.options.metric);
        let call = GradientCall { target, state: &state, interrupt };
        lambdas::gradients(&self.options, rule, self.level, call, gradients)
    }

    fn of_part(&self, max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        let metric = self.options.metric.with_largest_label(max_label).ok()?;
        Some(Box::new(Self { options: LambdaOptions { metric, ..self.options.clone() }, ..*self }))
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}
