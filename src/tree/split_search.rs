//! Builds histograms and finds the best split of a node in them.
//!
//! A split sends documents up to a bin code to the left. Its value is `G² / (H + l2)` summed over
//! both sides; the reduction of the loss is that minus the value of the unsplit node. Everything is
//! computed from exact integer sums, and all SIMD levels do the same arithmetic, so the chosen
//! split is the same everywhere. Of equal values the first wins: by column of the table, then
//! feature, then threshold, with missing values to the right before the left.
//!
//! Histograms are built and searched some columns at a time, while the sums are in a cache: first
//! the node from its documents, then its sibling as parent minus node, in place. Histograms of
//! small nodes are not kept, because summing the children from their documents is faster than
//! reading the histogram back from memory.

use super::column_strips::{ColumnStrips, Strip};
use super::constrained_search::ConstrainedSearch;
use super::constraints::ActiveConstraints;
use super::features::{FeatureSet, FeatureSlot, FeatureSlots};
use super::histogram::{BLOCK, HistogramShape, NodeDocs, StripColumns};
use super::kernel::{self, SearchScratch};
use super::split_noise::SplitNoise;
use crate::simd::Level;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// The best split that the search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitCandidate {
    /// The value of both sides, in packed units.
    pub(crate) value: f64,
    /// What candidates of a node are compared by: the value, with noise if there is any.
    pub(crate) score: f64,
    /// What leaves are compared by: the value, weighted by the feature's weight.
    pub(crate) priority: f64,
    /// The index of the feature in [`FeatureSlots`].
    pub(crate) slot: usize,
    pub(crate) test: SplitTest,
    pub(crate) missing_left: bool,
    /// The packed sums of the left side.
    pub(crate) left: u64,
}

/// The bin codes that go left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SplitTest {
    /// Codes up to this one.
    UpTo(u8),
    /// A set of category codes, a bit per code.
    In([u64; 4]),
}

impl SplitTest {
    /// A single category.
    pub(super) fn only(code: u8) -> Self {
        let mut codes = [0; 4];
        codes[usize::from(code / 64)] |= 1 << (code % 64);
        Self::In(codes)
    }

    pub(super) fn is_left(&self, code: u8) -> bool {
        match self {
            Self::UpTo(last) => code <= *last,
            Self::In(codes) => codes[usize::from(code / 64)] >> (code % 64) & 1 == 1,
        }
    }
}

/// What the search needs to know of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchNode<'a> {
    /// The packed sums of its documents.
    pub(super) total: u64,
    /// The smallest mass of a child, at least 1.
    pub(super) least: f64,
    /// In units of mass.
    pub(super) l2: f64,
    /// The value of the node if it is not split.
    pub(super) unsplit_value: f64,
    /// The features that the SIMD kernels search.
    pub(super) features: &'a FeatureSet,
    pub(super) constrained: Option<ConstrainedSearch<'a>>,
    /// A lower bound for the score of the chosen split.
    pub(super) best_so_far: &'a BestSoFar,
    pub(super) noise: Option<SplitNoise>,
}

/// The score of the best split of a node so far, shared by all threads.
///
/// Features that cannot reach it are skipped. Which ones are skipped depends on timing, but none of
/// them could be chosen, so the result does not.
#[derive(Debug, Default)]
pub(super) struct BestSoFar(AtomicU64);

impl BestSoFar {
    /// Zero at first, below all values.
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Raises the score to `value`, if it is lower.
    pub(super) fn raise(&self, value: f64) {
        // The bits of positive floats have the order of the floats.
        self.0.fetch_max(value.to_bits(), Ordering::Relaxed);
    }
}

/// The best split of a node, if any, and the features that no descendant can be split on.
#[derive(Debug, Default)]
pub(crate) struct SearchResult {
    pub(crate) best: Option<SplitCandidate>,
    pub(crate) unsplittable: Vec<usize>,
}

impl SearchResult {
    /// Merges in the result of other columns.
    pub(crate) fn join(mut self, other: Self) -> Self {
        let best = self.best.as_ref();
        if other.best.is_some_and(|other| beats(other.score, other.slot, best)) {
            self.best = other.best;
        }
        self.unsplittable.extend(other.unsplittable);
        self
    }
}

/// Whether a split beats the best one: a higher score, or the same with a smaller slot.
pub(super) fn beats(score: f64, slot: usize, best: Option<&SplitCandidate>) -> bool {
    match best {
        None => score > f64::NEG_INFINITY,
        Some(best) => score > best.score || score == best.score && slot < best.slot,
    }
}

/// With fewer cells and sums than this, one thread is faster than waking another.
pub(super) const FEW: usize = 1 << 16;

/// Columns whose sums stay in the first-level cache between subtraction and search.
pub(super) const GROUP: usize = 4;

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

/// The buffers that histograms are written to.
pub(super) struct SumBuffers<'a> {
    /// For the sums of the node's documents, if they are kept.
    pub(super) own: Option<&'a mut [u64]>,
    /// The parent's sums, replaced by those of the sibling; `None` if there is no sibling.
    pub(super) parent: Option<&'a mut [u64]>,
    /// For sums that are not kept.
    pub(super) spare: &'a mut Vec<u64>,
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

/// Columns of one strip that one thread builds and searches.
struct SearchTask<'a> {
    /// The index of the first of them in the searcher's positions.
    first: usize,
    part: StripColumns<'a>,
    /// The sums of the node's documents, if they are kept.
    own: Option<&'a mut [u64]>,
    /// The parent's sums, replaced by those of the sibling.
    parent: Option<&'a mut [u64]>,
    /// If not empty, `own` has the sums of only some documents, and these are the sums of the
    /// others.
    more: Vec<&'a [u64]>,
}

impl<'a> SplitSearcher<'a> {
    /// The features of the column at a position, with their slot indices.
    pub(super) fn slots_at(&self, position: u32) -> impl Iterator<Item = (usize, &'a FeatureSlot)> {
        self.slots.of_column(self.strips.column(position))
    }

    /// The best splits of two nodes: the one with the given documents, and its sibling. A node that
    /// is `None` will not be split.
    pub(super) fn search_nodes(
        &self,
        nodes: [Option<SearchNode<'_>>; 2],
        docs: NodeDocs<'_>,
        buffers: SumBuffers<'_>,
    ) -> [SearchResult; 2] {
        let SumBuffers { mut own, parent, spare } = buffers;
        let threads = self.threads(docs.len() + self.shape.stride);
        let join = |[a, b]: [SearchResult; 2], [c, d]: [SearchResult; 2]| [a.join(c), b.join(d)];
        if threads == 1 {
            let scan = |task| self.search_task(task, &nodes, docs, spare);
            let tasks = self.tasks(docs.len(), threads, (own, parent), &[]);
            return tasks.into_iter().map(scan).fold(Default::default(), join);
        }
        let num_parts = self.num_parts(docs.len(), threads);
        let more = match &mut own {
            Some(own) if num_parts > 1 => self.fill_in_parallel(docs, num_parts, own, spare),
            _ => Vec::new(),
        };
        let tasks = self.tasks(docs.len(), threads, (own, parent), &more);
        let scan = |scratch: &mut Vec<u64>, task| self.search_task(task, &nodes, docs, scratch);
        let found: Vec<_> = tasks.into_par_iter().map_init(Vec::new, scan).collect();
        found.into_iter().fold(Default::default(), join)
    }

    /// Builds the histogram of some documents without a search.
    pub(super) fn fill(&self, docs: NodeDocs<'_>, own: &mut [u64], spare: &mut Vec<u64>) {
        let threads = self.threads(docs.len());
        let num_parts = self.num_parts(docs.len(), threads);
        if num_parts > 1 {
            let more = self.fill_in_parallel(docs, num_parts, own, spare);
            let size = self.positions.len() * self.shape.stride;
            let each = size.div_ceil(2 * threads);
            own[..size].par_chunks_mut(each).enumerate().for_each(|(number, own)| {
                for more in &more {
                    kernel::add(self.level, own, &more[number * each..][..own.len()]);
                }
            });
            return;
        }
        let tasks = self.tasks(docs.len(), threads, (Some(own), None), &[]);
        let fill = |task: SearchTask<'_>| {
            if let Some(own) = task.own {
                task.part.fill(docs, &self.shape, own);
            }
        };
        if threads == 1 {
            tasks.into_iter().for_each(fill);
        } else {
            tasks.into_par_iter().for_each(fill);
        }
    }

    /// The number of threads for this many cells and sums per column.
    fn threads(&self, height: usize) -> usize {
        if self.positions.len() * height < FEW { 1 } else { rayon::current_num_threads() }
    }

    /// The columns strip by strip, each with the strip that follows.
    pub(super) fn by_strip<'s>(
        &'s self,
        mut positions: &'s [u32],
    ) -> impl Iterator<Item = (StripColumns<'s>, Option<Strip<'s>>)> {
        std::iter::from_fn(move || {
            let (strip, of_strip) = self.strips.strip(*positions.first()?);
            let len = positions.partition_point(|&position| position < of_strip.end);
            let own;
            (own, positions) = positions.split_at(len);
            let next = positions.first().map(|&position| self.strips.strip(position).0);
            let (level, runs) = (self.level, self.strips.sparse_runs().runs());
            let part =
                StripColumns { strip, positions: own, level, runs, is_cold: true, next: None };
            Some((part, next))
        })
    }

    /// Divides the columns into tasks.
    fn tasks<'s>(
        &'s self,
        num_docs: usize,
        threads: usize,
        (mut own, mut parent): (Option<&'s mut [u64]>, Option<&'s mut [u64]>),
        more: &[&'s [u64]],
    ) -> Vec<SearchTask<'s>> {
        // The sums of few documents are searched while they are in the first-level cache.
        let most = match (num_docs, threads) {
            (..=BLOCK, 1) => self.shape.tile(),
            (_, 1) => usize::MAX,
            _ if num_docs > BLOCK && self.has_enough_strips(threads) => usize::MAX,
            _ => self.most_columns(threads),
        };
        let mut tasks = Vec::new();
        let mut first = 0;
        for (strip, next) in self.by_strip(self.positions) {
            let len = strip.positions.len();
            let num_parts = len.div_ceil(most);
            let bound = |part: usize| len * part / num_parts;
            for part in 0..num_parts {
                let positions = &strip.positions[bound(part)..bound(part + 1)];
                let is_cold = first == 0 || num_docs > BLOCK && part > 0;
                let next = next.filter(|_| part == 0);
                let sums = first * self.shape.stride..(first + positions.len()) * self.shape.stride;
                let [own, parent] = [&mut own, &mut parent].map(|all| split_off(all, sums.len()));
                let more = more.iter().map(|more| &more[sums.clone()]).collect();
                let part = StripColumns { positions, is_cold, next, ..strip };
                tasks.push(SearchTask { first, part, own, parent, more });
                first += positions.len();
            }
        }
        tasks
    }

    /// The most columns per task with several threads.
    fn most_columns(&self, threads: usize) -> usize {
        // Twice as many tasks as threads, so that a delayed thread does not delay the others for
        // long.
        self.positions.len().div_ceil(2 * threads).clamp(8, self.shape.tile())
    }

    fn search_task(
        &self,
        task: SearchTask<'_>,
        nodes: &[Option<SearchNode<'_>>; 2],
        docs: NodeDocs<'_>,
        scratch: &mut Vec<u64>,
    ) -> [SearchResult; 2] {
        let mut found = [SearchResult::default(), SearchResult::default()];
        let search_scratch = &mut SearchScratch::new();
        let size = task.part.positions.len() * self.shape.stride;
        let own = task.own.unwrap_or_else(|| {
            scratch.resize(size, 0);
            scratch
        });
        if task.more.is_empty() {
            task.part.fill(docs, &self.shape, own);
        }
        let group = GROUP * self.shape.stride;
        let mut parent = task.parent.map(|parent| parent.chunks_mut(group));
        for (i, own) in own.chunks_mut(group).enumerate() {
            let first = task.first + i * GROUP;
            for more in &task.more {
                kernel::add(self.level, own, &more[i * group..][..own.len()]);
            }
            if let Some(node) = &nodes[0] {
                self.search((first, own), node, search_scratch, &mut found[0]);
            }
            let Some(parent) = parent.as_mut().and_then(Iterator::next) else { continue };
            kernel::subtract(self.level, parent, own);
            if let Some(node) = &nodes[1] {
                self.search((first, parent), node, search_scratch, &mut found[1]);
            }
        }
        found
    }

    /// Searches as many columns as there are sums for, from index `first` on.
    fn search(
        &self,
        (first, sums): (usize, &[u64]),
        node: &SearchNode<'_>,
        search_scratch: &mut SearchScratch,
        found: &mut SearchResult,
    ) {
        let columns = NodeColumns { searcher: self, node, first, sums };
        kernel::search(self.level, columns, search_scratch, found);
        if let Some(constrained) = &node.constrained {
            constrained.search(columns, found);
        }
    }
}

/// Splits off the first `size` of some sums.
pub(super) fn split_off<'s>(
    sums: &mut Option<&'s mut [u64]>,
    size: usize,
) -> Option<&'s mut [u64]> {
    let (first, rest) = sums.take()?.split_at_mut(size);
    *sums = Some(rest);
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinOptions, Binning};
    use crate::binning::{BinnedMatrix, CellSource};
    use crate::error::Result;
    use crate::interrupt::Interrupt;
    use crate::random::draw;
    use crate::tree::histogram::DocData;
    use crate::tree::packed_gradients::GradientSums;
    use crate::tree::symmetric_search::{LevelCriteria, SiblingPair};
    use std::ops::Range;

    #[derive(Debug)]
    struct ByRow(Vec<f32>, usize);

    impl CellSource for ByRow {
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

    /// Whole numbers below `num_values` of each feature, one of which is missing instead.
    fn random_table(
        num_features: u64,
        num_rows: u64,
        num_values: impl Fn(u64) -> u64,
        missing: u64,
    ) -> ByRow {
        let cell = |i| {
            let feature = i % num_features;
            let value = draw(1, feature, i / num_features) % num_values(feature);
            if value == missing { f32::NAN } else { value as f32 }
        };
        ByRow((0..num_features * num_rows).map(cell).collect(), num_features as usize)
    }

    #[test]
    fn every_level_finds_the_same_splits() {
        let num_features = 30;
        let table = random_table(num_features, 500, |feature| 1 + 9 * feature, 3);
        let binning = Binning::of(&table, &BinOptions::default(), &Interrupt::new()).unwrap();
        let slots = FeatureSlots::of(&binning);
        let stride = slots.stride();
        let width = binning.layout().width();
        let columns: Vec<u32> = (0..width as u32).collect();
        let shape = HistogramShape { stride, width };
        let matrix = &BinnedMatrix::zeros(width, 1).unwrap();
        let strips = &ColumnStrips::of(matrix).unwrap();
        let size = stride * width;
        let set = FeatureSet::all(slots.len());
        for seed in 0..20 {
            // A mass of 0 or 1 and a small gradient: many equal values and empty bins.
            let sums: Vec<u64> = (0..size as u64)
                .map(|i| ((draw(seed, 2, i) % 5) << 32) | (draw(seed, 3, i) % 2))
                .collect();
            let column = &sums[..stride];
            let total = column.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let docs = NodeDocs::none();
            let found = Level::available().into_iter().map(|level| {
                let (columns, slots) = (&columns[..], &slots);
                let best_so_far = &BestSoFar::default();
                let l2 = if seed % 2 == 0 { 0.5 } else { 1e15 };
                let noise = SplitNoise { deviation: 1.0, start: seed, floor: 0.0 };
                let noise = (seed % 3 == 0).then_some(noise);
                let node = SearchNode {
                    total,
                    least: 1.0,
                    l2,
                    unsplit_value: 0.0,
                    features: &set,
                    constrained: None,
                    best_so_far,
                    noise,
                };
                let constraints = None;
                let searcher =
                    SplitSearcher { level, slots, positions: columns, strips, shape, constraints };
                // No documents: the sibling's sums are those of the parent.
                let (parent, spare) = (&mut sums.clone()[..], &mut Vec::new());
                let buffers = SumBuffers { own: None, parent: Some(parent), spare };
                let found = searcher.search_nodes([None, Some(node)], docs, buffers);
                assert_eq!(found[0].best, None);
                let mut sums = sums.clone();
                let nodes = [None, Some(node)];
                let pair =
                    |parent| SiblingPair { docs, own: None, parent, nodes, is_summed: false };
                // Two equal nodes.
                let (first, second) = sums.split_at_mut(size / 2);
                let searcher = SplitSearcher { positions: &columns[..width / 2], ..searcher };
                let pairs = vec![pair(Some(first)), pair(Some(&mut second[..width / 2 * stride]))];
                let chosen = searcher.search_level(
                    pairs,
                    LevelCriteria { features: &set, base: 1.0, floor: 1.0, noise },
                    &mut Vec::new(),
                );
                assert!(chosen.is_some());
                (found.map(|found| (found.best, found.unsplittable)), chosen)
            });
            let found: Vec<_> = found.collect();
            assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        }
    }

    /// Every split one by one, its sides added up byte by byte.
    fn luckiest(
        slots: &FeatureSlots,
        sums: &[u64],
        node: &SearchNode<'_>,
        noise: &SplitNoise,
    ) -> Option<SplitCandidate> {
        let stride = slots.stride();
        let mut best: Option<SplitCandidate> = None;
        for (number, slot) in slots.all().iter().enumerate() {
            let column = &sums[slot.column as usize * stride..][..stride];
            let add = |goes: &dyn Fn(u8) -> bool| {
                let sums = (0..=u8::MAX).zip(column).filter(|&(byte, _)| goes(byte));
                sums.fold(0u64, |sum, (_, &more)| sum.wrapping_add(more))
            };
            let codes = slot.codes as u8;
            // Of the last code but that of missing cells.
            let doc_data = slot.side(&SplitTest::UpTo(codes - 2), false);
            let has_missing = add(&|byte| !doc_data.is_left(byte)) != 0;
            for missing_left in [false, true] {
                for code in 0..codes - 1 - u8::from(!has_missing) {
                    let test = SplitTest::UpTo(code);
                    let side = slot.side(&test, missing_left);
                    let left = add(&|byte| side.is_left(byte));
                    let (l, all) = (GradientSums::of(left), GradientSums::of(node.total));
                    let (gl, ml) = (f64::from(l.grad), f64::from(l.mass));
                    let (gr, mr) = (f64::from(all.grad) - gl, f64::from(all.mass) - ml);
                    let (a, b) = (ml + node.l2, mr + node.l2);
                    let value = (gl * gl * b + gr * gr * a) / (a * b);
                    let id = (slot.feature, missing_left && has_missing, code);
                    let score = noise.score(value, id);
                    let to_beat = best.map_or(f64::NEG_INFINITY, |best| best.score);
                    if ml.min(mr) >= node.least && score > to_beat {
                        let (priority, slot) = (value, number);
                        best = Some(SplitCandidate {
                            value,
                            score,
                            priority,
                            slot,
                            test,
                            missing_left,
                            left,
                        });
                    }
                }
            }
        }
        best
    }

    #[test]
    fn noise_chooses_the_luckiest_split() {
        let num_features = 12u64;
        let table = random_table(num_features, 400, |feature| 3 + 5 * feature, 2);
        let never = Interrupt::new();
        let binning = Binning::of(&table, &BinOptions::default(), &never).unwrap();
        let order: Vec<u32> = (0..400).collect();
        let matrix = &binning.encode_in_order(&table, &order, &never).unwrap();
        let slots = &FeatureSlots::of(&binning);
        let shape = HistogramShape { stride: slots.stride(), width: matrix.width() };
        let columns: Vec<u32> = (0..matrix.width() as u32).collect();
        let (columns, strips, features) =
            (&columns[..], &ColumnStrips::of(matrix).unwrap(), &FeatureSet::all(slots.len()));
        let constraints = None;
        let searcher =
            |level| SplitSearcher { level, slots, positions: columns, strips, shape, constraints };
        for seed in 0..40 {
            let gradient = |&doc: &u32| {
                let pull = u64::from(matrix.column(0)[doc as usize]);
                (draw(seed, 4, doc.into()) % 90 + pull) << 32 | (1 + draw(seed, 5, doc.into()) % 9)
            };
            let gradients: Vec<u64> = order.iter().map(gradient).collect();
            let total = gradients.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let noise = SplitNoise { deviation: 0.2 * seed as f64, start: seed, floor: 1.0 };
            let best_so_far = &BestSoFar::default();
            let (least, l2, unsplit_value) = (30.0, 2.0, 0.0);
            let noisy = Some(noise);
            let constrained = None;
            let node = SearchNode {
                total,
                least,
                l2,
                unsplit_value,
                features,
                constrained,
                best_so_far,
                noise: noisy,
            };
            let mut sums = vec![0; shape.stride * shape.width];
            let doc_data = DocData { packed: &gradients, active_runs: &[] };
            let docs = NodeDocs { docs: &order, doc_data };
            let level = Level::best();
            let buffers = SumBuffers { own: Some(&mut sums), parent: None, spare: &mut Vec::new() };
            let [found, _] = searcher(level).search_nodes([Some(node), None], docs, buffers);
            let best = luckiest(slots, &sums, &node, &noise).unwrap();
            let found = found.best.unwrap();
            // Which side missing cells go to where there are none, others say.
            assert_eq!((found.slot, found.test), (best.slot, best.test));
            assert_eq!((found.value, found.score), (best.value, best.score));
        }
    }
}
