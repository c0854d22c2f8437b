//! The table by strips of columns, for sums.
//!
//! A *strip* is up to 64 neighbouring columns; a doc's cells of it lie in one cache line. So sums that
//! are made strip by strip ask for no line twice and for nothing beside what they need, while the
//! sums themselves stay in the second-level cache: those of a whole row of many columns do not.

use crate::bins::Matrix;
use rayon::prelude::*;
use std::ops::Range;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Where a doc's cells of some columns are: `bytes[doc * pitch + column - first]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) pitch: usize,
    pub(super) first: u32,
}

/// A copy of the table by strips, where there is room for one.
#[derive(Debug)]
pub(super) struct Lines {
    /// Strip after strip, from the first byte that begins a cache line.
    bytes: Option<Vec<u8>>,
    start: usize,
    num_rows: usize,
    /// The columns of a strip; the last may have fewer.
    per_strip: usize,
}

impl Lines {
    /// Copies a table; without the memory for it, its rows will do.
    pub(super) fn of(matrix: &Matrix) -> Self {
        let (width, num_rows) = (matrix.width(), matrix.num_rows());
        let num_strips = width.div_ceil(LINE);
        // Strips of about the same width.
        let per_strip = width.div_ceil(num_strips.max(1)).max(1);
        let size = num_rows.checked_mul(num_strips * LINE).and_then(|size| size.checked_add(LINE));
        let bytes = size.and_then(|size| bytemuck::allocation::try_zeroed_vec::<u8>(size).ok());
        let Some(mut bytes) = bytes else {
            return Self { bytes: None, start: 0, num_rows, per_strip };
        };
        let start = bytes.as_ptr().align_offset(LINE).min(LINE);
        let strips = bytes[start..].par_chunks_mut((num_rows * LINE).max(1)).enumerate();
        strips.take(num_strips).for_each(|(strip, lines)| {
            let columns = strip * per_strip..width.min((strip + 1) * per_strip);
            for (to, row) in lines.chunks_exact_mut(LINE).zip(matrix.bytes().chunks_exact(width)) {
                to[..columns.len()].copy_from_slice(&row[columns.clone()]);
            }
        });
        Self { bytes: Some(bytes), start, num_rows, per_strip }
    }

    /// The strip of a column of the table that this is a copy of, and its columns.
    pub(super) fn strip<'a>(&'a self, matrix: &'a Matrix, column: u32) -> (Strip<'a>, Range<u32>) {
        let per_strip = self.per_strip as u32;
        let strip = column / per_strip;
        let first = strip * per_strip;
        let columns = first..first + per_strip;
        let Some(bytes) = &self.bytes else {
            let bytes = &matrix.bytes()[first as usize..];
            return (Strip { bytes, pitch: matrix.width(), first }, columns);
        };
        let at = self.start + strip as usize * self.step();
        (Strip { bytes: &bytes[at..at + self.step()], pitch: LINE, first }, columns)
    }

    /// How far apart a doc's cells of neighbouring strips are.
    pub(super) fn step(&self) -> usize {
        if self.bytes.is_some() { self.num_rows * LINE } else { self.per_strip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_hold_what_rows_hold() {
        for (width, num_rows) in [(1, 1), (3, 70), (64, 9), (65, 30), (130, 5), (700, 2)] {
            let mut matrix = Matrix::with_capacity(width, num_rows).unwrap();
            for (i, byte) in matrix.grow(num_rows).unwrap().iter_mut().enumerate() {
                *byte = (i * 7 + i / 256) as u8;
            }
            let copy = Lines::of(&matrix);
            let rows = Lines { bytes: None, start: 0, num_rows, per_strip: copy.per_strip };
            for lines in [&copy, &rows] {
                for column in 0..width {
                    let (strip, columns) = lines.strip(&matrix, column as u32);
                    assert!(columns.contains(&(column as u32)));
                    let place = column - strip.first as usize;
                    let cell = |doc: usize| strip.bytes[doc * strip.pitch + place];
                    assert!((0..num_rows).all(|doc| cell(doc) == matrix.row(doc)[column]));
                }
            }
            let (strip, _) = copy.strip(&matrix, 0);
            assert_eq!(strip.bytes.as_ptr().align_offset(LINE), 0, "a line a doc");
        }
    }
}
