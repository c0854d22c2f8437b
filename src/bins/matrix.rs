//! The binned table: bytes, row after row.

use super::layout::Place;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Binned rows of equal width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    bytes: Vec<u8>,
    width: usize,
    num_rows: usize,
}

impl Matrix {
    /// An empty table with room for `num_rows` rows.
    pub fn with_capacity(width: usize, num_rows: usize) -> Result<Self> {
        let size = width.checked_mul(num_rows);
        let mut bytes = Vec::new();
        if size.is_none_or(|size| bytes.try_reserve_exact(size).is_err()) {
            let bytes = (width as u64).saturating_mul(num_rows as u64);
            return Err(Error::resource("the binned table", bytes));
        }
        Ok(Self { bytes, width, num_rows: 0 })
    }

    /// A table of `num_rows` rows of zeros, whose memory is not touched before it is used.
    pub fn zeros(width: usize, num_rows: usize) -> Result<Self> {
        let size = width.checked_mul(num_rows);
        let bytes = size.and_then(|size| bytemuck::try_zeroed_vec(size).ok()).ok_or_else(|| {
            let bytes = (width as u64).saturating_mul(num_rows as u64);
            Error::resource("the binned table", bytes)
        })?;
        Ok(Self { bytes, width, num_rows })
    }

    /// Adds `num_rows` rows of zeros and returns their bytes.
    pub fn grow(&mut self, num_rows: usize) -> Result<&mut [u8]> {
        let old = self.bytes.len();
        let more = self.width.saturating_mul(num_rows);
        if self.bytes.try_reserve(more).is_err() {
            return Err(Error::resource("the binned table", (old as u64) + (more as u64)));
        }
        self.num_rows += num_rows;
        self.bytes.resize(old + more, 0);
        Ok(&mut self.bytes[old..])
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// The bytes of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All bytes, to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// All bytes, row after row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.width..(row + 1) * self.width]
    }

    /// The code of a feature in a row.
    #[inline]
    pub fn code(&self, row: usize, place: Place) -> u8 {
        place.code(self.bytes[row * self.width + place.column as usize])
    }

    /// Gives a row another code of a feature.
    pub(crate) fn set_code(&mut self, row: usize, place: Place, code: u8) {
        let old = self.code(row, place);
        let byte = &mut self.bytes[row * self.width + place.column as usize];
        // The digits of other features stay as they are.
        let others = u16::from(*byte) - u16::from(old) * place.stride;
        *byte = (others + u16::from(code) * place.stride) as u8;
    }

    /// The table whose row `i` is the row `order[i]` of this one.
    pub(crate) fn in_order(self, order: &[u32]) -> Result<Self> {
        const ROWS: usize = 1024;
        if order.is_sorted() || self.width == 0 {
            return Ok(self);
        }
        let mut sorted = Self::zeros(self.width, order.len())?;
        let width = self.width;
        sorted.bytes.par_chunks_mut(ROWS * width).zip(order.par_chunks(ROWS)).for_each(
            |(to, rows)| {
                for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
                    to.copy_from_slice(self.row(row as usize));
                }
            },
        );
        Ok(sorted)
    }
}
