//! Transposes bytes between rows and columns, in squares of sixteen.
//!
//! A square is transposed in registers by 64 shuffles. All SIMD levels run the same loop, the
//! higher ones with more registers.
#![expect(unsafe_code, reason = "a kernel: SSE2 and more behind a run-time check")]
#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled with the features of their level"
)]

use crate::simd::Level;

/// The number of rows and columns of a square.
pub(crate) const SIDE: usize = 16;
/// Documents whose lines stay in the first-level cache until they are complete.
const DOCS: usize = 64;

/// Cells of sixteen rows or columns.
type Square = [[u8; SIDE]; SIDE];

/// Consecutive rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowBlock<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) width: usize,
    /// The row to write to each index of the columns.
    pub(crate) from: &'a [u32],
}

/// Transposes rows to columns, each with as many cells as `from`.
pub(crate) fn rows_to_columns(level: Level, rows: RowBlock<'_>, columns: &mut [&mut [u8]]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level has these features, and the machine has the level.
        Level::Avx512 if level.is_available() => unsafe { x86::columns_avx512(rows, columns) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 if level.is_available() => unsafe { x86::columns_avx2(rows, columns) },
        _ => write_columns(transposed, rows, columns),
    }
}

/// Columns of cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnBlock<'a> {
    /// Each with at least [`SIDE`] bytes after its last cell.
    pub(crate) columns: &'a [&'a [u8]],
    /// The first document to transpose.
    pub(crate) first: usize,
}

/// Transposes all columns to lines of `pitch` bytes: a multiple of [`SIDE`], or less than it.
pub(crate) fn columns_to_strips(
    level: Level,
    from: ColumnBlock<'_>,
    pitch: usize,
    lines: &mut [u8],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level has these features, and the machine has the level.
        Level::Avx512 if level.is_available() => unsafe { x86::lines_avx512(from, pitch, lines) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 if level.is_available() => unsafe { x86::lines_avx2(from, pitch, lines) },
        _ => write_lines(transposed, from, pitch, lines),
    }
}

#[inline(always)]
fn write_columns(
    transposed: impl Fn(Square) -> Square,
    rows: RowBlock<'_>,
    columns: &mut [&mut [u8]],
) {
    let RowBlock { bytes, width, from } = rows;
    for first in (0..width).step_by(SIDE) {
        // The last square overlaps the one before instead of being incomplete.
        let first = first.min(width.saturating_sub(SIDE));
        let columns = &mut columns[first..width.min(first + SIDE)];
        for (at, from) in (0..).step_by(SIDE).zip(from.chunks(SIDE)) {
            let mut square = [[0; SIDE]; SIDE];
            for (line, &row) in square.iter_mut().zip(from) {
                let row = &bytes[row as usize * width + first..];
                match row.first_chunk() {
                    Some(row) if width >= SIDE => *line = *row,
                    _ => copy(&row[..width], &mut line[..width]),
                }
            }
            let square = transposed(square);
            for (column, line) in columns.iter_mut().zip(&square) {
                let column = &mut column[at..];
                match column.first_chunk_mut() {
                    Some(column) => *column = *line,
                    None => copy(&line[..column.len()], column),
                }
            }
        }
    }
}

#[inline(always)]
fn write_lines(
    transposed: impl Fn(Square) -> Square,
    from: ColumnBlock<'_>,
    pitch: usize,
    lines: &mut [u8],
) {
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
    use super::{ColumnBlock, RowBlock, SIDE, Square, write_columns, write_lines};
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

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn columns_avx512(rows: RowBlock<'_>, columns: &mut [&mut [u8]]) {
        write_columns(|square| transposed(square), rows, columns);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn columns_avx2(rows: RowBlock<'_>, columns: &mut [&mut [u8]]) {
        write_columns(|square| transposed(square), rows, columns);
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn lines_avx512(from: ColumnBlock<'_>, pitch: usize, lines: &mut [u8]) {
        write_lines(|square| transposed(square), from, pitch, lines);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn lines_avx2(from: ColumnBlock<'_>, pitch: usize, lines: &mut [u8]) {
        write_lines(|square| transposed(square), from, pitch, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn a_square_is_turned_as_the_plain_loop_turns_it() {
        let mut square = [[0; SIDE]; SIDE];
        square.as_flattened_mut().iter_mut().zip(0..=255).for_each(|(cell, i)| *cell = i);
        assert_eq!(transposed(square), plain(square));
        assert_eq!(transposed(square)[3][5], 5 * 16 + 3);
    }

    #[test]
    fn rows_become_columns_and_columns_lines_at_every_level() {
        for (width, num_rows) in [(1, 1), (7, 40), (16, 16), (50, 33), (64, 200), (3, 130)] {
            let cell = |i| draw(1, width as u64, i) as u8;
            let bytes: Vec<u8> = (0..(width * num_rows) as u64).map(cell).collect();
            let mut from: Vec<u32> = (0..num_rows as u32).collect();
            from.sort_by_key(|&row| draw(2, 2, row.into()));
            for level in Level::available() {
                let mut columns = vec![vec![0; num_rows + SIDE]; width];
                let mut cells: Vec<_> = columns.iter_mut().map(|c| &mut c[..num_rows]).collect();
                rows_to_columns(level, RowBlock { bytes: &bytes, width, from: &from }, &mut cells);
                for (i, column) in columns.iter().enumerate() {
                    let row = |doc: usize| bytes[from[doc] as usize * width + i];
                    assert!((0..num_rows).all(|doc| column[doc] == row(doc)));
                    assert_eq!(column[num_rows..], [0; SIDE]);
                }
                let columns: Vec<&[u8]> = columns.iter().map(|column| &column[..]).collect();
                let pitch = width.next_power_of_two();
                for first in [0, num_rows / 2] {
                    let mut lines = vec![0; (num_rows - first) * pitch];
                    columns_to_strips(
                        level,
                        ColumnBlock { columns: &columns, first },
                        pitch,
                        &mut lines,
                    );
                    for (doc, line) in (first..).zip(lines.chunks_exact(pitch)) {
                        assert!(line.iter().zip(&columns).all(|(&cell, own)| cell == own[doc]));
                        assert!(line[width..].iter().all(|&cell| cell == 0));
                    }
                }
            }
        }
    }
}
