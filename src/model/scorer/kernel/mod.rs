//! The inner loops of the scorer, for each set of instructions.
//!
//! A *lane* is the codes, or the slots, of 64 docs: one AVX-512 register. All levels give the same
//! bytes and the same sums.
#![expect(unsafe_code, reason = "kernels of a level are called behind its run-time check")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::BLOCK;
use super::bit_circuit::TreeChunk;
use super::byte_circuit::{ByteCircuit, ByteCircuits};
use super::search::ThresholdTable;
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

/// The codes of a block: `wide` lanes a column, one column after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sheet<'a> {
    pub(super) lanes: &'a [Lane],
    pub(super) wide: usize,
}

/// One split of a circuit.
///
/// With `carry` the result of the op before, and 0 where `keep` is 0 instead of 255, the result is
/// `code ^ flip > threshold ? slot + add : carry`. It goes to slot `to` too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub(super) column: u32,
    pub(super) threshold: u8,
    pub(super) add: u8,
    pub(super) flip: u8,
    pub(super) keep: u8,
    pub(super) slot: u8,
    pub(super) to: u8,
}

/// The number of slots, a power of two. Slot 0 stays 0.
pub(super) const SLOTS: usize = 64;
/// The slot that a tree's result is in.
pub(super) const ROOT: u8 = 1;
/// The slot for what no op will read.
pub(super) const DUMP: u8 = 63;

/// What circuits compute with: four lanes a slot.
#[derive(Debug)]
pub(super) struct Slots([[Lane; 4]; SLOTS]);

impl Default for Slots {
    fn default() -> Self {
        Self([[Lane::default(); 4]; SLOTS])
    }
}

impl Slots {
    /// The leaf numbers that a circuit found.
    pub(super) fn root(&self) -> &[Lane; 4] {
        &self.0[ROOT as usize]
    }
}

/// A level that this machine has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels(Level);

impl Kernels {
    /// The kernels of `level`, or the portable ones if this machine does not have it.
    pub(super) fn new(level: Level) -> Self {
        Self(if level.is_available() { level } else { Level::Portable })
    }

    /// The level.
    pub(super) fn level(self) -> Level {
        self.0
    }

    /// About how many picoseconds an op takes for 64 docs; `benches/score.rs` measures it.
    pub(super) fn picoseconds(self) -> usize {
        match self.0 {
            Level::Avx512 => 1_300,
            Level::Avx2 => 2_000,
            Level::Portable => 4_000,
        }
    }

    /// Evaluates a circuit; the leaf numbers are in the [root slot](Slots::root).
    pub(super) fn circuit(self, sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` of a level exist only where it is available.
            Level::Avx512 => unsafe { avx512::circuit(sheet, ops, slots) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { avx2::circuit(sheet, ops, slots) },
            _ => portable::circuit(sheet, ops, slots),
        }
    }

    /// Adds to each doc's sum the value of its leaf.
    pub(super) fn add(
        self,
        leaves: &[Lane],
        circuits: &ByteCircuits,
        circuit: &ByteCircuit,
        sums: &mut [f64],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx512 => unsafe { avx512::add(leaves, circuits.table(circuit), sums) },
            _ => portable::add(leaves, circuits.values(circuit), sums),
        }
    }

    /// The docs of a block: the more, the less a split costs, until a block leaves the first cache; or
    /// as many as a plane has bits.
    pub(super) fn block(self) -> usize {
        if self.has_planes() { BLOCK } else { 256 }
    }

    /// Whether [`chunk`](Self::chunk) can be called.
    pub(super) fn has_planes(self) -> bool {
        cfg!(target_arch = "x86_64") && self.0 == Level::Avx512
    }

    /// Adds to each doc's sum the values of its leaves in the trees of a chunk, one after the other;
    /// for up to eight lanes.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "only x86-64 has the instructions")
    )]
    pub(super) fn chunk(
        self,
        sheet: Sheet<'_>,
        chunk: &TreeChunk,
        planes: &mut [Lane],
        sums: &mut [f64],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx512 => unsafe { avx512::planes::chunk(sheet, chunk, planes, sums) },
            _ => unreachable!("chunks are made where there are planes"),
        }
    }

    /// Takes cells `first..first + 16` of rows of `width` apart into the columns of `tile`, for at most [`BLOCK`] rows;
    /// false if this level gains nothing by it.
    pub(super) fn turn(
        self,
        rows: &[f32],
        width: usize,
        first: usize,
        tile: &mut [[f32; BLOCK]],
    ) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if first + 16 <= width && !rows.is_empty() => {
                // SAFETY: as above.
                unsafe { avx512::turn::turn(rows, width, first, tile) };
                true
            }
            _ => {
                let _ = (rows, width, first, tile);
                false
            }
        }
    }

    /// Finds the codes of cells.
    pub(super) fn encode(self, table: &ThresholdTable, cells: &[f32], codes: &mut [u8]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx512 => unsafe { avx512::search::encode(table, cells, codes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { avx2::encode(table, cells, codes) },
            _ => table.encode(cells, codes),
        }
    }
}
