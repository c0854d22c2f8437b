//! 64 docs, 16 cells or 8 sums an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

pub(super) mod planes;
pub(super) mod search;
pub(super) mod turn;
mod values;

use super::{Lane, Op, SLOTS, Sheet, Slots};
use std::arch::x86_64::{
    __m512, __m512i, _mm512_and_si512, _mm512_cmpgt_epu8_mask, _mm512_load_si512, _mm512_loadu_ps,
    _mm512_mask_add_epi8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_store_si512,
    _mm512_xor_si512,
};

/// For one lane: more of them have planes.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    debug_assert_eq!(sheet.wide, 1);
    let mut carry = _mm512_setzero_si512();
    for op in ops {
        let codes = &sheet.lanes[op.column as usize];
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let (threshold, add, flip, keep) =
            (all(op.threshold), all(op.add), all(op.flip), all(op.keep));
        let code = _mm512_xor_si512(load(codes), flip);
        let is_side = _mm512_cmpgt_epu8_mask(code, threshold);
        let side = load(&slots.0[op.slot as usize % SLOTS][0]);
        carry = _mm512_and_si512(carry, keep);
        carry = _mm512_mask_add_epi8(carry, is_side, side, add);
        store(&mut slots.0[op.to as usize % SLOTS][0], carry);
    }
}

/// Adds to each sum the value of its leaf, for one lane.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn add(leaves: &[Lane], table: &[Lane], sums: &mut [f64]) {
    debug_assert_eq!(leaves.len(), 1);
    values::add(&[load(&leaves[0])], table, sums);
}

#[target_feature(enable = "avx512f")]
fn load(lane: &Lane) -> __m512i {
    // SAFETY: a lane is the 64 bytes that are read, on a boundary of 64.
    unsafe { _mm512_load_si512(lane.0.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(lane: &mut Lane, value: __m512i) {
    // SAFETY: a lane is the 64 bytes that are written, on a boundary of 64.
    unsafe { _mm512_store_si512(lane.0.as_mut_ptr().cast(), value) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_ps(values: &[f32; 16]) -> __m512 {
    // SAFETY: the load reads sixteen `f32`.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}
