//! Transposes bytes from columns to rows, in squares of sixteen.
//!
//! A square is transposed in registers by 64 shuffles. All SIMD levels run the same loop, the
//! higher ones with more registers.
#![expect(unsafe_code, reason = "a kernel: SSE2, which is part of x86-64")]

use crate::simd::for_levels;

/// The number of rows and columns of a square.
pub(crate) const SIDE: usize = 16;
/// Documents whose lines stay in the first-level cache until they are complete.
const DOCS: usize = 64;

/// Cells of sixteen rows or columns.
type Square = [[u8; SIDE]; SIDE];

/// Columns of cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnBlock<'a> {
    /// Each with at least [`SIDE`] bytes after its last cell.
    pub(crate) columns: &'a [&'a [u8]],
    /// The first document to transpose.
    pub(crate) first: usize,
}

for_levels! {
    /// Transposes all columns to lines of `pitch` bytes: a multiple of [`SIDE`], or less than it.
    pub(crate) fn columns_to_strips(from: ColumnBlock<'_>, pitch: usize, lines: &mut [u8]) {
        let ColumnBlock { columns, first } = from;
        for (doc, to) in (first..).step_by(DOCS).zip(lines.chunks_mut(DOCS * pitch)) {
            for (at, columns) in (0..).step_by(SIDE).zip(columns.chunks(SIDE)) {
                for (doc, to) in (doc..).step_by(SIDE).zip(to.chunks_mut(SIDE * pitch)) {
                    let mut square = [[0; SIDE]; SIDE];
                    for (line, column) in square.iter_mut().zip(columns) {
                        if let Some(cells) = column[doc..].first_chunk() {
                            *line = *cells;
                        }
                    }
                    let square = transposed(square);
                    for (to, line) in to.chunks_exact_mut(pitch).zip(&square) {
                        match to[at..].first_chunk_mut() {
                            Some(to) => *to = *line,
                            None => copy(&line[..pitch], &mut to[at..]),
                        }
                    }
                }
            }
        }
    }
}

/// Copies less than a line. Kept out of line, so that full lines are not copied by a call.
#[cold]
#[inline(never)]
fn copy(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Transposes a square.
#[cfg(target_arch = "x86_64")]
#[inline]
fn transposed(square: Square) -> Square {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { x86::transposed(square) }
}

#[cfg(not(target_arch = "x86_64"))]
use plain as transposed;

#[cfg(any(test, not(target_arch = "x86_64")))]
fn plain(square: Square) -> Square {
    let mut transposed = square;
    for (i, line) in transposed.iter_mut().enumerate() {
        line.iter_mut().zip(&square).for_each(|(to, from)| *to = from[i]);
    }
    transposed
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{SIDE, Square};
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};

    #[target_feature(enable = "sse2")]
    #[inline]
    pub(super) fn transposed(square: Square) -> Square {
        let mut lines: [__m128i; SIDE] = bytemuck::cast(square);
        // Interleaving the first half of 256 bytes with the second, four times, transposes them.
        for _ in 0..4 {
            let old = lines;
            for i in 0..SIDE / 2 {
                lines[2 * i] = _mm_unpacklo_epi8(old[i], old[i + SIDE / 2]);
                lines[2 * i + 1] = _mm_unpackhi_epi8(old[i], old[i + SIDE / 2]);
            }
        }
        bytemuck::cast(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;
    use crate::simd::Level;

    #[test]
    fn a_square_is_turned_as_the_plain_loop_turns_it() {
        let mut square = [[0; SIDE]; SIDE];
        square.as_flattened_mut().iter_mut().zip(0..=255).for_each(|(cell, i)| *cell = i);
        assert_eq!(transposed(square), plain(square));
        assert_eq!(transposed(square)[3][5], 5 * 16 + 3);
    }

    #[test]
    fn columns_become_lines_at_every_level() {
        for (width, num_rows) in [(1, 1), (7, 40), (16, 16), (50, 33), (64, 200), (3, 130)] {
            let cell = |i| draw(1, width as u64, i) as u8;
            let column = |i: usize| {
                let mut column: Vec<u8> =
                    (0..num_rows).map(|doc| cell((doc * width + i) as u64)).collect();
                column.resize(num_rows + SIDE, 0);
                column
            };
            let columns: Vec<Vec<u8>> = (0..width).map(column).collect();
            let columns: Vec<&[u8]> = columns.iter().map(|column| &column[..]).collect();
            let pitch = width.next_power_of_two();
            for level in Level::available() {
                for first in [0, num_rows / 2] {
                    let mut lines = vec![0; (num_rows - first) * pitch];
                    let from = ColumnBlock { columns: &columns, first };
                    columns_to_strips(level, from, pitch, &mut lines);
                    for (doc, line) in (first..).zip(lines.chunks_exact(pitch)) {
                        assert!(line.iter().zip(&columns).all(|(&cell, own)| cell == own[doc]));
                        assert!(line[width..].iter().all(|&cell| cell == 0));
                    }
                }
            }
        }
    }
}
