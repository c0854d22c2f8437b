//! Prepares the split search of a leaf from the options, and records its result.

use super::constrained_search::ConstrainedSearch;
use super::features::FeatureSet;
use super::grower::{BestSplit, Grower, NODE, NOISE, OpenLeaf, ROWS, Reduction, TreeGrowth};
use super::options::Criterion;
use super::packed_gradients::GradientSums;
use super::split_noise::SplitNoise;
use super::split_search::{BestSoFar, SearchNode, SearchResult, SplitSearcher};
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

/// The search for the split of a node.
#[derive(Debug, Default)]
pub(super) struct NodeSearch {
    /// The features that the split may use and the SIMD kernels search.
    pub(super) plain: FeatureSet,
    /// Those that need the constrained search; `None` if there are no constraints.
    pub(super) constrained: Option<FeatureSet>,
    pub(super) best_so_far: BestSoFar,
}

impl Grower {
    /// The sampled documents of a leaf from which its split is chosen (`rows_per_node`).
    pub(super) fn sample(&self, leaf: &OpenLeaf, growth: &TreeGrowth<'_>) -> Vec<u32> {
        let stream = draw(self.options.seed, growth.job.round ^ ROWS << 60, leaf.number);
        let below = (self.options.rows_per_node * 2f64.powi(64)) as u64;
        let docs = self.docs.get(leaf.docs.clone()).iter().copied();
        let is_drawn = |&doc: &u32| {
            draw(self.options.seed, stream, growth.table.doc_hash[doc as usize]) < below
        };
        docs.filter(is_drawn).collect()
    }

    /// A new search for the split of a leaf.
    pub(super) fn new_search(&self, at: usize, growth: &TreeGrowth<'_>) -> NodeSearch {
        let leaf = &self.leaves[at];
        let seed = self.options.seed;
        let stream = draw(seed, growth.job.round ^ NODE << 60, leaf.number);
        let part = self.options.features_per_node;
        let mut plain = leaf.features.sample(part, seed, stream, &self.slots);
        let constrained = self
            .constraints
            .as_ref()
            .map(|constraints| constraints.constrained_features(&plain, &leaf.bounds));
        if let Some(constrained) = &constrained {
            plain.subtract(constrained);
        }
        NodeSearch { plain, constrained, best_so_far: BestSoFar::default() }
    }

    pub(super) fn searcher<'s>(&'s self, growth: &'s TreeGrowth<'_>) -> SplitSearcher<'s> {
        let (level, shape) = (Level::best(), self.pool.shape());
        let positions = &growth.positions;
        let (slots, strips, constraints) = (&self.slots, &self.strips, self.constraints.as_ref());
        SplitSearcher { level, slots, positions, strips, shape, constraints }
    }

    /// Whether a leaf is shallow and large enough to be split.
    pub(super) fn may_split(&self, at: usize) -> bool {
        let leaf = &self.leaves[at];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && leaf.count as u64 >= 2 * u64::from(self.options.min_leaf_docs)
            && GradientSums::of(leaf.total).mass >= 2
    }

    /// The search's view of a leaf, with everything in packed units.
    pub(super) fn node<'s>(
        &'s self,
        summary: NodeSummary,
        leaf: &OpenLeaf,
        search: &'s NodeSearch,
        growth: &TreeGrowth<'_>,
    ) -> SearchNode<'s> {
        let NodeSummary { num_docs, total } = summary;
        let docs = f64::from(self.options.min_leaf_docs);
        let sums = GradientSums::of(total);
        let l2 = self.l2(growth);
        let least = match self.options.criterion {
            Criterion::SecondOrder => {
                let of_docs = docs * f64::from(sums.mass) / num_docs as f64;
                let unit = growth.scale.mass;
                of_docs.max(self.options.min_leaf_hess / unit)
            }
            Criterion::LeastSquares => docs,
        };
        let unsplit_value = leaf.bounds.value(sums, l2);
        let noise = self.noise(unsplit_value, leaf.number, growth);
        let constrained = self.constraints.as_ref().zip(search.constrained.as_ref());
        let constrained = constrained.map(|(constraints, features)| {
            let (bounds, floor) = (leaf.bounds, self.floor(unsplit_value, growth));
            let doc_mass = match self.options.criterion {
                Criterion::SecondOrder => f64::from(sums.mass) / num_docs as f64,
                Criterion::LeastSquares => 1.0,
            };
            ConstrainedSearch { constraints, features, bounds, floor, doc_mass }
        });
        SearchNode {
            total,
            least: least.max(1.0),
            l2,
            unsplit_value,
            features: &search.plain,
            constrained,
            best_so_far: &search.best_so_far,
            noise,
        }
    }

    /// The L2 regularisation in packed units.
    pub(super) fn l2(&self, growth: &TreeGrowth<'_>) -> f64 {
        match self.options.criterion {
            Criterion::SecondOrder => self.options.l2 / growth.scale.mass,
            Criterion::LeastSquares => 0.0,
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
        let noise = || SplitNoise {
            deviation: growth.deviation,
            start,
            floor: self.floor(unsplit_value, growth),
        };
        (growth.deviation > 0.0).then(noise)
    }

    /// The value that splits of a node must exceed. Splits that separate nothing differ from the
    /// node's value by rounding only.
    pub(super) fn floor(&self, unsplit_value: f64, growth: &TreeGrowth<'_>) -> f64 {
        let rounded = unsplit_value * (1.0 + 1e-10);
        rounded.max(unsplit_value + self.options.min_reduction / self.loss_per_unit(growth))
    }

    /// The loss reduction of one packed unit of value.
    pub(super) fn loss_per_unit(&self, growth: &TreeGrowth<'_>) -> f64 {
        let half = match self.options.criterion {
            Criterion::SecondOrder => 0.5,
            Criterion::LeastSquares => 1.0,
        };
        half * (growth.scale.grad * growth.scale.grad / growth.scale.mass)
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
        let bounds = leaf.bounds;
        let unsplit_value = bounds.value(GradientSums::of(total), self.l2(growth));
        let reduction = self.loss_per_unit(growth) * (choice.value - unsplit_value);
        // Splits that separate nothing differ from zero by rounding only.
        if choice.value > unsplit_value * (1.0 + 1e-10) && reduction > self.options.min_reduction {
            self.leaves[at].best = Some(BestSplit { choice, reduction });
            let priority = self.loss_per_unit(growth) * (choice.priority - unsplit_value);
            growth.queue.insert((Reduction(priority), Reverse(at)));
        }
    }
}
