//! RankNet: gradients from pairs of documents with different labels that all weigh the same (Burges et al.
//! 2005). Those of `LambdaRank`, with 1 in place of the change of a metric.

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
    name: "ranknet",
    user_name: "ranknet",
    estimator: "RankNetMART",
    other_names: &["rank:pairwise", "pairwise", "PairLogit"],
    uses: LossUses { pairs: true, copies: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(RankNet::new(options.lambda.clone())?))),
};

/// Pairs that all weigh the same. The metric and its cut play no part; `pairs_to` and noise do.
#[derive(Debug, Clone)]
pub struct RankNet {
    options: LambdaOptions,
    level: Level,
}

impl RankNet {
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

impl Objective for RankNet {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let call = GradientCall { target, state: &state, interrupt };
        lambdas::gradients(&self.options, WeightRule::Equal, self.level, call, gradients)
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}
