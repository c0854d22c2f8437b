//! Leaf values from registers: up to 64 of them, as the low and the high halves of their bits.

use super::super::{Lane, portable};
use std::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm512_add_pd, _mm512_castsi512_pd, _mm512_cvtepu8_epi32,
    _mm512_loadu_pd, _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_permutex2var_epi32,
    _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_storeu_pd,
    _mm512_test_epi32_mask, _mm512_unpackhi_epi32, _mm512_unpacklo_epi32,
};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2")]
pub(in super::super) fn add(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    let (parts, _) = values.as_chunks::<32>();
    match parts {
        [one] => look_up::<false>(leaves, [one, one], sums),
        [one, two] => look_up::<true>(leaves, [one, two], sums),
        _ => portable::add(leaves, values, sums),
    }
}

/// 32 values.
struct Halves {
    low: [__m512i; 2],
    high: [__m512i; 2],
}

impl Halves {
    #[target_feature(enable = "avx512f")]
    fn new(values: &[f64; 32]) -> Self {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        let (eights, _) = values.as_chunks::<8>();
        // SAFETY: each load reads eight `f64`.
        let [a, b, c, d] = [&eights[0], &eights[1], &eights[2], &eights[3]]
            .map(|eight| unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) });
        Self {
            low: [_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(c, even, d)],
            high: [_mm512_permutex2var_epi32(a, odd, b), _mm512_permutex2var_epi32(c, odd, d)],
        }
    }

    /// The low and the high halves of sixteen of the values.
    #[target_feature(enable = "avx512f")]
    fn at(&self, at: __m512i) -> (__m512i, __m512i) {
        (
            _mm512_permutex2var_epi32(self.low[0], at, self.low[1]),
            _mm512_permutex2var_epi32(self.high[0], at, self.high[1]),
        )
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn look_up<const TWO: bool>(leaves: &[Lane], parts: [&[f64; 32]; 2], sums: &mut [f64]) {
    let (first, second) = (Halves::new(parts[0]), Halves::new(parts[1]));
    // Where the interleaving below takes its docs from, so that they come out in order.
    let order = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    let (sums, _) = sums.as_chunks_mut::<64>();
    for i in 0..leaves.len().min(sums.len()) {
        let (leaves, _) = leaves[i].0.as_chunks::<16>();
        let (sums, _) = sums[i].as_chunks_mut::<8>();
        for j in 0..4 {
            // SAFETY: the load reads sixteen bytes.
            let at = unsafe { _mm_loadu_si128(leaves[j].as_ptr().cast()) };
            let at = _mm512_permutexvar_epi32(order, _mm512_cvtepu8_epi32(at));
            let (mut low, mut high) = first.at(at);
            if TWO {
                let beyond = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
                let (low2, high2) = second.at(at);
                low = _mm512_mask_blend_epi32(beyond, low, low2);
                high = _mm512_mask_blend_epi32(beyond, high, high2);
            }
            add_eight(&mut sums[2 * j], _mm512_unpacklo_epi32(low, high));
            add_eight(&mut sums[2 * j + 1], _mm512_unpackhi_epi32(low, high));
        }
    }
}

/// Adds the values of which these are the bits.
#[target_feature(enable = "avx512f")]
fn add_eight(sums: &mut [f64; 8], bits: __m512i) {
    // SAFETY: the load reads eight `f64`, and the store writes them.
    unsafe {
        let sum = _mm512_add_pd(_mm512_loadu_pd(sums.as_ptr()), _mm512_castsi512_pd(bits));
        _mm512_storeu_pd(sums.as_mut_ptr(), sum);
    }
}
