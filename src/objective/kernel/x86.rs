//! The operations of the pair loops by instructions of x86.
#![expect(unsafe_code, reason = "a kernel: features behind a run-time check")]

use super::lanes::{EXPONENT, PairLanes};
use crate::simd::lanes::{Halves, Wide, by_instructions};
use std::arch::x86_64::{
    _CMP_GT_OQ, _CMP_LT_OQ, _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_andnot_ps,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_div_ps,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_slli_epi32, _mm256_sub_ps,
    _mm512_abs_ps, _mm512_add_epi32, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask,
    _mm512_div_ps, _mm512_mask_add_ps, _mm512_mask_blend_ps, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_slli_epi32, _mm512_sub_ps,
};

impl PairLanes for Wide {
    by_instructions! {
        minus(self: Self, other: Self) -> Self = Self(_mm512_sub_ps(self.0, other.0));
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
        power_of_rounded(self: Self) -> Self = {
            let bits = _mm512_add_epi32(_mm512_castps_si512(self.0), _mm512_set1_epi32(EXPONENT));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(bits)))
        };
    }
}

impl PairLanes for Halves {
    by_instructions! {
        minus(self: Self, other: Self) -> Self =
            Self(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1));
        over(self: Self, other: Self) -> Self =
            Self(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1));
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
