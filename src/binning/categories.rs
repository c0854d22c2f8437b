//! The bins of a categorical feature.
//!
//! A *category* is the integer part of a value: an integer from 0. Each of the most frequent
//! categories has a bin of its own, the most frequent first, and of equally frequent ones the
//! smallest first. All others, including those never seen, share the *other bin* that follows. The
//! bins depend on the content of the rows only, not on their order.

use super::layout::CodeLocation;
use super::thresholds::WeightedCell;

/// The categories of a feature that have bins of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryBins {
    by_bin: Box<[u32]>,
    /// Pairs of category and bin, by category.
    sorted: Box<[(u32, u8)]>,
}

impl CategoryBins {
    /// The most categories with bins of their own: the other bin and the missing bin take two
    /// codes.
    pub const MOST: usize = 254;

    /// Chooses the categories of a sample, in at most `max_bins` bins including the other bin.
    pub(crate) fn choose(distinct: &[WeightedCell], max_bins: usize) -> Self {
        let mut weights: Vec<(u32, u64)> = Vec::new();
        // Cells are ascending, and so are their integer parts.
        for cell in distinct {
            let Some(category) = category_of(cell.cell) else { continue };
            match weights.last_mut() {
                Some((last, weight)) if *last == category => *weight += cell.weight,
                _ => weights.push((category, cell.weight)),
            }
        }
        weights.sort_by_key(|&(category, weight)| (std::cmp::Reverse(weight), category));
        weights.truncate(Self::MOST.min(max_bins.saturating_sub(1)));
        Self::of(weights.into_iter().map(|(category, _)| category).collect())
    }

    /// Given categories in the order of their bins: at most [`MOST`](Self::MOST), all different.
    pub(crate) fn of(by_bin: Vec<u32>) -> Self {
        debug_assert!(by_bin.len() <= Self::MOST);
        let mut sorted: Vec<(u32, u8)> = by_bin.iter().copied().zip(0..=u8::MAX).collect();
        sorted.sort_unstable();
        Self { by_bin: by_bin.into(), sorted: sorted.into() }
    }

    /// The category of each bin, without the other bin.
    pub fn by_bin(&self) -> &[u32] {
        &self.by_bin
    }

    /// The bin of a category, if it has one of its own.
    pub fn bin(&self, category: u32) -> Option<u8> {
        let at = self.sorted.binary_search_by_key(&category, |&(category, _)| category).ok()?;
        Some(self.sorted[at].1)
    }

    /// The code of a cell.
    pub fn code(&self, cell: f32) -> u8 {
        let other = self.by_bin.len() as u8;
        if cell.is_nan() {
            return other + 1;
        }
        category_of(cell).and_then(|category| self.bin(category)).unwrap_or(other)
    }

    /// Adds the codes of a column of cells to a column of bytes.
    pub(super) fn encode<'a>(
        &self,
        location: CodeLocation,
        cells: impl Iterator<Item = &'a f32>,
        bytes: impl Iterator<Item = &'a mut u8>,
    ) {
        // Neighbours are often equal.
        let (mut last, mut code) = (f32::NAN.to_bits(), self.code(f32::NAN));
        for (&cell, byte) in cells.zip(bytes) {
            if cell.to_bits() != last {
                (last, code) = (cell.to_bits(), self.code(cell));
            }
            *byte = byte.wrapping_add((u16::from(code) * location.stride) as u8);
        }
    }
}

/// The integer part of a value from 0.
fn category_of(cell: f32) -> Option<u32> {
    (cell > -1.0 && cell < u32::MAX as f32).then_some(cell as u32)
}
