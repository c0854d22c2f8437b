//! The interface to tables of raw values, and hashes of their rows.

use crate::error::{Error, Result, room_for};
use crate::{Interrupt, hash};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// A table of raw values, read a block of rows at a time.
///
/// A block is copied before it is used, and no decision from one reading is relied on in the next.
/// So a table that changes meanwhile gives wrong values but never an invalid memory access.
pub trait CellSource: Sync {
    /// The number of rows.
    fn num_rows(&self) -> usize;

    /// The number of features.
    fn num_features(&self) -> usize;

    /// Writes the cells of `rows` to `tile`, row after row.
    ///
    /// Cells are finite, infinite or the one NaN `f32::NAN`, and never `-0.0`: equal cells have
    /// equal bits.
    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()>;

    /// Writes the cells of some features of some rows to `tile`, row after row.
    ///
    /// For tables of moderate width: the default reads whole rows.
    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let mut cells = vec![0.0; self.num_features()];
        for (&row, to) in rows.iter().zip(tile.chunks_exact_mut(features.len().max(1))) {
            self.read(row as usize..row as usize + 1, &mut cells)?;
            to.copy_from_slice(&cells[features.clone()]);
        }
        Ok(())
    }

    /// The [`row_hash`] of each row: computed, unless the table knows it.
    fn hashes(&self, interrupt: &Interrupt) -> Result<Cow<'_, [u64]>> {
        row_hashes(self, interrupt).map(Cow::Owned)
    }
}

/// The number of rows per block, such that the cells of a block stay in the second-level cache.
pub fn block_rows(num_features: usize) -> usize {
    const CELLS: usize = 32 * 1024;
    (CELLS / num_features.max(1)).clamp(1, 512)
}

/// A hash of the content of each row, computed block by block on all threads.
pub fn row_hashes<T: CellSource + ?Sized>(table: &T, interrupt: &Interrupt) -> Result<Vec<u64>> {
    let width = table.num_features();
    let block = block_rows(width);
    // Two blocks per thread: one for the cells, one for what they are read from.
    let threads = rayon::current_num_threads();
    room_for("a block of rows a thread", 8 * (threads * block * width) as u64)?;
    let mut hashes = vec![0; table.num_rows()];
    hashes
        .par_chunks_mut(block)
        .enumerate()
        .try_for_each_init(
            || vec![0f32; block * width],
            |tile, (i, hashes)| {
                interrupt.check()?;
                let start = i * block;
                let tile = &mut tile[..hashes.len() * width];
                table.read(start..start + hashes.len(), tile)?;
                hash_rows(tile, hashes);
                Ok(())
            },
        )
        .map_err(|error| first_fault(table, error))?;
    Ok(hashes)
}

/// The hash of each row of a tile.
pub(super) fn hash_rows(tile: &[f32], hashes: &mut [u64]) {
    let width = tile.len() / hashes.len().max(1);
    for (row, hash) in hashes.iter_mut().enumerate() {
        *hash = row_hash(&tile[row * width..(row + 1) * width]);
    }
}

/// The hash of a row's cells up to the last that is not 0. Trailing zeros do not count, so a row
/// has the same hash in a wider table.
pub fn row_hash(cells: &[f32]) -> u64 {
    let end = cells.iter().rposition(|&cell| cell != 0.0).map_or(0, |last| last + 1);
    hash::bytes(bytemuck::cast_slice(&cells[..end]))
}

/// The error of the first bad row. A parallel pass may have met another one first.
pub(super) fn first_fault<T: CellSource + ?Sized>(table: &T, met: Error) -> Error {
    if met.fault().is_none() {
        return met;
    }
    let mut row = vec![0.0; table.num_features()];
    (0..table.num_rows()).find_map(|r| table.read(r..r + 1, &mut row).err()).unwrap_or(met)
}

/// The `f32` nearest to a value. Finite values beyond its range become the largest finite `f32`.
/// The result is never a negative zero, and no NaN but `f32::NAN`.
#[inline]
pub fn nearest(value: f64) -> f32 {
    if value.is_nan() {
        return f32::NAN;
    }
    let nearest = value as f32;
    let finite = if value.is_finite() { nearest.clamp(f32::MIN, f32::MAX) } else { nearest };
    finite + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cell_is_the_nearest_single() {
        assert_eq!(nearest(0.1), 0.1f32);
        assert_eq!(nearest(1e300), f32::MAX);
        assert_eq!(nearest(f64::from(f32::MAX).next_up()), f32::MAX);
        assert_eq!(nearest(-1e300), f32::MIN);
        assert_eq!(nearest(f64::INFINITY), f32::INFINITY);
        assert_eq!(nearest(-1e-300).to_bits(), 0);
        assert_eq!(nearest(-0.0).to_bits(), 0);
        assert_eq!(nearest(-f64::NAN).to_bits(), f32::NAN.to_bits());
    }

    proptest! {
        #[test]
        fn cells_keep_the_order_of_values(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a <= b);
            prop_assert!(nearest(a) <= nearest(b));
        }

        #[test]
        fn single_precision_is_kept(x in any::<f32>()) {
            prop_assert_eq!(nearest(f64::from(x)).to_bits(), (if x.is_nan() { f32::NAN } else { x + 0.0 }).to_bits());
        }
    }
}
