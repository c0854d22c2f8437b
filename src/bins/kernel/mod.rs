//! Finding the bin of a cell: two steps of sixteen comparisons each.
//!
//! The thresholds of a feature, padded with infinity to 256, lie in sixteen groups of sixteen. The
//! number of group ends below the cell is its group, and the number of thresholds below it in the
//! group is the rest of its code. AVX-512 does each step in one comparison; the portable twin does
//! the same sums. All levels give the same bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::layout::Place;
use super::mapper::Mapper;
use crate::simd::Level;

/// A feature's thresholds as the kernels want them, and where its codes go.
#[derive(Debug)]
pub(super) struct Table {
    /// The largest threshold of each group.
    ends: [f32; 16],
    /// All thresholds, then infinities: sixteen groups, and one more for missing cells.
    thresholds: Box<[f32; 272]>,
    /// Whether one group holds all thresholds and an infinity.
    is_narrow: bool,
    /// Whether no other feature has codes in the column.
    is_alone: bool,
    missing: u8,
    stride: u8,
    column: usize,
}

impl Table {
    pub(super) fn new(mapper: &Mapper, place: Place, is_alone: bool) -> Self {
        let mut thresholds = Box::new([f32::INFINITY; 272]);
        thresholds[..mapper.thresholds().len()].copy_from_slice(mapper.thresholds());
        let mut ends = [0.0; 16];
        for (end, group) in ends.iter_mut().zip(thresholds.chunks_exact(16)) {
            *end = group[15];
        }
        let missing = mapper.num_bins() as u8;
        // A feature with a stride above one has at most 128 codes beside it: it fits a byte.
        let is_narrow = mapper.thresholds().len() < 16;
        Self {
            ends,
            thresholds,
            is_narrow,
            is_alone,
            missing,
            stride: place.stride as u8,
            column: place.column as usize,
        }
    }

    /// Adds the codes of a feature's cells to its column.
    pub(super) fn encode(&self, level: Level, job: Job<'_>) {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if level.is_available() => avx512::encode(self, job),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if level.is_available() => avx2::encode(self, job),
            _ => portable::encode(self, job),
        }
    }

    /// The loop of all levels: `code` finds the code of a cell that is not missing.
    #[expect(
        clippy::inline_always,
        reason = "`code` must be compiled with the features of its level"
    )]
    #[inline(always)]
    fn for_each(&self, job: Job<'_>, code: impl Fn(f32) -> u8) {
        let cells = job.cells.iter().step_by(job.num_features);
        let Job { rows, width, .. } = job;
        for (&cell, byte) in cells.zip(rows[self.column..].iter_mut().step_by(width)) {
            let found = code(cell);
            let code = if cell.is_nan() { self.missing } else { found };
            *byte = byte.wrapping_add(code.wrapping_mul(self.stride));
        }
    }
}

/// One feature of a block of rows.
pub(super) struct Job<'a> {
    /// Row-major cells, from the feature's first on.
    pub(super) cells: &'a [f32],
    pub(super) num_features: usize,
    /// The binned rows, `width` bytes each.
    pub(super) rows: &'a mut [u8],
    pub(super) width: usize,
}
