//! A copy of the binned table in strips of 64 columns, from which histograms are summed.
//!
//! The bytes of a document in one strip lie in one cache line. Summing strip by strip reads each
//! line once and nothing else, while the sums of a strip stay in the second-level cache; the sums
//! of a whole wide row would not.
//!
//! The columns of the copy may have another order than those of the table. A *position* is the
//! index of a column in the copy. The columns of a [sparse run](super::sparse_runs) are neighbours.

use super::GROWING;
use super::sparse_runs::{SparseRun, SparseRuns};
use crate::binning::{BinnedMatrix, ColumnBlock, columns_to_strips};
use crate::error::Result;
use crate::huge_pages::HugePageVec;
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// The number of bytes in a cache line, and in half of one.
const LINE: usize = 64;
const HALF: usize = LINE / 2;
/// Documents that one task copies.
const DOCS_A_TASK: usize = 1 << 14;
/// A tile with fewer columns than this is too narrow to be efficient.
const NARROW: usize = 12;

/// The bytes of a strip: `bytes[doc * pitch + position - first]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) pitch: usize,
    pub(super) first: u32,
}

/// The table in strips.
///
/// A document has a full cache line in each strip but the last, which may be narrower.
#[derive(Debug)]
pub(super) struct ColumnStrips {
    /// Strip after strip.
    bytes: HugePageVec<u8>,
    num_rows: usize,
    /// The first position of each strip, and the end of the last.
    firsts: Vec<u32>,
    /// The column at each position, and the position of each column.
    order: Vec<u32>,
    positions: Vec<u32>,
    pub(super) sparse_runs: SparseRuns,
}

impl ColumnStrips {
    /// Copies a table with the columns of each sparse run side by side.
    pub(super) fn of(matrix: &BinnedMatrix) -> Result<Self> {
        Self::with_runs(matrix, SparseRuns::of(matrix))
    }

    /// Copies a table in its own column order: distributed workers have different documents and
    /// must agree on the positions.
    pub(super) fn plain(matrix: &BinnedMatrix) -> Result<Self> {
        Self::with_runs(matrix, SparseRuns::default())
    }

    fn with_runs(matrix: &BinnedMatrix, mut sparse_runs: SparseRuns) -> Result<Self> {
        let (width, num_rows) = (matrix.width(), matrix.num_rows());
        let StripLayout { order, firsts } = StripLayout::of(&mut sparse_runs.runs, width);
        let mut positions = vec![0; width];
        for (position, &column) in (0..).zip(&order) {
            positions[column as usize] = position;
        }
        let bytes = HugePageVec::zeros(GROWING, 0)?;
        let mut strips = Self { bytes, num_rows, firsts, order, positions, sparse_runs };
        strips.copy(matrix)?;
        Ok(strips)
    }

    /// Copies the bytes of a table to their positions.
    fn copy(&mut self, matrix: &BinnedMatrix) -> Result<()> {
        let row: usize = (0..self.num_strips()).map(|strip| self.pitch(strip)).sum();
        let mut bytes = HugePageVec::zeros(GROWING, self.num_rows.saturating_mul(row))?;
        let strips = bytes.par_chunks_mut((self.num_rows * LINE).max(1));
        strips.zip(self.firsts.par_windows(2)).enumerate().for_each(|(number, (strip, ends))| {
            let columns = self.order[ends[0] as usize..ends[1] as usize].iter();
            let columns: Vec<_> = columns.map(|&column| matrix.padded(column as usize)).collect();
            let pitch = self.pitch(number);
            let tasks = strip[..self.num_rows * pitch].par_chunks_mut(DOCS_A_TASK * pitch);
            tasks.enumerate().for_each(|(task, to)| {
                let from = ColumnBlock { columns: &columns, first: task * DOCS_A_TASK };
                columns_to_strips(Level::best(), from, pitch, to);
            });
        });
        self.bytes = bytes;
        Ok(())
    }

    /// The column at a position.
    pub(super) fn column(&self, position: u32) -> usize {
        self.order[position as usize] as usize
    }

    /// The position of a column.
    pub(super) fn position(&self, column: u32) -> u32 {
        self.positions[column as usize]
    }

    /// The positions of some columns, ascending.
    pub(super) fn positions(&self, columns: &[u32]) -> Vec<u32> {
        let mut positions: Vec<u32> = columns.iter().map(|&column| self.position(column)).collect();
        positions.sort_unstable();
        positions
    }

    fn num_strips(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The number of the strip that holds a position.
    fn number(&self, position: u32) -> usize {
        self.firsts.partition_point(|&first| first <= position) - 1
    }

    /// The distance in bytes between neighbouring documents of a strip.
    fn pitch(&self, strip: usize) -> usize {
        if strip + 1 < self.num_strips() {
            return LINE;
        }
        ((self.firsts[strip + 1] - self.firsts[strip]) as usize).next_power_of_two()
    }

    /// The strip that holds a position, and the positions of that strip.
    pub(super) fn strip(&self, position: u32) -> (Strip<'_>, Range<u32>) {
        let number = self.number(position);
        let (first, end) = (self.firsts[number], self.firsts[number + 1]);
        let pitch = self.pitch(number);
        let start = number * LINE * self.num_rows;
        let bytes = &self.bytes[start..start + pitch * self.num_rows];
        (Strip { bytes, pitch, first }, first..end)
    }
}

/// The order of the columns.
struct StripLayout {
    /// The column at each position.
    order: Vec<u32>,
    /// The first position of each strip, and the end of the last.
    firsts: Vec<u32>,
}

impl StripLayout {
    /// Places the runs one after another in full cache lines, unless that would leave a narrow
    /// slice of a run in a line (a narrow tile takes as long as a wider one). The remaining columns
    /// follow, in lines that are full or about equally full.
    fn of(runs: &mut [SparseRun], width: usize) -> Self {
        let mut layout = Self { order: Vec::new(), firsts: vec![0] };
        let is_free =
            |column: &u32| runs.iter().all(|run| run.columns.binary_search(column).is_err());
        let rest: Vec<u32> = (0..width as u32).filter(is_free).collect();
        let mut rest = &rest[..];
        for SparseRun { columns, positions, .. } in runs {
            if columns.len() > layout.gap() && !layout.cuts_well(columns.len()) {
                rest = layout.fill(rest);
            }
            let width = if layout.cuts_well(columns.len()) { LINE } else { even(columns.len()) };
            let first = layout.order.len() as u32;
            layout.add(columns, width);
            *positions = first..layout.order.len() as u32;
        }
        if rest.len() > layout.gap() {
            rest = layout.fill(rest);
        }
        let fits = rest.len() <= layout.gap() || rest.len() % LINE <= HALF;
        layout.add(rest, if fits { LINE } else { even(rest.len()) });
        layout.firsts.push(layout.order.len() as u32);
        layout
    }

    /// Whether this many columns, continued in the current line, leave no narrow slice.
    fn cuts_well(&self, num_columns: usize) -> bool {
        let gap = self.gap();
        let slice = num_columns.saturating_sub(gap) % LINE;
        num_columns <= gap || gap >= NARROW && (slice == 0 || slice >= NARROW)
    }

    /// The free bytes of the current line.
    fn gap(&self) -> usize {
        LINE - (self.order.len() - self.firsts[self.firsts.len() - 1] as usize)
    }

    /// Adds columns, at most `width` per line.
    fn add(&mut self, columns: &[u32], width: usize) {
        for &column in columns {
            if self.gap() <= LINE - width {
                self.firsts.push(self.order.len() as u32);
            }
            self.order.push(column);
        }
    }

    /// Completes the current line with some of the remaining columns if they fill a tile; returns
    /// the others.
    fn fill<'r>(&mut self, rest: &'r [u32]) -> &'r [u32] {
        let gap = self.gap();
        if gap == LINE {
            return rest;
        }
        let (some, others) = rest.split_at(if gap < NARROW { 0 } else { gap.min(rest.len()) });
        self.order.extend(some);
        self.firsts.push(self.order.len() as u32);
        others
    }
}

/// The width of lines of about equal width: these cost the same as fewer full ones, and their tiles
/// fit better.
fn even(num_columns: usize) -> usize {
    num_columns.div_ceil(num_columns.div_ceil(LINE).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    fn matrix(width: usize, num_rows: usize, cell: impl Fn(usize) -> u8) -> BinnedMatrix {
        BinnedMatrix::of_rows(width, &(0..width * num_rows).map(cell).collect::<Vec<u8>>())
    }

    fn check(matrix: &BinnedMatrix, strips: &ColumnStrips) {
        for position in 0..matrix.width() as u32 {
            let (strip, positions) = strips.strip(position);
            assert!(positions.contains(&position));
            let (at, column) = ((position - strip.first) as usize, strips.column(position));
            assert_eq!(strips.position(column as u32), position);
            let cell = |doc: usize| strip.bytes[doc * strip.pitch + at];
            assert!((0..matrix.num_rows()).all(|doc| cell(doc) == matrix.column(column)[doc]));
        }
    }

    #[test]
    fn strips_hold_what_rows_hold() {
        for (width, num_rows) in
            [(1, 1), (3, 70), (64, 9), (65, 30), (110, 40), (136, 50), (700, 2)]
        {
            let matrix = matrix(width, num_rows, |i| (i * 7 + i / 256) as u8);
            let copy = ColumnStrips::of(&matrix).unwrap();
            let plain = ColumnStrips::plain(&matrix).unwrap();
            for strips in [&copy, &plain] {
                check(&matrix, strips);
            }
            let (strip, _) = copy.strip(0);
            assert_eq!(strip.bytes.as_ptr().align_offset(LINE), 0, "a line a doc");
        }
    }

    #[test]
    fn lines_are_full_and_slices_are_not_narrow() {
        for seed in 0..300 {
            let mut columns = 0..;
            let mut take = |count: u64| columns.by_ref().take(count as usize).collect::<Vec<u32>>();
            let lens = (0..draw(seed, 0, 0) % 6).map(|i| 3 + draw(seed, 1, i) % 120);
            let run = |len| {
                let (columns, dominant) = (take(len), Vec::new());
                SparseRun { columns, positions: 0..0, dominant, share: 0.5 }
            };
            let mut runs: Vec<_> = lens.map(run).collect();
            let width =
                take(draw(seed, 2, 0) % 200 + 1)[..].last().map_or(0, |&last| last as usize);
            let StripLayout { order, firsts } = StripLayout::of(&mut runs, width);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..width as u32), "each column has a place");
            assert!(firsts.windows(2).all(|ends| ends[1] - ends[0] <= LINE as u32));
            assert!(firsts.len() <= 2 + width.div_ceil(LINE) + runs.len());
            for SparseRun { positions, columns: run, .. } in &runs {
                let of_run = &order[positions.start as usize..positions.end as usize];
                assert_eq!(of_run, run);
                for ends in firsts.windows(2) {
                    let slice =
                        positions.end.min(ends[1]).saturating_sub(positions.start.max(ends[0]));
                    assert!(slice == 0 || slice as usize >= NARROW.min(run.len()), "{firsts:?}");
                }
            }
        }
    }

    #[test]
    fn runs_are_found_and_lie_together() {
        // Every other column is of a field that two docs in three lack; a third of the rest goes its own
        // way.
        let (width, num_rows) = (150, 5000);
        let cell = |i: usize| {
            let (doc, column) = (i / width, i % width);
            let lacks = !draw(1, 1, doc as u64).is_multiple_of(3);
            let any = draw(2, doc as u64, column as u64);
            match column % 2 {
                0 if lacks => 9,
                1 if column.is_multiple_of(3) && !any.is_multiple_of(10) => 3,
                _ => (any >> 8) as u8,
            }
        };
        let matrix = matrix(width, num_rows, cell);
        let strips = ColumnStrips::of(&matrix).unwrap();
        check(&matrix, &strips);
        let runs = &strips.sparse_runs.runs[..];
        let [run] = runs else { panic!("one run, not {}", runs.len()) };
        assert_eq!(run.positions, 0..75);
        let is_of_field =
            |position| strips.column(position).is_multiple_of(2) && run.dominant(position) == 9;
        assert!((0..75).all(is_of_field));
        for (doc, &active_runs) in strips.sparse_runs.active.iter().enumerate() {
            let is_active =
                (0..75).any(|position| matrix.column(strips.column(position))[doc] != 9);
            assert_eq!(active_runs, u32::from(is_active));
        }
        assert!(ColumnStrips::plain(&matrix).unwrap().sparse_runs.runs.is_empty());
    }
}
