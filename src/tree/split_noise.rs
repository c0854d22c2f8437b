//! Random noise on the scores of splits (`random_strength`).
//!
//! The *value* of a split is `G² / (H + l2)` summed over its leaves. If gradients were random, each
//! leaf would add about `Σ g² / Σ h`; the root of that is the unit of the noise on the root of a
//! value. So a `random_strength` of 1 blurs differences that could be chance and keeps those that
//! are much larger.
//!
//! A draw depends on the seed, the round, the node and the split only, not on the order of
//! evaluation.

use super::grower::TreeJob;
use super::options::GrowOptions;
use super::packed_gradients::GradientSums;
use super::reducer::GrowthReducer;
use crate::error::Result;
use crate::random::draw_in;

/// The noise on the splits of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitNoise {
    /// In packed units.
    pub(super) deviation: f64,
    /// The state that all draws of the node share.
    pub(super) start: u64,
    /// Splits with a value up to this are never chosen.
    pub(super) floor: f64,
}

impl SplitNoise {
    /// The score of a split: minus infinity if its value is too small.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    pub(super) fn score(&self, value: f64, id: (u32, bool, u8)) -> f64 {
        let score = self.noisy_root(value, id);
        if value > self.floor { score } else { f64::NEG_INFINITY }
    }

    /// The root of a split's value plus its noise.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    pub(super) fn noisy_root(
        &self,
        value: f64,
        (feature, missing_left, code): (u32, bool, u8),
    ) -> f64 {
        let id = u64::from(feature) << 16 | u64::from(missing_left) << 8 | u64::from(code);
        value.sqrt() + self.deviation * normal(draw_in(self.start, id))
    }

    /// The value that a split must exceed to reach `score` with the largest possible noise.
    pub(super) fn value_bound(&self, score: f64) -> f64 {
        let root = (score - MOST * self.deviation).max(0.0);
        self.floor.max(root * root)
    }
}

/// A bound on the absolute value of all draws.
const MOST: f64 = 4.9;

/// An approximately normal number: the standardised sum of eight uniform bytes, at most 4.9 in
/// absolute value.
#[inline]
fn normal(bits: u64) -> f64 {
    const EACH_OTHER: u64 = 0x00ff_00ff_00ff_00ff;
    let pairs = (bits & EACH_OTHER).wrapping_add(bits >> 8 & EACH_OTHER);
    let sum = pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48;
    // The square root of 8 (256² - 1) / 12.
    (sum as f64 - 1020.0) / 209.022_3
}

/// The standard deviation of the noise in this round, in packed units.
pub(super) fn deviation(
    options: &GrowOptions,
    job: TreeJob<'_>,
    packed: &[u64],
    reducer: &dyn GrowthReducer,
) -> Result<f64> {
    if options.random_strength == 0.0 {
        return Ok(0.0);
    }
    // Exact for any order of documents: the absolute values sum to less than 2³¹.
    let (squares, mass) = job.docs.iter().fold((0u64, 0u64), |(squares, mass), &doc| {
        let sums = GradientSums::of(packed[doc as usize]);
        let size = u64::from(sums.grad.unsigned_abs());
        (squares.wrapping_add(size.wrapping_mul(size)), mass + u64::from(sums.mass))
    });
    let mut sums = [squares, mass, job.docs.len() as u64];
    reducer.sum("the size of gradients", job.round, &mut sums)?;
    let [squares, mass, num_docs] = sums;
    if mass == 0 {
        return Ok(0.0);
    }
    let num_docs = num_docs as f64;
    let fading = num_docs / (num_docs + (options.random_decay * job.round as f64).exp());
    Ok(options.random_strength * fading * (squares as f64 / mass as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn draws_are_normal_but_for_the_tails() {
        let n = 200_000u64;
        let mut moments = [0.0; 4];
        let mut beyond_two = 0;
        for id in 0..n {
            let x = normal(draw(9, 1, id));
            for (power, moment) in (1..).zip(&mut moments) {
                *moment += x.powi(power) / n as f64;
            }
            beyond_two += u64::from(x.abs() > 2.0);
        }
        let [mean, variance, skew, fourth] = moments;
        assert!(mean.abs() < 0.01 && skew.abs() < 0.03, "{moments:?}");
        assert!((variance - 1.0).abs() < 0.02 && (fourth - 2.85).abs() < 0.1, "{moments:?}");
        let share = beyond_two as f64 / n as f64;
        assert!((share - 0.0455).abs() < 0.003, "{share}");
    }
}
