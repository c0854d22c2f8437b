//! The loops of a net's forward pass, written once and compiled for each level.
//!
//! Rows are docs, sixteen lanes are units. A sum goes over its terms in rising order, each product
//! rounded before it is added, so that every level, tile and number of docs gives the same bits.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use super::lanes::{self, Lanes};
use crate::simd::for_levels;

/// Units that go side by side: widths are multiples of it.
pub(crate) const LANES: usize = 16;

/// Docs that a tile of `product` takes at once: with sixteen lanes each, their sums fill the
/// registers of AVX2 by half and keep the adders busy.
const TILE: usize = 4;

/// Rows of a matrix, `stride` values each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// All values.
    pub(crate) values: &'a [f32],
    /// From one row to the next.
    pub(crate) stride: usize,
}

impl<'a> Rows<'a> {
    fn row(self, at: usize, length: usize) -> &'a [f32] {
        &self.values[at * self.stride..][..length]
    }
}

/// How values become inputs: see [`Input`](super::Input). One of each an input.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scaling {
    /// The mean of each.
    pub(crate) means: Vec<f32>,
    /// One over the scale of each.
    pub(crate) factors: Vec<f32>,
    /// 1 for the inputs that are logarithms, else 0; empty if there are none.
    pub(crate) logs: Vec<f32>,
    /// The largest magnitude of an input.
    pub(crate) limit: f32,
}

for_levels! {
    /// Standardises rows of raw values in place; what is missing becomes 0.
    pub(crate) fn standardise(values: &mut [f32], stride: usize, scaling: &Scaling) {
        let Scaling { means, factors, logs, limit } = scaling;
        for row in values.chunks_exact_mut(stride) {
            for (value, log) in row.iter_mut().zip(logs) {
                *value = if *log == 0.0 { *value } else { signed_log(*value) };
            }
            for ((value, mean), factor) in row.iter_mut().zip(means).zip(factors) {
                let input = (*value - mean) * factor;
                // A comparison with NaN is false: what is missing ends up as 0.
                let input = if input > *limit { *limit } else { input };
                let input = if input < -limit { -limit } else { input };
                *value = if input.is_nan() { 0.0 } else { input };
            }
        }
    }
}

/// `ln(1 + x)` for positive x, `-ln(1 - x)` for negative; the absolute error is below 1e-6 times
/// the larger of 1 and the result. NaN stays what it is.
#[inline(always)]
pub(crate) fn signed_log(x: f32) -> f32 {
    const ROOT: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let size = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let size = if size > f32::MAX { f32::MAX } else { size };
    let y = 1.0 + size;
    // y = 2^power m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh t.
    let shifted = y.to_bits().wrapping_sub(ROOT);
    let power = (shifted.cast_signed() >> 23) as f32;
    let m = f32::from_bits((shifted & 0x7f_ffff).wrapping_add(ROOT));
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let mut p = 2.0 / 11.0;
    for factor in [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0] {
        p = p * square + factor;
    }
    let log = power * std::f32::consts::LN_2 + (t * square * p + 2.0 * t);
    let signed = f32::from_bits(log.to_bits() | (x.to_bits() & 0x8000_0000));
    if x.is_nan() { x } else { signed }
}

for_levels! {
    /// `out = bias + from * weights` for all rows that `out` has room for; `block` is a row of biases
    /// and a row of weights for each of the first values of a row, all of `width`.
    pub(crate) fn product(from: Rows<'_>, block: &[f32], width: usize, out: &mut [f32]) =
        product_loop::<lanes::Plain>, product_loop::<lanes::Halves>, product_loop::<lanes::Wide>
}

#[inline(always)]
fn product_loop<L: Lanes>(from: Rows<'_>, block: &[f32], width: usize, out: &mut [f32]) {
    let (biases, weights) = block.split_at(width);
    let inputs = weights.len() / width;
    for first in (0..width).step_by(LANES) {
        let bias = L::load(lanes(&biases[first..]));
        let columns = || weights.chunks_exact(width).map(|row| L::load(lanes(&row[first..])));
        let mut tiles = out.chunks_exact_mut(TILE * width);
        let mut doc = 0;
        for tile in &mut tiles {
            let (a, b) = (from.row(doc, inputs), from.row(doc + 1, inputs));
            let (c, d) = (from.row(doc + 2, inputs), from.row(doc + 3, inputs));
            let (mut e, mut f, mut g, mut h) = (bias, bias, bias, bias);
            for (((a, b), (c, d)), weights) in a.iter().zip(b).zip(c.iter().zip(d)).zip(columns()) {
                e = e.plus(L::splat(*a).times(weights));
                f = f.plus(L::splat(*b).times(weights));
                g = g.plus(L::splat(*c).times(weights));
                h = h.plus(L::splat(*d).times(weights));
            }
            for (row, sums) in tile.chunks_exact_mut(width).zip([e, f, g, h]) {
                sums.store(lanes_mut(&mut row[first..]));
            }
            doc += TILE;
        }
        for row in tiles.into_remainder().chunks_exact_mut(width) {
            let mut sums = bias;
            for (value, weights) in from.row(doc, inputs).iter().zip(columns()) {
                sums = sums.plus(L::splat(*value).times(weights));
            }
            sums.store(lanes_mut(&mut row[first..]));
            doc += 1;
        }
    }
}

/// The first sixteen.
#[inline(always)]
pub(crate) fn lanes(values: &[f32]) -> &[f32; LANES] {
    values.first_chunk().expect("rows are as wide as whole lanes")
}

/// The first sixteen.
#[inline(always)]
pub(crate) fn lanes_mut(values: &mut [f32]) -> &mut [f32; LANES] {
    values.first_chunk_mut().expect("rows are as wide as whole lanes")
}

for_levels! {
    /// The hyperbolic tangent of each value.
    pub(crate) fn tanh(values: &mut [f32]) {
        for value in values {
            *value = tangent(*value);
        }
    }
}

/// tanh(x) with an absolute error below 2e-7: `(1 - e) / (1 + e)` with `e = exp(-2 |x|)`.
#[inline(always)]
fn tangent(x: f32) -> f32 {
    /// Adding it rounds to a whole number, which then stands in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// `ln 2` to the powers, over the factorials: 2^f as a series around 0.
    const SERIES: [f32; 6] = [
        0.000_154_035_3,
        0.001_333_355_8,
        0.009_618_129,
        0.055_504_11,
        0.240_226_5,
        std::f32::consts::LN_2,
    ];
    let size = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    // From 10 on the tangent is 1 in single precision.
    let size = if size > 10.0 { 10.0 } else { size };
    let y = size * (-2.0 * std::f32::consts::LOG2_E);
    let rounded = y + ROUND;
    let whole = rounded - ROUND;
    let f = y - whole;
    let mut p = SERIES[0];
    for factor in &SERIES[1..] {
        p = p * f + factor;
    }
    let p = p * f + 1.0;
    let power = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    let e = p * f32::from_bits(power);
    let tangent = (1.0 - e) / (1.0 + e);
    f32::from_bits(tangent.to_bits() | (x.to_bits() & 0x8000_0000))
}

for_levels! {
    /// The score of each row: `bias` and the sum of its values times `weights`, in double precision.
    pub(crate) fn score(from: Rows<'_>, weights: &[f32], bias: f32, scores: &mut [f64]) {
        for (at, score) in scores.iter_mut().enumerate() {
            let row = from.row(at, weights.len()).as_chunks::<LANES>().0;
            let mut sums = [0.0f64; LANES];
            for (values, weights) in row.iter().zip(weights.as_chunks::<LANES>().0) {
                for lane in 0..LANES {
                    sums[lane] += f64::from(values[lane]) * f64::from(weights[lane]);
                }
            }
            *score = f64::from(bias) + sums.iter().sum::<f64>();
        }
    }
}

/// As many as fill whole lanes.
pub(crate) fn padded(count: usize) -> usize {
    count.next_multiple_of(LANES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    #[test]
    fn the_tangent_is_near() {
        let mut worst = 0.0f64;
        for i in -400_000..=400_000 {
            let x = i as f32 / 20_000.0;
            worst = worst.max((f64::from(tangent(x)) - f64::from(x).tanh()).abs());
        }
        assert!(worst < 2e-7, "{worst}");
        assert_eq!(tangent(0.0), 0.0);
        assert_eq!(tangent(f32::MAX), 1.0);
        assert_eq!(tangent(-30.0), -1.0);
    }

    #[test]
    fn the_logarithm_is_near_and_odd() {
        for i in 0..300_000u32 {
            let x = f32::from_bits(i * 7_000 + 1);
            let exact = f64::from(x).ln_1p();
            assert!((f64::from(signed_log(x)) - exact).abs() <= 1e-6 * exact.max(1.0), "{x}");
            assert_eq!(signed_log(-x), -signed_log(x));
        }
        assert_eq!(signed_log(0.0), 0.0);
        assert!(signed_log(f32::INFINITY).is_finite());
        assert!(signed_log(f32::NAN).is_nan());
    }

    #[test]
    fn all_levels_give_the_same_bits() {
        let random = |i: usize| ((i * 7919 % 1009) as f32 - 500.0) / 170.0;
        let (stride, inputs, width) = (48, 37, 32);
        for docs in [1, 3, 4, 9, 64] {
            let values: Vec<f32> = (0..docs * stride).map(random).collect();
            let block: Vec<f32> = (0..(inputs + 1) * width).map(|i| random(i + 5)).collect();
            let from = Rows { values: &values, stride };
            let mut naive = Vec::new();
            for doc in 0..docs {
                for unit in 0..width {
                    let mut sum = block[unit];
                    for i in 0..inputs {
                        sum += values[doc * stride + i] * block[(i + 1) * width + unit];
                    }
                    naive.push(tangent(sum));
                }
            }
            for level in Level::available() {
                let mut out = vec![0.0; docs * width];
                product(level, from, &block, width, &mut out);
                tanh(level, &mut out);
                assert!(out == naive, "{level:?} {docs}");
            }
        }
    }
}
