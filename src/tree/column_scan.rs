//! Builds histograms some columns at a time, and visits them while the sums are in a cache.
//!
//! First a node is summed from its documents, then its sibling is computed as parent minus node, in
//! place. Histograms of small nodes are not kept, because summing the children from their documents
//! is faster than reading the histogram back from memory.
//!
//! If each thread took a few columns, all of them would fetch the same cache lines, because a strip
//! has a line per document. So with many documents threads take whole strips; if there are too few
//! strips, they divide the documents instead. Each part of the documents has sums of its own, which
//! are then added. Sums are integers, so the result is the same.

use super::column_strips::ColumnStrips;
use super::constraints::ActiveConstraints;
use super::features::{FeatureSlot, FeatureSlots};
use super::histogram::{BLOCK, HistogramShape, NodeDocs, StripColumns, even_parts};
use super::kernel;
use super::split_search::SearchNode;
use crate::simd::Level;
use rayon::prelude::*;
use std::iter;
use std::ops::Range;

/// With fewer cells and sums than this, one thread is faster than waking another.
const FEW: usize = 1 << 16;
/// Columns whose sums stay in the first-level cache between subtraction and search.
const GROUP: usize = 4;
/// The fewest documents of a part: adding up its sums then takes little of the total time.
const LEAST_DOCS: usize = 8 * BLOCK;
/// Tasks per thread, so that a delayed thread does not delay the others for long.
const TASKS_A_THREAD: usize = 2;
/// With this many strips per thread, documents are not divided.
const STRIPS_A_THREAD: usize = 4;

/// Builds histograms of a tree's columns and searches them for splits.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitSearcher<'a> {
    pub(super) level: Level,
    pub(super) slots: &'a FeatureSlots,
    /// The positions of the columns, ascending.
    pub(super) positions: &'a [u32],
    pub(super) strips: &'a ColumnStrips,
    pub(super) shape: HistogramShape,
    pub(super) constraints: Option<&'a ActiveConstraints>,
}

/// A node that is summed from its documents, perhaps with its sibling.
pub(super) struct SiblingPair<'a> {
    pub(super) docs: NodeDocs<'a>,
    /// For the sums of the node, if they are kept.
    pub(super) own: Option<&'a mut [u64]>,
    /// The parent's sums, replaced by those of the sibling; `None` if there is no sibling.
    pub(super) parent: Option<&'a mut [u64]>,
    /// The node and its sibling; `None` if it will not be split.
    pub(super) nodes: [Option<&'a SearchNode<'a>>; 2],
    /// Whether `own` has the sums of the node already.
    pub(super) is_summed: bool,
}

impl<'a> SiblingPair<'a> {
    /// The pair with these documents, and buffers for the sums of the node and of its parent.
    pub(super) fn of(
        docs: NodeDocs<'a>,
        [own, parent]: &'a mut [Option<Box<[u64]>>; 2],
        nodes: &'a [Option<SearchNode<'a>>; 2],
        is_summed: bool,
    ) -> Self {
        let nodes = nodes.each_ref().map(Option::as_ref);
        Self { docs, own: own.as_deref_mut(), parent: parent.as_deref_mut(), nodes, is_summed }
    }
}

/// Some columns of a node's histogram.
#[derive(Clone, Copy)]
pub(super) struct NodeColumns<'a> {
    pub(super) searcher: &'a SplitSearcher<'a>,
    pub(super) node: &'a SearchNode<'a>,
    /// The index of the first of them in the searcher's positions.
    pub(super) first: usize,
    pub(super) sums: &'a [u64],
}

/// Columns of one strip that one thread sums, in all pairs.
pub(super) struct ScanTask<'a> {
    /// Their indices in the searcher's positions.
    pub(super) columns: Range<usize>,
    part: StripColumns<'a>,
    pairs: Vec<SiblingPair<'a>>,
}

impl<'a> SplitSearcher<'a> {
    /// The features of the column at a position, with their slot indices.
    pub(super) fn slots_at(&self, position: u32) -> impl Iterator<Item = (usize, &'a FeatureSlot)> {
        self.slots.of_column(self.strips.column(position))
    }

    /// Runs tasks that together have all columns of some nodes; returns their results in the order
    /// of the columns.
    pub(super) fn scan<'s, T: Send>(
        &'s self,
        mut pairs: Vec<SiblingPair<'s>>,
        spare: &mut Vec<u64>,
        run: impl Fn(ScanTask<'s>, &mut Vec<u64>) -> T + Sync,
    ) -> Vec<T> {
        let height = pairs.iter().map(|pair| pair.docs.len() + self.shape.stride).sum();
        let threads = self.threads(height);
        for pair in pairs.iter_mut().filter(|pair| !pair.is_summed) {
            let num_parts = self.num_parts(pair.docs.len(), threads);
            if let Some(own) = pair.own.as_deref_mut().filter(|_| num_parts > 1) {
                self.fill_parts(pair.docs, num_parts, own, spare);
                pair.is_summed = true;
            }
        }
        let tasks = self.tasks(pairs, threads);
        if threads == 1 {
            return tasks.into_iter().map(|task| run(task, spare)).collect();
        }
        tasks.into_par_iter().map_init(Vec::new, |spare, task| run(task, spare)).collect()
    }

    /// Divides the columns into tasks.
    fn tasks<'s>(&'s self, mut pairs: Vec<SiblingPair<'s>>, threads: usize) -> Vec<ScanTask<'s>> {
        let is_large = pairs.iter().any(|pair| pair.docs.len() > BLOCK);
        let is_alone = pairs.len() == 1;
        let most = match threads {
            1 => usize::MAX,
            _ if is_alone => self.most_columns(is_large, threads),
            // No more tasks than threads, because each reads the cache lines of all small nodes.
            _ => self.positions.len().div_ceil(threads).max(8),
        };
        let mut tasks = Vec::new();
        for of_strip in self.strip_ranges() {
            for columns in even_parts(of_strip.clone(), most) {
                let is_first = columns.start == of_strip.start;
                let mut part = self.strip_columns(columns.clone());
                if is_alone {
                    // The first columns of a strip prefetch the cells of the next one.
                    part.is_cold = columns.start == 0 || is_large && !is_first;
                    let next = self.positions.get(of_strip.end).filter(|_| is_first);
                    part.next = next.map(|&position| self.strips.strip(position).0);
                }
                let size = columns.len() * self.shape.stride;
                let split = |pair: &mut SiblingPair<'s>| SiblingPair {
                    own: split_off(&mut pair.own, size),
                    parent: split_off(&mut pair.parent, size),
                    ..*pair
                };
                let pairs = pairs.iter_mut().map(split).collect();
                tasks.push(ScanTask { columns, part, pairs });
            }
        }
        tasks
    }

    /// Calls `visit` with columns of each node of a task, and with 0 for a node and 1 for a
    /// sibling.
    pub(super) fn for_each_node(
        &self,
        task: ScanTask<'_>,
        spare: &mut Vec<u64>,
        mut visit: impl FnMut(usize, NodeColumns<'_>),
    ) {
        let stride = self.shape.stride;
        for mut pair in task.pairs {
            // The sums of few documents are visited while they are in the first-level cache.
            let most = if pair.docs.len() <= BLOCK { self.shape.tile() } else { usize::MAX };
            for columns in even_parts(0..task.columns.len(), most) {
                let size = columns.len() * stride;
                let own = split_off(&mut pair.own, size).unwrap_or_else(|| {
                    spare.resize(size, 0);
                    spare
                });
                if !pair.is_summed {
                    let mut part = task.part;
                    part.positions = &part.positions[columns.clone()];
                    if columns.start > 0 {
                        (part.is_cold, part.next) = (false, None);
                    }
                    part.fill(pair.docs, &self.shape, own);
                }
                let parent = split_off(&mut pair.parent, size).unwrap_or_default();
                let mut parents = parent.chunks_mut(GROUP * stride);
                for (i, own) in own.chunks(GROUP * stride).enumerate() {
                    let first = task.columns.start + columns.start + i * GROUP;
                    let mut visit = |which: usize, sums: &[u64]| {
                        if let Some(node) = pair.nodes[which] {
                            visit(which, NodeColumns { searcher: self, node, first, sums });
                        }
                    };
                    visit(0, own);
                    if let Some(parent) = parents.next() {
                        kernel::subtract(self.level, parent, own);
                        visit(1, parent);
                    }
                }
            }
        }
    }

    /// Builds the histogram of some documents.
    pub(super) fn fill(&self, docs: NodeDocs<'_>, own: &mut [u64], spare: &mut Vec<u64>) {
        let num_parts = self.num_parts(docs.len(), self.threads(docs.len()));
        self.fill_parts(docs, num_parts, own, spare);
    }

    /// Builds the histogram of some documents in this many parts.
    fn fill_parts(
        &self,
        docs: NodeDocs<'_>,
        num_parts: usize,
        own: &mut [u64],
        spare: &mut Vec<u64>,
    ) {
        let size = self.positions.len() * self.shape.stride;
        let own = &mut own[..size];
        if docs.len() == 0 {
            return own.fill(0);
        }
        if spare.len() < size * (num_parts - 1) {
            spare.resize(size * (num_parts - 1), 0);
        }
        let each = docs.len().div_ceil(num_parts).next_multiple_of(BLOCK);
        let threads = self.threads(docs.len());
        let most = match threads {
            2.. if num_parts == 1 => self.most_columns(docs.len() > BLOCK, threads),
            _ => usize::MAX,
        };
        let mut tasks = Vec::new();
        let all_sums = iter::once(&mut *own).chain(spare.chunks_exact_mut(size));
        for (docs, sums) in docs.chunks(each).zip(all_sums) {
            let mut rest = Some(sums);
            for columns in self.strip_ranges().flat_map(|columns| even_parts(columns, most)) {
                let sums = split_off(&mut rest, columns.len() * self.shape.stride);
                tasks.push((self.strip_columns(columns), docs, sums.unwrap_or_default()));
            }
        }
        let fill = |(part, docs, sums): (StripColumns<'_>, NodeDocs<'_>, &mut [u64])| {
            part.fill(docs, &self.shape, sums);
        };
        if threads == 1 {
            tasks.into_iter().for_each(fill);
        } else {
            tasks.into_par_iter().with_max_len(1).for_each(fill);
        }
        let num_parts = docs.len().div_ceil(each);
        if num_parts == 1 {
            return;
        }
        let part = size.div_ceil(2 * threads);
        own.par_chunks_mut(part).enumerate().for_each(|(number, own)| {
            for more in spare.chunks_exact(size).take(num_parts - 1) {
                kernel::add(self.level, own, &more[number * part..][..own.len()]);
            }
        });
    }

    /// The number of threads for this many cells and sums per column.
    fn threads(&self, height: usize) -> usize {
        if self.positions.len() * height < FEW { 1 } else { rayon::current_num_threads() }
    }

    /// The number of parts that this many documents are divided into.
    fn num_parts(&self, num_docs: usize, threads: usize) -> usize {
        if threads == 1 || num_docs < 2 * LEAST_DOCS || self.has_enough_strips(threads) {
            return 1;
        }
        let num_strips = self.strip_ranges().count().max(1);
        (TASKS_A_THREAD * threads).div_ceil(num_strips).min(num_docs / LEAST_DOCS)
    }

    /// Whether there are enough strips for all threads.
    fn has_enough_strips(&self, threads: usize) -> bool {
        self.strip_ranges().nth(STRIPS_A_THREAD * threads - 1).is_some()
    }

    /// The most columns of a node per task with several threads.
    fn most_columns(&self, is_large: bool, threads: usize) -> usize {
        if is_large && self.has_enough_strips(threads) {
            return usize::MAX;
        }
        self.positions.len().div_ceil(TASKS_A_THREAD * threads).clamp(8, self.shape.tile())
    }

    /// The indices of the positions, strip by strip.
    fn strip_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        iter::from_fn(move || {
            let (_, of_strip) = self.strips.strip(*self.positions.get(start)?);
            let end = self.positions.partition_point(|&position| position < of_strip.end);
            Some(std::mem::replace(&mut start, end)..end)
        })
    }

    /// Some columns of one strip, whose cells have not been prefetched.
    fn strip_columns(&self, columns: Range<usize>) -> StripColumns<'_> {
        let positions = &self.positions[columns];
        let (strip, _) = self.strips.strip(positions[0]);
        let (level, runs) = (self.level, &self.strips.sparse_runs.runs);
        StripColumns { strip, positions, level, runs, is_cold: true, next: None }
    }
}

/// Splits off the first `size` of some sums.
fn split_off<'s>(sums: &mut Option<&'s mut [u64]>, size: usize) -> Option<&'s mut [u64]> {
    sums.as_mut()?.split_off_mut(..size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinnedMatrix, Binning};
    use crate::random::draw;

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
            assert_eq!(strips.sparse_runs.runs.is_empty(), width == 3);
            let slots = &FeatureSlots::of(&Binning::between(vec![]).unwrap());
            let shape = HistogramShape { stride: 264, width };
            let positions: Vec<u32> =
                (0..width as u32).filter(|position| position % 7 != 3).collect();
            let (level, positions, constraints) = (Level::best(), &positions[..], None);
            let searcher = SplitSearcher { level, slots, positions, strips, shape, constraints };
            let gradients: Vec<u64> = (0..num_docs as u64).map(|doc| draw(3, 3, doc)).collect();
            let all: Vec<u32> = (0..num_docs as u32).collect();
            let active_runs = &strips.sparse_runs.active;
            let docs = NodeDocs { docs: &all, packed: &gradients, active_runs };
            let size = positions.len() * shape.stride;
            let mut expected = vec![7; size];
            let mut rest = Some(&mut expected[..]);
            for columns in searcher.strip_ranges() {
                let sums = split_off(&mut rest, columns.len() * shape.stride).unwrap();
                searcher.strip_columns(columns).fill(docs, &shape, sums);
            }
            let mut spare = vec![3; 11];
            for num_parts in [1, 2, 5] {
                let mut own = vec![1; size];
                searcher.fill_parts(docs, num_parts, &mut own, &mut spare);
                assert_eq!(own, expected);
            }
            let parts = [(1, num_docs), (2, 100), (2, num_docs), (64, num_docs)];
            let parts = parts.map(|(threads, docs)| searcher.num_parts(docs, threads));
            assert_eq!(parts, [1, 1, if width == 3 { 4 } else { 2 }, 5]);
        }
    }
}
