//! One gradient step: forward pass, lambdas and backward pass of a batch of queries, then the update
//! of the weights.
//!
//! The update is factorised (Burges 2010, section 2.1): the gradient of a query by the weights is
//! the sum over its docs of the doc's lambda times the derivative of its score, so that a query costs
//! one forward and one backward pass per document, however many pairs it has.
//!
//! ```text
//! score = bias + sum_u v_u a_u       a_u = tanh(z_u)      z_u = b_u + sum_i w_iu x_i
//! dL/dv_u  = sum_d grad_d a_du
//! delta_du = grad_d v_u (1 - a_du²)
//! dL/dw_iu = sum_d x_di delta_du     dL/db_u = sum_d delta_du
//! ```
//!
//! With two hidden layers, the deltas of the first are those of the second times its weights, times
//! the derivative of tanh. The bias of the score stays 0: no order depends on it.
//!
//! Each query of a batch has its own gradient, and these are summed in the order of the batch: the
//! result does not depend on the number of threads.

use super::kernel::{self, AdamStep, BETAS};
use super::loss::{NetObjective, QueryBatch};
use super::params::{Optimiser, Params};
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::model::mlp::kernel::{Rows, product};
use crate::model::mlp::{Activations, Net, Shape};
use crate::objective::State;
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// Multiplications from which a batch is spread over several threads.
const WORTH_A_THREAD: usize = 2_000_000;

/// A net in training: its weights and the state of the optimiser.
#[derive(Debug, Clone)]
pub(super) struct Learner {
    pub(super) net: Net,
    optimiser: Optimiser,
    /// The moving averages of gradients and of their squares.
    moments: [Vec<f32>; 2],
    /// `beta^steps` of each average, for Adam's bias correction.
    beta_powers: [f64; 2],
    weight_decay: f64,
}

/// Buffers kept from step to step.
#[derive(Debug, Default)]
pub(super) struct StepBuffers {
    batch: QueryBatch,
    passes: Vec<QueryPass>,
    scores: Vec<f64>,
    gradients: Vec<Gradient>,
    total: Vec<f32>,
}

/// The forward and backward pass of one query of a batch.
#[derive(Debug, Default)]
struct QueryPass {
    scores: Vec<f64>,
    layers: Activations,
    deltas: Activations,
    transposed: Vec<f32>,
    grads: Vec<f32>,
    /// The gradient of all weights.
    weight_grads: Vec<f32>,
}

/// What a step learns from.
pub(super) struct StepInput<'a> {
    pub(super) data: &'a RawDataset,
    pub(super) objective: &'a NetObjective,
    /// The queries of the batch.
    pub(super) queries: &'a [u32],
    pub(super) learning_rate: f64,
    pub(super) epoch: u64,
}

impl Learner {
    pub(super) fn new(net: Net, params: &Params) -> Self {
        let moments = [vec![0.0; net.weights.len()], vec![0.0; net.weights.len()]];
        let Params { optimiser, weight_decay, .. } = *params;
        Self { net, optimiser, moments, beta_powers: [1.0; 2], weight_decay }
    }

    /// Resets the optimiser's moving averages.
    pub(super) fn reset_optimiser(&mut self) {
        self.moments.iter_mut().for_each(|moments| moments.fill(0.0));
        self.beta_powers = [1.0; 2];
    }

    /// Updates the weights once, by the gradient of a batch of queries.
    pub(super) fn step(
        &mut self,
        buffers: &mut StepBuffers,
        input: &StepInput<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let StepInput { data, objective, queries, learning_rate, epoch } = *input;
        let StepBuffers { batch, passes, scores, gradients, total } = buffers;
        batch.load(data, queries);
        passes.resize_with(queries.len().max(passes.len()), QueryPass::default);
        let passes = &mut passes[..queries.len()];
        gradients.resize(batch.len(), Gradient::default());
        let (level, net) = (Level::best(), &self.net);
        let is_large = batch.len() * net.weights.len() >= WORTH_A_THREAD;
        let inputs = |at: usize| inputs_of(data, data.queries().range(queries[at] as usize));
        for_each(passes, is_large, |at, pass| {
            pass.scores.resize(batch.docs(at).len(), 0.0);
            net.forward(level, inputs(at), &mut pass.layers, &mut pass.scores);
        });
        scores.clear();
        scores.extend(passes.iter().flat_map(|pass| &pass.scores));
        let state = State { round: epoch, scores };
        objective.gradients(batch, state, gradients, interrupt).map_err(diverged)?;
        for_each(passes, is_large, |at, pass| {
            pass.backward(level, net, inputs(at), &gradients[batch.docs(at)]);
        });
        total.clear();
        total.extend_from_slice(&passes[0].weight_grads);
        for pass in &passes[1..] {
            kernel::plus(level, &pass.weight_grads, total);
        }
        self.update(level, total, learning_rate, queries.len());
        Ok(())
    }

    /// Updates the weights by the sum of the gradients of `num_queries` queries.
    fn update(&mut self, level: Level, sums: &[f32], learning_rate: f64, num_queries: usize) {
        let share = 1.0 / num_queries as f64;
        let weights = &mut self.net.weights;
        let decay = (learning_rate * self.weight_decay) as f32;
        match self.optimiser {
            Optimiser::Sgd => {
                kernel::descend(level, (learning_rate * share) as f32, decay, sums, weights);
            }
            Optimiser::Adam => {
                for (power, beta) in self.beta_powers.iter_mut().zip(BETAS) {
                    *power *= f64::from(beta);
                }
                let step = AdamStep {
                    share: share as f32,
                    rate: (learning_rate / (1.0 - self.beta_powers[0])) as f32,
                    root: (1.0 / (1.0 - self.beta_powers[1]).sqrt()) as f32,
                    decay,
                };
                let [means, squares] = &mut self.moments;
                kernel::adam(level, step, sums, [means, squares], weights);
            }
        }
    }
}

impl QueryPass {
    /// The gradient of all weights from those of the scores, after a forward pass.
    fn backward(&mut self, level: Level, net: &Net, from: Rows<'_>, gradients: &[Gradient]) {
        let Self { layers, deltas, transposed, grads, weight_grads, .. } = self;
        let Shape { sizes, widths, blocks, output } = &net.shape;
        grads.clear();
        grads.extend(gradients.iter().map(|gradient| gradient.grad));
        weight_grads.resize(net.weights.len(), 0.0);
        let values = |at: usize| match at {
            0 => from,
            at => Rows { values: &layers.0[at - 1], stride: widths[at] },
        };
        let depth = net.shape.depth();
        kernel::score_weights(level, grads, values(depth), &mut weight_grads[output.clone()]);
        if depth > 0 {
            let last = &mut deltas.0[depth - 1];
            last.resize(grads.len() * widths[depth], 0.0);
            let weights = &net.weights[output.clone()];
            kernel::pulls(level, grads, weights, values(depth).values, last);
        }
        for at in (0..depth).rev() {
            let (before, after) = deltas.0.split_at_mut(at);
            let (width, block) = (widths[at + 1], blocks[at].clone());
            kernel::outer(level, values(at), &after[0], width, &mut weight_grads[block.clone()]);
            if let Some(before) = before.last_mut() {
                let weights = &net.weights[block][width..];
                transpose(weights, width, sizes[at + 1], widths[at], transposed);
                before.resize(grads.len() * widths[at], 0.0);
                let pulls = Rows { values: &after[0], stride: width };
                product(level, pulls, transposed, widths[at], before);
                kernel::slopes(level, values(at).values, before);
            }
        }
    }
}

/// The transpose of a layer's weights, after a row of zeros for the biases. `weights` has rows of
/// `width` of which the first `units` count; rows of the result have `new_width`.
fn transpose(
    weights: &[f32],
    width: usize,
    units: usize,
    new_width: usize,
    transposed: &mut Vec<f32>,
) {
    transposed.clear();
    transposed.resize((units + 1) * new_width, 0.0);
    for (value, weights) in weights.chunks_exact(width).enumerate() {
        for (unit, weight) in weights[..units].iter().enumerate() {
            transposed[(unit + 1) * new_width + value] = *weight;
        }
    }
}

/// The inputs of a range of documents.
pub(super) fn inputs_of(data: &RawDataset, docs: Range<usize>) -> Rows<'_> {
    let stride = data.stride();
    Rows { values: &data.cells()[docs.start * stride..docs.end * stride], stride }
}

/// Works on each query of a batch, by several threads if that is much work.
fn for_each(
    passes: &mut [QueryPass],
    is_large: bool,
    work: impl Fn(usize, &mut QueryPass) + Sync + Send,
) {
    if is_large && passes.len() > 1 {
        passes.par_iter_mut().enumerate().for_each(|(at, pass)| work(at, pass));
    } else {
        passes.iter_mut().enumerate().for_each(|(at, pass)| work(at, pass));
    }
}

/// Scores that are not finite come from weights that grew without bound.
fn diverged(error: Error) -> Error {
    match error.fault() {
        Some(fault) if fault.code == "score.not_finite" => {
            Error::param("learning_rate", "training diverged: a score is not finite")
                .hint("a lower learning_rate")
        }
        _ => error,
    }
}
