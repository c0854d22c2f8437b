//! Rows of values to columns, sixteen by sixteen.

use super::super::BLOCK;
use super::load_ps;
use std::arch::x86_64::{
    __m512i, _mm512_castps_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

/// Rows of `width` values stand one after the other: values `first..first + 16` of each go to the
/// columns of the tile.
#[target_feature(enable = "avx512f")]
pub(in super::super) fn turn(rows: &[f32], width: usize, first: usize, tile: &mut [[f32; BLOCK]]) {
    let last = rows.len() / width - 1;
    for group in 0..=last / 16 {
        // Beyond the last row, the last again.
        let rows = std::array::from_fn(|i| {
            let row = (16 * group + i).min(last);
            let row = rows[row * width + first..].first_chunk().unwrap_or(&[0.0; 16]);
            _mm512_castps_si512(load_ps(row))
        });
        for (column, values) in tile.iter_mut().zip(turned(&rows)) {
            if let Some(to) = column.as_chunks_mut().0.get_mut(group) {
                store(to, values);
            }
        }
    }
}

/// Each step swaps a bit of the number of a register for one of the place in it.
#[target_feature(enable = "avx512f")]
#[inline]
fn turned(rows: &[__m512i; 16]) -> [__m512i; 16] {
    let mut values = *rows;
    for i in 0..8 {
        let (a, b) = (rows[2 * i], rows[2 * i + 1]);
        (values[i], values[i + 8]) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
    let rows = values;
    for i in 0..8 {
        let (a, b) = (rows[2 * i], rows[2 * i + 1]);
        (values[i], values[i + 8]) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    }
    for _ in 0..2 {
        let rows = values;
        for i in 0..8 {
            let (a, b) = (rows[2 * i], rows[2 * i + 1]);
            values[i] = _mm512_shuffle_i32x4::<0x88>(a, b);
            values[i + 8] = _mm512_shuffle_i32x4::<0xdd>(a, b);
        }
    }
    // The bits of the place in a row came in the order 1, 0, 2, 3.
    std::array::from_fn(|i| values[i & 0b1100 | (i & 1) << 1 | i >> 1 & 1])
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(values: &mut [f32; 16], turned: __m512i) {
    // SAFETY: the store writes sixteen `f32`.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), turned) }
}
