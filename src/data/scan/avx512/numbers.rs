//! Parses four indices and four values at once, each in the lanes of a vector.
//!
//! The steps of a value are those of the AVX2 kernel, except that the digits after the point move onto it.

use super::LANES;
use bytemuck::cast;
use std::arch::x86_64::{
    __m128, __m128i, __m256d, __m512i, _mm_alignr_epi8, _mm_cmpeq_epi16, _mm_cmpgt_epi32_mask,
    _mm_cmple_epi32_mask, _mm_cmplt_epu32_mask, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_mask_sub_ps, _mm_popcnt_epi16, _mm_set1_epi32, _mm_setzero_ps, _mm_setzero_si128,
    _mm_sub_epi32, _mm_test_epi16_mask, _mm256_add_epi64, _mm256_castsi128_si256,
    _mm256_cmpgt_epu8_mask, _mm256_cvtepi64_epi32, _mm256_cvtepi64_pd, _mm256_cvtepu32_epi64,
    _mm256_cvtpd_ps, _mm256_div_pd, _mm256_inserti128_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_mul_epu32, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_sllv_epi64, _mm256_srli_epi64,
    _mm256_srlv_epi64, _mm256_sub_epi8, _mm256_sub_epi64, _mm512_add_epi8, _mm512_broadcast_i32x4,
    _mm512_bsrli_epi128, _mm512_castpd512_pd256, _mm512_castsi256_si512, _mm512_cmpeq_epi8_mask,
    _mm512_cmpgt_epu8_mask, _mm512_cmple_epu8_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi64,
    _mm512_inserti64x4, _mm512_madd_epi16, _mm512_maddubs_epi16, _mm512_mask_blend_epi8,
    _mm512_maskz_mov_epi8, _mm512_permutex2var_pd, _mm512_set_epi32, _mm512_set_pd,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_shuffle_epi8, _mm512_sub_epi8,
};

/// The places of some cells: index `i` in `blanks[i] + 1..colons[i]`, value in `colons[i] + 1..ends[i]`.
pub(super) struct Places {
    pub(super) blanks: __m128i,
    pub(super) colons: __m128i,
    pub(super) ends: __m128i,
}

impl Places {
    /// Parses the cells from the sixteen bytes before each end and the eight before each colon. Returns
    /// indices, values and how many are valid: those before the first that is unusual, or whose index
    /// does not rise from `next` or is above `highest`.
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
    )]
    #[inline]
    pub(super) fn read(
        &self,
        texts: [__m128i; LANES],
        words: [u64; LANES],
        next: u32,
        highest: u32,
    ) -> ([u32; LANES], [f32; LANES], usize) {
        let one = _mm_set1_epi32(1);
        let index_lengths = _mm_sub_epi32(_mm_sub_epi32(self.colons, self.blanks), one);
        let value_lengths = _mm_sub_epi32(_mm_sub_epi32(self.ends, self.colons), one);
        // As unsigned numbers: a negative length is a large one.
        let fits = _mm_cmplt_epu32_mask(_mm_sub_epi32(index_lengths, one), _mm_set1_epi32(8))
            & _mm_cmplt_epu32_mask(_mm_sub_epi32(value_lengths, one), _mm_set1_epi32(15));
        let (indices, no_index) = indices(words, index_lengths);
        let (values, no_value) = values(texts, value_lengths);
        let before =
            _mm_alignr_epi8::<12>(indices, _mm_set1_epi32(next.cast_signed().wrapping_sub(1)));
        let rises = _mm_cmpgt_epi32_mask(indices, before)
            & _mm_cmple_epi32_mask(indices, _mm_set1_epi32(highest.cast_signed()));
        let usual = (fits & rises)
            .trailing_ones()
            .min(no_index.trailing_zeros() / 8)
            .min(no_value.trailing_zeros() / 16);
        (cast(indices), cast(values), usual as usize)
    }
}

/// The numbers before the colons; a set bit in the byte of a lane marks an invalid one.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn indices(words: [u64; LANES], lengths: __m128i) -> (__m128i, u32) {
    let words = words.map(u64::cast_signed);
    let text = _mm256_set_epi64x(words[3], words[2], words[1], words[0]);
    let digits = _mm256_sub_epi8(text, _mm256_set1_epi8(b'0'.cast_signed()));
    let bits = _mm256_slli_epi64::<3>(_mm256_cvtepu32_epi64(lengths));
    let others = _mm256_sub_epi64(_mm256_set1_epi64x(64), bits);
    let digits = _mm256_sllv_epi64(_mm256_srlv_epi64(digits, others), others);
    let no_digit = _mm256_cmpgt_epu8_mask(digits, _mm256_set1_epi8(9));
    let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
    let high = _mm256_mul_epu32(fours, _mm256_set1_epi64x(10_000));
    let eights = _mm256_add_epi64(high, _mm256_srli_epi64::<32>(fours));
    (_mm256_cvtepi64_epi32(eights), no_digit)
}

/// The numbers before the ends; a set bit in the sixteen of a lane marks an invalid one.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bitalg")]
#[inline]
pub(super) fn values(texts: [__m128i; LANES], lengths: __m128i) -> (__m128, u64) {
    let [a, b, c, d] = texts;
    let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
    let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
    let text = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    let digits = _mm512_sub_epi8(text, _mm512_set1_epi8(b'0'.cast_signed()));
    let is_digit = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9));
    let is_point = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(b'.'.cast_signed()));
    let is_minus = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(b'-'.cast_signed()));
    let value = last_of_16(lengths);
    // No value has sixteen bytes, so what is shifted or carried out of a lane meets no value in the
    // next.
    let minus = is_minus & value & !(value << 1);
    let (point, digit) = (is_point & value, is_digit & value);
    // A point added to the ones of its value clears those from there on, and leaves a second point.
    let before = value.wrapping_add(point);
    let behind = value & !before;
    let no_digit = word(_mm_cmpeq_epi16(words(digit), _mm_setzero_si128()));
    let wrong = (value ^ minus ^ point ^ digit) | (before & point) | no_digit;
    // The bytes after the point move onto it. That leaves a 0 at the end, so the power of ten is the
    // number of bytes from the point on.
    let kept = _mm512_maskz_mov_epi8(digit, digits);
    let joined = _mm512_mask_blend_epi8(behind, kept, _mm512_bsrli_epi128::<1>(kept));
    let powers = _mm_popcnt_epi16(words(behind));
    let quotients = _mm256_div_pd(mantissas(joined), scales(powers));
    let found = _mm256_cvtpd_ps(quotients);
    // The sign is set after the division, and 0 has none.
    let negative = _mm_test_epi16_mask(words(minus), words(minus));
    let signed = _mm_mask_sub_ps(found, negative, _mm_setzero_ps(), found);
    (signed, wrong)
}

/// A bit for each of the last `length` bytes of sixteen, for each lane.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn last_of_16(lengths: __m128i) -> u64 {
    let first_bytes = _mm512_set_epi32(
        0x0c0c_0c0c,
        0x0c0c_0c0c,
        0x0c0c_0c0c,
        0x0c0c_0c0c,
        0x0808_0808,
        0x0808_0808,
        0x0808_0808,
        0x0808_0808,
        0x0404_0404,
        0x0404_0404,
        0x0404_0404,
        0x0404_0404,
        0,
        0,
        0,
        0,
    );
    let lengths = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(lengths), first_bytes);
    let places = _mm512_broadcast_i32x4(cast(*COUNTING.first_chunk::<16>().unwrap_or(&[0; 16])));
    _mm512_cmpgt_epu8_mask(_mm512_add_epi8(places, lengths), _mm512_set1_epi8(15))
}

/// The number that the sixteen digits of each lane spell.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn mantissas(digits: __m512i) -> __m256d {
    let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
    let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
    let packed = _mm512_cvtepi32_epi16(fours);
    let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x0001_2710));
    let high = _mm256_mul_epu32(eights, _mm256_set1_epi64x(100_000_000));
    _mm256_cvtepi64_pd(_mm256_add_epi64(high, _mm256_srli_epi64::<32>(eights)))
}

/// The powers of ten of four words below 16.
#[target_feature(enable = "avx512f")]
#[inline]
fn scales(powers: __m128i) -> __m256d {
    let low = _mm512_set_pd(1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0);
    let high = _mm512_set_pd(1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8);
    let scales = _mm512_permutex2var_pd(low, _mm512_cvtepu16_epi64(powers), high);
    _mm512_castpd512_pd256(scales)
}

/// A word of sixteen bits a lane.
#[target_feature(enable = "avx512f")]
#[inline]
fn words(bits: u64) -> __m128i {
    _mm_cvtsi64_si128(bits.cast_signed())
}

/// The inverse of [`words`].
#[target_feature(enable = "avx512f")]
#[inline]
fn word(words: __m128i) -> u64 {
    _mm_cvtsi128_si64(words).cast_unsigned()
}

/// 0, 1, 2, ...
pub(super) static COUNTING: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};
