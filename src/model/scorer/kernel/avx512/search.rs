//! Sixteen searches at once, all levels of the table in registers.

use super::super::super::search::ThresholdTable;
use super::load_ps;
use std::arch::x86_64::{
    __m512, __m512i, _CMP_LT_OQ, _mm_mask_storeu_epi8, _mm_storeu_si128, _mm512_add_epi32,
    _mm512_and_si512, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi8, _mm512_mask_blend_ps,
    _mm512_mask_sub_epi32, _mm512_maskz_loadu_ps, _mm512_permutex2var_ps, _mm512_permutexvar_ps,
    _mm512_set1_epi32, _mm512_test_epi32_mask,
};
use std::hint::black_box;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
pub(in super::super) fn encode(table: &ThresholdTable, cells: &[f32], codes: &mut [u8]) {
    let codes = &mut codes[..cells.len()];
    let (parts, _) = table.places.as_chunks::<16>();
    match table.levels {
        4 => search::<4, 1>(parts, cells, codes),
        5 => search::<5, 2>(parts, cells, codes),
        6 => search::<6, 4>(parts, cells, codes),
        7 => search::<7, 8>(parts, cells, codes),
        _ => search::<8, 16>(parts, cells, codes),
    }
}

/// So many searches wait for each other.
const GROUPS: usize = 8;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
fn search<const LEVELS: u32, const PARTS: usize>(
    parts: &[[f32; 16]],
    cells: &[f32],
    codes: &mut [u8],
) {
    let Some(parts) = parts.first_chunk::<PARTS>() else { return };
    // A compiler that knew this number would build it from each mask by three instructions.
    let minus_one = _mm512_set1_epi32(black_box(-1));
    let (many, last) = cells.as_chunks::<{ 16 * GROUPS }>();
    for (codes, cells) in codes.as_chunks_mut::<{ 16 * GROUPS }>().0.iter_mut().zip(many) {
        let (cells, (codes, _)) = (cells.as_chunks().0, codes.as_chunks_mut::<16>());
        let cells: [__m512; GROUPS] = std::array::from_fn(|i| load_ps(&cells[i]));
        for (codes, found) in
            codes.iter_mut().zip(descend::<LEVELS, PARTS, GROUPS>(parts, minus_one, &cells))
        {
            // SAFETY: the store writes sixteen bytes.
            unsafe { _mm_storeu_si128(codes.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(found)) };
        }
    }
    let codes = &mut codes[16 * GROUPS * many.len()..];
    for (codes, cells) in codes.chunks_mut(16).zip(last.chunks(16)) {
        let some = u16::MAX >> (16 - cells.len());
        // SAFETY: the load reads as many `f32` as there are.
        let cells = unsafe { _mm512_maskz_loadu_ps(some, cells.as_ptr()) };
        let [found] = descend::<LEVELS, PARTS, 1>(parts, minus_one, &[cells]);
        // SAFETY: the store writes as many bytes as there are cells and codes.
        unsafe {
            _mm_mask_storeu_epi8(codes.as_mut_ptr().cast(), some, _mm512_cvtepi32_epi8(found));
        };
    }
}

/// The codes of cells, sixteen times as many as groups: each group waits for itself at each level.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn descend<const LEVELS: u32, const PARTS: usize, const GROUPS: usize>(
    parts: &[[f32; 16]; PARTS],
    minus_one: __m512i,
    cells: &[__m512; GROUPS],
) -> [__m512i; GROUPS] {
    let mut all = [_mm512_set1_epi32(1); GROUPS];
    // By the low bits of a place, from one or two parts.
    let one = |at, part: usize| _mm512_permutexvar_ps(at, load_ps(&parts[part]));
    let two = |at, part: usize| {
        _mm512_permutex2var_ps(load_ps(&parts[part]), at, load_ps(&parts[part + 1]))
    };
    let bit = |at, bit| _mm512_test_epi32_mask(at, _mm512_set1_epi32(bit));
    for level in 0..LEVELS {
        for (at, &cells) in all.iter_mut().zip(cells) {
            let place = match level {
                0..4 => one(*at, 0),
                4 => one(*at, 1),
                5 => two(*at, 2),
                6 => _mm512_mask_blend_ps(bit(*at, 32), two(*at, 4), two(*at, 6)),
                _ => {
                    let low = _mm512_mask_blend_ps(bit(*at, 32), two(*at, 8), two(*at, 10));
                    let high = _mm512_mask_blend_ps(bit(*at, 32), two(*at, 12), two(*at, 14));
                    _mm512_mask_blend_ps(bit(*at, 64), low, high)
                }
            };
            let above = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(place, cells);
            let twice = _mm512_add_epi32(*at, *at);
            *at = _mm512_mask_sub_epi32(twice, above, twice, minus_one);
        }
    }
    all.map(|at| _mm512_and_si512(at, _mm512_set1_epi32((1 << LEVELS) - 1)))
}
