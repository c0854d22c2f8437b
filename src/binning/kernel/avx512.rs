//! The AVX-512 kernel: sixteen cells at once descend a search tree whose nodes are in registers.
//!
//! Blocks of sixteen features are transposed, so that the cells of a feature are neighbours. Each
//! level of the tree is a shuffle of its nodes by the paths of the cells so far, and a comparison.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::{EncodeJob, LEVELS, ThresholdTable};
use crate::simd::Level;
use std::arch::x86_64::{
    __m128i, __m512, __m512i, __mmask16, _CMP_NGE_UQ, _mm_add_epi8, _mm_and_si128, _mm_min_epu8,
    _mm_or_si128, _mm_set1_epi8, _mm_shuffle_epi8, _mm_slli_epi16, _mm_srli_epi16,
    _mm256_cvtepi16_epi8, _mm256_cvtepu8_epi16, _mm256_mullo_epi16, _mm256_set1_epi16,
    _mm512_castpd_ps, _mm512_castps_pd, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi8, _mm512_loadu_ps,
    _mm512_mask_blend_ps, _mm512_mask_or_epi32, _mm512_maskz_loadu_ps, _mm512_permutex2var_ps,
    _mm512_permutexvar_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps,
    _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

/// Cells per register.
const LANES: usize = 16;
/// Rows that are transposed at once: those of a block of usual width. Not a power of two, so that
/// features do not compete for the same cache sets.
const ROWS: usize = 240;

pub(super) fn encode(tables: &[ThresholdTable], job: EncodeJob<'_, '_>) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `kernel::encode` calls this only after `Level::Avx512.is_available()`, which checks the
    // features that `run` is compiled for.
    unsafe { run(tables, job) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run(tables: &[ThresholdTable], job: EncodeJob<'_, '_>) {
    let EncodeJob { cells, num_features, columns } = job;
    let mut transposed = [0.0; LANES * ROWS];
    for (block, cells) in cells.chunks(ROWS * num_features).enumerate() {
        let (first_row, num_rows) = (block * ROWS, cells.len() / num_features);
        for tables in tables.chunk_by(|a, b| a.feature / LANES == b.feature / LANES) {
            let first = tables[0].feature / LANES * LANES;
            let width = LANES.min(num_features - first);
            transpose(&cells[first..], num_features, width, &mut transposed);
            for table in tables {
                let cells = &transposed[(table.feature - first) * ROWS..][..ROWS];
                let column = &mut columns[table.column][first_row..][..num_rows];
                encode_column(table, cells.as_chunks().0, column);
            }
        }
    }
}

/// Adds the codes of a feature's cells to a column.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn encode_column(table: &ThresholdTable, cells: &[[f32; LANES]], column: &mut [u8]) {
    let missing = _mm_set1_epi8(table.missing.cast_signed());
    let stride = _mm256_set1_epi16(i16::from(table.stride));
    let mut nodes = [_mm512_setzero_ps(); 19];
    for (node, thresholds) in nodes.iter_mut().zip(table.tree.iter()) {
        *node = load(thresholds);
    }
    let (whole, rest) = column.as_chunks_mut();
    let mut last = [0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    let tail = (!rest.is_empty()).then_some(&mut last);
    for (cells, to) in cells.iter().zip(whole.iter_mut().chain(tail)) {
        let cells = load(cells);
        let location =
            if table.is_narrow { four_levels(&nodes, cells) } else { eight_levels(&nodes, cells) };
        let code = _mm_min_epu8(location, missing);
        if table.is_alone {
            *to = bytemuck::cast(code);
        } else {
            let digit = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(code), stride);
            *to = bytemuck::cast(_mm_add_epi8(bytemuck::cast(*to), _mm256_cvtepi16_epi8(digit)));
        }
    }
    rest.copy_from_slice(&last[..rest.len()]);
}

/// The leaf below the first four levels; for a missing cell it is the last.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn four_levels(nodes: &[__m512; 19], cells: __m512) -> __m128i {
    _mm_shuffle_epi8(bytemuck::cast(REVERSED), _mm512_cvtepi32_epi8(first_four(nodes, cells)))
}

/// The numbers 0 to 15 with their four bits reversed.
static REVERSED: [u8; LANES] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

/// The paths over the first four levels.
#[target_feature(enable = "avx512f")]
#[inline]
fn first_four(nodes: &[__m512; 19], cells: __m512) -> __m512i {
    let mut way = _mm512_setzero_si512();
    for level in 0..4 {
        let right = turns(_mm512_permutexvar_ps(way, nodes[LEVELS[level]]), cells);
        way = _mm512_mask_or_epi32(way, right, way, _mm512_set1_epi32(1 << level));
    }
    way
}

/// The leaf below all eight levels. Shuffles use only the low bits of a path; the turns of earlier
/// levels select between the registers of the last two levels.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn eight_levels(nodes: &[__m512; 19], cells: __m512) -> __m128i {
    let of = |way, first: usize| _mm512_permutex2var_ps(nodes[first], way, nodes[first + 1]);
    let transposed =
        |way, right, bit| _mm512_mask_or_epi32(way, right, way, _mm512_set1_epi32(bit));
    let way = first_four(nodes, cells);
    let right = turns(_mm512_permutexvar_ps(way, nodes[4]), cells);
    let way = transposed(way, right, 1 << 4);
    let fifth = turns(of(way, 5), cells);
    let way = transposed(way, fifth, 1 << 5);
    let sixth = turns(_mm512_mask_blend_ps(fifth, of(way, 7), of(way, 9)), cells);
    let way = transposed(way, sixth, 1 << 6);
    let low = _mm512_mask_blend_ps(fifth, of(way, 11), of(way, 13));
    let high = _mm512_mask_blend_ps(fifth, of(way, 15), of(way, 17));
    let right = turns(_mm512_mask_blend_ps(sixth, low, high), cells);
    reversed(_mm512_cvtepi32_epi8(transposed(way, right, 1 << 7)))
}

/// Which cells turn right. A missing cell always does, because no comparison with it is true.
#[target_feature(enable = "avx512f")]
#[inline]
fn turns(thresholds: __m512, cells: __m512) -> __mmask16 {
    _mm512_cmp_ps_mask::<_CMP_NGE_UQ>(thresholds, cells)
}

/// Reverses the bits of each byte.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn reversed(bytes: __m128i) -> __m128i {
    let nibble = _mm_set1_epi8(15);
    let of = |nibbles| _mm_shuffle_epi8(bytemuck::cast(REVERSED), _mm_and_si128(nibbles, nibble));
    _mm_or_si128(_mm_slli_epi16::<4>(of(bytes)), of(_mm_srli_epi16::<4>(bytes)))
}

/// Transposes rows of up to sixteen features to runs of up to `ROWS` cells per feature, padded with
/// zeros.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose(cells: &[f32], num_features: usize, features: usize, to: &mut [f32; LANES * ROWS]) {
    let mut rows = cells.chunks(num_features);
    for at in (0..ROWS).step_by(LANES) {
        if rows.len() == 0 {
            break;
        }
        let mut block = [_mm512_setzero_ps(); LANES];
        for slot in &mut block {
            if let Some(row) = rows.next() {
                *slot = load_some(&row[..features]);
            }
        }
        let columns = columns(&block);
        for (column, to) in columns.iter().zip(to.chunks_exact_mut(ROWS)) {
            if let Some(to) = to[at..].first_chunk_mut() {
                store(to, *column);
            }
        }
    }
}

/// Transposes sixteen rows of sixteen cells.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns(rows: &[__m512; LANES]) -> [__m512; LANES] {
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let zero = _mm512_setzero_ps();
    let (mut pairs, mut fours, mut columns) = ([zero; LANES], [zero; LANES], [zero; LANES]);
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
    }
    // `fours[4 r + c]` has in its quarter `q` the cells of rows `4 r` to `4 r + 3` in column
    // `4 q + c`.
    for i in 0..8 {
        let (from, to) = (i / 2 * 4 + i % 2, i / 2 * 4 + i % 2 * 2);
        let (a, b) = (_mm512_castps_pd(pairs[from]), _mm512_castps_pd(pairs[from + 2]));
        fours[to] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
        fours[to + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
    for c in 0..4 {
        let [top, upper, lower, last] = [fours[c], fours[4 + c], fours[8 + c], fours[12 + c]];
        let even_top = _mm512_shuffle_f32x4::<EVEN>(top, upper);
        let odd_top = _mm512_shuffle_f32x4::<ODD>(top, upper);
        let even_last = _mm512_shuffle_f32x4::<EVEN>(lower, last);
        let odd_last = _mm512_shuffle_f32x4::<ODD>(lower, last);
        columns[c] = _mm512_shuffle_f32x4::<EVEN>(even_top, even_last);
        columns[4 + c] = _mm512_shuffle_f32x4::<EVEN>(odd_top, odd_last);
        columns[8 + c] = _mm512_shuffle_f32x4::<ODD>(even_top, even_last);
        columns[12 + c] = _mm512_shuffle_f32x4::<ODD>(odd_top, odd_last);
    }
    columns
}

/// Up to sixteen `f32`, then zeros.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_some(values: &[f32]) -> __m512 {
    let mask = (u32::MAX >> (32 - values.len().clamp(1, LANES))) as u16;
    // SAFETY: the masked load reads only as many `f32` as there are; there is at least one, since a
    // feature of each group has a table.
    unsafe { _mm512_maskz_loadu_ps(mask, values.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(values: &[f32; LANES]) -> __m512 {
    // SAFETY: sixteen `f32` are the 64 bytes that the unaligned load reads.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(to: &mut [f32; LANES], values: __m512) {
    // SAFETY: sixteen `f32` are the 64 bytes that the unaligned store writes.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), values) }
}
