//! A tree that scores binned documents.

use super::features::FeatureSlots;
use super::kernel::ByteSet;
use super::split_search::SplitTest;
use crate::binning::{BinMapper, BinnedMatrix, Binning};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::{Child, Set, Split, Tree};
use rayon::prelude::*;

/// Documents that are routed together: their cells of a column are a few cache lines.
const BLOCK: usize = 4096;

/// A tree whose splits test the bytes of binned rows.
///
/// Exact: a byte determines the outcome of every split.
#[derive(Debug, Clone)]
pub struct BinnedTree {
    splits: Vec<BinnedSplit>,
    values: Vec<f64>,
}

/// The test for codes up to a threshold.
fn threshold_test(split: &Split, mapper: &BinMapper) -> Option<SplitTest> {
    let thresholds = mapper.thresholds();
    let code = if mapper.categories().is_some() {
        return None;
    } else if split.threshold >= f64::from(f32::MAX) {
        thresholds.len()
    } else {
        thresholds.iter().position(|&t| f64::from(t) == split.threshold)?
    };
    Some(SplitTest::UpTo(code as u8))
}

/// The test for a set of categories, each of which must have a bin.
fn category_test(set: &Set, split: &Split, mapper: &BinMapper) -> Option<SplitTest> {
    let known = mapper.categories()?;
    if !(0.0..1.0).contains(&split.threshold) {
        return None;
    }
    let codes = set.categories.iter().map(|&category| known.bin(category));
    codes.collect::<Option<_>>().map(SplitTest::In)
}

#[derive(Debug, Clone)]
struct BinnedSplit {
    column: usize,
    side: ByteSet,
    left: Child,
    right: Child,
}

impl BinnedTree {
    /// The tree in the codes of `binning`; `None` if one of its thresholds, categories or features
    /// is not in the binning. A split on set `i` of `sets` has the feature number
    /// `num_features + i`.
    pub fn new(tree: &Tree, sets: &[Set], binning: &Binning) -> Option<Self> {
        let slots = FeatureSlots::of(binning);
        let binned = |split: &Split| {
            let set = (split.feature as usize).checked_sub(binning.num_features());
            let set = set.map_or(Some(None), |at| sets.get(at).map(Some))?;
            let feature = set.map_or(split.feature, |set| set.feature);
            let mapper = binning.mappers().get(feature as usize)?;
            let slot = slots.list.iter().find(|slot| slot.feature == feature)?;
            let test = match set {
                Some(set) => category_test(set, split, mapper)?,
                None => threshold_test(split, mapper)?,
            };
            let (column, side) =
                (slot.location.column as usize, slot.side(&test, split.missing_left));
            Some(BinnedSplit { column, side, left: split.left, right: split.right })
        };
        let splits = tree.splits().iter().map(binned).collect::<Option<_>>()?;
        Some(Self { splits, values: tree.leaves().iter().map(|leaf| leaf.value).collect() })
    }

    /// Adds the value of each row's leaf to its score.
    pub fn add_to(
        &self,
        matrix: &BinnedMatrix,
        scores: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        scores.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, scores)| {
            interrupt.check()?;
            self.add_to_block(matrix, block * BLOCK, scores);
            Ok(())
        })
    }

    /// Partitions the rows of a block at each split, as in training.
    fn add_to_block(&self, matrix: &BinnedMatrix, first: usize, scores: &mut [f64]) {
        let mut rows = [0u16; BLOCK];
        for (to, row) in rows.iter_mut().zip(0..scores.len() as u16) {
            *to = row;
        }
        let mut others = [0u16; BLOCK];
        let root = if self.splits.is_empty() { Child::Leaf(0) } else { Child::Split(0) };
        let mut waiting = vec![(root, 0, scores.len())];
        while let Some((node, start, end)) = waiting.pop() {
            let rows = &mut rows[start..end];
            match node {
                Child::Leaf(leaf) => {
                    let value = self.values[leaf as usize];
                    for &row in &*rows {
                        scores[row as usize] += value;
                    }
                }
                Child::Split(split) => {
                    let split = &self.splits[split as usize];
                    let cells = &matrix.column(split.column)[first..];
                    let mut left = 0;
                    for i in 0..rows.len() {
                        let row = rows[i];
                        let byte = cells[row as usize];
                        rows[left] = row;
                        others[i - left] = row;
                        left += usize::from(split.side.contains(byte));
                    }
                    let right = rows.len() - left;
                    rows[left..].copy_from_slice(&others[..right]);
                    waiting.push((split.right, start + left, end));
                    waiting.push((split.left, start, start + left));
                }
            }
        }
    }
}
