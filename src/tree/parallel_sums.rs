//! Builds histograms of many documents with several threads.
//!
//! If each thread took a few columns, all of them would fetch the same cache lines, because a strip
//! has a line per document. So threads take whole strips; if there are too few strips, they divide
//! the documents instead. Each part of the documents has sums of its own, which are then added.
//! Sums are integers, so the result is the same.

use super::histogram::{BLOCK, NodeDocs, StripColumns};
use super::split_search::{SplitSearcher, split_off};
use rayon::prelude::*;

/// The fewest documents of a part: adding up its sums then takes little of the total time.
const LEAST_DOCS: usize = 8 * BLOCK;
/// Tasks per thread, so that a delayed thread does not delay the others for long.
const TASKS_A_THREAD: usize = 2;
/// With this many strips per thread, documents are not divided.
const STRIPS_A_THREAD: usize = 4;

/// Some documents, and the columns of one strip.
struct SumTask<'a> {
    part: StripColumns<'a>,
    docs: NodeDocs<'a>,
    sums: &'a mut [u64],
}

impl SplitSearcher<'_> {
    /// The number of parts that this many documents are divided into.
    pub(super) fn num_parts(&self, num_docs: usize, threads: usize) -> usize {
        if threads == 1 || num_docs < 2 * LEAST_DOCS || self.has_enough_strips(threads) {
            return 1;
        }
        let num_strips = self.by_strip(self.positions).count().max(1);
        (TASKS_A_THREAD * threads).div_ceil(num_strips).min(num_docs / LEAST_DOCS)
    }

    /// Whether there are enough strips for all threads.
    pub(super) fn has_enough_strips(&self, threads: usize) -> bool {
        self.by_strip(self.positions).nth(STRIPS_A_THREAD * threads - 1).is_some()
    }

    /// Writes the sums of the first part of the documents to `own`, and those of the others to
    /// `spare`; returns the latter.
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
                let Some(sums) = split_off(&mut rest, part.positions.len() * self.shape.stride)
                else {
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
            // Half of the columns have the dominant byte in two documents of three.
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
                let sums = split_off(&mut rest, part.positions.len() * shape.stride).unwrap();
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
