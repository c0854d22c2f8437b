//! Sixteen numbers at a time: the operations of the kernels, whose results are the same bits on
//! every level because each is rounded on its own.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use super::LANES;

/// Sixteen `f32`.
pub(super) trait Lanes: Copy {
    fn splat(value: f32) -> Self;
    fn load(values: &[f32; LANES]) -> Self;
    fn store(self, values: &mut [f32; LANES]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// Lane by lane `yes` where this is above 0, else `no`.
    fn if_positive(self, yes: Self, no: Self) -> Self;
    /// This plus 1 in the lanes where `a < b`.
    fn count_less(self, a: Self, b: Self) -> Self;
    /// The sum of all lanes, by halves: the first eight plus the last eight, and so on.
    fn sum(self) -> f32;
    /// 2^n from a whole number n that was rounded by adding [`ROUNDER`], n from -126 to 127.
    fn power_of_rounded(self) -> Self;
}

/// Adding it rounds a small number to a whole one, which the low bits then hold.
pub(super) const ROUNDER: f32 = 12_582_912.0;
/// What turns the low bits into an exponent.
pub(super) const EXPONENT: i32 = 127 - ROUNDER.to_bits().cast_signed();

impl Lanes for [f32; LANES] {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; LANES]
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        *values
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        *values = self;
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        each(self, other, |a, b| a + b)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        each(self, other, |a, b| a - b)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        each(self, other, |a, b| a * b)
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        each(self, other, |a, b| a / b)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f32::abs)
    }

    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        let mut picked = no;
        for lane in 0..LANES {
            picked[lane] = if self[lane] > 0.0 { yes[lane] } else { no[lane] };
        }
        picked
    }

    #[inline(always)]
    fn count_less(self, a: Self, b: Self) -> Self {
        let mut counts = self;
        for lane in 0..LANES {
            counts[lane] += if a[lane] < b[lane] { 1.0 } else { 0.0 };
        }
        counts
    }

    #[inline(always)]
    fn sum(mut self) -> f32 {
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                self[lane] += self[lane + half];
            }
            half /= 2;
        }
        self[0]
    }

    #[inline(always)]
    fn power_of_rounded(self) -> Self {
        self.map(|n| f32::from_bits(n.to_bits().wrapping_add(EXPONENT.cast_unsigned()) << 23))
    }
}

#[inline(always)]
fn each(a: [f32; LANES], b: [f32; LANES], operation: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    let mut result = a;
    for lane in 0..LANES {
        result[lane] = operation(a[lane], b[lane]);
    }
    result
}

/// exp(x) for x from -87 to 0, and exp(-87) below; relative error below 2e-7.
#[inline(always)]
pub(super) fn exp<L: Lanes>(x: L) -> L {
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
            let near = f64::from(exp([x; LANES])[0]);
            assert!((near / f64::from(x).exp() - 1.0).abs() < 2e-7, "{x}");
        }
        assert_eq!(exp([f32::NEG_INFINITY; LANES]), exp([-87.0; LANES]));
        assert_eq!(exp([0.0; LANES]), [1.0; LANES]);
    }

    #[test]
    fn lanes_are_added_by_halves() {
        let mut lanes = [0.0; LANES];
        (0..LANES).for_each(|lane| lanes[lane] = (lane * lane) as f32);
        assert_eq!(lanes.sum(), 1240.0);
    }
}
