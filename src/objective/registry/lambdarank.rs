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
use crate::objective::lambdas::PairLoss;

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "lambdarank",
    user_name: "lambdamart",
    estimator: "LambdaMART",
    other_names: &["lambdarank", "rank:ndcg", "YetiRank", "StochasticRank"],
    uses: LossUses { pairs: true, metric: true, gains: true, copies: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(LambdaRank::new(options.lambda.clone())?))),
};

/// Pairs weighted by the change of a metric.
pub type LambdaRank = PairLoss<true>;
