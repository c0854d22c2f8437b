//! 32 docs or 8 cells an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::super::search::ThresholdTable;
use super::{Lane, Op, SLOTS, Sheet, Slots};
use std::arch::x86_64::{
    __m256, __m256i, _CMP_LT_OQ, _mm256_add_epi8, _mm256_add_epi32, _mm256_and_si256,
    _mm256_blendv_epi8, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps,
    _mm256_cmpgt_epi8, _mm256_i32gather_ps, _mm256_load_si256, _mm256_loadu_ps,
    _mm256_permutevar8x32_ps, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_store_si256, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256,
};

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    // Two lanes at a time: the carries of four would not fit the registers.
    for first in (0..sheet.wide).step_by(2) {
        match sheet.wide - first {
            1 => run::<1>(sheet, first, ops, slots),
            _ => run::<2>(sheet, first, ops, slots),
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn run<const LANES: usize>(sheet: Sheet<'_>, first: usize, ops: &[Op], slots: &mut Slots) {
    let mut carries = [[_mm256_setzero_si256(); 2]; LANES];
    for op in ops {
        let all = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        // Only signed bytes can be compared: the sign is flipped on both sides.
        let (threshold, flip) = (all(op.threshold ^ 0x80), all(op.flip ^ 0x80));
        let (add, keep) = (all(op.add), all(op.keep));
        let codes = &sheet.lanes[op.column as usize * sheet.wide + first..][..LANES];
        for (i, carries) in carries.iter_mut().enumerate() {
            for (half, carry) in carries.iter_mut().enumerate() {
                let code = _mm256_xor_si256(load(&codes[i], half), flip);
                let is_side = _mm256_cmpgt_epi8(code, threshold);
                let slot = load(&slots.0[op.slot as usize % SLOTS][first + i], half);
                let side = _mm256_add_epi8(slot, add);
                *carry = _mm256_blendv_epi8(_mm256_and_si256(*carry, keep), side, is_side);
                store(&mut slots.0[op.to as usize % SLOTS][first + i], half, *carry);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn load(lane: &Lane, half: usize) -> __m256i {
    let (halves, _) = lane.0.as_chunks::<32>();
    // SAFETY: the load reads 32 bytes; both halves of a lane stand on a boundary of 32.
    unsafe { _mm256_load_si256(halves[half].as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(lane: &mut Lane, half: usize, value: __m256i) {
    let (halves, _) = lane.0.as_chunks_mut::<32>();
    // SAFETY: the store writes 32 bytes; both halves of a lane stand on a boundary of 32.
    unsafe { _mm256_store_si256(halves[half].as_mut_ptr().cast(), value) }
}

/// Eight searches at once: the first five levels in registers, the others gathered.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn encode(table: &ThresholdTable, cells: &[f32], codes: &mut [u8]) {
    let places = &table.places[..];
    let last = _mm256_set1_epi32((1 << table.levels) - 1);
    let codes = &mut codes[..cells.len()];
    let (cells, last_cells) = cells.as_chunks::<8>();
    let (codes, last_codes) = codes.as_chunks_mut::<8>();
    for (codes, cells) in codes.iter_mut().zip(cells) {
        let at = _mm256_and_si256(descend(places, table.levels, load_ps(cells)), last);
        let mut found = [0u32; 8];
        // SAFETY: the store writes eight `u32`.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), at) };
        *codes = found.map(|code| code as u8);
    }
    for (code, &cell) in last_codes.iter_mut().zip(last_cells) {
        *code = table.code(cell);
    }
}

/// The places of eight cells below the last level.
#[target_feature(enable = "avx2")]
#[inline]
fn descend(places: &[f32], levels: u32, cells: __m256) -> __m256i {
    let (parts, _) = places.as_chunks::<8>();
    let step = |at: __m256i, place: __m256| {
        let above = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(place, cells));
        _mm256_sub_epi32(_mm256_add_epi32(at, at), above)
    };
    // By the low three bits of a place.
    let pick = |at, part: usize| _mm256_permutevar8x32_ps(load_ps(&parts[part]), at);
    let mut at = _mm256_set1_epi32(1);
    for _ in 0..3 {
        at = step(at, pick(at, 0));
    }
    at = step(at, pick(at, 1));
    if levels > 4 {
        let bit = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(at));
        at = step(at, _mm256_blendv_ps(pick(at, 2), pick(at, 3), bit));
    }
    for level in 5..levels {
        debug_assert!(places.len() >= 2 << level);
        // SAFETY: a place of this level is below twice its first, `1 << level`, and there are
        // `1 << levels` places.
        at = step(at, unsafe { _mm256_i32gather_ps::<4>(places.as_ptr(), at) });
    }
    at
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_ps(values: &[f32; 8]) -> __m256 {
    // SAFETY: the load reads eight `f32`.
    unsafe { _mm256_loadu_ps(values.as_ptr()) }
}
