//! Leaf values from registers, piece by piece: 64 numbers at a time.
//!
//! A piece of a value, a byte to four, is looked up for as many docs as fit a register; interleaving
//! the pieces gives values, of eight docs each. Numbers are brought into the order in which docs come
//! out of that.

use super::super::Lane;
use super::load;
use std::arch::x86_64::{
    __m512i, _mm512_add_pd, _mm512_castsi512_pd, _mm512_loadu_pd, _mm512_mask_blend_epi8,
    _mm512_movepi8_mask, _mm512_permutex2var_epi8, _mm512_permutex2var_epi16,
    _mm512_permutex2var_epi32, _mm512_permutexvar_epi8, _mm512_srli_epi16, _mm512_srli_epi32,
    _mm512_storeu_pd, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32,
    _mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32,
};

/// Adds to each sum the value of its number.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline(never)]
pub(super) fn add(numbers: &[__m512i], table: &[Lane], sums: &mut [f64]) {
    let sums = sums.as_chunks_mut::<64>().0.iter_mut().zip(numbers);
    if let Some(table) = table.first_chunk::<32>() {
        sums.for_each(|(sums, &numbers)| of_256(numbers, table, sums));
    } else if let Some(table) = table.first_chunk::<16>() {
        sums.for_each(|(sums, &numbers)| of_128(numbers, table, sums));
    } else if let Some(table) = table.first_chunk::<8>() {
        sums.for_each(|(sums, &numbers)| of_64(numbers, table, sums));
    } else if let Some(table) = table.first_chunk::<4>() {
        sums.for_each(|(sums, &numbers)| of_32(numbers, table, sums));
    }
}

/// Where the bits of a doc's place go, so that a register takes places in another order.
///
/// Bit `i` of the place in the register is bit `bits[i]` of the doc's place.
const fn order(bits: [u8; 6]) -> Lane {
    let mut order = [0; 64];
    let mut at = 0;
    while at < 64 {
        let mut bit = 0;
        while bit < 6 {
            order[at] |= (at as u8 >> bit & 1) << bits[bit];
            bit += 1;
        }
        at += 1;
    }
    Lane(order)
}

/// Pieces of four bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn of_32(numbers: __m512i, table: &[Lane; 4], sums: &mut [f64; 64]) {
    const ORDER: Lane = order([4, 5, 0, 3, 1, 2]);
    let numbers = _mm512_permutexvar_epi8(load(&ORDER), numbers);
    let all = [
        numbers,
        _mm512_srli_epi32::<8>(numbers),
        _mm512_srli_epi32::<16>(numbers),
        _mm512_srli_epi32::<24>(numbers),
    ];
    let (sums, _) = sums.as_chunks_mut::<8>();
    for (sums, at) in sums.as_chunks_mut::<2>().0.iter_mut().zip(all) {
        let low = _mm512_permutex2var_epi32(load(&table[0]), at, load(&table[1]));
        let high = _mm512_permutex2var_epi32(load(&table[2]), at, load(&table[3]));
        add_eight(&mut sums[0], _mm512_unpacklo_epi32(low, high));
        add_eight(&mut sums[1], _mm512_unpackhi_epi32(low, high));
    }
}

/// Pieces of two bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn of_64(numbers: __m512i, table: &[Lane; 8], sums: &mut [f64; 64]) {
    const ORDER: Lane = order([5, 0, 3, 4, 1, 2]);
    let numbers = _mm512_permutexvar_epi8(load(&ORDER), numbers);
    let (sums, _) = sums.as_chunks_mut::<8>();
    let (sums, _) = sums.as_chunks_mut::<4>();
    for (sums, at) in sums.iter_mut().zip([numbers, _mm512_srli_epi16::<8>(numbers)]) {
        let piece =
            |i: usize| _mm512_permutex2var_epi16(load(&table[2 * i]), at, load(&table[2 * i + 1]));
        four(words(piece(0), piece(1)), words(piece(2), piece(3)), sums);
    }
}

/// Pieces of a byte.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn of_128(numbers: __m512i, table: &[Lane; 16], sums: &mut [f64; 64]) {
    let at = _mm512_permutexvar_epi8(load(&BYTES), numbers);
    let piece =
        |i: usize| _mm512_permutex2var_epi8(load(&table[2 * i]), at, load(&table[2 * i + 1]));
    eight(piece, sums);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn of_256(numbers: __m512i, table: &[Lane; 32], sums: &mut [f64; 64]) {
    let at = _mm512_permutexvar_epi8(load(&BYTES), numbers);
    let is_high = _mm512_movepi8_mask(at);
    let piece = |i: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| load(&table[4 * i + j]));
        let (low, high) = (_mm512_permutex2var_epi8(a, at, b), _mm512_permutex2var_epi8(c, at, d));
        _mm512_mask_blend_epi8(is_high, low, high)
    };
    eight(piece, sums);
}

const BYTES: Lane = order([0, 3, 4, 5, 1, 2]);

/// Values of eight pieces of a byte.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn eight(piece: impl Fn(usize) -> __m512i, sums: &mut [f64; 64]) {
    let bytes = |a, b| [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)];
    let (a, c) = (bytes(piece(0), piece(1)), bytes(piece(2), piece(3)));
    let (e, g) = (bytes(piece(4), piece(5)), bytes(piece(6), piece(7)));
    let (sums, _) = sums.as_chunks_mut::<8>();
    for (i, sums) in sums.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        four(words(a[i], c[i]), words(e[i], g[i]), sums);
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words(a: __m512i, b: __m512i) -> [__m512i; 2] {
    [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)]
}

/// Adds the values of which these are the low and the high halves.
#[target_feature(enable = "avx512f")]
#[inline]
fn four(low: [__m512i; 2], high: [__m512i; 2], sums: &mut [[f64; 8]; 4]) {
    for (i, sums) in sums.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        add_eight(&mut sums[0], _mm512_unpacklo_epi32(low[i], high[i]));
        add_eight(&mut sums[1], _mm512_unpackhi_epi32(low[i], high[i]));
    }
}

/// Adds the values of which these are the bits.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_eight(sums: &mut [f64; 8], bits: __m512i) {
    // SAFETY: the load reads eight `f64`, and the store writes them.
    unsafe {
        let sum = _mm512_add_pd(_mm512_loadu_pd(sums.as_ptr()), _mm512_castsi512_pd(bits));
        _mm512_storeu_pd(sums.as_mut_ptr(), sum);
    }
}
