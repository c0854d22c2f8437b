//! The documents of a tree, grouped by node.

use super::GROWING;
use super::kernel::{self, ByteSet};
use crate::error::Result;
use crate::huge_pages::HugePageVec;
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// With fewer documents, one thread is faster than waking another.
const FEW: usize = 1 << 13;

/// A list of documents in which each node has a range, its documents ascending.
#[derive(Debug)]
pub(super) struct DocPartition {
    docs: HugePageVec<u32>,
    right: HugePageVec<u32>,
}

impl DocPartition {
    /// An empty list with capacity for this many documents.
    pub(super) fn with_room(num_docs: usize) -> Result<Self> {
        let room = || HugePageVec::zeros(GROWING, num_docs);
        Ok(Self { docs: room()?, right: room()? })
    }

    /// Puts all documents into the root.
    pub(super) fn start(&mut self, docs: &[u32]) {
        self.docs[..docs.len()].copy_from_slice(docs);
    }

    pub(super) fn get(&self, run: Range<usize>) -> &[u32] {
        &self.docs[run]
    }

    /// Moves the documents of each of some disjoint ranges that go left to its front; both sides
    /// keep their order. Returns the starts of the right sides.
    pub(super) fn partition(
        &mut self,
        runs: &[Range<usize>],
        cells: &[u8],
        side: &ByteSet,
    ) -> Vec<usize> {
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_unstable_by_key(|&at| (runs[at].start, runs[at].end));
        let (mut docs, mut right, mut start) = (&mut self.docs[..], &mut self.right[..], 0);
        let mut take = |run: &Range<usize>| {
            let skipped = run.start - start;
            start = run.end;
            [&mut docs, &mut right].map(|rest| {
                let own;
                (own, *rest) = std::mem::take(rest)[skipped..].split_at_mut(run.len());
                own
            })
        };
        let parts: Vec<_> = order.iter().map(|&at| take(&runs[at])).collect();
        let one = |[docs, right]: [&mut [u32]; 2]| partition_range(docs, right, cells, side);
        let is_small = runs.iter().map(Range::len).sum::<usize>() < FEW;
        let lefts: Vec<usize> = if is_small || rayon::current_num_threads() == 1 {
            parts.into_iter().map(one).collect()
        } else {
            parts.into_par_iter().map(one).collect()
        };
        let mut middles = vec![0; runs.len()];
        for (at, left) in order.into_iter().zip(lefts) {
            middles[at] = runs[at].start + left;
        }
        middles
    }
}

/// Moves the documents that go left to the front and returns their number. `right` is scratch
/// space.
fn partition_range(docs: &mut [u32], right: &mut [u32], cells: &[u8], side: &ByteSet) -> usize {
    let level = Level::best();
    let threads = rayon::current_num_threads();
    if docs.len() < FEW || threads == 1 {
        let left = kernel::partition(level, cells, side, docs, right);
        let others = docs.len() - left;
        docs[left..].copy_from_slice(&right[..others]);
        return left;
    }
    let size = docs.len().div_ceil(2 * threads).max(FEW / 2);
    let parts = docs.par_chunks_mut(size).zip(right.par_chunks_mut(size));
    let lefts: Vec<usize> =
        parts.map(|(docs, right)| kernel::partition(level, cells, side, docs, right)).collect();
    let mut left = 0;
    for (i, &more) in lefts.iter().enumerate() {
        docs.copy_within(i * size..i * size + more, left);
        left += more;
    }
    let mut at = left;
    for (i, &gone) in lefts.iter().enumerate() {
        let here = size.min(right.len() - i * size) - gone;
        docs[at..at + here].copy_from_slice(&right[i * size..i * size + here]);
        at += here;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn runs_are_cut_as_one_by_one() {
        let num_docs = 5 * FEW as u32 + 3;
        let mut cells: Vec<u8> = (0..num_docs.into()).map(|i| draw(1, 1, i) as u8).collect();
        cells.extend([0; 64]);
        let side: ByteSet = (0..100).collect();
        let all: Vec<u32> = (0..num_docs).collect();
        let ends = [0, 3, 3, FEW, 4 * FEW, 4 * FEW + 100, all.len()];
        // In any order, and not all ranges.
        let runs = [4, 1, 0, 3, 5].map(|at| ends[at]..ends[at + 1]);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut rows = DocPartition::with_room(all.len()).unwrap();
            rows.start(&all);
            let middles = pool.install(|| rows.partition(&runs, &cells, &side));
            for (run, middle) in runs.iter().cloned().zip(middles) {
                let is_left = |&&doc: &&u32| cells[doc as usize] < 100;
                let (mut left, right): (Vec<u32>, Vec<u32>) =
                    all[run.clone()].iter().partition(is_left);
                assert_eq!(middle, run.start + left.len());
                left.extend(right);
                assert_eq!(rows.get(run), left);
            }
            let untouched = ends[2]..ends[3];
            assert_eq!(rows.get(untouched.clone()), &all[untouched]);
        }
    }
}
