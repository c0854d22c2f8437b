//! The table by strips of columns, for sums.
//!
//! A *strip* is up to 64 neighbouring columns; a doc's cells of it lie in one cache line. So sums that
//! are made strip by strip ask for no line twice and for nothing beside what they need, while the
//! sums themselves stay in the second-level cache: those of a whole row of many columns do not.

use crate::bins::Matrix;
use rayon::prelude::*;
use std::ops::Range;

/// The bytes of a cache line, and of half of one.
const LINE: usize = 64;
const HALF: usize = LINE / 2;

/// Where a doc's cells of some columns are: `bytes[doc * pitch + column - first]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) pitch: usize,
    pub(super) first: u32,
}

/// A copy of the table by strips, where there is room for one.
///
/// A doc has a cache line of each strip; of the last, if that is narrow, half a line or less.
#[derive(Debug)]
pub(super) struct Lines {
    /// Strip after strip, from the first byte that begins a cache line.
    bytes: Option<Vec<u8>>,
    start: usize,
    num_rows: usize,
    width: usize,
    /// The columns of a strip; the last may have fewer.
    per_strip: usize,
}

impl Lines {
    /// Copies a table; without the memory for it, its rows will do.
    pub(super) fn of(matrix: &Matrix) -> Self {
        let (width, num_rows) = (matrix.width(), matrix.num_rows());
        let per_strip = match width % LINE {
            0..=HALF => LINE,
            // Strips of about the same width: they cost as much, and their tiles fit better.
            _ => width.div_ceil(width.div_ceil(LINE)),
        };
        let mut lines = Self { bytes: None, start: 0, num_rows, width, per_strip };
        let row: usize = (0..width).step_by(per_strip).map(|first| lines.pitch(first)).sum();
        let size = num_rows.checked_mul(row).and_then(|size| size.checked_add(LINE));
        let bytes = size.and_then(|size| bytemuck::allocation::try_zeroed_vec::<u8>(size).ok());
        let Some(mut bytes) = bytes else { return lines };
        lines.start = bytes.as_ptr().align_offset(LINE).min(LINE);
        let strips = bytes[lines.start..].par_chunks_mut((num_rows * LINE).max(1));
        let firsts = (0..width).into_par_iter().step_by(per_strip);
        strips.zip(firsts).for_each(|(strip, first)| {
            let pitch = lines.pitch(first);
            let columns = first..width.min(first + per_strip);
            let rows = matrix.bytes().chunks_exact(width);
            for (to, row) in strip.chunks_exact_mut(pitch).zip(rows) {
                to[..columns.len()].copy_from_slice(&row[columns.clone()]);
            }
        });
        Self { bytes: Some(bytes), ..lines }
    }

    /// How far apart the cells of neighbouring docs are in the strip that begins with a column.
    fn pitch(&self, first: usize) -> usize {
        (self.width - first).min(self.per_strip).next_power_of_two()
    }

    /// The strip of a column of the table that this is a copy of, and its columns.
    pub(super) fn strip<'a>(&'a self, matrix: &'a Matrix, column: u32) -> (Strip<'a>, Range<u32>) {
        let number = column as usize / self.per_strip;
        let at = number * self.per_strip;
        let (first, end) = (at as u32, self.width.min(at + self.per_strip) as u32);
        let Some(bytes) = &self.bytes else {
            let bytes = &matrix.bytes()[at..];
            return (Strip { bytes, pitch: matrix.width(), first }, first..end);
        };
        let pitch = self.pitch(at);
        let start = self.start + number * LINE * self.num_rows;
        let bytes = &bytes[start..start + pitch * self.num_rows];
        (Strip { bytes, pitch, first }, first..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_hold_what_rows_hold() {
        for (width, num_rows) in
            [(1, 1), (3, 70), (64, 9), (65, 30), (110, 40), (136, 50), (700, 2)]
        {
            let mut matrix = Matrix::with_capacity(width, num_rows).unwrap();
            for (i, byte) in matrix.grow(num_rows).unwrap().iter_mut().enumerate() {
                *byte = (i * 7 + i / 256) as u8;
            }
            let copy = Lines::of(&matrix);
            let rows = Lines { bytes: None, ..Lines::of(&matrix) };
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
