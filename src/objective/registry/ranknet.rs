//! RankNet: gradients from pairs of documents with different labels that all weigh the same (Burges et al.
//! 2005). Those of `LambdaRank`, with 1 in place of the change of a metric.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::objective::lambdas::PairLoss;

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "ranknet",
    user_name: "ranknet",
    estimator: "RankNetMART",
    other_names: &["rank:pairwise", "pairwise", "PairLogit"],
    uses: LossUses { pairs: true, copies: true, ..LossUses::NONE },
    build: |options| Ok(BuiltLoss::Scores(Box::new(RankNet::new(options.lambda.clone())?))),
};

/// Pairs that all weigh the same. The metric and its cut play no part; `pairs_to` and noise do.
pub type RankNet = PairLoss<false>;
