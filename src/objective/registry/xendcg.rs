//! XE-NDCG: the cross entropy between the softmax of the scores and a distribution made of the
//! labels (Bruch 2021), a convex bound on NDCG with O(n) gradients.
//!
//! With `rho = softmax(s)` and `phi_i` proportional to `2^label_i - gamma_i`, gamma drawn uniformly
//! from 0 to 1 for each doc and round, the loss is `-sum phi_i ln rho_i`; its gradient is
//! `g = rho - phi` and its Hessian `H = diag(rho) - rho rho'`, which is not diagonal. Trees divide by
//! a diagonal, here `D = diag(rho (1 - rho))`; so that the quotient comes near `H⁻¹ g`, `grad` is `g` with two more
//! terms of the series `D H⁻¹ g = g - O D⁻¹ g + O D⁻¹ O D⁻¹ g - ...`, where `O = H - D`.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::objective::augment::{Augment, for_each_query_and_copy};
use crate::objective::tasks::Query;
use crate::objective::{GradientCall, Objective, Target};
use crate::random;

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "xendcg",
    user_name: "xendcg",
    estimator: "XENDCGMART",
    other_names: &["rank_xendcg"],
    uses: LossUses { copies: true, ..LossUses::NONE },
    build: |options| {
        let loss = XeNdcg::new(options.lambda.seed).augmented(options.lambda.augment)?;
        Ok(BuiltLoss::Scores(Box::new(loss)))
    },
};

/// Tells the draws of gamma from others under the same seed.
const PURPOSE: u64 = u64::from_le_bytes(*b"rrxendcg");
/// Labels above make `2^label` worth nothing beside each other, or overflow.
const MAX_LABEL: f32 = 30.0;

/// Cross entropy over the docs of a query. Queries whose labels are all equal have no gradient.
#[derive(Debug, Clone, Copy)]
pub struct XeNdcg {
    seed: u64,
    augment: Option<Augment>,
}

impl XeNdcg {
    /// The objective; `seed` is that of the draws.
    pub fn new(seed: u64) -> Self {
        Self { seed, augment: None }
    }

    /// With copies of queries, if their options are in range.
    pub fn augmented(self, augment: Option<Augment>) -> Result<Self> {
        augment.map_or(Ok(()), Augment::check)?;
        Ok(Self { augment, ..self })
    }
}

impl Objective for XeNdcg {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        call.check(gradients)?;
        check_labels(call.target)?;
        let stream = random::start(self.seed ^ PURPOSE, call.state.round);
        let one = |buffers: &mut XeNdcgBuffers, query: Query<'_>, gradients: &mut [Gradient]| {
            buffers.gradients(stream, query, gradients)
        };
        let cost = |docs| 40 * docs as u64;
        for_each_query_and_copy((self.augment, self.seed), call, gradients, cost, one)
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}

fn check_labels(target: &Target<'_>) -> Result<()> {
    let refused = |label: &f32| !(0.0..=MAX_LABEL).contains(label);
    let Some(row) = target.labels.iter().position(refused) else { return Ok(()) };
    Err(Error::data("label.range", format!("= {:?}", target.labels[row]))
        .element("label", row)
        .query(target.queries.of_doc(row))
        .expected(format!("a number from 0 to {MAX_LABEL}")))
}

#[derive(Debug, Default)]
struct XeNdcgBuffers {
    rho: Vec<f64>,
    grad: Vec<f64>,
    ratio: Vec<f64>,
    later: Vec<f64>,
}

impl XeNdcgBuffers {
    fn gradients(
        &mut self,
        stream: u64,
        query: Query<'_>,
        gradients: &mut [Gradient],
    ) -> Result<()> {
        query.check_scores()?;
        if query.labels.iter().all(|label| *label == query.labels[0]) {
            gradients.fill(Gradient::default());
            return Ok(());
        }
        self.load(stream, query);
        for _ in 0..2 {
            self.correct();
        }
        for (doc, gradient) in gradients.iter_mut().enumerate() {
            let rho = self.rho[doc];
            *gradient = query.gradient(doc, self.grad[doc], rho * (1.0 - rho))?;
        }
        Ok(())
    }

    /// rho and the gradient itself.
    fn load(&mut self, stream: u64, query: Query<'_>) {
        let best = query.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let phi = |(label, id): (&f32, &u64)| {
            let gamma = (random::draw_in(stream, *id) >> 11) as f64 / (1u64 << 53) as f64;
            f64::from(*label).exp2() - gamma
        };
        self.rho.clear();
        self.rho.extend(query.scores.iter().map(|score| (score - best).exp()));
        self.grad.clear();
        self.grad.extend(query.labels.iter().zip(query.doc_hash).map(phi));
        let per_rho = self.rho.iter().sum::<f64>().recip();
        let per_phi = self.grad.iter().sum::<f64>().recip();
        for (rho, grad) in self.rho.iter_mut().zip(&mut self.grad) {
            *rho *= per_rho;
            *grad = *rho - *grad * per_phi;
        }
        self.ratio.clear();
        self.ratio.extend_from_slice(&self.grad);
    }

    /// Adds the next term: `t_i <- rho_i sum over j != i of t_j / (1 - rho_j)`.
    fn correct(&mut self) {
        for (ratio, rho) in self.ratio.iter_mut().zip(&self.rho) {
            // Where all but one rho vanish, so do the terms that would be divided by.
            let rest = 1.0 - rho;
            *ratio = if rest > 0.0 { *ratio / rest } else { 0.0 };
        }
        // Sums of the others from both sides: one of them may be huge, and taking it out of the sum
        // of all would leave only what rounding left of the rest.
        self.later.clear();
        self.later.resize(self.rho.len() + 1, 0.0);
        for doc in (0..self.rho.len()).rev() {
            self.later[doc] = self.later[doc + 1] + self.ratio[doc];
        }
        let mut before = 0.0;
        for doc in 0..self.rho.len() {
            let term = self.rho[doc] * (before + self.later[doc + 1]);
            before += self.ratio[doc];
            self.ratio[doc] = term;
            self.grad[doc] += term;
        }
    }
}
