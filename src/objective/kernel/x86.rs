//! The loops compiled for x86 levels.
#![expect(unsafe_code, reason = "a kernel: features behind a run-time check")]

use super::lanes::{EXPONENT, Lanes};
use super::{LANES, Pairs, math, pairs as loops};
use crate::simd::Level;
use std::arch::x86_64::{
    __m256, __m512, _CMP_GT_OQ, _CMP_LT_OQ, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps,
    _mm_shuffle_ps, _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_andnot_ps,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castps256_ps128, _mm256_castsi256_ps,
    _mm256_cmp_ps, _mm256_div_ps, _mm256_extractf128_ps, _mm256_loadu_ps, _mm256_mul_ps,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_slli_epi32, _mm256_storeu_ps,
    _mm256_sub_ps, _mm512_abs_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_castps_si512,
    _mm512_castps512_ps256, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_div_ps,
    _mm512_extractf32x8_ps, _mm512_loadu_ps, _mm512_mask_add_ps, _mm512_mask_blend_ps,
    _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_slli_epi32,
    _mm512_storeu_ps, _mm512_sub_ps,
};

/// One register of sixteen.
#[derive(Clone, Copy)]
struct Wide(__m512);

/// Two of eight.
#[derive(Clone, Copy)]
struct Halves(__m256, __m256);

/// Functions of [`Lanes`] by instructions.
macro_rules! by_instructions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: only loops compiled for this level have such lanes, and `Kernels` runs them
            // only where the level is available; loads and stores are of sixteen `f32`, unaligned.
            unsafe { $body }
        }
    )*};
}

impl Lanes for Wide {
    by_instructions! {
        splat(value: f32) -> Self = Self(_mm512_set1_ps(value));
        load(values: &[f32; LANES]) -> Self = Self(_mm512_loadu_ps(values.as_ptr()));
        store(self: Self, values: &mut [f32; LANES]) =
            _mm512_storeu_ps(values.as_mut_ptr(), self.0);
        plus(self: Self, other: Self) -> Self = Self(_mm512_add_ps(self.0, other.0));
        minus(self: Self, other: Self) -> Self = Self(_mm512_sub_ps(self.0, other.0));
        times(self: Self, other: Self) -> Self = Self(_mm512_mul_ps(self.0, other.0));
        over(self: Self, other: Self) -> Self = Self(_mm512_div_ps(self.0, other.0));
        abs(self: Self) -> Self = Self(_mm512_abs_ps(self.0));
        if_positive(self: Self, yes: Self, no: Self) -> Self = {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, _mm512_setzero_ps());
            Self(_mm512_mask_blend_ps(positive, no.0, yes.0))
        };
        count_less(self: Self, a: Self, b: Self) -> Self = {
            let less = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a.0, b.0);
            Self(_mm512_mask_add_ps(self.0, less, self.0, _mm512_set1_ps(1.0)))
        };
        sum(self: Self) -> f32 = {
            let high = _mm512_extractf32x8_ps::<1>(self.0);
            Halves(_mm512_castps512_ps256(self.0), high).sum()
        };
        power_of_rounded(self: Self) -> Self = {
            let bits = _mm512_add_epi32(_mm512_castps_si512(self.0), _mm512_set1_epi32(EXPONENT));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(bits)))
        };
    }
}

/// The same for both halves.
macro_rules! both {
    ($operation:ident, $self:ident, $other:ident) => {
        Self($operation($self.0, $other.0), $operation($self.1, $other.1))
    };
}

impl Lanes for Halves {
    by_instructions! {
        splat(value: f32) -> Self = Self(_mm256_set1_ps(value), _mm256_set1_ps(value));
        load(values: &[f32; LANES]) -> Self =
            Self(_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(LANES / 2)));
        store(self: Self, values: &mut [f32; LANES]) = {
            _mm256_storeu_ps(values.as_mut_ptr(), self.0);
            _mm256_storeu_ps(values.as_mut_ptr().add(LANES / 2), self.1);
        };
        plus(self: Self, other: Self) -> Self = both!(_mm256_add_ps, self, other);
        minus(self: Self, other: Self) -> Self = both!(_mm256_sub_ps, self, other);
        times(self: Self, other: Self) -> Self = both!(_mm256_mul_ps, self, other);
        over(self: Self, other: Self) -> Self = both!(_mm256_div_ps, self, other);
        abs(self: Self) -> Self = {
            let sign = _mm256_set1_ps(-0.0);
            Self(_mm256_andnot_ps(sign, self.0), _mm256_andnot_ps(sign, self.1))
        };
        if_positive(self: Self, yes: Self, no: Self) -> Self = {
            let zero = _mm256_setzero_ps();
            let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, zero);
            let positive_too = _mm256_cmp_ps::<_CMP_GT_OQ>(self.1, zero);
            Self(
                _mm256_blendv_ps(no.0, yes.0, positive),
                _mm256_blendv_ps(no.1, yes.1, positive_too),
            )
        };
        count_less(self: Self, a: Self, b: Self) -> Self = {
            let one = _mm256_set1_ps(1.0);
            let less = _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a.0, b.0), one);
            let less_too = _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a.1, b.1), one);
            Self(_mm256_add_ps(self.0, less), _mm256_add_ps(self.1, less_too))
        };
        sum(self: Self) -> f32 = {
            let eight = _mm256_add_ps(self.0, self.1);
            let high = _mm256_extractf128_ps::<1>(eight);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), high);
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        };
        power_of_rounded(self: Self) -> Self = {
            let offset = _mm256_set1_epi32(EXPONENT);
            let low = _mm256_add_epi32(_mm256_castps_si256(self.0), offset);
            let high = _mm256_add_epi32(_mm256_castps_si256(self.1), offset);
            Self(
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(low)),
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(high)),
            )
        };
    }
}

macro_rules! compiled_for {
    ($name:ident, $lanes:ident, $level:expr, $features:literal) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn pairs<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
                #[target_feature(enable = $features)]
                fn run<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
                    loops::run::<$lanes, SHAPE>(pairs)
                }
                debug_assert!($level.is_available());
                // SAFETY: `Kernels::new` takes a level only if it `is_available`, which checks the
                // features that `run` is compiled for.
                unsafe { run::<SHAPE>(pairs) }
            }

            pub(in super::super) fn shift(scores: &[f64], clean: &mut [f32]) -> (f32, bool) {
                #[target_feature(enable = $features)]
                fn run(scores: &[f64], clean: &mut [f32]) -> (f32, bool) {
                    math::shift(scores, clean)
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(scores, clean) }
            }

            pub(in super::super) fn exps(sigma: f32, scores: &[f32], exps: &mut [f32]) {
                #[target_feature(enable = $features)]
                fn run(sigma: f32, scores: &[f32], exps: &mut [f32]) {
                    math::exps::<$lanes>(sigma, scores, exps);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(sigma, scores, exps) }
            }

            pub(in super::super) fn perturb(
                noise: (f32, u64),
                docs: (&[u64], &[f32]),
                perturbed: &mut [f32],
            ) {
                #[target_feature(enable = $features)]
                fn run(noise: (f32, u64), docs: (&[u64], &[f32]), perturbed: &mut [f32]) {
                    math::perturb(noise, docs, perturbed);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(noise, docs, perturbed) }
            }

            pub(in super::super) fn above(scores: &[f32], counts: &mut [f32]) {
                #[target_feature(enable = $features)]
                fn run(scores: &[f32], counts: &mut [f32]) {
                    math::above::<$lanes>(scores, counts);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(scores, counts) }
            }
        }
    };
}

compiled_for!(avx2, Halves, Level::Avx2, "avx2,bmi1,bmi2,popcnt");
compiled_for!(avx512, Wide, Level::Avx512, "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt");
