//! The portable loops with 32 docs an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::super::search::Table;
use super::{Op, Sheet, Slots, portable};
use crate::simd::Level;

pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
        portable::circuit(sheet, ops, slots);
    }
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: called only after `Level::Avx2.is_available()`, which checks these features.
    unsafe { run(sheet, ops, slots) }
}

pub(super) fn encode(table: &Table<f32>, cells: &[f32], codes: &mut [u8]) {
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run(table: &Table<f32>, cells: &[f32], codes: &mut [u8]) {
        table.encode(cells, codes);
    }
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: called only after `Level::Avx2.is_available()`, which checks these features.
    unsafe { run(table, cells, codes) }
}
