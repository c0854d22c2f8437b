//! Leaf-wise (best-first) growth of one tree.

use super::GROWING;
use super::column_scan::SiblingPair;
use super::column_strips::ColumnStrips;
use super::constraints::{ActiveConstraints, ValueBounds};
use super::doc_counts::SearchedLeaf;
use super::features::{FeatureSet, FeatureSlot, FeatureSlots};
use super::histogram::{HistogramPool, HistogramScratch, HistogramShape, NodeDocs};
use super::kernel;
use super::leaf_search::{HistogramJob, NodeSummary};
use super::options::{Criterion, GrowOptions, TreeShape};
use super::packed_gradients::{GradientScale, pack};
use super::partition::DocPartition;
use super::reducer::{GrowthReducer, LocalReducer};
use super::split_noise;
use super::split_search::{SearchNode, SplitCandidate, SplitTest};
use crate::binning::{BinnedMatrix, Binning, CategoryBins};
use crate::error::{Result, room_for};
use crate::gradient::Gradient;
use crate::huge_pages::HugePageVec;
use crate::interrupt::Interrupt;
use crate::model::{Child, Set as CategorySet, Split, Tree};
use crate::random::draw;
use crate::simd::Level;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use std::slice::from_ref;

/// The data that trees are grown on.
#[derive(Debug, Clone, Copy)]
pub struct TrainingTable<'a> {
    /// The binned cells.
    pub matrix: &'a BinnedMatrix,
    /// How the bytes of the matrix encode features.
    pub binning: &'a Binning,
    /// A hash of the content of each document, used for everything random.
    pub doc_hash: &'a [u64],
}

/// One tree to grow.
#[derive(Debug, Clone, Copy)]
pub struct TreeJob<'a> {
    /// The gradient of each document of the table.
    pub gradients: &'a [Gradient],
    /// The documents that the tree is fitted to, ascending.
    pub docs: &'a [u32],
    /// Documents that are only routed to leaves, ascending; none of them is in `docs`.
    pub rest: &'a [u32],
    /// The number of the round, which random draws depend on.
    pub round: u64,
}

/// Grows trees on one table.
///
/// Keeps what the trees share: a copy of the table in strips, histograms, and lists of documents.
#[derive(Debug)]
pub struct Grower {
    pub(super) options: GrowOptions,
    pub(super) slots: FeatureSlots,
    pub(super) strips: ColumnStrips,
    pub(super) pool: HistogramPool,
    pub(super) packed: HugePageVec<u64>,
    pub(super) scratch: HistogramScratch,
    pub(super) docs: DocPartition,
    pub(super) rest: DocPartition,
    pub(super) leaves: Vec<OpenLeaf>,
    pub(super) constraints: Option<ActiveConstraints>,
    pub(super) reducer: Box<dyn GrowthReducer>,
    /// The category sets of the last tree.
    sets: Vec<CategorySet>,
}

/// A leaf of the unfinished tree.
#[derive(Debug, Default)]
pub(super) struct OpenLeaf {
    pub(super) docs: Range<usize>,
    pub(super) rest: Range<usize>,
    /// The number of its documents, over all workers.
    pub(super) count: usize,
    /// The packed sums of its documents, over all workers.
    pub(super) total: u64,
    pub(super) depth: u32,
    /// Its number among all nodes of the tree, which random draws depend on.
    pub(super) number: u64,
    /// The split above it.
    pub(super) parent: Option<ParentLink>,
    /// The features that it may be split on.
    pub(super) features: FeatureSet,
    pub(super) histogram: Option<Box<[u64]>>,
    pub(super) best: Option<BestSplit>,
    /// The split whose value it inherits because it is too small for its own.
    pub(super) inherits_from: Option<usize>,
    pub(super) bounds: ValueBounds,
    /// The interaction groups that contain all features of its path.
    pub(super) groups: Vec<u32>,
}

/// The place of a node below its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParentLink {
    split: usize,
    is_left: bool,
}

/// The best split of a leaf, and its reduction of the loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct BestSplit {
    pub(super) choice: SplitCandidate,
    pub(super) reduction: f64,
}

/// A tree that is being grown.
pub(super) struct TreeGrowth<'a> {
    pub(super) table: TrainingTable<'a>,
    pub(super) job: TreeJob<'a>,
    pub(super) scale: GradientScale,
    /// The standard deviation of the split noise, in packed units of the root of a value.
    pub(super) deviation: f64,
    /// The L2 regularisation in packed units.
    pub(super) l2: f64,
    /// The loss reduction of one packed unit of value.
    pub(super) loss_per_unit: f64,
    pub(super) splits: Vec<Split>,
    /// The category sets that splits refer to.
    pub(super) sets: Vec<CategorySet>,
    /// The positions of the columns that the tree may use, ascending.
    pub(super) positions: Vec<u32>,
    /// The leaves that can be split, by the bits of their priorities, then the oldest first.
    pub(super) queue: BTreeSet<(u64, Reverse<usize>)>,
}

/// Documents that one task sums.
const DOCS_A_TASK: usize = 1 << 15;

/// The streams of random draws.
const TREE: u64 = 1;
pub(super) const NODE: u64 = 2;
pub(super) const ROWS: u64 = 3;
pub(super) const NOISE: u64 = 4;

impl Grower {
    /// A grower for one table.
    pub fn new(table: TrainingTable<'_>, options: GrowOptions) -> Result<Self> {
        Self::with_reducer(table, options, Box::new(LocalReducer))
    }

    /// The workers that grow the same trees.
    pub(crate) fn reducer(&self) -> &dyn GrowthReducer {
        &*self.reducer
    }

    /// A grower that grows the same trees as other workers, of whose data the table has a part.
    pub(crate) fn with_reducer(
        table: TrainingTable<'_>,
        options: GrowOptions,
        reducer: Box<dyn GrowthReducer>,
    ) -> Result<Self> {
        options.check()?;
        options.limits.check(&options, table.binning)?;
        let slots = FeatureSlots::of(table.binning);
        let shape = HistogramShape { stride: slots.stride(), width: table.matrix.width() };
        let num_docs = table.matrix.num_rows();
        // No two leaves share a document; a split needs two histograms.
        let most_kept = options.num_leaves.min(num_docs / shape.least_kept() + 2) as u64;
        room_for(GROWING, 8 * shape.len() as u64 * most_kept + 48 * num_docs as u64)?;
        let constraints = ActiveConstraints::of(&options, &slots);
        reducer.check_options(&options, constraints.is_some())?;
        // Histograms of several workers are summed position by position, so all of them need the
        // same order of columns.
        let strips = if reducer.divides_docs() { ColumnStrips::plain } else { ColumnStrips::of };
        Ok(Self {
            strips: strips(table.matrix)?,
            pool: HistogramPool::new(shape),
            packed: HugePageVec::zeros(GROWING, num_docs)?,
            scratch: HistogramScratch::default(),
            docs: DocPartition::with_room(num_docs)?,
            rest: DocPartition::with_room(num_docs)?,
            leaves: Vec::new(),
            constraints,
            reducer,
            sets: Vec::new(),
            slots,
            options,
        })
    }

    /// Grows a tree whose leaf values are full Newton steps. It is a single leaf if nothing can be
    /// split.
    ///
    /// # Panics
    /// If the table is not the one that the grower was made for.
    pub fn grow(
        &mut self,
        table: TrainingTable<'_>,
        job: TreeJob<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        assert_eq!(self.packed.len(), table.matrix.num_rows(), "the table of `Grower::new`");
        // Enters the thread pool once; from outside, each parallel step would be handed to it
        // separately.
        rayon::scope(|_| self.grow_in_pool(table, job, interrupt))
    }

    /// The category sets of the last tree. A split on set `i` has the feature number
    /// `num_features + i`.
    pub fn sets(&self) -> &[CategorySet] {
        &self.sets
    }

    /// The documents in a leaf of the last tree: those it was fitted to, and those that were only
    /// routed.
    pub fn docs_of(&self, leaf: usize) -> [&[u32]; 2] {
        let leaf = &self.leaves[leaf];
        [self.docs.get(leaf.docs.clone()), self.rest.get(leaf.rest.clone())]
    }

    fn grow_in_pool(
        &mut self,
        table: TrainingTable<'_>,
        job: TreeJob<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        let (criterion, reducer) = (self.options.criterion, &*self.reducer);
        let (scale, num_docs) = pack(job, criterion, reducer, &mut self.packed)?;
        let deviation = split_noise::deviation(&self.options, job, &self.packed, reducer)?;
        let unit = scale.grad * scale.grad / scale.mass;
        let (l2, loss_per_unit) = match criterion {
            Criterion::SecondOrder => (self.options.l2 / scale.mass, 0.5 * unit),
            Criterion::LeastSquares => (0.0, unit),
        };
        let mut growth = TreeGrowth {
            table,
            job,
            scale,
            deviation,
            l2,
            loss_per_unit,
            splits: Vec::new(),
            sets: Vec::new(),
            positions: Vec::new(),
            queue: BTreeSet::new(),
        };
        self.start(&mut growth, num_docs);
        match self.options.tree_shape {
            TreeShape::Leafwise => self.grow_leafwise(&mut growth, interrupt)?,
            TreeShape::Symmetric => self.grow_symmetric(&mut growth, interrupt)?,
        }
        for leaf in &mut self.leaves {
            leaf.histogram.take().into_iter().for_each(|histogram| self.pool.release(histogram));
        }
        self.sets = std::mem::take(&mut growth.sets);
        self.finish(growth)
    }

    fn grow_leafwise(&mut self, growth: &mut TreeGrowth<'_>, interrupt: &Interrupt) -> Result<()> {
        let mut total = [self.leaves[0].total];
        self.reducer.fail_later(interrupt.check())?;
        self.reducer.sum("the root", growth.job.round, &mut total)?;
        self.leaves[0].total = total[0];
        self.search(&[0], None, growth)?;
        while self.leaves.len() < self.options.num_leaves {
            self.reducer.fail_later(interrupt.check())?;
            let Some((_, Reverse(leaf))) = growth.queue.pop_last() else { break };
            self.split(leaf, growth)?;
            self.release_histograms(growth);
        }
        Ok(())
    }

    /// Puts all documents into the root.
    fn start(&mut self, growth: &mut TreeGrowth<'_>, num_docs: usize) {
        self.docs.start(growth.job.docs);
        self.rest.start(growth.job.rest);
        let mut all = FeatureSet::of(self.slots.list.len(), 0..self.slots.list.len());
        self.constraints.iter().for_each(|constraints| constraints.remove_weightless(&mut all));
        let (part, seed) = (self.options.features_per_tree, self.options.seed);
        let features = all.sample(part, seed, draw(seed, TREE, growth.job.round), &self.slots);
        let positions = self.strips.positions(&self.slots.columns(&features));
        growth.positions = positions[self.reducer.columns(positions.len())].to_vec();
        self.leaves.clear();
        self.leaves.push(OpenLeaf {
            docs: 0..growth.job.docs.len(),
            rest: 0..growth.job.rest.len(),
            count: num_docs,
            total: sum(&self.packed, growth.job.docs),
            features,
            groups: self.constraints.as_ref().map_or_else(Vec::new, ActiveConstraints::all_groups),
            ..OpenLeaf::default()
        });
    }

    /// Releases the histograms of leaves that will not be split: there are as many better leaves as
    /// splits left, and each split takes one of these or of their children.
    pub(super) fn release_histograms(&mut self, growth: &mut TreeGrowth<'_>) {
        while growth.queue.len() > self.options.num_leaves - self.leaves.len() {
            let Some((_, Reverse(leaf))) = growth.queue.pop_first() else { break };
            if let Some(histogram) = self.leaves[leaf].histogram.take() {
                self.pool.release(histogram);
            }
        }
    }

    /// Splits a leaf. The left child replaces it; the right child is appended.
    pub(super) fn split(&mut self, at: usize, growth: &mut TreeGrowth<'_>) -> Result<()> {
        let Some(best) = self.leaves[at].best.take() else { return Ok(()) };
        let choice = best.choice;
        let histogram = self.leaves[at].histogram.take();
        let slot = self.slots.list[choice.slot];
        let cells = growth.table.matrix.padded(slot.location.column as usize);
        let side = slot.side(&choice.test, choice.missing_left);
        let leaf = &mut self.leaves[at];
        let middle = self.docs.partition(from_ref(&leaf.docs), cells, &side)[0];
        let rest_middle = self.rest.partition(from_ref(&leaf.rest), cells, &side)[0];
        let left = if self.options.rows_per_node < 1.0 {
            sum(&self.packed, self.docs.get(leaf.docs.start..middle))
        } else {
            choice.left
        };
        let above = leaf.parent;
        let mut right = leaf.split_at(growth.splits.len(), [middle, rest_middle], left);
        if let Some(constraints) = &self.constraints {
            constraints.constrain_children(&self.slots, &choice, growth.l2, [leaf, &mut right]);
        }
        self.leaves.push(right);
        let children = [at, self.leaves.len() - 1];
        growth.add_split(above, slot, &best, children);
        if self.reducer.divides_docs() && self.options.rows_per_node < 1.0 {
            self.reduce_totals(children, growth)?;
        }
        self.search(&children, histogram, growth)
    }

    /// Finds the best splits of one leaf, or of two new ones with the parent's histogram.
    fn search(
        &mut self,
        leaves: &[usize],
        parent: Option<Box<[u64]>>,
        growth: &mut TreeGrowth<'_>,
    ) -> Result<()> {
        for job in self.jobs(leaves, parent, growth)? {
            self.search_job(job, growth)?;
        }
        Ok(())
    }

    fn search_job(&mut self, mut job: HistogramJob, growth: &mut TreeGrowth<'_>) -> Result<()> {
        let is_summed = self.reducer.divides_docs();
        let summary =
            if is_summed { self.reduce_histogram(&mut job, growth)? } else { self.summary(&job) };
        let mut scratch = std::mem::take(&mut self.scratch);
        let HistogramScratch { gathered, spare } = &mut scratch;
        let mut buffers = [job.own.take(), job.parent.take()];
        let nodes = self.nodes(&job, summary, |leaf, summary| {
            let features = self.sampled_features(&leaf.features, leaf.number, growth);
            let counter = self.side_counter(leaf, growth);
            SearchNode { counter, ..self.node(summary, leaf, features, growth) }
        });
        let docs = if is_summed {
            NodeDocs::default()
        } else {
            self.look_up(&[self.docs_to_sum(&job)], gathered)[0]
        };
        let pair = SiblingPair::of(docs, &mut buffers, &nodes, is_summed);
        let found = self.searcher(growth).search_pair(pair, spare);
        let found = self.reducer.best_splits(&self.options, growth.job.round, found)?;
        let [own_found, found] = if is_summed {
            let sums = buffers.each_ref().map(Option::as_deref);
            let leaves = [Some(job.leaf), job.sibling];
            let searched =
                [0, 1].map(|at| SearchedLeaf::of(leaves[at], nodes[at].as_ref(), sums[at]));
            self.recount(searched, found, spare, growth)?
        } else {
            found
        };
        self.scratch = scratch;
        self.record_result(job.leaf, own_found, summary.total, growth);
        let [own, parent] = buffers;
        self.keep(job.leaf, own, self.leaves[job.leaf].best.is_some());
        if let Some(leaf) = job.sibling {
            self.record_result(leaf, found, self.leaves[leaf].total, growth);
            self.keep(leaf, parent, self.leaves[leaf].best.is_some());
        }
        Ok(())
    }
}

impl OpenLeaf {
    pub(super) fn summary(&self) -> NodeSummary {
        NodeSummary { num_docs: self.count, total: self.total }
    }

    /// Makes this leaf the left child of a split, and returns the right child. `middles` are the
    /// ends of the left child's documents and routed documents, `left` are its packed sums.
    pub(super) fn split_at(&mut self, split: usize, middles: [usize; 2], left: u64) -> Self {
        let [middle, rest_middle] = middles;
        let right = Self {
            docs: middle..self.docs.end,
            rest: rest_middle..self.rest.end,
            count: self.docs.end - middle,
            total: self.total.wrapping_sub(left),
            depth: self.depth + 1,
            number: 2 * split as u64 + 2,
            parent: Some(ParentLink { split, is_left: false }),
            features: self.features.clone(),
            histogram: None,
            best: None,
            inherits_from: self.inherits_from,
            bounds: self.bounds,
            groups: self.groups.clone(),
        };
        self.count -= right.count;
        (self.docs.end, self.rest.end, self.total) = (middle, rest_middle, left);
        (self.depth, self.number) = (right.depth, right.number - 1);
        self.parent = Some(ParentLink { split, is_left: true });
        right
    }
}

impl TreeGrowth<'_> {
    /// Adds a split in place of the leaf that `above` points to.
    pub(super) fn add_split(
        &mut self,
        above: Option<ParentLink>,
        slot: FeatureSlot,
        best: &BestSplit,
        children: [usize; 2],
    ) {
        let mapper = &self.table.binning.mappers()[slot.feature as usize];
        let BestSplit { choice, reduction } = *best;
        let (feature, threshold) = match choice.test {
            // After the last threshold, all values that are not missing go left.
            SplitTest::UpTo(code) => {
                let threshold = mapper.thresholds().get(usize::from(code)).copied();
                (slot.feature, f64::from(threshold.unwrap_or(f32::MAX)))
            }
            // The derived feature is 0 for values in the set and 1 for others.
            SplitTest::In(_) => (self.number_of(slot.feature, &choice.test), 0.5),
        };
        let number = self.splits.len() as u32;
        if let Some(ParentLink { split, is_left }) = above {
            let above = &mut self.splits[split];
            *if is_left { &mut above.left } else { &mut above.right } = Child::Split(number);
        }
        let [left, right] = children.map(|leaf| Child::Leaf(leaf as u32));
        self.splits.push(Split {
            feature,
            threshold,
            missing_left: choice.missing_left,
            left,
            right,
            reduction,
            // Set when the leaves are final.
            cover: 0.0,
            docs: 0,
        });
    }

    /// The feature number of a set of categories.
    fn number_of(&mut self, feature: u32, test: &SplitTest) -> u32 {
        let binning = self.table.binning;
        let categories = binning.mappers()[feature as usize].categories();
        let by_bin = categories.map_or(&[][..], CategoryBins::by_bin);
        let named = (0..=u8::MAX).zip(by_bin).filter(|(code, _)| test.is_left(*code));
        let mut categories: Vec<u32> = named.map(|(_, &category)| category).collect();
        categories.sort_unstable();
        let set = CategorySet { feature, categories };
        let at = self.sets.iter().position(|other| *other == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        (binning.num_features() + at) as u32
    }
}

/// The packed sums of some documents.
pub(super) fn sum(packed: &[u64], docs: &[u32]) -> u64 {
    if docs.len() == packed.len() {
        // All documents.
        let parts = packed.par_chunks(DOCS_A_TASK).map(|part| kernel::total(Level::best(), part));
        return parts.reduce(|| 0, u64::wrapping_add);
    }
    docs.iter().fold(0, |sum, &doc| sum.wrapping_add(packed[doc as usize]))
}
