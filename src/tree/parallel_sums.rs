//! The sums over many docs by several threads, each of which takes some of the docs.
//!
//! Threads that take some columns each would all fetch the same lines, of which each reads a few bytes: a
//! strip has a line a doc. So where there are many docs, threads take whole strips, or if there are too few
//! of these, docs, and all columns of a strip. Each part of the docs has sums of its own; added up they are
//! those of all docs, since they are integers.

use super::histogram::{BLOCK, NodeDocs, StripColumns};
use super::split_search::{SplitSearcher, cut};
use rayon::prelude::*;

/// The fewest docs of a part: its sums are added up in a small share of the time that they take.
const LEAST_DOCS: usize = 8 * BLOCK;
/// Pieces of work for each thread: one that is held up does not hold up the others for long.
const TASKS_A_THREAD: usize = 2;
/// Strips for each thread that make dealing out docs needless.
const STRIPS_A_THREAD: usize = 4;

/// Some of the docs and the columns of a strip.
struct SumTask<'a> {
    part: StripColumns<'a>,
    docs: NodeDocs<'a>,
    sums: &'a mut [u64],
}

impl SplitSearcher<'_> {
    /// In how many parts so many docs are taken.
    pub(super) fn num_parts(&self, num_docs: usize, threads: usize) -> usize {
        if threads == 1 || num_docs < 2 * LEAST_DOCS || self.has_enough_strips(threads) {
            return 1;
        }
        let num_strips = self.by_strip(self.positions).count().max(1);
        (TASKS_A_THREAD * threads).div_ceil(num_strips).min(num_docs / LEAST_DOCS)
    }

    /// Whether there are strips enough for each thread to take some.
    pub(super) fn has_enough_strips(&self, threads: usize) -> bool {
        self.by_strip(self.positions).nth(STRIPS_A_THREAD * threads - 1).is_some()
    }

    /// Makes the sums of the first part of the docs in `own`, and those of the others in `spare`, which are
    /// returned.
    pub(super) fn fill_in_parallel<'s>(
        &self,
        docs: NodeDocs<'_>,
        num_parts: usize,
        own: &mut [u64],
        spare: &'s mut Vec<u64>,
    ) -> Vec<&'s [u64]> {
        let size = self.positions.len() * self.shape.stride;
        if spare.len() < size * (num_parts - 1) {
            spare.resize(size * (num_parts - 1), 0);
        }
        let each = docs.len().div_ceil(num_parts).next_multiple_of(BLOCK);
        let mut tasks = Vec::new();
        let sums = std::iter::once(own).chain(spare.chunks_exact_mut(size));
        for (docs, sums) in docs.chunks(each).zip(sums) {
            let mut rest = Some(sums);
            for (part, _) in self.by_strip(self.positions) {
                let Some(sums) = cut(&mut rest, part.positions.len() * self.shape.stride) else {
                    break;
                };
                tasks.push(SumTask { part, docs, sums });
            }
        }
        let fill = |task: SumTask<'_>| task.part.fill(task.docs, &self.shape, task.sums);
        tasks.into_par_iter().with_max_len(1).for_each(fill);
        spare.chunks_exact(size).take(docs.len().div_ceil(each) - 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinnedMatrix, Binning};
    use crate::random::draw;
    use crate::simd::Level;
    use crate::tree::column_strips::ColumnStrips;
    use crate::tree::features::FeatureSlots;
    use crate::tree::histogram::{DocData, HistogramShape};

    #[test]
    fn docs_in_parts_have_the_sums_of_all() {
        let num_docs = 5 * LEAST_DOCS + 77;
        for width in [3, 100] {
            // Half of the columns are quiet in two docs of three.
            let cell = |i: usize| match draw(1, 1, (i / width) as u64) % 3 {
                1.. if (i % width).is_multiple_of(2) => 9,
                _ => draw(2, 2, i as u64) as u8,
            };
            let rows: Vec<u8> = (0..num_docs * width).map(cell).collect();
            let matrix = BinnedMatrix::of_rows(width, &rows);
            let strips = &ColumnStrips::of(&matrix).unwrap();
            assert_eq!(strips.sparse_runs().runs().is_empty(), width == 3);
            let slots = &FeatureSlots::of(&Binning::between(vec![]).unwrap());
            let shape = HistogramShape { stride: 264, width };
            let positions: Vec<u32> =
                (0..width as u32).filter(|position| position % 7 != 3).collect();
            let (level, positions, constraints) = (Level::best(), &positions[..], None);
            let searcher = SplitSearcher { level, slots, positions, strips, shape, constraints };
            let gradients: Vec<u64> = (0..num_docs as u64).map(|doc| draw(3, 3, doc)).collect();
            let all: Vec<u32> = (0..num_docs as u32).collect();
            let doc_data =
                DocData { packed: &gradients, active_runs: strips.sparse_runs().active_runs() };
            let docs = NodeDocs { docs: &all, doc_data };
            let size = positions.len() * shape.stride;
            let mut expected = vec![7; size];
            let mut rest = Some(&mut expected[..]);
            for (part, _) in searcher.by_strip(positions) {
                let sums = cut(&mut rest, part.positions.len() * shape.stride).unwrap();
                part.fill(docs, &shape, sums);
            }
            let mut spare = vec![3; 11];
            for num_parts in [1, 2, 5] {
                let mut own = vec![1; size];
                let more = searcher.fill_in_parallel(docs, num_parts, &mut own, &mut spare);
                assert_eq!(more.len(), num_parts - 1);
                for more in more {
                    crate::tree::kernel::add(level, &mut own, more);
                }
                assert_eq!(own, expected);
            }
            let parts = [(1, num_docs), (2, 100), (2, num_docs), (64, num_docs)];
            let parts = parts.map(|(threads, docs)| searcher.num_parts(docs, threads));
            assert_eq!(parts, [1, 1, if width == 3 { 4 } else { 2 }, 5]);
        }
    }
}
