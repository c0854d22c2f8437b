//! Finds the best split of a node in its histogram.
//!
//! A split sends documents up to a bin code to the left. Its value is `G² / (H + l2)` summed over
//! both sides; the reduction of the loss is that minus the value of the unsplit node. Everything is
//! computed from exact integer sums, and all SIMD levels do the same arithmetic, so the chosen
//! split is the same everywhere. Of equal values the first wins: by column of the table, then
//! feature, then threshold, with missing values to the right before the left.

use super::column_scan::{SiblingPair, SplitSearcher};
use super::constrained_search::ConstrainedSearch;
use super::doc_counts::SideCounter;
use super::features::FeatureSet;
use super::kernel::{self, ByteSet, SearchScratch};
use super::packed_gradients::GradientSums;
use super::split_noise::SplitNoise;
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
    /// A set of category codes.
    In(ByteSet),
}

impl SplitTest {
    pub(super) fn is_left(&self, code: u8) -> bool {
        match self {
            Self::UpTo(last) => code <= *last,
            Self::In(codes) => codes.contains(code),
        }
    }
}

/// What the search needs to know of a node.
#[derive(Debug)]
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
    pub(super) features: FeatureSet,
    pub(super) constrained: Option<ConstrainedSearch<'a>>,
    /// A lower bound for the score of the chosen split.
    pub(super) best_so_far: BestSoFar,
    pub(super) noise: Option<SplitNoise>,
    /// Counts the documents of both sides, if the masses do not.
    pub(super) counter: Option<SideCounter<'a>>,
}

impl SearchNode<'_> {
    /// The side of missing values under a split, of which `missing` are the sums. Values that are
    /// missing only in other data go where most documents go.
    #[inline]
    pub(super) fn missing_left(&self, chosen: bool, missing: u64, left: u64) -> bool {
        let mass = |sum: u64| u64::from(GradientSums::of(sum).mass);
        if missing == 0 { 2 * mass(left) >= mass(self.total) } else { chosen }
    }
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
    /// Replaces the best split if another one beats it.
    pub(crate) fn offer(&mut self, other: SplitCandidate) {
        if beats(other.score, other.slot, self.best.as_ref()) {
            self.best = Some(other);
        }
    }

    /// Merges in the result of other columns.
    pub(crate) fn join(mut self, other: Self) -> Self {
        other.best.into_iter().for_each(|other| self.offer(other));
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

impl SplitSearcher<'_> {
    /// The best splits of a node and its sibling.
    pub(super) fn search_pair(
        &self,
        pair: SiblingPair<'_>,
        spare: &mut Vec<u64>,
    ) -> [SearchResult; 2] {
        let found = self.scan(vec![pair], spare, |task, spare| {
            let mut found = <[SearchResult; 2]>::default();
            let search_scratch = &mut SearchScratch::new();
            self.for_each_node(task, spare, |which, columns| {
                kernel::search(self.level, columns, search_scratch, &mut found[which]);
                if let Some(constrained) = &columns.node.constrained {
                    constrained.search(columns, &mut found[which]);
                }
            });
            found
        });
        let join = |[a, b]: [SearchResult; 2], [c, d]: [SearchResult; 2]| [a.join(c), b.join(d)];
        found.into_iter().fold(Default::default(), join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinOptions, Binning};
    use crate::binning::{BinnedMatrix, CellSource};
    use crate::error::Result;
    use crate::interrupt::Interrupt;
    use crate::random::draw;
    use crate::simd::Level;
    use crate::tree::column_strips::ColumnStrips;
    use crate::tree::features::FeatureSlots;
    use crate::tree::histogram::{HistogramShape, NodeDocs};
    use crate::tree::kernel::LevelCriteria;
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
        let set = FeatureSet::of(slots.list.len(), 0..slots.list.len());
        for seed in 0..20 {
            // A mass of 0 or 1 and a small gradient: many equal values and empty bins.
            let sums: Vec<u64> = (0..size as u64)
                .map(|i| ((draw(seed, 2, i) % 5) << 32) | (draw(seed, 3, i) % 2))
                .collect();
            let column = &sums[..stride];
            let total = column.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let docs = NodeDocs::default();
            let found = Level::available().into_iter().map(|level| {
                let (columns, slots) = (&columns[..], &slots);
                let l2 = if seed % 2 == 0 { 0.5 } else { 1e15 };
                let noise = SplitNoise { deviation: 1.0, start: seed, floor: 0.0 };
                let noise = (seed % 3 == 0).then_some(noise);
                let node = SearchNode {
                    total,
                    least: 1.0,
                    l2,
                    unsplit_value: 0.0,
                    features: set.clone(),
                    constrained: None,
                    best_so_far: BestSoFar::default(),
                    noise,
                    counter: None,
                };
                let nodes = [None, Some(&node)];
                let pair =
                    |parent| SiblingPair { docs, own: None, parent, nodes, is_summed: false };
                let constraints = None;
                let searcher =
                    SplitSearcher { level, slots, positions: columns, strips, shape, constraints };
                // No documents: the sibling's sums are those of the parent.
                let mut parent = sums.clone();
                let found = searcher.search_pair(pair(Some(&mut parent)), &mut Vec::new());
                assert_eq!(found[0].best, None);
                let mut sums = sums.clone();
                // Two equal nodes.
                let (first, second) = sums.split_at_mut(size / 2);
                let searcher = SplitSearcher { positions: &columns[..width / 2], ..searcher };
                let pairs = vec![pair(Some(first)), pair(Some(&mut second[..width / 2 * stride]))];
                let chosen = searcher.search_level(
                    pairs,
                    &LevelCriteria { features: set.clone(), base: 1.0, floor: 1.0, noise },
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
        for (number, slot) in slots.list.iter().enumerate() {
            let column = &sums[slot.location.column as usize * stride..][..stride];
            let add = |goes: &dyn Fn(u8) -> bool| {
                let sums = (0..=u8::MAX).zip(column).filter(|&(byte, _)| goes(byte));
                sums.fold(0u64, |sum, (_, &more)| sum.wrapping_add(more))
            };
            let codes = slot.location.codes as u8;
            // Of the last code but that of missing cells.
            let doc_data = slot.side(&SplitTest::UpTo(codes - 2), false);
            let has_missing = add(&|byte| !doc_data.contains(byte)) != 0;
            for missing_left in [false, true] {
                for code in 0..codes - 1 - u8::from(!has_missing) {
                    let test = SplitTest::UpTo(code);
                    let side = slot.side(&test, missing_left);
                    let left = add(&|byte| side.contains(byte));
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
        let (columns, strips) = (&columns[..], &ColumnStrips::of(matrix).unwrap());
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
            let node = SearchNode {
                total,
                least: 30.0,
                l2: 2.0,
                unsplit_value: 0.0,
                features: FeatureSet::of(slots.list.len(), 0..slots.list.len()),
                constrained: None,
                best_so_far: BestSoFar::default(),
                noise: Some(noise),
                counter: None,
            };
            let mut sums = vec![0; shape.stride * shape.width];
            let docs = NodeDocs { docs: &order, packed: &gradients, active_runs: &[] };
            let (own, nodes) = (Some(&mut sums[..]), [Some(&node), None]);
            let pair = SiblingPair { docs, own, parent: None, nodes, is_summed: false };
            let [found, _] = searcher(Level::best()).search_pair(pair, &mut Vec::new());
            let best = luckiest(slots, &sums, &node, &noise).unwrap();
            let found = found.best.unwrap();
            // Which side missing cells go to where there are none, others say.
            assert_eq!((found.slot, found.test), (best.slot, best.test));
            assert_eq!((found.value, found.score), (best.value, best.score));
        }
    }
}
