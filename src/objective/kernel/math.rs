//! Functions of sixteen numbers without a library's `exp` and `ln`, whose last bits differ from
//! machine to machine and which take one number at a time.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use super::LANES;
use super::lanes::{PairLanes, exp};
use crate::random;
use crate::simd::for_levels;

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

for_levels! {
    /// `exps[i] = exp(sigma * scores[i])`; scores are at most 0.
    pub(crate) fn exps(sigma: f32, scores: &[f32], exps: &mut [f32]) = exps_loop<Lanes>
}

#[inline(always)]
fn exps_loop<L: PairLanes>(sigma: f32, scores: &[f32], exps: &mut [f32]) {
    let scores = scores.as_chunks::<LANES>().0;
    for (exps, scores) in exps.as_chunks_mut::<LANES>().0.iter_mut().zip(scores) {
        exp(L::splat(sigma).times(L::load(scores))).store(exps);
    }
}

for_levels! {
    /// `clean[i] = scores[i] - best` in 32 bits, with pads of -inf; the worst of them, and whether all
    /// scores are finite.
    pub(crate) fn shift(scores: &[f64], clean: &mut [f32]) -> (f32, bool) {
        // A number that is not finite makes a sum NaN.
        let (mut best, mut zeros) = ([f64::NEG_INFINITY; 8], [0.0; 8]);
        let (steps, rest) = scores.as_chunks::<8>();
        for step in steps {
            for lane in 0..8 {
                best[lane] = if step[lane] > best[lane] { step[lane] } else { best[lane] };
                zeros[lane] += step[lane] * 0.0;
            }
        }
        for &score in rest {
            best[0] = if score > best[0] { score } else { best[0] };
            zeros[0] += score * 0.0;
        }
        let best = best.into_iter().fold(f64::NEG_INFINITY, f64::max);
        clean.fill(f32::NEG_INFINITY);
        for (clean, score) in clean.iter_mut().zip(scores) {
            let below = (score - best) as f32;
            *clean = if below < f32::MIN { f32::MIN } else { below };
        }
        let mut worst = [0.0f32; LANES];
        for step in clean.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                let real = step[lane] >= f32::MIN && step[lane] < worst[lane];
                worst[lane] = if real { step[lane] } else { worst[lane] };
            }
        }
        (worst.into_iter().fold(0.0, f32::min), zeros.iter().all(|zero| *zero == 0.0))
    }
}

/// `-ln(-ln u)` for u from the upper 23 bits, in the middle of its interval.
#[inline(always)]
fn gumbel(bits: u64) -> f32 {
    let u = ((bits >> 41) as u32 as f32 + 0.5) * (1.0 / (1u32 << 23) as f32);
    -ln(-ln(u))
}

for_levels! {
    /// `perturbed[i] = scores[i] + scale * g`, with `g` the Gumbel draw of doc i in `stream`, a
    /// prepared stream of [`crate::hash`].
    pub(crate) fn perturb(noise: (f32, u64), docs: (&[u64], &[f32]), perturbed: &mut [f32]) {
        let ((scale, stream), (doc_hash, scores)) = (noise, docs);
        for (perturbed, (&id, &score)) in perturbed.iter_mut().zip(doc_hash.iter().zip(scores)) {
            *perturbed = score + scale * gumbel(random::draw_in(stream, id));
        }
    }
}

for_levels! {
    /// `counts[i]`: how many docs have a higher score than doc i.
    pub(crate) fn above(scores: &[f32], counts: &mut [f32]) = above_loop<Lanes>
}

#[inline(always)]
fn above_loop<L: PairLanes>(scores: &[f32], counts: &mut [f32]) {
    let steps = scores.as_chunks::<LANES>().0;
    for (counts, mine) in counts.as_chunks_mut::<LANES>().0.iter_mut().zip(steps) {
        let mine = L::load(mine);
        // Two sums, for additions that do not wait for each other.
        let mut sums = [L::splat(0.0); 2];
        for pair in scores.as_chunks::<2>().0 {
            sums[0] = sums[0].count_less(mine, L::splat(pair[0]));
            sums[1] = sums[1].count_less(mine, L::splat(pair[1]));
        }
        sums[0].plus(sums[1]).store(counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let draws = (0..n).map(|id| f64::from(gumbel(random::draw(3, 1, id))));
        let (sum, squares) = draws.fold((0.0, 0.0), |(s, q), g| (s + g, q + g * g));
        let mean = sum / n as f64;
        assert!((mean - 0.577_216).abs() < 0.01, "{mean}");
        let variance = squares / n as f64 - mean * mean;
        assert!((variance - 1.644_934).abs() < 0.03, "{variance}");
        assert!(gumbel(0).is_finite() && gumbel(u64::MAX).is_finite());
    }
}
