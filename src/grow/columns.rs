//! The table by column, for the one column that a split looks at.

use super::kernel::Cells;
use crate::bins::Matrix;
use rayon::prelude::*;

/// Bytes that a gather may read past the last cell.
const PAD: usize = 3;
/// Rows that are turned at a time: with 16 columns they stay in the first-level cache.
const ROWS: usize = 256;

/// A copy of the table by column, where there is room for one.
///
/// A node's cells of one column then lie close together; in rows each is a cache line of its own.
#[derive(Debug)]
pub(super) struct Columns {
    bytes: Option<Vec<u8>>,
    num_rows: usize,
}

impl Columns {
    /// Copies a table; without the memory for it, its rows will do.
    pub(super) fn of(matrix: &Matrix) -> Self {
        let (width, num_rows) = (matrix.width(), matrix.num_rows());
        let size = width * num_rows + PAD;
        let bytes = bytemuck::allocation::try_zeroed_vec(size).ok().map(|mut bytes: Vec<u8>| {
            turn(matrix, &mut bytes[..width * num_rows]);
            bytes
        });
        Self { bytes, num_rows }
    }

    /// The cells of a column of the table that this is a copy of.
    pub(super) fn get<'a>(&'a self, matrix: &'a Matrix, column: usize) -> Cells<'a> {
        match &self.bytes {
            Some(bytes) => {
                let start = column * self.num_rows;
                Cells::Column(&bytes[start..start + self.num_rows + PAD])
            }
            None => Cells::Rows { bytes: matrix.bytes(), width: matrix.width(), column },
        }
    }
}

fn turn(matrix: &Matrix, bytes: &mut [u8]) {
    const COLUMNS: usize = 16;
    let (width, num_rows) = (matrix.width(), matrix.num_rows());
    if num_rows == 0 || width == 0 {
        return;
    }
    bytes.par_chunks_mut(COLUMNS * num_rows).enumerate().for_each(|(group, to)| {
        for start in (0..num_rows).step_by(ROWS) {
            let rows = start..num_rows.min(start + ROWS);
            for (i, column) in to.chunks_exact_mut(num_rows).enumerate() {
                let from = &matrix.bytes()[rows.start * width + group * COLUMNS + i..];
                let from = from.iter().step_by(width);
                for (to, &byte) in column[rows.clone()].iter_mut().zip(from) {
                    *to = byte;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(cells: Cells<'_>, doc: usize) -> u8 {
        match cells {
            Cells::Column(bytes) => bytes[doc],
            Cells::Rows { bytes, width, column } => bytes[doc * width + column],
        }
    }

    #[test]
    fn columns_hold_what_rows_hold() {
        for (width, num_rows) in [(1, 1), (3, 700), (70, 300), (130, 5)] {
            let mut matrix = Matrix::with_capacity(width, num_rows).unwrap();
            for (i, byte) in matrix.grow(num_rows).unwrap().iter_mut().enumerate() {
                *byte = (i * 7 + i / 256) as u8;
            }
            let columns = Columns::of(&matrix);
            for column in 0..width {
                let cells = columns.get(&matrix, column);
                let rows = Columns { bytes: None, num_rows };
                let plain = rows.get(&matrix, column);
                assert!((0..num_rows).all(|doc| get(cells, doc) == get(plain, doc)));
            }
        }
    }
}
