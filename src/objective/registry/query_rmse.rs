//! Query-centred regression, CatBoost's `QueryRMSE`: the squared error of each document after the mean
//! error of its query is taken out.
//!
//! With the residuals `r_i = s_i - y_i` of a query and their mean `m`, weighted by the documents, the
//! loss is `sum w_i (r_i - m)² / 2`: adding a constant to all labels of a query changes nothing, so that
//! no tree is spent on how large the labels of a query are. `grad = w_i (r_i - m)`; the hessian is taken
//! to be `w_i`, without the small part of it that goes through the mean.
//!
//! Cost: some ten nanoseconds a document. Sums are exact, so that the order of documents changes no bit.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::Result;
use crate::exact_sum::ExactSum;
use crate::gradient::Gradient;
use crate::objective::augment::{Augment, for_each_query_and_copy};
use crate::objective::tasks::Query;
use crate::objective::{GradientCall, Objective};

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "query_rmse",
    user_name: "query_rmse",
    estimator: "QueryRMSEMART",
    other_names: &["QueryRMSE"],
    uses: LossUses { copies: true, ..LossUses::NONE },
    build: |options| {
        let loss = QueryRmse::default().augmented(options.lambda.augment, options.lambda.seed)?;
        Ok(BuiltLoss::Scores(Box::new(loss)))
    },
};

/// Squared error around the mean error of the query.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryRmse {
    seed: u64,
    augment: Option<Augment>,
}

impl QueryRmse {
    /// With copies of queries that are drawn by a seed, if their options are in range.
    pub fn augmented(self, augment: Option<Augment>, seed: u64) -> Result<Self> {
        augment.map_or(Ok(()), Augment::check)?;
        Ok(Self { seed, augment })
    }
}

impl Objective for QueryRmse {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let one = |(): &mut (), query: Query<'_>, gradients: &mut [Gradient]| {
            query.check_scores()?;
            let residual = |doc: usize| query.scores[doc] - f64::from(query.labels[doc]);
            let mean = mean(query, residual);
            for (doc, gradient) in gradients.iter_mut().enumerate() {
                *gradient = query.gradient(doc, residual(doc) - mean, 1.0)?;
            }
            Ok(())
        };
        let cost = |docs| 40 * docs as u64;
        for_each_query_and_copy((self.augment, self.seed), call, gradients, cost, one)
    }
}

/// The mean over the documents of a query, by their own weights; 0 if they weigh nothing.
fn mean(query: Query<'_>, value: impl Fn(usize) -> f64) -> f64 {
    let weight = |doc: usize| query.row_weight.map_or(1.0, |weights| weights[doc]);
    let docs = 0..query.scores.len();
    let total = match query.row_weight {
        None => docs.len() as f64,
        Some(weights) => ExactSum::of(weights.iter().copied()).value(),
    };
    let sum = ExactSum::of(docs.map(|doc| weight(doc) * value(doc))).value();
    if total > 0.0 { sum / total } else { 0.0 }
}
