//! 64 docs, 16 cells or 8 sums an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

mod look_up;
mod planes;
mod search;
mod turn;
mod values;

use super::super::bit_circuit::TreeChunk;
use super::super::search::ThresholdTable;
use super::{Kernels, Lane, Op, SLOTS, Sheet, Slots, Tile};
use crate::simd::Level;
use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpgt_epu8_mask, _mm512_load_si512, _mm512_mask_add_epi8,
    _mm512_set1_epi8, _mm512_setzero_si512, _mm512_store_si512, _mm512_xor_si512,
};

pub(super) fn circuit(kernels: Kernels, sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    debug_assert!(kernels.has(Level::Avx512));
    // SAFETY: `Kernels` of this level exist only where `Level::Avx512.is_available()`.
    unsafe {
        match sheet.wide {
            1 => run::<1>(sheet.lanes, ops, slots),
            2 => run::<2>(sheet.lanes, ops, slots),
            3 => run::<3>(sheet.lanes, ops, slots),
            _ => run::<4>(sheet.lanes, ops, slots),
        }
    }
}

pub(super) fn chunk(
    kernels: Kernels,
    sheet: Sheet<'_>,
    chunk: &TreeChunk,
    planes: &mut [Lane],
    sums: &mut [f64],
) {
    debug_assert!(kernels.has(Level::Avx512));
    // SAFETY: `Kernels` of this level exist only where `Level::Avx512.is_available()`.
    unsafe { planes::chunk(sheet, chunk, planes, sums) }
}

pub(super) fn add(kernels: Kernels, leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    debug_assert!(kernels.has(Level::Avx512));
    // SAFETY: `Kernels` of this level exist only where `Level::Avx512.is_available()`.
    unsafe { look_up::add(leaves, values, sums) }
}

pub(super) fn turn(kernels: Kernels, rows: &[f32], width: usize, first: usize, tile: &mut Tile) {
    debug_assert!(kernels.has(Level::Avx512));
    // SAFETY: `Kernels` of this level exist only where `Level::Avx512.is_available()`.
    unsafe { turn::turn(rows, width, first, tile) }
}

pub(super) fn encode(kernels: Kernels, table: &ThresholdTable, cells: &[f32], codes: &mut [u8]) {
    debug_assert!(kernels.has(Level::Avx512));
    // SAFETY: `Kernels` of this level exist only where `Level::Avx512.is_available()`.
    unsafe { search::encode(table, cells, codes) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn run<const WIDE: usize>(lanes: &[Lane], ops: &[Op], slots: &mut Slots) {
    let columns = lanes.as_chunks::<WIDE>().0;
    let mut carries = [_mm512_setzero_si512(); WIDE];
    for op in ops {
        let codes = &columns[op.column as usize];
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let (threshold, add, flip, keep) =
            (all(op.threshold), all(op.add), all(op.flip), all(op.keep));
        for (i, carry) in carries.iter_mut().enumerate() {
            let code = _mm512_xor_si512(load(&codes[i]), flip);
            let is_side = _mm512_cmpgt_epu8_mask(code, threshold);
            let side = load(&slots.0[op.slot as usize % SLOTS][i]);
            *carry = _mm512_and_si512(*carry, keep);
            *carry = _mm512_mask_add_epi8(*carry, is_side, side, add);
            store(&mut slots.0[op.to as usize % SLOTS][i], *carry);
        }
    }
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
