//! What bins read from: any table that can fill a block of rows with cells.

use crate::error::{Error, Result};
use crate::{Interrupt, hash};
use rayon::prelude::*;
use std::ops::Range;

/// A table of raw values, read a block of rows at a time.
///
/// A block is copied before anything looks at it, and nothing is decided on one reading and relied
/// on in the next: a table that changes under our hands gives odd cells, never a wrong access.
pub trait Cells: Sync {
    /// The number of rows.
    fn num_rows(&self) -> usize;

    /// The number of features.
    fn num_features(&self) -> usize;

    /// Writes the cells of `rows` to `tile`, row after row.
    ///
    /// Cells are finite or the one NaN `f32::NAN`, and never `-0.0`: equal cells have equal bits.
    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()>;

    /// Writes the cells of some features of some rows to `tile`, row after row.
    ///
    /// For tables of moderate width: by default whole rows are read.
    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let mut cells = vec![0.0; self.num_features()];
        for (&row, to) in rows.iter().zip(tile.chunks_exact_mut(features.len().max(1))) {
            self.read(row as usize..row as usize + 1, &mut cells)?;
            to.copy_from_slice(&cells[features.clone()]);
        }
        Ok(())
    }
}

/// How many rows make a block whose cells stay in the second-level cache.
pub fn block_rows(num_features: usize) -> usize {
    const CELLS: usize = 32 * 1024;
    (CELLS / num_features.max(1)).clamp(1, 512)
}

/// A hash of what each row holds, read block by block on all threads.
pub fn row_hashes(table: &dyn Cells, interrupt: &Interrupt) -> Result<Vec<u64>> {
    let width = table.num_features();
    let block = block_rows(width);
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

/// The hash of a row: of its cells up to the last that is not 0, so that features which a text does
/// not mention, and a wider table has as zeros, change nothing.
pub fn row_hash(cells: &[f32]) -> u64 {
    let end = cells.iter().rposition(|&cell| cell != 0.0).map_or(0, |last| last + 1);
    hash::bytes(bytemuck::cast_slice(&cells[..end]))
}

/// The fault of the first bad row: which of several a parallel pass met first is chance.
pub(super) fn first_fault(table: &dyn Cells, met: Error) -> Error {
    if met.fault().is_none() {
        return met;
    }
    let mut row = vec![0.0; table.num_features()];
    (0..table.num_rows()).find_map(|r| table.read(r..r + 1, &mut row).err()).unwrap_or(met)
}

/// The smallest `f32` that is not below `x`; beyond the range of `f32`, its largest or smallest
/// finite number. Infinities and NaN stay what they are, and `-0.0` becomes `0.0`.
#[inline]
pub fn round_up(x: f64) -> f32 {
    let near = x as f32;
    let up = if f64::from(near) < x { near.next_up() } else { near };
    let up = if up.is_infinite() && x.is_finite() { f32::MAX.copysign(up) } else { up };
    up + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounding_at_the_edges() {
        assert_eq!(round_up(0.1), 0.1f32);
        assert_eq!(round_up(-0.1), (-0.1f32).next_up());
        assert_eq!(round_up(1e300), f32::MAX);
        assert_eq!(round_up(-1e300), f32::MIN);
        assert_eq!(round_up(f64::INFINITY), f32::INFINITY);
        assert_eq!(round_up(f64::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(round_up(-0.0).to_bits(), 0);
        assert_eq!(round_up(1e-300), f32::from_bits(1));
        assert_eq!(round_up(-1e-300).to_bits(), 0);
        assert!(round_up(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn comparison_with_a_threshold_survives(x in any::<f64>(), t in any::<f32>()) {
            prop_assume!(x.is_finite() && t.is_finite() && t < f32::MAX);
            prop_assert_eq!(x <= f64::from(t), round_up(x) <= t);
        }
    }
}
