//! One step: a batch of queries forward, its lambdas, backward, and the weights moved.
//!
//! The update is factorised (Burges 2010, section 2.1): the gradient of a query by the weights is
//! the sum over its docs of the doc's lambda times the derivative of its score, so that a query costs
//! one pass forward and one backward a doc, however many pairs it has.
//!
//! ```text
//! score = bias + sum_u v_u a_u       a_u = tanh(z_u)      z_u = b_u + sum_i w_iu x_i
//! dL/dv_u  = sum_d grad_d a_du
//! delta_du = grad_d v_u (1 - a_du²)
//! dL/dw_iu = sum_d x_di delta_du     dL/db_u = sum_d delta_du
//! ```
//!
//! and with two layers the deltas of the first are those of the second times its weights, times the
//! slope of the tangent. The bias of the score is left at 0: no order depends on it.
//!
//! Each query of a batch has a gradient of its own, and these are summed in the order of the batch:
//! threads cannot matter.

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

/// Multiplications of a batch that are worth waking another thread.
const WORTH_A_THREAD: usize = 2_000_000;

/// What learns: the weights, and what the optimiser remembers.
#[derive(Debug, Clone)]
pub(super) struct Learner {
    pub(super) net: Net,
    optimiser: Optimiser,
    /// The means of gradients and of their squares.
    moments: [Vec<f32>; 2],
    /// What is left of the share that the past does not fill yet.
    rests: [f64; 2],
    decay: f64,
}

/// Buffers of a training.
#[derive(Debug, Default)]
pub(super) struct StepBuffers {
    batch: QueryBatch,
    slots: Vec<QueryPass>,
    scores: Vec<f64>,
    gradients: Vec<Gradient>,
    total: Vec<f32>,
}

/// One query of a batch.
#[derive(Debug, Default)]
struct QueryPass {
    layers: Activations,
    deltas: Activations,
    turned: Vec<f32>,
    grads: Vec<f32>,
    sums: Vec<f32>,
}

impl Learner {
    pub(super) fn new(net: Net, params: &Params) -> Self {
        let moments = [vec![0.0; net.weights.len()], vec![0.0; net.weights.len()]];
        let Params { optimiser, weight_decay: decay, .. } = *params;
        Self { net, optimiser, moments, rests: [1.0; 2], decay }
    }

    /// Forgets the past gradients.
    pub(super) fn forget(&mut self) {
        self.moments.iter_mut().for_each(|moments| moments.fill(0.0));
        self.rests = [1.0; 2];
    }

    /// Moves the weights once, by the queries of `members`.
    pub(super) fn step(
        &mut self,
        scratch: &mut StepBuffers,
        (data, lambdas, members): (&RawDataset, &NetObjective, &[u32]),
        (rate, epoch): (f64, u64),
        interrupt: &Interrupt,
    ) -> Result<()> {
        let StepBuffers { batch, slots, scores, gradients, total } = scratch;
        batch.load(data, members);
        slots.resize_with(members.len().max(slots.len()), QueryPass::default);
        scores.resize(batch.len(), 0.0);
        gradients.resize(batch.len(), Gradient::default());
        let level = Level::best();
        let cost = batch.len() * self.net.weights.len();
        let threads = if cost < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let net = &self.net;
        for_each(threads, jobs(data, slots, members, scores), |(rows, slot, scores)| {
            net.forward(level, rows, &mut slot.layers, scores);
        });
        let state = State { round: epoch, scores };
        lambdas.gradients(batch, state, gradients, interrupt).map_err(diverged)?;
        for_each(threads, jobs(data, slots, members, gradients), |(rows, slot, gradients)| {
            slot.backward(level, net, rows, gradients);
        });
        total.clear();
        total.extend_from_slice(&slots[0].sums);
        for slot in &slots[1..members.len()] {
            kernel::plus(level, &slot.sums, total);
        }
        self.descend(level, total, (rate, members.len()));
        Ok(())
    }
}

impl Learner {
    /// Moves the weights against the sum of the gradients of so many queries.
    fn descend(&mut self, level: Level, sums: &[f32], (rate, queries): (f64, usize)) {
        let share = 1.0 / queries as f64;
        let weights = &mut self.net.weights;
        let decay = (rate * self.decay) as f32;
        match self.optimiser {
            Optimiser::Sgd => {
                kernel::descend(level, (rate * share) as f32, decay, sums, weights);
            }
            Optimiser::Adam => {
                for (rest, beta) in self.rests.iter_mut().zip(BETAS) {
                    *rest *= f64::from(beta);
                }
                let step = AdamStep {
                    share: share as f32,
                    rate: (rate / (1.0 - self.rests[0])) as f32,
                    root: (1.0 / (1.0 - self.rests[1]).sqrt()) as f32,
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
        let Self { layers, deltas, turned, grads, sums } = self;
        let Shape { sizes, widths, blocks, output } = &net.shape;
        grads.clear();
        grads.extend(gradients.iter().map(|gradient| gradient.grad));
        sums.resize(net.weights.len(), 0.0);
        let values = |at: usize| match at {
            0 => from,
            at => Rows { values: &layers.0[at - 1], stride: widths[at] },
        };
        let depth = net.shape.depth();
        kernel::score_weights(level, grads, values(depth), &mut sums[output.clone()]);
        if depth > 0 {
            let last = &mut deltas.0[depth - 1];
            last.resize(grads.len() * widths[depth], 0.0);
            let weights = &net.weights[output.clone()];
            kernel::pulls(level, grads, weights, values(depth).values, last);
        }
        for at in (0..depth).rev() {
            let (before, after) = deltas.0.split_at_mut(at);
            let (width, block) = (widths[at + 1], blocks[at].clone());
            kernel::outer(level, values(at), &after[0], width, &mut sums[block.clone()]);
            if let Some(before) = before.last_mut() {
                let weights = &net.weights[block][width..];
                turn((weights, width), (sizes[at + 1], widths[at]), turned);
                before.resize(grads.len() * widths[at], 0.0);
                let pulls = Rows { values: &after[0], stride: width };
                product(level, pulls, turned, widths[at], before);
                kernel::slopes(level, values(at).values, before);
            }
        }
    }
}

/// The weights of a layer with rows and columns exchanged, after a row of zeros for biases.
fn turn(
    (weights, width): (&[f32], usize),
    (units, turned_width): (usize, usize),
    turned: &mut Vec<f32>,
) {
    turned.clear();
    turned.resize((units + 1) * turned_width, 0.0);
    for (value, weights) in weights.chunks_exact(width).enumerate() {
        for (unit, weight) in weights[..units].iter().enumerate() {
            turned[(unit + 1) * turned_width + value] = *weight;
        }
    }
}

/// Inputs, buffers and values of each query of a batch.
fn jobs<'a, T>(
    data: &'a RawDataset,
    slots: &'a mut [QueryPass],
    members: &[u32],
    mut values: &'a mut [T],
) -> Vec<(Rows<'a>, &'a mut QueryPass, &'a mut [T])> {
    let one = |(&query, slot)| {
        let docs = data.queries().range(query as usize);
        let (mine, rest) = std::mem::take(&mut values).split_at_mut(docs.len());
        values = rest;
        (inputs_of(data, docs), slot, mine)
    };
    members.iter().zip(slots).map(one).collect()
}

/// The inputs of some docs.
pub(super) fn inputs_of(data: &RawDataset, docs: Range<usize>) -> Rows<'_> {
    let stride = data.stride();
    Rows { values: &data.cells()[docs.start * stride..docs.end * stride], stride }
}

fn for_each<J: Send>(threads: usize, jobs: Vec<J>, work: impl Fn(J) + Sync + Send) {
    if threads < 2 || jobs.len() < 2 {
        jobs.into_iter().for_each(work);
    } else {
        jobs.into_par_iter().for_each(work);
    }
}

/// Scores that are not finite come from weights that ran away.
fn diverged(error: Error) -> Error {
    match error.fault() {
        Some(fault) if fault.code == "score.not_finite" => {
            Error::param("learning_rate", "training diverged: a score is not finite")
                .hint("a lower learning_rate")
        }
        _ => error,
    }
}
