//! Growth of symmetric (oblivious) trees: all leaves of a level are split by the same test.
//!
//! A leaf that is too small to be split does not influence the choice, but is split nevertheless,
//! because the tree must be complete. A leaf that is too small for a value of its own inherits one
//! from above.

use super::column_scan::SiblingPair;
use super::constraints::ValueBounds;
use super::features::{FeatureSet, FeatureSlot};
use super::grower::{BestSplit, Grower, OpenLeaf, TreeGrowth};
use super::histogram::HistogramScratch;
use super::kernel::{ByteSet, LevelCriteria, LevelSplit};
use super::leaf_search::{HistogramJob, NodeSummary};
use super::packed_gradients::GradientSums;
use super::split_search::SplitCandidate;
use crate::error::Result;
use crate::interrupt::Interrupt;
use rayon::prelude::*;
use std::ops::Range;

/// Leaves per task.
const LEAVES_A_TASK: usize = 16;

/// The effect of a split on a leaf.
struct SplitOutcome {
    /// The reduction of the loss.
    reduction: f64,
    /// Which sides inherit their values from above.
    inherits: [bool; 2],
    bounds: [ValueBounds; 2],
}

impl Grower {
    pub(super) fn grow_symmetric(
        &mut self,
        growth: &mut TreeGrowth<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let depth = self.options.num_leaves.ilog2();
        let depth = self.options.max_depth.map_or(depth, |most| most.min(depth));
        for _ in 0..depth {
            interrupt.check()?;
            let Some(chosen) = self.search_level(growth)? else { break };
            self.split_level(&chosen, growth);
            if let Some(constraints) = &self.constraints {
                // All paths have the same splits.
                let OpenLeaf { groups, features, .. } = &mut self.leaves[0];
                constraints.extend_path(chosen.slot, groups, features);
            }
        }
        Ok(())
    }

    /// The split that reduces the loss most. Large leaves keep their histograms.
    fn search_level(&mut self, growth: &TreeGrowth<'_>) -> Result<Option<LevelSplit>> {
        let half = self.leaves.len() / 2;
        let mut jobs = Vec::new();
        for left in 0..half.max(1) {
            // The left child has replaced its parent.
            let parent = self.leaves[left].histogram.take();
            let leaves = [left, half + left];
            jobs.extend(self.jobs(&leaves[..=half.min(1)], parent, growth)?);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let buffers = |job: &mut HistogramJob| [job.own.take(), job.parent.take()];
        let mut buffers: Vec<_> = jobs.iter_mut().map(buffers).collect();
        let chosen = self.search_jobs(&jobs, &mut buffers, &mut scratch, growth);
        self.scratch = scratch;
        for (job, [own, parent]) in jobs.into_iter().zip(buffers) {
            self.keep(job.leaf, own, chosen.is_some() && self.may_split(job.leaf));
            if let Some(leaf) = job.sibling {
                self.keep(leaf, parent, chosen.is_some() && self.may_split(leaf));
            }
        }
        Ok(chosen)
    }

    fn search_jobs(
        &self,
        jobs: &[HistogramJob],
        buffers: &mut [[Option<Box<[u64]>>; 2]],
        scratch: &mut HistogramScratch,
        growth: &TreeGrowth<'_>,
    ) -> Option<LevelSplit> {
        let node = |leaf: &OpenLeaf, summary: NodeSummary| {
            let mut node = self.node(summary, leaf, FeatureSet::default(), growth);
            // The allowed features are the same in all nodes, and all of them or none need the
            // constrained search.
            node.constrained.take_if(|constrained| !constrained.constraints.is_monotone);
            node
        };
        let nodes = jobs.iter().map(|job| self.nodes(job, self.summary(job), node));
        let nodes: Vec<_> = nodes.collect();
        let lists: Vec<&[u32]> = jobs.iter().map(|job| self.docs_to_sum(job)).collect();
        let docs = self.look_up(&lists, &mut scratch.gathered);
        let pairs = buffers.iter_mut().zip(&nodes).zip(docs);
        let pairs =
            pairs.map(|((buffers, nodes), docs)| SiblingPair::of(docs, buffers, nodes, false));
        let all = self.leaves.iter().filter(|leaf| leaf.count > 0);
        let values = all.map(|leaf| leaf.bounds.value(GradientSums::of(leaf.total), growth.l2));
        let base: f64 = values.filter(|value| value.is_finite()).sum();
        let noise = self.noise(base, self.leaves.len() as u64, growth);
        let floor = self.floor(base, growth);
        let first = &self.leaves[0];
        let features = self.sampled_features(&first.features, first.depth.into(), growth);
        let criteria = LevelCriteria { features, base, floor, noise };
        let searcher = self.searcher(growth);
        let chosen = searcher.search_level(pairs.collect(), &criteria, &mut scratch.spare)?;
        (base + chosen.reduction > floor).then_some(chosen)
    }

    /// Splits all leaves. Left children replace them; right children are appended in the same
    /// order.
    fn split_level(&mut self, chosen: &LevelSplit, growth: &mut TreeGrowth<'_>) {
        let slot = self.slots.list[chosen.slot];
        let test = slot.test(chosen.code);
        let lefts = |missing_left: bool| -> Vec<u64> {
            let side = slot.side(&test, missing_left);
            let leaves = self.leaves.par_iter().with_min_len(LEAVES_A_TASK);
            leaves.map(|leaf| self.left_sum(leaf, &slot, &side, growth)).collect()
        };
        let has_most_left = || {
            let mass = |sum: &u64| u64::from(GradientSums::of(*sum).mass);
            let left: u64 = lefts(false).iter().map(mass).sum();
            2 * left >= self.leaves.iter().map(|leaf| mass(&leaf.total)).sum()
        };
        // Values that are missing only in other data go where most documents go; as unknown
        // categories, they do not go with a single category.
        let missing_left =
            chosen.missing_left.unwrap_or_else(|| !slot.is_category && has_most_left());
        let lefts = lefts(missing_left);
        let side = slot.side(&test, missing_left);
        let cells = growth.table.matrix.padded(slot.location.column as usize);
        let runs: Vec<_> = self.leaves.iter().map(|leaf| leaf.docs.clone()).collect();
        let middles = self.docs.partition(&runs, cells, &side);
        let runs: Vec<_> = self.leaves.iter().map(|leaf| leaf.rest.clone()).collect();
        let rest_middles = self.rest.partition(&runs, cells, &side);
        for (leaf, left) in lefts.into_iter().enumerate() {
            let (value, score, priority, slot) = (0.0, 0.0, 0.0, chosen.slot);
            let choice = SplitCandidate { value, score, priority, slot, test, missing_left, left };
            let middles = [middles[leaf], rest_middles[leaf]];
            self.split_leaf(leaf, middles, &choice, growth);
        }
    }

    /// The packed sums of the documents of a leaf that go left.
    fn left_sum(
        &self,
        leaf: &OpenLeaf,
        slot: &FeatureSlot,
        side: &ByteSet,
        growth: &TreeGrowth<'_>,
    ) -> u64 {
        let bytes = 0..=u8::MAX;
        if let (Some(sums), Ok(at)) = (
            &leaf.histogram,
            growth.positions.binary_search(&self.strips.position(slot.location.column)),
        ) {
            // One column only: `side` has all 256 bytes, and beyond the stride come the next
            // column's sums.
            let stride = self.pool.shape.stride;
            let sums = &sums[at * stride..(at + 1) * stride];
            let left = bytes.zip(sums).filter(|&(byte, _)| side.contains(byte));
            return left.fold(0, |sum, (_, &more)| sum.wrapping_add(more));
        }
        let cells = growth.table.matrix.padded(slot.location.column as usize);
        let docs = self.docs.get(leaf.docs.clone()).iter();
        let left = docs.filter(|&&doc| side.contains(cells[doc as usize]));
        left.fold(0, |sum, &doc| sum.wrapping_add(self.packed[doc as usize]))
    }

    fn split_leaf(
        &mut self,
        at: usize,
        middles: [usize; 2],
        choice: &SplitCandidate,
        growth: &mut TreeGrowth<'_>,
    ) {
        let slot = self.slots.list[choice.slot];
        let Range { start, end } = self.leaves[at].docs;
        let docs = [middles[0] - start, end - middles[0]];
        let SplitOutcome { reduction, inherits, bounds } =
            self.split_outcome(at, choice, docs, growth);
        let number = growth.splits.len();
        let leaf = &mut self.leaves[at];
        let above = leaf.parent;
        let mut right = leaf.split_at(number, middles, choice.left);
        for (side, (inherits, bounds)) in
            [&mut *leaf, &mut right].into_iter().zip(inherits.into_iter().zip(bounds))
        {
            side.inherits_from = side.inherits_from.or_else(|| inherits.then_some(number));
            side.bounds = bounds;
        }
        // All nodes of a level use the features and groups of the first leaf.
        (right.features, right.groups) = Default::default();
        let children = [at, self.leaves.len()];
        self.leaves.push(right);
        growth.add_split(above, slot, &BestSplit { choice: *choice, reduction }, children);
    }

    /// The effect on a leaf of a split with this many documents on its sides.
    fn split_outcome(
        &self,
        at: usize,
        choice: &SplitCandidate,
        docs: [usize; 2],
        growth: &TreeGrowth<'_>,
    ) -> SplitOutcome {
        let leaf = &self.leaves[at];
        let none = SplitOutcome { reduction: 0.0, inherits: [true; 2], bounds: [leaf.bounds; 2] };
        if leaf.inherits_from.is_some() || leaf.docs.is_empty() {
            return none;
        }
        let node = self.node(leaf.summary(), leaf, FeatureSet::default(), growth);
        let sides = [choice.left, leaf.total.wrapping_sub(choice.left)].map(GradientSums::of);
        let min_docs = self.options.min_leaf_docs as usize;
        let is_small =
            |sums: GradientSums, docs| f64::from(sums.mass) < node.least || docs < min_docs;
        let inherits = [is_small(sides[0], docs[0]), is_small(sides[1], docs[1])];
        let constraints = self.constraints.as_ref();
        let direction =
            constraints.map_or(0, |constraints| constraints.direction_of(&self.slots, choice));
        let [low, high] = sides.map(|sums| f64::from(direction) * leaf.bounds.step(sums, node.l2));
        if inherits[0] || inherits[1] {
            // One side has no value of its own, so the other side's could violate the direction.
            return if direction == 0 { SplitOutcome { inherits, ..none } } else { none };
        }
        if low > high {
            return none;
        }
        let bounds = leaf.bounds.below(direction, sides, node.l2);
        let value = |sums: GradientSums| leaf.bounds.value(sums, node.l2);
        let reduction =
            growth.loss_per_unit * (value(sides[0]) + value(sides[1]) - node.unsplit_value);
        SplitOutcome { reduction, inherits, bounds }
    }
}
