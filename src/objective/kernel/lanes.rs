//! Sixteen numbers at a time: the operations of the kernels, whose results are the same bits on
//! every level because each is rounded on its own.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use super::LANES;
use super::pairs::{self, Pairs};
use crate::simd::lanes::{Lanes, Plain};

/// What the loops do with sixteen `f32` beside sums and products.
pub(super) trait PairLanes: Lanes {
    fn minus(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// Lane by lane `yes` where this is above 0, else `no`.
    fn if_positive(self, yes: Self, no: Self) -> Self;
    /// This plus 1 in the lanes where `a < b`.
    fn count_less(self, a: Self, b: Self) -> Self;
    /// The sum of all lanes, by halves: the first eight plus the last eight, and so on.
    #[inline(always)]
    fn sum(self) -> f32 {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0]
    }
    /// The loop over pairs of a shape. A portable one is a function of its own, since those of all
    /// shapes inlined into one run out of registers.
    #[inline(always)]
    fn run<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
        pairs::run::<Self, SHAPE>(pairs)
    }
    /// 2^n from a whole number n that was rounded by adding [`ROUNDER`], n from -126 to 127.
    fn power_of_rounded(self) -> Self;
}

/// Adding it rounds a small number to a whole one, which the low bits then hold.
pub(super) const ROUNDER: f32 = 12_582_912.0;
/// What turns the low bits into an exponent.
pub(super) const EXPONENT: i32 = 127 - ROUNDER.to_bits().cast_signed();

impl PairLanes for Plain {
    #[inline(never)]
    fn run<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
        pairs::run::<Self, SHAPE>(pairs)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.each(other, |a, b| a - b)
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        self.each(other, |a, b| a / b)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(f32::abs))
    }

    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        let mut picked = no;
        for lane in 0..LANES {
            picked.0[lane] = if self.0[lane] > 0.0 { yes.0[lane] } else { no.0[lane] };
        }
        picked
    }

    #[inline(always)]
    fn count_less(mut self, a: Self, b: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] += if a.0[lane] < b.0[lane] { 1.0 } else { 0.0 };
        }
        self
    }

    #[inline(always)]
    fn power_of_rounded(self) -> Self {
        let power =
            |n: f32| f32::from_bits(n.to_bits().wrapping_add(EXPONENT.cast_unsigned()) << 23);
        Self(self.0.map(power))
    }
}

/// exp(x) for x from -87 to 0, and exp(-87) below; relative error below 2e-7.
#[inline(always)]
pub(super) fn exp<L: PairLanes>(x: L) -> L {
    // ln 2 in two parts, of which the first has bits to spare.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let least = L::splat(-87.0);
    let x = x.minus(least).if_positive(x, least);
    let rounded = x.times(L::splat(std::f32::consts::LOG2_E)).plus(L::splat(ROUNDER));
    let whole = rounded.minus(L::splat(ROUNDER));
    let rest = x.minus(whole.times(L::splat(LN_2[0]))).minus(whole.times(L::splat(LN_2[1])));
    // The series of exp, whose next term is below 1e-8 for |rest| <= ln 2 / 2.
    let mut p = L::splat(1.0 / 5040.0);
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.times(rest).plus(L::splat(factor));
    }
    p.times(rounded.power_of_rounded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_near() {
        for i in 0..=87_000 {
            let x = -(i as f32) / 1000.0;
            let near = f64::from(exp(Plain([x; LANES])).0[0]);
            assert!((near / f64::from(x).exp() - 1.0).abs() < 2e-7, "{x}");
        }
        let exp = |x: f32| exp(Plain([x; LANES])).0;
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
        assert_eq!(exp(0.0), [1.0; LANES]);
    }

    #[test]
    fn lanes_are_added_by_halves() {
        let mut lanes = [0.0; LANES];
        (0..LANES).for_each(|lane| lanes[lane] = (lane * lane) as f32);
        assert_eq!(Plain(lanes).sum(), 1240.0);
    }
}
