//! Prepares the split search of a leaf from the options, and records its result.

use super::column_scan::SplitSearcher;
use super::constrained_search::ConstrainedSearch;
use super::features::FeatureSet;
use super::grower::{BestSplit, Grower, NODE, NOISE, OpenLeaf, ROWS, TreeGrowth, sum};
use super::histogram::{GatheredDocs, NodeDocs};
use super::options::Criterion;
use super::packed_gradients::GradientSums;
use super::split_noise::SplitNoise;
use super::split_search::{BestSoFar, SearchNode, SearchResult};
use crate::error::Result;
use crate::random::{draw, start};
use crate::simd::Level;
use std::cmp::Reverse;

/// The documents that the split of a node is chosen from: all of the node, or a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeSummary {
    /// Their number, over all workers.
    pub(super) num_docs: usize,
    /// Their packed sums, over all workers.
    pub(super) total: u64,
}

/// A leaf whose histogram is summed from its documents, with the buffers for it.
pub(super) struct HistogramJob {
    pub(super) leaf: usize,
    /// The sibling, if its histogram is computed from the parent's.
    pub(super) sibling: Option<usize>,
    /// The sampled documents that the split is chosen from, if not all.
    pub(super) sample: Option<Vec<u32>>,
    pub(super) own: Option<Box<[u64]>>,
    pub(super) parent: Option<Box<[u64]>>,
}

impl Grower {
    /// The histograms that the splits of two siblings, or of one leaf, are chosen from: that of the
    /// smaller sibling only, if the parent's is known.
    pub(super) fn jobs(
        &mut self,
        leaves: &[usize],
        parent: Option<Box<[u64]>>,
        growth: &TreeGrowth<'_>,
    ) -> Result<Vec<HistogramJob>> {
        let divides_docs = self.reducer.divides_docs();
        // The documents of several workers are counted together with the histogram.
        let is_counted = !divides_docs || parent.is_none();
        let is_full = self.leaves.len() == self.options.num_leaves;
        let has_columns = !divides_docs || !growth.positions.is_empty();
        let may_split = |&leaf: &usize| {
            let may_split = if is_counted { self.may_split(leaf) } else { self.is_divisible(leaf) };
            may_split && has_columns && !is_full
        };
        let chosen: Vec<usize> = leaves.iter().copied().filter(may_split).collect();
        if let (Some(_), &[left, right], false) = (&parent, leaves, chosen.is_empty()) {
            let mass = |leaf: &OpenLeaf| GradientSums::of(leaf.total).mass as usize;
            let size = |leaf: &OpenLeaf| if divides_docs { mass(leaf) } else { leaf.docs.len() };
            let is_left_smaller = size(&self.leaves[left]) <= size(&self.leaves[right]);
            let (leaf, sibling) = if is_left_smaller { (left, right) } else { (right, left) };
            let (sibling, own) = (Some(sibling), self.acquire_for(leaf)?);
            return Ok(vec![HistogramJob { leaf, sibling, sample: None, own, parent }]);
        }
        if let Some(parent) = parent {
            self.pool.release(parent);
        }
        let is_sampled = self.options.rows_per_node < 1.0;
        let job = |leaf| {
            let sample = is_sampled.then(|| self.sample(&self.leaves[leaf], growth));
            let own = self.acquire_for(leaf)?;
            Ok(HistogramJob { leaf, sibling: None, sample, own, parent: None })
        };
        chosen.into_iter().map(job).collect()
    }

    /// A buffer for the histogram of a leaf, if it will be kept or exchanged.
    fn acquire_for(&mut self, leaf: usize) -> Result<Option<Box<[u64]>>> {
        let is_needed = self.reducer.divides_docs() || self.is_kept(leaf);
        is_needed.then(|| self.pool.acquire()).transpose()
    }

    /// Whether the histogram of a leaf is kept if it can be split. With several workers, that is
    /// always cheaper than exchanging it again.
    fn is_kept(&self, leaf: usize) -> bool {
        // The histogram of a sample says nothing about the children.
        self.options.rows_per_node == 1.0
            && (self.reducer.divides_docs()
                || self.leaves[leaf].docs.len() >= self.pool.shape.least_kept())
    }

    /// Keeps the histogram of a leaf that can be split and is large enough.
    pub(super) fn keep(&mut self, leaf: usize, sums: Option<Box<[u64]>>, can_split: bool) {
        match sums {
            Some(sums) if can_split && self.is_kept(leaf) => {
                self.leaves[leaf].histogram = Some(sums);
            }
            Some(sums) => self.pool.release(sums),
            None => {}
        }
    }

    /// The sampled documents of a leaf from which its split is chosen (`rows_per_node`).
    fn sample(&self, leaf: &OpenLeaf, growth: &TreeGrowth<'_>) -> Vec<u32> {
        let stream = draw(self.options.seed, growth.job.round ^ ROWS << 60, leaf.number);
        let below = (self.options.rows_per_node * 2f64.powi(64)) as u64;
        let is_drawn = |&doc: &u32| {
            draw(self.options.seed, stream, growth.table.doc_hash[doc as usize]) < below
        };
        self.docs.get(leaf.docs.clone()).iter().copied().filter(is_drawn).collect()
    }

    /// The documents that are summed.
    pub(super) fn docs_to_sum<'s>(&'s self, job: &'s HistogramJob) -> &'s [u32] {
        let all = || self.docs.get(self.leaves[job.leaf].docs.clone());
        job.sample.as_deref().unwrap_or_else(all)
    }

    /// The documents that the split of the job's leaf is chosen from.
    pub(super) fn summary(&self, job: &HistogramJob) -> NodeSummary {
        let sampled = job.sample.as_deref();
        sampled.map_or(self.leaves[job.leaf].summary(), |docs| NodeSummary {
            num_docs: docs.len(),
            total: sum(&self.packed, docs),
        })
    }

    /// The leaf of a job and its sibling as `node` makes them; `None` if it will not be split.
    pub(super) fn nodes<'s>(
        &'s self,
        job: &HistogramJob,
        summary: NodeSummary,
        node: impl Fn(&'s OpenLeaf, NodeSummary) -> SearchNode<'s>,
    ) -> [Option<SearchNode<'s>>; 2] {
        let sibling = job.sibling.map(|leaf| (leaf, self.leaves[leaf].summary()));
        [Some((job.leaf, summary)), sibling].map(|of| {
            let (leaf, summary) = of?;
            let may_split = self.may_split(leaf) && summary.num_docs > 0;
            may_split.then(|| node(&self.leaves[leaf], summary))
        })
    }

    /// The documents of some nodes, with their data.
    pub(super) fn look_up<'s>(
        &'s self,
        lists: &[&'s [u32]],
        to: &'s mut GatheredDocs,
    ) -> Vec<NodeDocs<'s>> {
        to.look_up(lists, &self.packed, &self.strips.sparse_runs.active)
    }

    /// The features that a node may be split on, of those that its tree and its path allow.
    pub(super) fn sampled_features(
        &self,
        features: &FeatureSet,
        number: u64,
        growth: &TreeGrowth<'_>,
    ) -> FeatureSet {
        let (part, seed) = (self.options.features_per_node, self.options.seed);
        let stream = draw(seed, growth.job.round ^ NODE << 60, number);
        features.sample(part, seed, stream, &self.slots)
    }

    pub(super) fn searcher<'s>(&'s self, growth: &'s TreeGrowth<'_>) -> SplitSearcher<'s> {
        let (level, shape) = (Level::best(), self.pool.shape);
        let positions = &growth.positions;
        let (slots, strips, constraints) = (&self.slots, &self.strips, self.constraints.as_ref());
        SplitSearcher { level, slots, positions, strips, shape, constraints }
    }

    /// Whether a leaf is shallow and heavy enough to be split.
    fn is_divisible(&self, leaf: usize) -> bool {
        let leaf = &self.leaves[leaf];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && GradientSums::of(leaf.total).mass >= 2
    }

    /// Whether a leaf, whose documents have been counted, is large enough to be split.
    pub(super) fn may_split(&self, leaf: usize) -> bool {
        self.is_divisible(leaf)
            && self.leaves[leaf].count as u64 >= 2 * u64::from(self.options.min_leaf_docs)
    }

    /// The search's view of a leaf and the features that it may be split on, with everything in
    /// packed units.
    pub(super) fn node<'s>(
        &'s self,
        summary: NodeSummary,
        leaf: &OpenLeaf,
        mut features: FeatureSet,
        growth: &TreeGrowth<'_>,
    ) -> SearchNode<'s> {
        let NodeSummary { num_docs, total } = summary;
        let docs = f64::from(self.options.min_leaf_docs);
        let (sums, l2) = (GradientSums::of(total), growth.l2);
        let (least, doc_mass) = match self.options.criterion {
            Criterion::SecondOrder => {
                let mass = f64::from(sums.mass);
                let of_docs = docs * mass / num_docs as f64;
                let least_hess = self.options.min_leaf_hess / growth.scale.mass;
                (of_docs.max(least_hess), mass / num_docs as f64)
            }
            Criterion::LeastSquares => (docs, 1.0),
        };
        let bounds = leaf.bounds;
        let unsplit_value = bounds.value(sums, l2);
        let floor = self.floor(unsplit_value, growth);
        let constrained = self.constraints.as_ref().map(|constraints| {
            let constrained = constraints.constrained_features(&features, &bounds);
            features.subtract(&constrained);
            ConstrainedSearch { constraints, features: constrained, bounds, floor, doc_mass }
        });
        SearchNode {
            total,
            least: least.max(1.0),
            l2,
            unsplit_value,
            features,
            constrained,
            best_so_far: BestSoFar::default(),
            noise: self.noise(unsplit_value, leaf.number, growth),
            counter: None,
        }
    }

    /// The noise on the splits of a node with this value.
    pub(super) fn noise(
        &self,
        unsplit_value: f64,
        number: u64,
        growth: &TreeGrowth<'_>,
    ) -> Option<SplitNoise> {
        let start = start(self.options.seed, growth.job.round ^ NOISE << 60 ^ number << 24);
        let (deviation, floor) = (growth.deviation, self.floor(unsplit_value, growth));
        (deviation > 0.0).then_some(SplitNoise { deviation, start, floor })
    }

    /// The value that splits of a node must exceed. Splits that separate nothing differ from the
    /// node's value by rounding only.
    pub(super) fn floor(&self, unsplit_value: f64, growth: &TreeGrowth<'_>) -> f64 {
        let rounded = unsplit_value * (1.0 + 1e-10);
        rounded.max(unsplit_value + self.options.min_reduction / growth.loss_per_unit)
    }

    /// Records the best split of a leaf, if it reduces the loss enough. `total` are the packed sums
    /// of the documents that it was chosen from.
    pub(super) fn record_result(
        &mut self,
        at: usize,
        found: SearchResult,
        total: u64,
        growth: &mut TreeGrowth<'_>,
    ) {
        let leaf = &mut self.leaves[at];
        found.unsplittable.into_iter().for_each(|slot| leaf.features.remove(slot));
        let Some(choice) = found.best else { return };
        let unsplit_value = leaf.bounds.value(GradientSums::of(total), growth.l2);
        let reduction = growth.loss_per_unit * (choice.value - unsplit_value);
        // Splits that separate nothing differ from zero by rounding only.
        if choice.value > unsplit_value * (1.0 + 1e-10) && reduction > self.options.min_reduction {
            leaf.best = Some(BestSplit { choice, reduction });
            let priority = growth.loss_per_unit * (choice.priority - unsplit_value);
            // The bits of positive floats have the order of the floats.
            growth.queue.insert((priority.to_bits(), Reverse(at)));
        }
    }
}
