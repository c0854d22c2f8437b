//! Growth of symmetric (oblivious) trees: all leaves of a level are split by the same test.
//!
//! A leaf that is too small to be split does not influence the choice, but is split nevertheless,
//! because the tree must be complete. A leaf that is too small for a value of its own inherits one
//! from above.

use super::constraints::ValueBounds;
use super::features::{FeatureSet, FeatureSlot};
use super::grower::{BestSplit, Grower, NODE, OpenLeaf, TreeGrowth, sum};
use super::histogram::{DocData, GatheredDocs, HistogramScratch, NodeDocs};
use super::kernel::{LeftBytes, LevelSplit};
use super::leaf_search::{NodeSearch, NodeSummary};
use super::packed_gradients::GradientSums;
use super::split_search::SplitCandidate;
use super::symmetric_search::{LevelCriteria, SiblingPair};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::random::draw;
use rayon::prelude::*;

/// Leaves per task.
const LEAVES_A_TASK: usize = 16;

/// A leaf whose histogram is summed from its documents, with the buffers for it.
struct HistogramJob {
    leaf: usize,
    /// The sibling, if its histogram is computed from the parent's.
    sibling: Option<usize>,
    /// The sampled documents that the split is chosen from, if not all.
    sample: Option<Vec<u32>>,
    own: Option<Box<[u64]>>,
    parent: Option<Box<[u64]>>,
}

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
        for level in 0..depth {
            interrupt.check()?;
            let features = self.features_of_level(level, growth);
            let Some(chosen) = self.search_level(&features, growth)? else { break };
            self.split_level(&chosen, growth);
            if let Some(constraints) = &self.constraints {
                // All paths have the same splits.
                let OpenLeaf { groups, features, .. } = &mut self.leaves[0];
                constraints.extend_path(chosen.slot, groups, features);
            }
        }
        Ok(())
    }

    fn features_of_level(&self, level: u32, growth: &TreeGrowth<'_>) -> FeatureSet {
        let (part, seed) = (self.options.features_per_node, self.options.seed);
        let stream = draw(seed, growth.job.round ^ NODE << 60, level.into());
        self.leaves[0].features.sample(part, seed, stream, &self.slots)
    }

    /// The split that reduces the loss most. Large leaves keep their histograms.
    fn search_level(
        &mut self,
        features: &FeatureSet,
        growth: &TreeGrowth<'_>,
    ) -> Result<Option<LevelSplit>> {
        let mut jobs = self.jobs(growth)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let chosen = self.search_jobs(&mut jobs, &mut scratch, features, growth);
        self.scratch = scratch;
        for job in jobs {
            for (leaf, sums) in [(Some(job.leaf), job.own), (job.sibling, job.parent)] {
                let Some(sums) = sums else { continue };
                let keeps = |&leaf: &usize| {
                    self.may_split(leaf) && self.pool.is_kept(self.leaves[leaf].docs.len())
                };
                match leaf.filter(keeps) {
                    Some(leaf) if chosen.is_some() => self.leaves[leaf].histogram = Some(sums),
                    _ => self.pool.release(sums),
                }
            }
        }
        Ok(chosen)
    }

    /// The leaves whose histograms are summed from documents: the smaller of two siblings, if the
    /// parent's histogram is known.
    fn jobs(&mut self, growth: &TreeGrowth<'_>) -> Result<Vec<HistogramJob>> {
        let half = self.leaves.len() / 2;
        let pairs: Vec<Vec<usize>> =
            if half == 0 { vec![vec![0]] } else { (0..half).map(|i| vec![i, half + i]).collect() };
        let is_sampled = self.options.rows_per_node < 1.0;
        let mut jobs = Vec::new();
        for pair in pairs {
            // The left child has replaced its parent.
            let parent = self.leaves[pair[0]].histogram.take();
            let may_split: Vec<usize> =
                pair.iter().copied().filter(|&leaf| self.may_split(leaf)).collect();
            if let (Some(_), &[left, right], false) = (&parent, &pair[..], may_split.is_empty()) {
                let is_left_smaller = self.leaves[left].docs.len() <= self.leaves[right].docs.len();
                let (leaf, sibling) = if is_left_smaller { (left, right) } else { (right, left) };
                let own = self.pool.acquire_for(self.leaves[leaf].docs.len())?;
                jobs.push(HistogramJob { leaf, sibling: Some(sibling), sample: None, own, parent });
                continue;
            }
            if let Some(parent) = parent {
                self.pool.release(parent);
            }
            for leaf in may_split {
                let sample = is_sampled.then(|| self.sample(&self.leaves[leaf], growth));
                let num_docs = self.leaves[leaf].docs.len();
                let own = if is_sampled { None } else { self.pool.acquire_for(num_docs)? };
                jobs.push(HistogramJob { leaf, sibling: None, sample, own, parent: None });
            }
        }
        Ok(jobs)
    }

    fn search_jobs<'s>(
        &'s self,
        jobs: &'s mut [HistogramJob],
        scratch: &'s mut HistogramScratch,
        features: &'s FeatureSet,
        growth: &TreeGrowth<'_>,
    ) -> Option<LevelSplit> {
        // The allowed features are the same in all nodes, and all of them or none need the
        // constrained search.
        let is_constrained =
            self.constraints.as_ref().is_some_and(|constraints| constraints.is_monotone);
        let constrained = is_constrained.then(|| features.clone());
        let search = NodeSearch { constrained, ..NodeSearch::default() };
        let node = |leaf: usize, sample: Option<&[u32]>| {
            let open = &self.leaves[leaf];
            let summary = sample.map_or(open.summary(), |docs| NodeSummary {
                num_docs: docs.len(),
                total: sum(&self.packed, docs),
            });
            (summary.num_docs > 0).then(|| self.node(summary, open, &search, growth))
        };
        let HistogramScratch { gathered, spare } = scratch;
        let mut rest = self.gather(jobs, gathered);
        let mut pairs = Vec::new();
        for job in jobs {
            let HistogramJob { leaf, sibling, sample, own, parent } = job;
            let sample = sample.as_deref();
            let docs = sample.unwrap_or_else(|| self.docs.get(self.leaves[*leaf].docs.clone()));
            let (doc_data, after) = rest.split(docs.len());
            rest = after;
            let of = |leaf: usize| self.may_split(leaf).then(|| node(leaf, sample)).flatten();
            pairs.push(SiblingPair {
                docs: NodeDocs { docs, doc_data },
                own: own.as_deref_mut(),
                parent: parent.as_deref_mut(),
                nodes: [of(*leaf), sibling.and_then(of)],
                is_summed: false,
            });
        }
        let base = (0..self.leaves.len())
            .filter_map(|leaf| node(leaf, None))
            .map(|node| node.unsplit_value);
        let base: f64 = base.filter(|unsplit_value| unsplit_value.is_finite()).sum();
        let noise = self.noise(base, self.leaves.len() as u64, growth);
        let floor = self.floor(base, growth);
        let terms = LevelCriteria { features, base, floor, noise };
        let chosen = self.searcher(growth).search_level(pairs, terms, spare)?;
        (base + chosen.reduction > floor).then_some(chosen)
    }

    /// The data of all documents that will be summed.
    fn gather<'s>(&'s self, jobs: &[HistogramJob], to: &'s mut GatheredDocs) -> DocData<'s> {
        let lists = jobs.iter().map(|job| match &job.sample {
            Some(sample) => &sample[..],
            None => self.docs.get(self.leaves[job.leaf].docs.clone()),
        });
        let lists: Vec<&[u32]> = lists.collect();
        if lists.iter().any(|docs| docs.len() == self.packed.len()) {
            // All documents, in ascending order.
            return self.doc_data();
        }
        to.look_up(&lists, self.doc_data())
    }

    /// Splits all leaves. Left children replace them; right children are appended in the same
    /// order.
    fn split_level(&mut self, chosen: &LevelSplit, growth: &mut TreeGrowth<'_>) {
        let slot = self.slots.all()[chosen.slot];
        let test = slot.test(chosen.code);
        let missing_left = chosen.missing_left.unwrap_or_else(|| {
            if slot.is_category {
                // As for unknown categories.
                return false;
            }
            // Values that are missing only in other data go where most documents go.
            let side = slot.side(&test, false);
            let mass = |sum: u64| u64::from(GradientSums::of(sum).mass);
            let left: u64 = (0..self.leaves.len())
                .map(|leaf| mass(self.left_sum(leaf, &slot, &side, growth)))
                .sum();
            let all: u64 = self.leaves.iter().map(|leaf| mass(leaf.total)).sum();
            2 * left >= all
        });
        let side = slot.side(&test, missing_left);
        let half = self.leaves.len();
        let lefts: Vec<u64> = (0..half)
            .into_par_iter()
            .with_min_len(LEAVES_A_TASK)
            .map(|leaf| self.left_sum(leaf, &slot, &side, growth))
            .collect();
        let cells = growth.table.matrix.padded(slot.column as usize);
        let runs: Vec<_> = self.leaves.iter().map(|leaf| leaf.docs.clone()).collect();
        let middles = self.docs.partition_all(&runs, cells, &side);
        let runs: Vec<_> = self.leaves.iter().map(|leaf| leaf.rest.clone()).collect();
        let rest_middles = self.rest.partition_all(&runs, cells, &side);
        for (leaf, left) in lefts.into_iter().enumerate() {
            let choice = SplitCandidate {
                value: 0.0,
                score: 0.0,
                priority: 0.0,
                slot: chosen.slot,
                test,
                missing_left,
                left,
            };
            let middles = [middles[leaf], rest_middles[leaf]];
            self.split_leaf(leaf, middles, &choice, growth);
        }
    }

    /// The packed sums of the documents of a leaf that go left.
    fn left_sum(
        &self,
        leaf: usize,
        slot: &FeatureSlot,
        side: &LeftBytes,
        growth: &TreeGrowth<'_>,
    ) -> u64 {
        let leaf = &self.leaves[leaf];
        let bytes = 0..=u8::MAX;
        if let (Some(sums), Ok(at)) =
            (&leaf.histogram, growth.positions.binary_search(&self.strips.position(slot.column)))
        {
            // One column only: `side` has all 256 bytes, and beyond the stride come the next
            // column's sums.
            let stride = self.pool.shape().stride;
            let sums = &sums[at * stride..(at + 1) * stride];
            let left = bytes.zip(sums).filter(|&(byte, _)| side.is_left(byte));
            return left.fold(0, |sum, (_, &more)| sum.wrapping_add(more));
        }
        let cells = growth.table.matrix.padded(slot.column as usize);
        let docs = self.docs.get(leaf.docs.clone()).iter();
        let left = docs.filter(|&&doc| side.is_left(cells[doc as usize]));
        left.fold(0, |sum, &doc| sum.wrapping_add(self.packed[doc as usize]))
    }

    fn split_leaf(
        &mut self,
        at: usize,
        middles: [usize; 2],
        choice: &SplitCandidate,
        growth: &mut TreeGrowth<'_>,
    ) {
        let slot = self.slots.all()[choice.slot];
        let SplitOutcome { reduction, inherits, bounds } = self.split_outcome(at, choice, growth);
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

    /// The effect of a split on a leaf.
    fn split_outcome(
        &self,
        at: usize,
        choice: &SplitCandidate,
        growth: &TreeGrowth<'_>,
    ) -> SplitOutcome {
        let leaf = &self.leaves[at];
        let none = SplitOutcome { reduction: 0.0, inherits: [true; 2], bounds: [leaf.bounds; 2] };
        if leaf.inherits_from.is_some() || leaf.docs.is_empty() {
            return none;
        }
        let search = NodeSearch::default();
        let node = self.node(leaf.summary(), leaf, &search, growth);
        let sides = [choice.left, leaf.total.wrapping_sub(choice.left)].map(GradientSums::of);
        let inherits = sides.map(|sums| f64::from(sums.mass) < node.least);
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
            self.loss_per_unit(growth) * (value(sides[0]) + value(sides[1]) - node.unsplit_value);
        SplitOutcome { reduction, inherits, bounds }
    }
}
