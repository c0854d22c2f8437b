//! Split search for features with monotone, interaction or weight constraints, and for categorical
//! features.
//!
//! A plain scalar loop; the SIMD kernels search the unconstrained numeric features. Apart from the
//! constraints it finds what the kernels would find. If both search a node and find equal scores,
//! the smaller slot in [`FeatureSlots`](super::features::FeatureSlots) wins. Where the documents of
//! both sides must be counted ([`doc_counts`](super::doc_counts)), it searches all features.

use super::column_scan::NodeColumns;
use super::constraints::{ActiveConstraints, ValueBounds};
use super::features::{FeatureSet, FeatureSlot, FeatureSlots};
use super::kernel::{feature_sums, split_value};
use super::packed_gradients::GradientSums;
use super::split_noise::SplitNoise;
use super::split_search::{SearchNode, SearchResult, SplitCandidate, SplitTest};

/// The constraints of a node.
#[derive(Debug)]
pub(super) struct ConstrainedSearch<'a> {
    pub(super) constraints: &'a ActiveConstraints,
    /// The features to search this way.
    pub(super) features: FeatureSet,
    pub(super) bounds: ValueBounds,
    /// The value that a split must exceed.
    pub(super) floor: f64,
    /// The average mass of a document of the node.
    pub(super) doc_mass: f64,
}

/// The sums of one feature, by code.
pub(super) struct FeatureHistogram<'a> {
    pub(super) number: usize,
    pub(super) slot: &'a FeatureSlot,
    pub(super) sums: &'a [u64],
    /// The documents by code, where they are counted.
    pub(super) docs: Option<DocCounts<'a>>,
}

/// The documents of a node, by the code of a feature.
#[derive(Clone, Copy)]
pub(super) struct DocCounts<'a> {
    pub(super) by_code: &'a [u64],
    pub(super) total: u64,
    /// The fewest documents of a side.
    pub(super) least: u64,
}

impl FeatureHistogram<'_> {
    /// The documents with a code; 0 if they are not counted.
    pub(super) fn docs_of(&self, code: usize) -> u64 {
        self.docs.map_or(0, |docs| docs.by_code[code])
    }

    /// Whether both sides have enough documents, if they are counted.
    pub(super) fn has_enough_docs(&self, left: u64) -> bool {
        self.docs.is_none_or(|docs| left.min(docs.total - left) >= docs.least)
    }
}

impl ConstrainedSearch<'_> {
    /// Searches the features of some columns.
    pub(super) fn search(&self, of: NodeColumns<'_>, found: &mut SearchResult) {
        let mut own = [0; 256];
        for (number, slot, sums) in of.features(&self.features) {
            let sums = feature_sums(sums, slot, &mut own);
            let sums = &sums[..usize::from(slot.location.codes)];
            let before = found.best;
            let feature = FeatureHistogram { number, slot, sums, docs: None };
            self.search_feature(&of, &feature, found);
            if let (Some(counter), Some(best)) = (&of.node.counter, &found.best)
                && best.slot == number
                && counter.is_short(slot, best, of.node.total)
            {
                found.best = before;
                let by_code = counter.by_code(slot);
                let docs = Some(counter.counts(&by_code[..sums.len()]));
                self.search_feature(&of, &FeatureHistogram { docs, ..feature }, found);
            }
        }
    }

    /// Searches one feature.
    pub(super) fn search_feature(
        &self,
        of: &NodeColumns<'_>,
        feature: &FeatureHistogram<'_>,
        found: &mut SearchResult,
    ) {
        if feature.sums.iter().filter(|&&sum| sum != 0).count() <= 1 {
            found.unsplittable.push(feature.number);
        } else if feature.slot.is_category {
            self.search_categories(of.node, feature, found);
        } else {
            self.search_thresholds(of, feature, found);
        }
    }

    fn search_thresholds(
        &self,
        of: &NodeColumns<'_>,
        feature: &FeatureHistogram<'_>,
        found: &mut SearchResult,
    ) {
        let codes = feature.sums.len();
        let missing = feature.sums[codes - 1];
        let ways = [(false, 0), (true, missing)];
        for &(missing_left, more) in &ways[..=usize::from(missing != 0)] {
            let mut left = more;
            let mut docs = 0;
            for (code, &sum) in (0..=u8::MAX).zip(&feature.sums[..codes - 1]) {
                left = left.wrapping_add(sum);
                docs += feature.docs_of(code.into());
                let is_missing_left = of.node.missing_left(missing_left, missing, left);
                let docs_of_missing = if is_missing_left { feature.docs_of(codes - 1) } else { 0 };
                if !feature.has_enough_docs(docs + docs_of_missing) {
                    continue;
                }
                let direction = self.constraints.direction(of.searcher.slots, feature.number, code);
                let Some(value) = self.value(of.node, left, direction) else { continue };
                let [priority, score] = self.score(of.node, feature, value, (missing_left, code));
                let missing_left = is_missing_left;
                let (slot, test) = (feature.number, SplitTest::UpTo(code));
                let candidate =
                    SplitCandidate { value, score, priority, slot, test, missing_left, left };
                found.offer(candidate);
            }
        }
    }

    /// Adds the reduction of a split after each code, or nothing if the split is not allowed.
    pub(super) fn add_values(
        &self,
        (slots, node): (&FeatureSlots, &SearchNode<'_>),
        (slot, prefix): (usize, &[u64]),
        more: u64,
        values: &mut [f64],
    ) {
        for ((code, &sum), to) in (0..=u8::MAX).zip(prefix).zip(values) {
            let direction = self.constraints.direction(slots, slot, code);
            if let Some(value) = self.value(node, sum.wrapping_add(more), direction) {
                *to += value - node.unsplit_value;
            }
        }
    }

    /// The value of both sides of a split; `None` if the split is not allowed.
    pub(super) fn value(&self, node: &SearchNode<'_>, left: u64, direction: i8) -> Option<f64> {
        let sides = [left, node.total.wrapping_sub(left)].map(GradientSums::of);
        if sides.iter().any(|sums| f64::from(sums.mass) < node.least) {
            return None;
        }
        let [low, high] = sides.map(|sums| self.bounds.step(sums, node.l2));
        let runs_against = match direction {
            0 => false,
            1 => low > high,
            _ => low < high,
        };
        (!runs_against).then(|| self.value_with(node, left, node.l2))
    }

    /// The value of both sides of a split with this `l2`.
    pub(super) fn value_with(&self, node: &SearchNode<'_>, left: u64, l2: f64) -> f64 {
        if self.bounds.is_bounded() {
            let sides = [left, node.total.wrapping_sub(left)].map(GradientSums::of);
            return sides.iter().map(|&sums| self.bounds.value(sums, l2)).sum();
        }
        split_value(node.total, left, l2).0
    }

    /// The priority that leaves are compared by, and the score that splits of a node are compared by;
    /// minus infinity if the split reduces too little.
    pub(super) fn score(
        &self,
        node: &SearchNode<'_>,
        feature: &FeatureHistogram<'_>,
        value: f64,
        (left, code): (bool, u8),
    ) -> [f64; 2] {
        if value <= self.floor {
            return [f64::NEG_INFINITY; 2];
        }
        let weight = self.constraints.weight(feature.number);
        let priority = if weight == 1.0 {
            value
        } else {
            node.unsplit_value + weight * (value - node.unsplit_value)
        };
        let id = (feature.slot.feature, left, code);
        let noisy_root = |noise: &SplitNoise| noise.noisy_root(priority.max(0.0), id);
        [priority, node.noise.as_ref().map_or(priority, noisy_root)]
    }
}
