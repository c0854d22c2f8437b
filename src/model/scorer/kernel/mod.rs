//! The inner loops of the scorer, for each set of instructions.
//!
//! A *lane* is the codes, or the slots, of 64 docs: one AVX-512 register. All levels give the same
//! bytes and the same sums.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::search::Table;
use crate::simd::Level;

/// 64 docs.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lane(pub(super) [u8; 64]);

impl Default for Lane {
    fn default() -> Self {
        Self([0; 64])
    }
}

/// The codes of a block: `wide` lanes a column, 1 to 4, one column after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sheet<'a> {
    pub(super) lanes: &'a [Lane],
    pub(super) wide: usize,
}

/// One split of a circuit: `code > threshold ? right + add : left`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub(super) column: u32,
    pub(super) threshold: u8,
    pub(super) add: u8,
    pub(super) left: u8,
    pub(super) right: u8,
    pub(super) to: u8,
}

/// The number of slots: a power of two above the nine that circuits use.
pub(super) const SLOTS: usize = 16;
/// The slot that a tree's result is in.
pub(super) const ROOT: u8 = 1;

/// What circuits compute with: four lanes a slot.
#[derive(Debug, Default)]
pub(super) struct Slots([[Lane; 4]; SLOTS]);

impl Slots {
    /// The leaf numbers that a circuit found.
    pub(super) fn root(&self) -> &[Lane; 4] {
        &self.0[ROOT as usize]
    }
}

/// Evaluates a circuit; the leaf numbers are in the [root slot](Slots::root).
pub(super) fn circuit(level: Level, sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => avx512::circuit(sheet, ops, slots),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_available() => avx2::circuit(sheet, ops, slots),
        _ => portable::circuit(sheet, ops, slots),
    }
}

/// Adds to each doc's sum the value of its leaf; there are 32, 64, 128 or 256 values.
pub(super) fn add(level: Level, leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => avx512::add(leaves, values, sums),
        _ => portable::add(leaves, values, sums),
    }
}

/// Finds the codes of cells.
pub(super) fn encode(level: Level, table: &Table<f32>, cells: &[f32], codes: &mut [u8]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => avx512::encode(table, cells, codes),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_available() => avx2::encode(table, cells, codes),
        _ => table.encode(cells, codes),
    }
}
