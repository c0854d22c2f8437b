//! The AVX2 kernel: parses a value of up to fifteen bytes at once, without a branch on its form.
//!
//! ```text
//!   "5 -20.988485"     the sixteen bytes before the end
//!   0000000020.988485  the bytes before the digits become 0
//!   0000000020988485   the bytes before the point move onto it
//!   0 .. 20988485      pairs, fours, eights: three multiply-and-add steps
//! ```
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::{CellSink, cells_with, ends_token, last_bytes};
use crate::simd::Level;
use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_madd_epi16, _mm_maddubs_epi16,
    _mm_min_epu8, _mm_movemask_epi8, _mm_packus_epi32, _mm_set_epi64x, _mm_set1_epi8,
    _mm_shuffle_epi8, _mm_sub_epi8,
};
use std::ops::RangeInclusive;

pub(super) fn usual_cells(
    line: &[u8],
    at: usize,
    indices: RangeInclusive<u32>,
    sink: &mut impl CellSink,
) -> (usize, u32) {
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: the caller has checked that the level is available, which has the features of `run`.
    unsafe { run(line, at, indices, sink) }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn run(
    line: &[u8],
    at: usize,
    indices: RangeInclusive<u32>,
    sink: &mut impl CellSink,
) -> (usize, u32) {
    cells_with(line, at, indices, sink, |line, colon, end| usual_value(line, colon, end))
}

/// The value, if it is `-` or nothing, and then up to 15 bytes: digits and at most one point.
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
fn usual_value(line: &[u8], colon: usize, end: usize) -> Option<f32> {
    let first = *line.get(colon + 1)?;
    if line[colon] != b':' || !ends_token(line, end) {
        return None;
    }
    let length = end.wrapping_sub(colon).wrapping_sub(1);
    // A third to a half of real cells have one digit, in runs that branch prediction handles.
    if length == 1 && first.is_ascii_digit() {
        return Some(f32::from(first - b'0'));
    }
    let negative = first == b'-';
    let length = length.wrapping_sub(usize::from(negative));
    if length.wrapping_sub(1) >= 15 {
        return None;
    }
    let text = vector(last_bytes(line, end)?);
    let digits = _mm_sub_epi8(text, _mm_set1_epi8(b'0'.cast_signed()));
    let nine = _mm_set1_epi8(9);
    let is_digit = bits(_mm_cmpeq_epi8(_mm_min_epu8(digits, nine), digits));
    let is_point = bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'.'.cast_signed())));
    let value_bytes = (0xffff << (16 - length)) & 0xffff;
    let point = is_point & value_bytes;
    // All digits, or all but one, which is the point.
    if (is_digit | point) & value_bytes != value_bytes || point & point.wrapping_sub(1) != 0 {
        return None;
    }
    // A point alone is no number.
    if point == value_bytes {
        return None;
    }
    let at = (point | 0x1_0000).trailing_zeros() as usize;
    let kept = _mm_and_si128(digits, vector(KEEP[length]));
    let joined = _mm_shuffle_epi8(kept, vector(JOIN[at]));
    let mantissa = mantissa(joined) as f64;
    let value = (mantissa / SCALE[at]) as f32;
    // The sign is set after the division, and 0 has none.
    Some(if negative { 0.0 - value } else { value })
}

/// The number that sixteen digits spell.
#[target_feature(enable = "avx2")]
#[inline]
fn mantissa(digits: __m128i) -> i64 {
    const PAIRS: [u8; 16] = [10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1];
    const FOURS: [u8; 16] = [100, 0, 1, 0, 100, 0, 1, 0, 100, 0, 1, 0, 100, 0, 1, 0];
    const EIGHTS: [u8; 16] = [16, 39, 1, 0, 16, 39, 1, 0, 16, 39, 1, 0, 16, 39, 1, 0];
    let pairs = _mm_maddubs_epi16(digits, vector(PAIRS));
    let fours = _mm_madd_epi16(pairs, vector(FOURS));
    let eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), vector(EIGHTS));
    let both = _mm_cvtsi128_si64(eights);
    (both & 0xffff_ffff) * 100_000_000 + (both >> 32)
}

/// Sixteen bytes as a vector, the first byte the lowest.
#[target_feature(enable = "avx2")]
#[inline]
fn vector(bytes: [u8; 16]) -> __m128i {
    let both = u128::from_le_bytes(bytes);
    _mm_set_epi64x(((both >> 64) as u64).cast_signed(), (both as u64).cast_signed())
}

/// The high bit of each byte.
#[target_feature(enable = "avx2")]
#[inline]
fn bits(bytes: __m128i) -> u32 {
    _mm_movemask_epi8(bytes).cast_unsigned()
}

/// `KEEP[length]`: ones in the last `length` bytes.
static KEEP: [[u8; 16]; 16] = {
    let mut masks = [[0; 16]; 16];
    let mut length = 0;
    while length < 16 {
        let mut i = 16 - length;
        while i < 16 {
            masks[length][i] = 0xff;
            i += 1;
        }
        length += 1;
    }
    masks
};

/// `JOIN[at]`: moves the bytes before a point at `at` onto it; 16 is no point.
static JOIN: [[u8; 16]; 17] = {
    let mut moves = [[0; 16]; 17];
    let mut at = 0;
    while at < 17 {
        let mut i = 0;
        while i < 16 {
            let from_before = i <= at && at < 16;
            // 0x80 makes a 0.
            moves[at][i] = if !from_before {
                i as u8
            } else if i == 0 {
                0x80
            } else {
                i as u8 - 1
            };
            i += 1;
        }
        at += 1;
    }
    moves
};

/// `SCALE[at]`: the power of ten of the digits behind a point at `at`.
static SCALE: [f64; 17] = {
    let mut scale = [1.0; 17];
    let mut at = 15;
    while at > 0 {
        scale[at - 1] = scale[at] * 10.0;
        at -= 1;
    }
    scale
};
