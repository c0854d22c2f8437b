//! Functions of sixteen numbers without a library's `exp` and `ln`, whose last bits differ from
//! machine to machine and which take one number at a time.

use super::LANES;
use crate::hash;

/// Adds sixteen numbers up, in halves.
#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
pub(super) fn sum(lanes: &[f32; LANES]) -> f32 {
    let mut sums = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Adding it rounds a small number to a whole one, which the low bits then hold.
const ROUNDER: f32 = 12_582_912.0;

/// exp(x) for x from -87 to 0, and exp(-87) below; relative error below 2e-7.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // ln 2 in two parts, of which the first has bits to spare.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x = if x < -87.0 { -87.0 } else { x };
    let rounded = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = (x - whole * LN_2[0]) - whole * LN_2[1];
    // The series of exp, whose next term is below 1e-8 for |rest| <= ln 2 / 2.
    let mut p = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p * rest + factor;
    }
    let power = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(power)
}

/// ln(x) for positive normal x; relative error below 3e-7, also near 1.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // x = 2^power m with m from sqrt(1/2) to sqrt(2).
    const ROOT: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let shifted = x.to_bits().wrapping_sub(ROOT);
    let power = (shifted.cast_signed() >> 23) as f32;
    let m = f32::from_bits((shifted & 0x7f_ffff).wrapping_add(ROOT));
    // ln m = 2 artanh t
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let mut p = 2.0 / 11.0;
    for factor in [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0] {
        p = p * square + factor;
    }
    let tail = t * square * p + 2.0 * t;
    power * std::f32::consts::LN_2 + tail
}

#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
pub(super) fn exps(sigma: f32, scores: &[f32], exps: &mut [f32]) {
    let scores = scores.as_chunks::<LANES>().0;
    for (exps, scores) in exps.as_chunks_mut::<LANES>().0.iter_mut().zip(scores) {
        for lane in 0..LANES {
            exps[lane] = exp(sigma * scores[lane]);
        }
    }
}

/// `-ln(-ln u)` for u from the upper 23 bits, in the middle of its interval.
#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
fn gumbel(bits: u64) -> f32 {
    let u = ((bits >> 41) as u32 as f32 + 0.5) * (1.0 / (1u32 << 23) as f32);
    -ln(-ln(u))
}

#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
pub(super) fn perturb(
    (scale, stream): (f32, u64),
    (doc_hash, scores): (&[u64], &[f32]),
    perturbed: &mut [f32],
) {
    let docs = doc_hash.iter().zip(scores);
    for (perturbed, (&id, &score)) in perturbed.iter_mut().zip(docs) {
        *perturbed = score + scale * gumbel(hash::draw_in(stream, id));
    }
}

#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
pub(super) fn ranks(scores: &[f32], ranks: &mut [u32]) {
    let blocks = scores.as_chunks::<LANES>().0;
    for (at, ranks) in ranks.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mine = &blocks[at];
        let mut counts = [0u32; LANES];
        for &other in blocks[..at].as_flattened() {
            for lane in 0..LANES {
                counts[lane] = counts[lane].wrapping_add(u32::from(other >= mine[lane]));
            }
        }
        for (place, &other) in mine.iter().enumerate() {
            for lane in 0..LANES {
                let ahead = other > mine[lane] || (other == mine[lane] && place < lane);
                counts[lane] = counts[lane].wrapping_add(u32::from(ahead));
            }
        }
        for &other in blocks[at + 1..].as_flattened() {
            for lane in 0..LANES {
                counts[lane] = counts[lane].wrapping_add(u32::from(other > mine[lane]));
            }
        }
        *ranks = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_near() {
        for i in 0..=87_000 {
            let x = -(i as f32) / 1000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 2e-7, "{x}");
        }
        assert_eq!(exp(-1e30), exp(-87.0));
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn ln_is_near() {
        let values = (1..200_000).map(|i| i as f32 / 8192.0);
        let near_one = (1..100)
            .flat_map(|i| [1.0 - i as f32 * f32::EPSILON / 2.0, 1.0 + i as f32 * f32::EPSILON]);
        for x in values.chain(near_one).chain([f32::MIN_POSITIVE, f32::MAX]) {
            let exact = f64::from(x).ln();
            assert!((f64::from(ln(x)) - exact).abs() <= 3e-7 * exact.abs(), "{x}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn gumbel_draws_have_their_mean_and_variance() {
        let n = 200_000u64;
        let draws = (0..n).map(|id| f64::from(gumbel(hash::draw(3, 1, id))));
        let (sum, squares) = draws.fold((0.0, 0.0), |(s, q), g| (s + g, q + g * g));
        let mean = sum / n as f64;
        assert!((mean - 0.577_216).abs() < 0.01, "{mean}");
        let variance = squares / n as f64 - mean * mean;
        assert!((variance - 1.644_934).abs() < 0.03, "{variance}");
        assert!(gumbel(0).is_finite() && gumbel(u64::MAX).is_finite());
    }
}
