//! Finding the best split of a node in its histogram.
//!
//! A split puts the docs up to a code to the left. Its value is `G² / (H + l2)` of both sides, summed;
//! what it takes off the loss is that minus the same of the node. All is counted in the units of
//! the packed sums, which are exact, and every level of instructions does the same arithmetic, so the
//! chosen split is the same everywhere. Of equal values the first wins: by column, by feature, by
//! threshold, with missing cells on the right before the left.
//!
//! `scan_both` fuses what a new pair of nodes needs, while a tile of columns is in the first-level
//! cache: the smaller child's sums, where it is small; the larger child's, which are the parent's minus
//! those, in place; and the search of both.

use super::features::{Digits, Set};
use super::histogram::Few;
use super::kernel::{self, Search};
use crate::simd::Level;
use rayon::prelude::*;

/// A split as the search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// The value of both sides, in packed units.
    pub(super) value: f64,
    /// The number of the feature in [`Digits`].
    pub(super) digit: usize,
    /// The last code that goes left.
    pub(super) code: u8,
    pub(super) missing_left: bool,
    /// The packed sums of the left side.
    pub(super) left: u64,
}

/// What the search must know of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// The packed sums of its docs.
    pub(super) total: u64,
    /// The least mass of a child, at least one.
    pub(super) least: f64,
    /// In units of mass.
    pub(super) l2: f64,
    /// The features that may be split on.
    pub(super) features: &'a Set,
}

/// The best split of a node, if any, and the features that no part of it can ever be split on.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) best: Option<Choice>,
    pub(super) dead: Vec<usize>,
}

impl Found {
    /// Adds what was found in later columns.
    fn join(mut self, later: Self) -> Self {
        let is_better = match (&self.best, &later.best) {
            (Some(best), Some(other)) => other.value > best.value,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if is_better {
            self.best = later.best;
        }
        self.dead.extend(later.dead);
        self
    }
}

/// Sums below which one thread is faster than waking another.
const FEW_SUMS: usize = 1 << 15;

/// Columns whose sums stay in the first-level cache between subtraction and search.
const GROUP: usize = 4;

/// How histograms are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner<'a> {
    pub(super) level: Level,
    pub(super) digits: &'a Digits,
    /// The columns that histograms are of, rising.
    pub(super) columns: &'a [u32],
    pub(super) stride: usize,
    /// The columns that are worked on at a time.
    pub(super) tile: usize,
}

impl Scanner<'_> {
    /// The best split of a node.
    pub(super) fn scan(&self, node: &Node<'_>, sums: &[u64]) -> Found {
        let sums = &sums[..self.columns.len() * self.stride];
        let per_job = self.per_job(sums.len());
        let jobs = sums.par_chunks(per_job * self.stride).enumerate();
        let found = jobs.map(|(job, sums)| {
            let mut found = Found::default();
            self.search(job * per_job, sums, node, &mut found);
            found
        });
        found.collect::<Vec<_>>().into_iter().fold(Found::default(), Found::join)
    }

    /// Makes the larger child's sums of its parent's, and finds the best splits of both children:
    /// of the smaller, then of the larger. A child that is `None` will not be split.
    ///
    /// The sums of the smaller are made here where it has few docs.
    pub(super) fn scan_both(
        &self,
        nodes: [Option<Node<'_>>; 2],
        few: Option<&Few<'_>>,
        smaller: &mut [u64],
        parent: &mut [u64],
    ) -> [Found; 2] {
        // Of a tree of few features, a histogram has more room than sums.
        let len = self.columns.len() * self.stride;
        let (parent, smaller) = (&mut parent[..len], &mut smaller[..len]);
        let per_job = self.per_job(2 * len);
        let size = per_job * self.stride;
        let jobs = parent.par_chunks_mut(size).zip(smaller.par_chunks_mut(size)).enumerate();
        let found = jobs.map(|(job, (parent, smaller))| {
            let mut found = [Found::default(), Found::default()];
            let tile = self.tile * self.stride;
            let tiles = parent.chunks_mut(tile).zip(smaller.chunks_mut(tile)).enumerate();
            for (i, (parent, smaller)) in tiles {
                let first = job * per_job + i * self.tile;
                if let Some(few) = few {
                    let columns = &self.columns[first..][..parent.len() / self.stride];
                    few.fill(columns, self.stride, smaller);
                }
                let group = GROUP * self.stride;
                let groups = parent.chunks_mut(group).zip(smaller.chunks(group)).enumerate();
                for (i, (parent, smaller)) in groups {
                    for (sum, less) in parent.iter_mut().zip(smaller) {
                        *sum = sum.wrapping_sub(*less);
                    }
                    let both = nodes.iter().zip([smaller, parent]).zip(&mut found);
                    for ((node, sums), found) in both {
                        if let Some(node) = node {
                            self.search(first + i * GROUP, sums, node, found);
                        }
                    }
                }
            }
            found
        });
        let found = found.collect::<Vec<_>>().into_iter();
        found.fold(Default::default(), |[a, b]: [Found; 2], [c, d]| [a.join(c), b.join(d)])
    }

    fn per_job(&self, num_sums: usize) -> usize {
        let columns = num_sums / self.stride;
        let jobs = if num_sums < FEW_SUMS { 1 } else { 2 * rayon::current_num_threads() };
        columns.div_ceil(jobs).max(1)
    }

    /// Searches columns from a first of the list on, as many as there are sums for.
    fn search(&self, first: usize, sums: &[u64], node: &Node<'_>, found: &mut Found) {
        kernel::search(self.level, Search { scanner: self, node, first, sums }, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bins::Cells;
    use crate::bins::{BinOptions, Binning};
    use crate::error::Result;
    use crate::hash::draw;
    use crate::interrupt::Interrupt;
    use std::ops::Range;

    #[derive(Debug)]
    struct ByRow(Vec<f32>, usize);

    impl Cells for ByRow {
        fn num_rows(&self) -> usize {
            self.0.len() / self.1
        }

        fn num_features(&self) -> usize {
            self.1
        }

        fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
            tile.copy_from_slice(&self.0[rows.start * self.1..rows.end * self.1]);
            Ok(())
        }
    }

    #[test]
    fn every_level_finds_the_same_splits() {
        let num_features = 30;
        let cells: Vec<f32> = (0..num_features * 500u64)
            .map(|i| {
                let codes = 1 + i % num_features * 9;
                let of = draw(1, i % num_features, i / num_features) % codes;
                if of == 3 { f32::NAN } else { of as f32 }
            })
            .collect();
        let never = Interrupt::new();
        let table = ByRow(cells, num_features as usize);
        let binning = Binning::of(&table, &BinOptions::default(), &never).unwrap();
        let digits = Digits::of(&binning);
        let stride = digits.stride();
        let columns: Vec<u32> = (0..binning.layout().width() as u32).collect();
        let size = stride * binning.layout().width();
        let set = Set::all(digits.len());
        for seed in 0..20 {
            // A unit or none of mass, and a small gradient: many equal values, and empty bins.
            let sums: Vec<u64> = (0..size as u64)
                .map(|i| ((draw(seed, 2, i) % 5) << 32) | (draw(seed, 3, i) % 2))
                .collect();
            let column = &sums[..stride];
            let total = column.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let node = Node { total, least: 1.0, l2: 0.5, features: &set };
            let found = Level::available().into_iter().map(|level| {
                let scanner =
                    Scanner { level, digits: &digits, columns: &columns, stride, tile: 7 };
                let alone = scanner.scan(&node, &sums);
                let (mut parent, mut smaller) = (vec![0; size], sums.clone());
                let nodes = [None, Some(node)];
                let both = scanner.scan_both(nodes, None, &mut smaller, &mut parent);
                assert_eq!(both[0].best, None);
                (alone.best, alone.dead, both[1].best)
            });
            let found: Vec<_> = found.collect();
            assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        }
    }
}
