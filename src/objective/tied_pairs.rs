//! The expected lambdas of pairs inside blocks of tied docs, without a loop over pairs.
//!
//! The scores of such a pair are equal, so the worse doc is ahead with probability 1/2, and all pairs
//! of a block share one factor (`pair_weights.rs`). What is left is `sum over b of (gain_a - gain_b)` and
//! `sum over b of |gain_a - gain_b|`, from sums over the docs with larger and with smaller gains.

use std::ops::Range;

/// Adds the lambdas of a block, but for the factor sigma; `gains` are by rank, falling inside the
/// block, and `factor` is what all pairs share. Returns the sum of their magnitudes.
pub(super) fn add(
    block: &Range<usize>,
    (gains, signs): (&[f32], bool),
    factor: f64,
    (grad, hess): (&mut [f32], &mut [f32]),
) -> f64 {
    let gains = &gains[block.clone()];
    let all: f64 = gains.iter().map(|&gain| f64::from(gain)).sum();
    let (mut done, mut sum_better, mut total) = (0usize, 0.0, 0.0);
    for run in gains.chunk_by(|a, b| a == b) {
        let gain = f64::from(run[0]);
        let sum_run = gain * run.len() as f64;
        let (better, worse) = (done as f64, (gains.len() - done - run.len()) as f64);
        let (up, down) = if signs {
            (worse, better)
        } else {
            // Exactly 0 where no doc is worse, in spite of rounding.
            let sum_worse = if worse > 0.0 { all - sum_better - sum_run } else { 0.0 };
            ((gain * worse - sum_worse).max(0.0), (sum_better - gain * better).max(0.0))
        };
        for rank in block.start + done..block.start + done + run.len() {
            grad[rank] -= (0.5 * factor * (up - down)) as f32;
            hess[rank] += (0.25 * factor * (up + down)) as f32;
        }
        total += 0.25 * factor * (up + down) * run.len() as f64;
        sum_better += sum_run;
        done += run.len();
    }
    total
}
