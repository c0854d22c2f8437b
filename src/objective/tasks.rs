//! Runs a loss over all queries in parallel, applies weights and checks that gradients are finite.
//!
//! Queries are grouped into tasks of about equal cost. Each query is computed alone, from its own docs, so
//! the result does not depend on tasks or threads. Of several errors that of the first query is reported.

use super::{GradientCall, Target};
use crate::Interrupt;
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use rayon::prelude::*;
use std::ops::Range;

/// The cost of a task: about a tenth of a millisecond.
const TASK: u64 = 1 << 17;

/// One query of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) number: usize,
    pub(super) round: u64,
    pub(super) scores: &'a [f64],
    pub(super) labels: &'a [f32],
    pub(super) doc_hash: &'a [u64],
    pub(super) row_weight: Option<&'a [f64]>,
    pub(super) weight: f64,
    pub(super) interrupt: &'a Interrupt,
}

impl Query<'_> {
    /// The weight of a doc: its query's times its own.
    pub(super) fn weight(&self, doc: usize) -> f64 {
        self.row_weight.map_or(self.weight, |weights| self.weight * weights[doc])
    }

    /// An error unless all scores are finite.
    pub(super) fn check_scores(&self) -> Result<()> {
        match self.scores.iter().find(|score| !score.is_finite()) {
            None => Ok(()),
            Some(score) => Err(Error::data("score.not_finite", "a score cannot be learned from")
                .query(self.number)
                .got(score)
                .expected("a finite number")),
        }
    }

    /// The gradient of a doc from the derivatives of its loss, weighted and checked.
    pub(super) fn gradient(&self, doc: usize, grad: f64, hess: f64) -> Result<Gradient> {
        let weight = self.weight(doc);
        // + 0.0: a gradient of 0 has no sign.
        let gradient =
            Gradient { grad: (grad * weight) as f32 + 0.0, hess: (hess * weight) as f32 + 0.0 };
        if gradient.is_finite() { Ok(gradient) } else { Err(self.not_finite(gradient)) }
    }

    /// The gradients of all docs: sums times factors, weighted and checked.
    pub(super) fn write<S: Into<f64> + Copy>(
        &self,
        sums: &[[S; 2]],
        factors: [f64; 2],
        gradients: &mut [Gradient],
    ) -> Result<()> {
        let mut all_finite = true;
        let mut put = |gradient: &mut Gradient, [grad, hess]: [S; 2], weight: f64| {
            // + 0.0: a gradient of 0 has no sign.
            gradient.grad = (grad.into() * (factors[0] * weight)) as f32 + 0.0;
            gradient.hess = (hess.into() * (factors[1] * weight)) as f32 + 0.0;
            all_finite &= gradient.is_finite();
        };
        match self.row_weight {
            None => {
                for (gradient, sums) in gradients.iter_mut().zip(sums) {
                    put(gradient, *sums, self.weight);
                }
            }
            Some(weights) => {
                for ((gradient, sums), weight) in gradients.iter_mut().zip(sums).zip(weights) {
                    put(gradient, *sums, self.weight * weight);
                }
            }
        }
        if all_finite {
            return Ok(());
        }
        match gradients.iter().find(|gradient| !gradient.is_finite()) {
            Some(gradient) => Err(self.not_finite(*gradient)),
            None => Ok(()),
        }
    }

    #[cold]
    pub(super) fn not_finite(&self, gradient: Gradient) -> Error {
        Error::data("gradient.not_finite", "a gradient overflows")
            .query(self.number)
            .got(format!("grad {}, hess {}", gradient.grad, gradient.hess))
            .expected("finite numbers")
            .hint("weights, sigma or labels may be very large")
    }
}

impl<'a> GradientCall<'a> {
    /// Checks that all arrays are as long as there are docs or queries.
    pub(super) fn check(self, gradients: &[Gradient]) -> Result<()> {
        let Self { target, state, .. } = self;
        let docs = target.queries.num_docs();
        let queries = target.queries.len();
        for (name, got, expected) in [
            ("score", state.scores.len(), docs),
            ("label", target.labels.len(), docs),
            ("doc_hash", target.doc_hash.len(), docs),
            ("gradients", gradients.len(), docs),
            ("row_weight", target.row_weight.map_or(docs, <[f64]>::len), docs),
            ("query_weight", target.query_weight.map_or(queries, <[f64]>::len), queries),
        ] {
            if got != expected {
                let what = format!("{name} has the wrong length");
                return Err(Error::data("length", what).got(got).expected(expected));
            }
        }
        Ok(())
    }

    fn query(self, number: usize) -> Query<'a> {
        let Self { target, state, .. } = self;
        let docs = target.queries.range(number);
        Query {
            number,
            round: state.round,
            scores: &state.scores[docs.clone()],
            labels: &target.labels[docs.clone()],
            doc_hash: &target.doc_hash[docs.clone()],
            weight: target.query_weight.map_or(1.0, |weights| weights[number]),
            row_weight: target.row_weight.map(|weights| &weights[docs]),
            interrupt: self.interrupt,
        }
    }
}

/// Runs `one` for each query. `cost` is the cost of a query by its number of docs, in units of about a
/// nanosecond; `B` are the buffers that a thread keeps from query to query.
pub(super) fn for_each_query<B: Default + Send>(
    call: GradientCall<'_>,
    gradients: &mut [Gradient],
    cost: impl Fn(usize) -> u64,
    one: impl Fn(&mut B, Query<'_>, &mut [Gradient]) -> Result<()> + Sync + Send,
) -> Result<()> {
    call.check(gradients)?;
    let tasks = tasks(call.target, gradients, cost);
    let results: Vec<Result<()>> = tasks
        .into_par_iter()
        .map_init(B::default, |buffers, QueryTask { queries, mut gradients }| {
            call.interrupt.check()?;
            for number in queries {
                let docs = call.target.queries.range(number);
                let (mine, rest) = gradients.split_at_mut(docs.len());
                gradients = rest;
                one(buffers, call.query(number), mine)?;
            }
            Ok(())
        })
        .collect();
    results.into_iter().collect()
}

/// Consecutive queries, and room for the gradients of their docs.
struct QueryTask<'a> {
    queries: Range<usize>,
    gradients: &'a mut [Gradient],
}

fn tasks<'a>(
    target: &Target<'_>,
    mut gradients: &'a mut [Gradient],
    cost: impl Fn(usize) -> u64,
) -> Vec<QueryTask<'a>> {
    let mut tasks = Vec::new();
    let (mut first, mut docs, mut sum) = (0, 0, 0u64);
    for (number, range) in target.queries.ranges().enumerate() {
        docs += range.len();
        sum = sum.saturating_add(cost(range.len()));
        if sum >= TASK || number + 1 == target.queries.len() {
            let (mine, rest) = std::mem::take(&mut gradients).split_at_mut(docs);
            gradients = rest;
            tasks.push(QueryTask { queries: first..number + 1, gradients: mine });
            (first, docs, sum) = (number + 1, 0, 0);
        }
    }
    tasks
}
