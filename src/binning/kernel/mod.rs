//! Finds the bins of cells.
//!
//! The thresholds of a feature are padded with infinity to 256 and divided into sixteen groups of
//! sixteen. The number of group ends below a cell is the number of its group, and the number of
//! thresholds below it in the group is the rest of its code. The AVX2 kernel and the portable one
//! do this cell by cell. The AVX-512 kernel searches a tree of the same thresholds for sixteen
//! cells at once. All kernels give the same bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(super) mod nonzero_keys;
pub(crate) mod transpose;

use super::layout::CodeLocation;
use super::mapper::BinMapper;
use crate::simd::Level;

/// The thresholds of a feature in the form that the kernels need, and where its codes are stored.
#[derive(Debug)]
pub(super) struct ThresholdTable {
    feature: usize,
    /// The largest threshold of each group.
    ends: [f32; 16],
    /// All thresholds, padded with infinity: sixteen groups.
    thresholds: Box<[f32; 256]>,
    /// The same thresholds as a search tree.
    tree: Box<ThresholdTree>,
    /// Whether the tree has only four levels.
    is_narrow: bool,
    /// Whether no other feature shares the column.
    is_alone: bool,
    missing: u8,
    stride: u8,
    column: usize,
}

impl ThresholdTable {
    pub(super) fn new(
        feature: usize,
        mapper: &BinMapper,
        location: CodeLocation,
        is_alone: bool,
    ) -> Self {
        let mut thresholds = Box::new([f32::INFINITY; 256]);
        thresholds[..mapper.thresholds().len()].copy_from_slice(mapper.thresholds());
        let mut ends = [0.0; 16];
        for (end, group) in ends.iter_mut().zip(thresholds.chunks_exact(16)) {
            *end = group[15];
        }
        let missing = mapper.num_bins() as u8;
        // Four levels have sixteen leaves, one of which is for missing cells.
        let is_narrow = mapper.thresholds().len() < 15;
        let tree = Box::new(tree(&thresholds, if is_narrow { 4 } else { 8 }));
        Self {
            feature,
            ends,
            tree,
            thresholds,
            is_narrow,
            is_alone,
            missing,
            // A feature with a stride above 1 shares its column with at most 128 codes, so the
            // stride fits a byte.
            stride: location.stride as u8,
            column: location.column as usize,
        }
    }

    /// The loop of the kernels that go cell by cell. `code` finds the code of a cell that is not
    /// missing.
    #[expect(
        clippy::inline_always,
        reason = "`code` must be compiled with the features of its level"
    )]
    #[inline(always)]
    fn for_each(&self, job: &mut EncodeJob<'_, '_>, code: impl Fn(f32) -> u8) {
        let cells = job.cells[self.feature..].iter().step_by(job.num_features);
        for (&cell, byte) in cells.zip(&mut *job.columns[self.column]) {
            let found = code(cell);
            let code = if cell.is_nan() { self.missing } else { found };
            *byte = byte.wrapping_add(code.wrapping_mul(self.stride));
        }
    }
}

/// The nodes of a search tree over ascending thresholds, level by level. A level of at most sixteen
/// nodes has one row; larger levels have two, four and eight.
type ThresholdTree = [[f32; 16]; 19];

/// The first row of each level.
const LEVELS: [usize; 8] = [0, 1, 2, 3, 4, 5, 7, 11];

/// A tree of this many levels. A path is a number whose bit `l` says where it turned on level `l`.
/// So its low bits are the node on each level, and the reversed number is the index of the leaf.
fn tree(thresholds: &[f32; 256], levels: usize) -> ThresholdTree {
    let mut nodes = [[f32::INFINITY; 16]; 19];
    for (level, &first) in LEVELS.iter().enumerate().take(levels) {
        // The number of thresholds between neighbouring nodes of the level.
        let step = 1 << (levels - level);
        for way in 0..1usize << level {
            let at = (way << 1).reverse_bits() >> (usize::BITS as usize - 1 - level);
            nodes[first + way / 16][way % 16] = thresholds[at * step + step / 2 - 1];
        }
    }
    nodes
}

/// A block of rows to bin.
pub(super) struct EncodeJob<'a, 'c> {
    /// The cells, row after row.
    pub(super) cells: &'a [f32],
    pub(super) num_features: usize,
    /// The rows' bytes of each column; zeros at first.
    pub(super) columns: &'a mut [&'c mut [u8]],
}

/// Writes the codes of all features that have a table to their columns.
pub(super) fn encode(level: Level, tables: &[ThresholdTable], mut job: EncodeJob<'_, '_>) {
    /// With fewer rows, most lanes would be empty.
    #[cfg(target_arch = "x86_64")]
    const LEAST_ROWS: usize = 8;
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512
            if level.is_available() && job.cells.len() >= LEAST_ROWS * job.num_features =>
        {
            avx512::encode(tables, job);
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Avx2 if level.is_available() => avx2::encode(tables, job),
        _ => {
            let below = |thresholds: &[f32; 16], cell| -> u8 {
                thresholds.iter().map(|&t| u8::from(t < cell)).sum()
            };
            for table in tables {
                let groups = table.thresholds.as_chunks().0;
                table.for_each(&mut job, |cell| {
                    let group = below(&table.ends, cell);
                    16 * group + below(&groups[usize::from(group & 15)], cell)
                });
            }
        }
    }
}
