//! The loops of a net's backward pass, written once and compiled for each level.
//!
//! As in the forward pass sums have one order, that of the docs, and lanes are units.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use crate::model::mlp::kernel::{LANES, Rows, lanes, lanes_mut};
use crate::simd::for_levels;
use crate::simd::lanes::Lanes;

/// Values of a row that `outer` takes at once.
const TILE: usize = 4;

for_levels! {
    /// The deltas of the last hidden layer: `weights` times the gradient of the document's score times
    /// the derivative of tanh, `1 - value²`.
    pub(crate) fn pulls(grads: &[f32], weights: &[f32], values: &[f32], deltas: &mut [f32]) {
        let width = weights.len();
        let rows = values.chunks_exact(width).zip(deltas.chunks_exact_mut(width));
        for (grad, (values, deltas)) in grads.iter().zip(rows) {
            for ((delta, value), weight) in deltas.iter_mut().zip(values).zip(weights) {
                *delta = grad * weight * (1.0 - value * value);
            }
        }
    }

    /// Multiplies the deltas by the derivative of tanh at `values`.
    pub(crate) fn slopes(values: &[f32], deltas: &mut [f32]) {
        for (delta, value) in deltas.iter_mut().zip(values) {
            *delta *= 1.0 - value * value;
        }
    }

    /// The gradient of the weights of the score: the sum over docs of gradient times values.
    pub(crate) fn score_weights(grads: &[f32], from: Rows<'_>, out: &mut [f32]) {
        let width = out.len();
        out.fill(0.0);
        for (at, grad) in grads.iter().enumerate() {
            let values = &from.values[at * from.stride..][..width];
            for (out, value) in out.iter_mut().zip(values) {
                *out += grad * value;
            }
        }
    }
}

for_levels! {
    /// The gradient of a layer's biases and weights: the sums over documents of its units' deltas, and
    /// of the deltas times each input value.
    pub(crate) fn outer(from: Rows<'_>, deltas: &[f32], width: usize, out: &mut [f32]) = outer_loop<Lanes>
}

#[inline(always)]
fn outer_loop<L: Lanes>(from: Rows<'_>, deltas: &[f32], width: usize, out: &mut [f32]) {
    let (biases, weights) = out.split_at_mut(width);
    for first in (0..width).step_by(LANES) {
        let deltas = || deltas.chunks_exact(width).map(|row| L::load(lanes(&row[first..])));
        let sum = deltas().fold(L::splat(0.0), L::plus);
        sum.store(lanes_mut(&mut biases[first..]));
        for (tile, weights) in weights.chunks_mut(TILE * width).enumerate() {
            let (mut e, mut f, mut g, mut h) =
                (L::splat(0.0), L::splat(0.0), L::splat(0.0), L::splat(0.0));
            // Rows are padded to whole tiles.
            let tiles = from.values[tile * TILE..].chunks(from.stride);
            for (values, deltas) in tiles.zip(deltas()) {
                let Some(&[a, b, c, d]) = values.first_chunk() else { break };
                e = e.plus(L::splat(a).times(deltas));
                f = f.plus(L::splat(b).times(deltas));
                g = g.plus(L::splat(c).times(deltas));
                h = h.plus(L::splat(d).times(deltas));
            }
            for (row, sums) in weights.chunks_exact_mut(width).zip([e, f, g, h]) {
                sums.store(lanes_mut(&mut row[first..]));
            }
        }
    }
}

for_levels! {
    /// Adds a list to another.
    pub(crate) fn plus(more: &[f32], sums: &mut [f32]) {
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum += more;
        }
    }
}

/// The factors of one step of Adam.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdamStep {
    /// Factor of the gradients: one over the number of queries.
    pub(super) share: f32,
    /// The learning rate with the bias correction of the mean.
    pub(super) rate: f32,
    /// The bias correction of the square root of the mean square.
    pub(super) root: f32,
    /// Weight decay times learning rate.
    pub(super) decay: f32,
}

/// The decay rates of the moving averages of gradients and of their squares.
pub(super) const BETAS: [f32; 2] = [0.9, 0.999];

for_levels! {
    /// A step of Adam: subtracts the mean gradient divided by the root of the mean square.
    pub(crate) fn adam(step: AdamStep, grads: &[f32], moments: [&mut [f32]; 2], weights: &mut [f32]) {
        /// Adam's epsilon: keeps weights still whose gradients are nothing but rounding.
        const LEAST: f32 = 1e-8;
        let [means, squares] = moments;
        let moments = means.iter_mut().zip(squares);
        for ((weight, grad), (mean, square)) in weights.iter_mut().zip(grads).zip(moments) {
            let grad = grad * step.share;
            *mean = *mean * BETAS[0] + (1.0 - BETAS[0]) * grad;
            *square = *square * BETAS[1] + (1.0 - BETAS[1]) * (grad * grad);
            *weight -= step.rate * *mean / (square.sqrt() * step.root + LEAST) + step.decay * *weight;
        }
    }

    /// A step of gradient descent with weight decay.
    pub(crate) fn descend(rate: f32, decay: f32, grads: &[f32], weights: &mut [f32]) {
        for (weight, grad) in weights.iter_mut().zip(grads) {
            *weight -= rate * grad + decay * *weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| (((i + seed) * 7919 % 1009) as f32 - 500.0) / 170.0).collect()
    }

    /// The gradient of a layer, sum by sum.
    fn naive(from: Rows<'_>, inputs: usize, deltas: &[f32], width: usize) -> Vec<f32> {
        let docs = deltas.len() / width;
        let sum = |value: &dyn Fn(usize) -> f32, unit: usize| {
            (0..docs).fold(0.0, |sum, doc| sum + value(doc) * deltas[doc * width + unit])
        };
        let biases = (0..width).map(|unit| sum(&|_| 1.0, unit));
        let weights = (0..inputs).flat_map(|input| {
            let value = move |doc: usize| from.values[doc * from.stride + input];
            (0..width).map(move |unit| sum(&value, unit))
        });
        biases.chain(weights).collect()
    }

    #[test]
    fn all_levels_give_the_sums_of_a_plain_loop() {
        let (stride, inputs, width) = (48, 37, 32);
        for docs in [1, 2, 5, 64] {
            let (values, deltas) = (numbers(docs * stride, 3), numbers(docs * width, 11));
            let from = Rows { values: &values, stride };
            let wanted = naive(from, inputs, &deltas, width);
            for level in Level::available() {
                let mut out = vec![f32::NAN; wanted.len()];
                outer(level, from, &deltas, width, &mut out);
                assert!(out == wanted, "{level:?} {docs}");
            }
        }
    }

    #[test]
    fn all_levels_move_weights_alike() {
        let step = AdamStep { share: 0.5, rate: 0.01, root: 1.7, decay: 1e-3 };
        let grads = numbers(80, 1);
        let moved = |level: Level| {
            let (mut means, mut squares) = (numbers(80, 2), numbers(80, 3));
            for square in &mut squares {
                *square *= *square;
            }
            let mut weights = numbers(80, 4);
            adam(level, step, &grads, [&mut means, &mut squares], &mut weights);
            let mut pulled = vec![0.0; 80];
            pulls(level, &grads[..5], &weights[..16], &means, &mut pulled);
            slopes(level, &squares, &mut pulled);
            let mut sums = weights.clone();
            plus(level, &pulled, &mut sums);
            descend(level, 0.1, 1e-3, &grads, &mut sums);
            score_weights(
                level,
                &grads[..5],
                Rows { values: &means, stride: 16 },
                &mut weights[..16],
            );
            [means, squares, weights, pulled, sums]
        };
        let plain = moved(Level::Portable);
        assert!(plain.iter().flatten().all(|number| number.is_finite()));
        for level in Level::available() {
            assert!(moved(level) == plain, "{level:?}");
        }
    }
}
