//! The binned table, column by column.
//!
//! A split reads one column of many documents, so their cells should be close together. Histograms
//! are summed from a copy that the tree grower makes.
//!
//! Invariant: at least [`PAD`] zeros follow the last cell of a column.

use super::kernel::transpose::SIDE;
use super::layout::CodeLocation;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// The number of bytes that a gather or a transposed square may read past the last cell of a
/// column.
const PAD: usize = SIDE;

/// Binned rows of equal width.
#[derive(Debug, Clone)]
pub struct BinnedMatrix {
    bytes: Vec<u8>,
    width: usize,
    num_rows: usize,
    /// The distance between columns.
    pitch: usize,
}

/// Two tables are equal if their cells are, whatever their capacities.
impl PartialEq for BinnedMatrix {
    fn eq(&self, other: &Self) -> bool {
        (self.width, self.num_rows) == (other.width, other.num_rows)
            && (0..self.width).all(|column| self.column(column) == other.column(column))
    }
}

impl Eq for BinnedMatrix {}

impl BinnedMatrix {
    /// An empty table with capacity for `num_rows` rows.
    pub fn with_capacity(width: usize, num_rows: usize) -> Result<Self> {
        Ok(Self { num_rows: 0, ..Self::zeros(width, num_rows)? })
    }

    /// A table of `num_rows` rows of zeros, whose memory is not touched before it is used.
    pub fn zeros(width: usize, num_rows: usize) -> Result<Self> {
        let pitch = pitch(num_rows);
        let size = width.checked_mul(pitch).ok_or_else(|| too_large(width, pitch))?;
        let bytes = bytemuck::try_zeroed_vec(size).map_err(|()| too_large(width, pitch))?;
        Ok(Self { bytes, width, num_rows, pitch })
    }

    /// Appends `num_rows` rows of zeros.
    pub fn grow(&mut self, num_rows: usize) -> Result<()> {
        let num_rows = self.num_rows.saturating_add(num_rows);
        if num_rows.saturating_add(PAD) > self.pitch {
            // Half as much again, so that columns are not moved too often; if there is not enough
            // memory, just what is needed.
            let room = num_rows.max(self.pitch + self.pitch / 2);
            self.widen(pitch(room)).or_else(|_| self.widen(pitch(num_rows)))?;
        }
        self.num_rows = num_rows;
        Ok(())
    }

    /// Increases the distance between columns.
    fn widen(&mut self, pitch: usize) -> Result<()> {
        let size = self.width.checked_mul(pitch).ok_or_else(|| too_large(self.width, pitch))?;
        let more = size - self.bytes.len();
        self.bytes.try_reserve_exact(more).map_err(|_| too_large(self.width, pitch))?;
        self.bytes.resize(size, 0);
        for column in (0..self.width).rev() {
            self.shift(column, pitch);
        }
        self.pitch = pitch;
        Ok(())
    }

    /// Releases unused capacity.
    fn fit(&mut self) {
        let pitch = pitch(self.num_rows);
        if self.pitch - pitch <= pitch / 8 {
            return;
        }
        for column in 0..self.width {
            self.shift(column, pitch);
        }
        self.bytes.truncate(self.width * pitch);
        self.bytes.shrink_to_fit();
        self.pitch = pitch;
    }

    /// Moves a column to its offset with another distance between columns.
    fn shift(&mut self, column: usize, pitch: usize) {
        let (from, to) = (column * self.pitch, column * pitch);
        self.bytes.copy_within(from..from + self.num_rows, to);
        self.bytes[to + self.num_rows..to + pitch].fill(0);
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// The number of columns: the bytes of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Some rows of all columns, for writing.
    pub(super) fn columns_mut(&mut self, rows: Range<usize>) -> impl Iterator<Item = &mut [u8]> {
        let columns = self.bytes.chunks_exact_mut(self.pitch);
        columns.map(move |column| &mut column[rows.clone()])
    }

    /// The number of bytes it occupies.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The cells of a column.
    #[inline]
    pub fn column(&self, column: usize) -> &[u8] {
        &self.bytes[column * self.pitch..][..self.num_rows]
    }

    /// The cells of a column, then [`PAD`] zeros.
    #[inline]
    pub(crate) fn padded(&self, column: usize) -> &[u8] {
        &self.bytes[column * self.pitch..][..self.num_rows + PAD]
    }

    /// The code of a feature in a row.
    #[inline]
    pub fn code(&self, row: usize, location: CodeLocation) -> u8 {
        location.code(self.column(location.column as usize)[row])
    }

    /// Replaces the code of a feature in a row.
    pub(crate) fn set_code(&mut self, row: usize, location: CodeLocation, code: u8) {
        let old = self.code(row, location);
        let byte = &mut self.bytes[location.column as usize * self.pitch + row];
        // The codes of other features stay as they are.
        let others = u16::from(*byte) - u16::from(old) * location.stride;
        *byte = (others + u16::from(code) * location.stride) as u8;
    }

    /// The rows in another order: row `i` becomes row `order[i]` of this table. Each row occurs
    /// once.
    pub(crate) fn in_order(mut self, order: &[u32]) -> Result<Self> {
        assert_eq!(order.len(), self.num_rows, "each row once");
        if !order.is_sorted() {
            let num_rows = self.num_rows;
            // Column by column, to avoid a second table.
            let columns = self.bytes.par_chunks_exact_mut(self.pitch);
            columns.try_for_each_init(Vec::new, |old: &mut Vec<u8>, column| {
                old.clear();
                old.try_reserve_exact(num_rows).map_err(|_| too_large(1, num_rows))?;
                old.extend_from_slice(&column[..num_rows]);
                column.iter_mut().zip(order).for_each(|(to, &row)| *to = old[row as usize]);
                Ok::<_, Error>(())
            })?;
        }
        self.fit();
        Ok(self)
    }

    /// A table of some rows.
    pub(crate) fn gathered(&self, rows: &[u32]) -> Result<Self> {
        let mut part = Self::zeros(self.width, rows.len())?;
        for (column, cells) in part.columns_mut(0..rows.len()).enumerate() {
            let from = self.column(column);
            cells.iter_mut().zip(rows).for_each(|(to, &row)| *to = from[row as usize]);
        }
        Ok(part)
    }

    /// A table from consecutive rows.
    #[cfg(test)]
    pub(crate) fn of_rows(width: usize, rows: &[u8]) -> Self {
        let mut matrix = Self::zeros(width, rows.len() / width).unwrap();
        for (i, column) in matrix.columns_mut(0..rows.len() / width).enumerate() {
            let cells = rows[i..].iter().step_by(width);
            column.iter_mut().zip(cells).for_each(|(to, &cell)| *to = cell);
        }
        matrix
    }
}

/// The distance between columns of this many rows.
fn pitch(num_rows: usize) -> usize {
    const LINE: usize = 64;
    const PAGE: usize = 4096;
    let least = num_rows.saturating_add(PAD);
    // Columns whose distance is a power of two would compete for the same cache sets.
    if least < PAGE {
        least
    } else {
        least.checked_next_multiple_of(LINE).map_or(least, |p| p | LINE)
    }
}

fn too_large(width: usize, pitch: usize) -> Error {
    Error::resource("the binned table", (width as u64).saturating_mul(pitch as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    fn cell(row: usize, column: usize) -> u8 {
        draw(1, row as u64, column as u64) as u8
    }

    fn table(width: usize, rows: &[usize]) -> BinnedMatrix {
        let cells = rows.iter().flat_map(|&row| (0..width).map(move |column| cell(row, column)));
        BinnedMatrix::of_rows(width, &cells.collect::<Vec<u8>>())
    }

    #[test]
    fn a_table_that_grows_keeps_its_cells() {
        let width = 5;
        for room in [0, 10, 9000, 20_000] {
            let mut matrix = BinnedMatrix::with_capacity(width, room).unwrap();
            for more in [0, 1, 16, 300, 5000, 3000, 1] {
                let old = matrix.num_rows();
                matrix.grow(more).unwrap();
                for (column, cells) in matrix.columns_mut(old..old + more).enumerate() {
                    assert!(cells.iter().all(|&cell| cell == 0));
                    cells.iter_mut().zip(old..).for_each(|(to, row)| *to = cell(row, column));
                }
            }
            let all: Vec<usize> = (0..matrix.num_rows()).collect();
            assert_eq!(matrix, table(width, &all));
            for column in 0..width {
                assert_eq!(matrix.padded(column)[all.len()..], [0; PAD]);
            }
        }
    }

    #[test]
    fn rows_are_put_in_order() {
        for num_rows in [1, 40, 6000] {
            let mut order: Vec<u32> = (0..num_rows).collect();
            order.sort_by_key(|&row| draw(2, 2, row.into()));
            for room in [0, 20_000] {
                let all: Vec<usize> = (0..num_rows as usize).collect();
                let mut matrix = table(3, &all);
                matrix.grow(room).unwrap();
                matrix.num_rows = all.len();
                let rows: Vec<usize> = order.iter().map(|&row| row as usize).collect();
                let sorted = matrix.in_order(&order).unwrap();
                assert_eq!(sorted, table(3, &rows));
                assert_eq!(sorted.bytes.len(), 3 * pitch(all.len()));
                assert_eq!(sorted.padded(2)[all.len()..], [0; PAD]);
            }
        }
    }

    #[test]
    fn tables_that_no_memory_holds_are_refused() {
        assert!(BinnedMatrix::zeros(1 << 30, 1 << 40).is_err());
        assert!(BinnedMatrix::zeros(2, usize::MAX).is_err());
        let mut matrix = BinnedMatrix::zeros(1 << 20, 1).unwrap();
        assert!(matrix.grow(1 << 45).is_err() && matrix.grow(usize::MAX).is_err());
        assert_eq!(matrix.num_rows(), 1);
    }
}
