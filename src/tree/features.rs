//! The features of the binned table: where their codes are stored, and sets of them.

use super::kernel::{self, ByteSet};
use super::split_search::SplitTest;
use crate::binning::{Binning, CodeLocation};
use crate::random::draw;
use std::ops::Range;

/// A feature that has codes in the binned table.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeatureSlot {
    pub(super) feature: u32,
    /// Its codes: that of missing values is the last.
    pub(super) location: CodeLocation,
    /// Whether no other feature shares the column.
    pub(super) is_whole: bool,
    /// Whether the feature is categorical. The code before that of missing values then stands for
    /// all other categories.
    pub(super) is_category: bool,
}

impl FeatureSlot {
    /// The split test for a code in symmetric trees.
    pub(super) fn test(&self, code: u8) -> SplitTest {
        if self.is_category {
            SplitTest::In([code].into_iter().collect())
        } else {
            SplitTest::UpTo(code)
        }
    }

    /// The feature's code in a byte of its column.
    #[inline]
    pub(super) fn code(&self, byte: u8) -> u8 {
        if self.is_whole { byte } else { self.location.code(byte) }
    }

    /// Whether a byte of the column goes left under a split.
    #[inline]
    pub(super) fn is_left(&self, byte: u8, test: &SplitTest, missing_left: bool) -> bool {
        let code = self.code(byte);
        let is_missing = u16::from(code) + 1 == self.location.codes;
        if is_missing { missing_left } else { test.is_left(code) }
    }

    /// The bytes of the column that go left under a split.
    pub(super) fn side(&self, test: &SplitTest, missing_left: bool) -> ByteSet {
        (0..=u8::MAX).filter(|&byte| self.is_left(byte, test, missing_left)).collect()
    }
}

/// All features with a slot, by column and then by feature.
#[derive(Debug)]
pub(super) struct FeatureSlots {
    pub(super) list: Vec<FeatureSlot>,
    /// `list[of_column[c]]` are the features of column `c`.
    of_column: Vec<Range<usize>>,
}

impl FeatureSlots {
    pub(super) fn of(binning: &Binning) -> Self {
        let layout = binning.layout();
        let mut list: Vec<FeatureSlot> = Vec::new();
        for (feature, location) in layout.locations().iter().enumerate() {
            list.extend(location.map(|location| FeatureSlot {
                feature: feature as u32,
                location,
                is_whole: false,
                is_category: binning.mappers()[feature].categories().is_some(),
            }));
        }
        list.sort_by_key(|slot| (slot.location.column, slot.feature));
        let start = |column| list.partition_point(|slot| (slot.location.column as usize) < column);
        let of_column: Vec<_> = (0..layout.width()).map(|c| start(c)..start(c + 1)).collect();
        for range in of_column.iter().filter(|range| range.len() == 1) {
            list[range.start].is_whole = true;
        }
        Self { list, of_column }
    }

    /// The features of a column, with their slot indices.
    pub(super) fn of_column(&self, column: usize) -> impl Iterator<Item = (usize, &FeatureSlot)> {
        let range = self.of_column[column].clone();
        range.clone().zip(&self.list[range])
    }

    /// The columns of a set of features, ascending.
    pub(super) fn columns(&self, features: &FeatureSet) -> Vec<u32> {
        let is_used = |slots: &Range<usize>| slots.clone().any(|slot| features.contains(slot));
        let columns = (0..).zip(&self.of_column).filter(|(_, slots)| is_used(slots));
        columns.map(|(column, _)| column).collect()
    }

    /// The number of sums per column: the smallest power of two, at least 32, above all bytes of
    /// the table, plus a gap.
    pub(super) fn stride(&self) -> usize {
        let top = |slots: &Range<usize>| {
            let codes =
                self.list[slots.clone()].iter().map(|slot| usize::from(slot.location.codes));
            codes.product::<usize>()
        };
        let most = self.of_column.iter().map(top).max().unwrap_or(1);
        most.next_power_of_two().max(32) + kernel::GAP
    }
}

/// A set of features, by slot index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FeatureSet(Vec<u64>);

impl FeatureSet {
    /// Some of `len` features.
    pub(super) fn of(len: usize, features: impl IntoIterator<Item = usize>) -> Self {
        let mut set = Self(vec![0; len.div_ceil(64)]);
        features.into_iter().for_each(|i| set.0[i / 64] |= 1 << (i % 64));
        set
    }

    pub(super) fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }

    /// Adds the features of a set of the same size.
    pub(super) fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Keeps only the features that are also in a set of the same size.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Removes the features of a set of the same size.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
    }

    pub(super) fn contains(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    /// A random subset with this share of the features, but at least one; all subsets of that size
    /// are equally likely.
    pub(super) fn sample(&self, part: f64, seed: u64, stream: u64, slots: &FeatureSlots) -> Self {
        if part >= 1.0 {
            return self.clone();
        }
        let mut drawn: Vec<(u64, usize)> = (0..slots.list.len())
            .filter(|&i| self.contains(i))
            .map(|i| (draw(seed, stream, u64::from(slots.list[i].feature)), i))
            .collect();
        drawn.sort_unstable();
        let size = ((drawn.len() as f64 * part).round() as usize).max(1);
        Self::of(slots.list.len(), drawn.into_iter().take(size).map(|(_, i)| i))
    }
}
