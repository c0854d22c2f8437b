//! Finding the best split of a node in its histogram.
//!
//! A split puts the docs up to a code to the left. Its value is `G² / (H + l2)` of both sides, summed;
//! what it takes off the loss is that minus the same of the node. All is counted in the units of
//! the packed sums, which are exact, and every level of instructions does the same arithmetic, so the
//! chosen split is the same everywhere. Of equal values the first wins: by column of the table, by
//! feature, by threshold, with missing cells on the right before the left.
//!
//! The sums that are searched are made here too, some columns at a time, so that they are searched
//! while they are in a cache: those of a node from its docs, then those of its sibling, which are the
//! parent's minus those, in place. The sums of a small node are nowhere else: to make its
//! children's from their docs takes less time than to fetch its own from memory.

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

/// A split as the search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SplitCandidate {
    /// The value of both sides, in packed units.
    pub(super) value: f64,
    /// What it was chosen by: the value, but for noise.
    pub(super) score: f64,
    /// What leaves are compared by: the value, but for what is heeded.
    pub(super) rank: f64,
    /// The number of the feature in [`FeatureSlots`].
    pub(super) slot: usize,
    pub(super) test: SplitTest,
    pub(super) missing_left: bool,
    /// The packed sums of the left side.
    pub(super) left: u64,
}

/// Which codes go left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SplitTest {
    /// Those up to one.
    UpTo(u8),
    /// Those of some categories: a bit a code.
    In([u64; 4]),
}

impl SplitTest {
    /// One category alone.
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

/// What the search must know of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchNode<'a> {
    /// The packed sums of its docs.
    pub(super) total: u64,
    /// The least mass of a child, at least one.
    pub(super) least: f64,
    /// In units of mass.
    pub(super) l2: f64,
    /// Its value if it is not split.
    pub(super) unsplit_value: f64,
    /// The features that may be split on, but for those that need care.
    pub(super) features: &'a FeatureSet,
    pub(super) constrained: Option<ConstrainedSearch<'a>>,
    /// What the best split is worth at least.
    pub(super) best_so_far: &'a BestSoFar,
    pub(super) noise: Option<SplitNoise>,
}

/// The value of the best split of a node so far, over all threads.
///
/// What is below it is passed over; which splits those are depends on who is first, but none of them
/// is ever chosen, so that the choice does not.
#[derive(Debug, Default)]
pub(super) struct BestSoFar(AtomicU64);

impl BestSoFar {
    /// Zero at first: no value is below.
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Puts the bar to a value, if it is lower.
    pub(super) fn raise(&self, value: f64) {
        // The bits of numbers above zero are in the order of the numbers.
        self.0.fetch_max(value.to_bits(), Ordering::Relaxed);
    }
}

/// The best split of a node, if any, and the features that no part of it can ever be split on.
#[derive(Debug, Default)]
pub(super) struct SearchResult {
    pub(super) best: Option<SplitCandidate>,
    pub(super) unsplittable: Vec<usize>,
}

impl SearchResult {
    /// Adds what was found in other columns.
    pub(super) fn join(mut self, other: Self) -> Self {
        let best = self.best.as_ref();
        if other.best.is_some_and(|other| beats(other.score, other.slot, best)) {
            self.best = other.best;
        }
        self.unsplittable.extend(other.unsplittable);
        self
    }
}

/// Whether a split on a feature is better than the best, or as good and before it.
pub(super) fn beats(score: f64, slot: usize, best: Option<&SplitCandidate>) -> bool {
    match best {
        None => score > f64::NEG_INFINITY,
        Some(best) => score > best.score || score == best.score && slot < best.slot,
    }
}

/// Cells and sums below which one thread is faster than waking another.
pub(super) const FEW: usize = 1 << 16;

/// Columns whose sums stay in the first-level cache between subtraction and search.
pub(super) const GROUP: usize = 4;

/// How histograms are made and read.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitSearcher<'a> {
    pub(super) level: Level,
    pub(super) slots: &'a FeatureSlots,
    /// The places of the columns that histograms are of, rising.
    pub(super) positions: &'a [u32],
    pub(super) strips: &'a ColumnStrips,
    pub(super) shape: HistogramShape,
    pub(super) constraints: Option<&'a ActiveConstraints>,
}

/// Where sums are and go.
pub(super) struct SumBuffers<'a> {
    /// The sums over the docs, where they are kept.
    pub(super) own: Option<&'a mut [u64]>,
    /// Those of the parent, whose place those of the sibling take; without, there is no sibling.
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

/// Columns of one strip that are worked on together.
struct SearchTask<'a> {
    /// Where their list begins among the scanner's.
    first: usize,
    part: StripColumns<'a>,
    /// Their sums over the docs, where they are kept.
    own: Option<&'a mut [u64]>,
    /// Those of the parent, of which the sibling's are made.
    parent: Option<&'a mut [u64]>,
    /// Where there are any, `own` is of some docs only, and these are of the others.
    more: Vec<&'a [u64]>,
}

impl<'a> SplitSearcher<'a> {
    /// The features of the column in a place, with their numbers.
    pub(super) fn slots_at(&self, position: u32) -> impl Iterator<Item = (usize, &'a FeatureSlot)> {
        self.slots.of_column(self.strips.column(position))
    }

    /// The best splits of two nodes: one of some docs, and its sibling; a node that is `None` will
    /// not be split.
    pub(super) fn scan(
        &self,
        nodes: [Option<SearchNode<'_>>; 2],
        docs: NodeDocs<'_>,
        room: SumBuffers<'_>,
    ) -> [SearchResult; 2] {
        let SumBuffers { mut own, parent, spare } = room;
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

    /// The sums over docs, and nothing else.
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

    /// How many threads work on so many cells and sums a column.
    fn threads(&self, height: usize) -> usize {
        if self.positions.len() * height < FEW { 1 } else { rayon::current_num_threads() }
    }

    /// The columns strip by strip, and the strip after each.
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

    /// Cuts the columns into units.
    fn tasks<'s>(
        &'s self,
        num_docs: usize,
        threads: usize,
        (mut own, mut parent): (Option<&'s mut [u64]>, Option<&'s mut [u64]>),
        more: &[&'s [u64]],
    ) -> Vec<SearchTask<'s>> {
        // The sums of few docs are searched while they are in the first-level cache.
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
                let [own, parent] = [&mut own, &mut parent].map(|all| cut(all, sums.len()));
                let more = more.iter().map(|more| &more[sums.clone()]).collect();
                let part = StripColumns { positions, is_cold, next, ..strip };
                tasks.push(SearchTask { first, part, own, parent, more });
                first += positions.len();
            }
        }
        tasks
    }

    /// The most columns that one of several threads takes at a time.
    fn most_columns(&self, threads: usize) -> usize {
        // Twice as many units as threads: a thread that is held up does not hold up the others.
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
        let tables = &mut SearchScratch::new();
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
                self.search((first, own), node, tables, &mut found[0]);
            }
            let Some(parent) = parent.as_mut().and_then(Iterator::next) else { continue };
            kernel::subtract(self.level, parent, own);
            if let Some(node) = &nodes[1] {
                self.search((first, parent), node, tables, &mut found[1]);
            }
        }
        found
    }

    /// Searches columns from a first of the list on, as many as there are sums for.
    fn search(
        &self,
        (first, sums): (usize, &[u64]),
        node: &SearchNode<'_>,
        tables: &mut SearchScratch,
        found: &mut SearchResult,
    ) {
        let columns = NodeColumns { searcher: self, node, first, sums };
        kernel::search(self.level, columns, tables, found);
        if let Some(constrained) = &node.constrained {
            constrained.search(columns, found);
        }
    }
}

/// Cuts off the first of some sums.
pub(super) fn cut<'s>(sums: &mut Option<&'s mut [u64]>, size: usize) -> Option<&'s mut [u64]> {
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
            // A unit or none of mass, and a small gradient: many equal values, and empty bins.
            let sums: Vec<u64> = (0..size as u64)
                .map(|i| ((draw(seed, 2, i) % 5) << 32) | (draw(seed, 3, i) % 2))
                .collect();
            let column = &sums[..stride];
            let total = column.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let docs = NodeDocs::none();
            let found = Level::available().into_iter().map(|level| {
                let (columns, slots) = (&columns[..], &slots);
                let best_so_far = BestSoFar::default();
                let l2 = if seed % 2 == 0 { 0.5 } else { 1e15 };
                let noise = SplitNoise { deviation: 1.0, start: seed, floor: 0.0 };
                let noise = (seed % 3 == 0).then_some(noise);
                let (least, unsplit_value, features, best_so_far) = (1.0, 0.0, &set, &best_so_far);
                let constrained = None;
                let node = SearchNode {
                    total,
                    least,
                    l2,
                    unsplit_value,
                    features,
                    constrained,
                    best_so_far,
                    noise,
                };
                let constraints = None;
                let searcher =
                    SplitSearcher { level, slots, positions: columns, strips, shape, constraints };
                // Of no docs: the sibling's sums are those of the parent.
                let (parent, spare) = (&mut sums.clone()[..], &mut Vec::new());
                let room = SumBuffers { own: None, parent: Some(parent), spare };
                let found = searcher.scan([None, Some(node)], docs, room);
                assert_eq!(found[0].best, None);
                let mut sums = sums.clone();
                let nodes = [None, Some(node)];
                let pair = |parent| SiblingPair { docs, own: None, parent, nodes, is_made: false };
                // Of two nodes alike.
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
                        let (rank, slot) = (value, number);
                        best = Some(SplitCandidate {
                            value,
                            score,
                            rank,
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
        let cells: Vec<f32> = (0..num_features * 400)
            .map(|i| {
                let of = draw(1, i % num_features, i / num_features) % (3 + 5 * (i % num_features));
                if of == 2 { f32::NAN } else { of as f32 }
            })
            .collect();
        let never = Interrupt::new();
        let table = ByRow(cells, num_features as usize);
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
            let room = SumBuffers { own: Some(&mut sums), parent: None, spare: &mut Vec::new() };
            let [found, _] = searcher(level).scan([Some(node), None], docs, room);
            let best = luckiest(slots, &sums, &node, &noise).unwrap();
            let found = found.best.unwrap();
            // Which side missing cells go to where there are none, others say.
            assert_eq!((found.slot, found.test), (best.slot, best.test));
            assert_eq!((found.value, found.score), (best.value, best.score));
        }
    }
}
