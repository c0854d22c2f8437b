//! The reductions of all splits of a level, summed over its nodes: one safe loop, compiled for each
//! SIMD level.

use super::search::{SearchOps, SearchScratch, feature_sums, padded, score_all};
use crate::tree::features::FeatureSet;
use crate::tree::packed_gradients::GradientSums;
use crate::tree::split_search::{NodeColumns, SearchNode, SplitSearcher};
use crate::tree::symmetric_search::LevelCriteria;
use std::ops::Range;

/// The reduction of each split on some columns, over all nodes added so far.
#[derive(Debug)]
pub(crate) struct LevelReductions {
    /// The index of the first column in the searcher's positions.
    first: usize,
    /// `features[of_column[c]]` are the features of a column.
    of_column: Vec<Range<usize>>,
    features: Vec<FeatureReductions>,
    values: Vec<f64>,
}

/// The splits on one feature.
#[derive(Debug)]
struct FeatureReductions {
    /// Its slot index.
    slot: usize,
    /// The start of the reductions with missing values on the right; those with missing values on
    /// the left follow.
    start: usize,
    len: usize,
    /// Whether a node has missing values; otherwise their side does not matter.
    has_missing: bool,
}

/// A split for all nodes of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelSplit {
    pub(crate) slot: usize,
    /// The last code that goes left; for a categorical feature, the only one.
    pub(crate) code: u8,
    /// `None` if no value is missing.
    pub(crate) missing_left: Option<bool>,
    /// The reduction in all nodes, in packed units.
    pub(crate) reduction: f64,
    /// What splits are compared by.
    pub(crate) score: f64,
}

impl LevelSplit {
    /// Whether it has a higher score, or the same and a smaller slot.
    pub(crate) fn beats(&self, other: &Self) -> bool {
        self.score > other.score || self.score == other.score && self.slot < other.slot
    }
}

impl LevelReductions {
    /// No nodes yet, for some columns of the searcher and a set of features.
    pub(crate) fn new(
        searcher: &SplitSearcher<'_>,
        columns: Range<usize>,
        allowed: &FeatureSet,
    ) -> Self {
        let (mut features, mut of_column, mut start) = (Vec::new(), Vec::new(), 0);
        for &position in &searcher.positions[columns.clone()] {
            let first = features.len();
            for (slot, of) in searcher.slots_at(position) {
                if allowed.contains(slot) && of.codes > 1 {
                    let len = padded(usize::from(of.codes) - 1);
                    features.push(FeatureReductions { slot, start, len, has_missing: false });
                    start += 2 * len;
                }
            }
            of_column.push(first..features.len());
        }
        Self { first: columns.start, of_column, features, values: vec![0.0; start] }
    }

    /// Adds the reductions of a node.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    pub(super) fn add_node(
        &mut self,
        ops: &impl SearchOps,
        columns: NodeColumns<'_>,
        search_scratch: &mut SearchScratch,
    ) {
        let NodeColumns { searcher, first, sums, .. } = columns;
        let of_column = &self.of_column[first - self.first..];
        for (sums, features) in sums.chunks_exact(searcher.shape.stride).zip(of_column) {
            for feature in &mut self.features[features.clone()] {
                let slot = &searcher.slots.all()[feature.slot];
                let codes = usize::from(slot.codes);
                let values = &mut self.values[feature.start..feature.start + 2 * feature.len];
                if slot.is_whole {
                    add_feature(ops, columns, (sums, codes), (feature, values), search_scratch);
                } else {
                    let mut slot_sums = [0; 256];
                    feature_sums(sums, slot, &mut slot_sums[..codes]);
                    add_feature(
                        ops,
                        columns,
                        (&slot_sums, codes),
                        (feature, values),
                        search_scratch,
                    );
                }
            }
        }
    }

    /// The split that reduces the loss most, the first of equals.
    pub(crate) fn best(
        &self,
        searcher: &SplitSearcher<'_>,
        terms: &LevelCriteria<'_>,
    ) -> Option<LevelSplit> {
        let (base, noise) = (terms.base, terms.noise.as_ref());
        let mut best: Option<LevelSplit> = None;
        for feature in &self.features {
            let feature_id = searcher.slots.all()[feature.slot].feature;
            let weight =
                searcher.constraints.map_or(1.0, |constraints| constraints.weight(feature.slot));
            for missing_left in [false, true] {
                if missing_left && !feature.has_missing {
                    continue;
                }
                let start = feature.start + usize::from(missing_left) * feature.len;
                let reductions = &self.values[start..start + feature.len];
                let mut scores = [0.0; 256];
                let scores = &mut scores[..feature.len];
                for (score, reduction) in scores.iter_mut().zip(reductions) {
                    let weighed =
                        if base + reduction > terms.floor { weight * reduction } else { 0.0 };
                    let reduction =
                        if searcher.constraints.is_some() { weighed } else { *reduction };
                    *score = if noise.is_some() { base + reduction } else { reduction };
                }
                let most = match noise {
                    Some(noise) => score_all(noise, (feature_id, missing_left), scores),
                    // A split must reduce something.
                    None => scores.iter().fold(0.0, |most, &x| if x > most { x } else { most }),
                };
                let least = if noise.is_some() { f64::NEG_INFINITY } else { 0.0 };
                let at = scores.iter().position(|&score| score == most).unwrap_or(0);
                let chosen = LevelSplit {
                    slot: feature.slot,
                    code: at as u8,
                    missing_left: feature.has_missing.then_some(missing_left),
                    reduction: reductions[at],
                    score: most,
                };
                if best.map_or(most > least, |best| chosen.beats(&best)) {
                    best = Some(chosen);
                }
            }
        }
        best
    }
}

/// Adds a node to the splits on one feature; the last of its sums is that of missing values.
#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_feature(
    ops: &impl SearchOps,
    columns: NodeColumns<'_>,
    (sums, codes): (&[u64], usize),
    (feature, values): (&mut FeatureReductions, &mut [f64]),
    search_scratch: &mut SearchScratch,
) {
    let NodeColumns { searcher, node, .. } = columns;
    let missing = sums[codes - 1];
    let (right, left) = values.split_at_mut(feature.len);
    if missing != 0 && !feature.has_missing {
        // Up to here the side of missing values made no difference.
        left.copy_from_slice(right);
        feature.has_missing = true;
    }
    let is_category = searcher.slots.all()[feature.slot].is_category;
    // A single category is separated from the rest. The code of all others cannot be named.
    let num_splits = codes - 1 - usize::from(is_category);
    if is_category {
        search_scratch.prefix[..num_splits].copy_from_slice(&sums[..num_splits]);
    } else {
        ops.prefix_sums(&sums[..feature.len], &mut search_scratch.prefix);
    }
    let prefix = &mut search_scratch.prefix[..feature.len];
    for (values, more) in [(right, 0), (left, missing)] {
        // Padding: nothing remains on the right.
        prefix[num_splits..].fill(node.total.wrapping_sub(more));
        match &node.constrained {
            None => add_values(node, prefix, more, values),
            Some(constrained) => {
                let of_feature = (feature.slot, &prefix[..num_splits]);
                constrained.add_values((searcher.slots, node), of_feature, more, values);
            }
        }
        if !feature.has_missing {
            return;
        }
    }
}

/// Adds the reduction of a split after each code, or nothing if a side would be too small.
#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_values(node: &SearchNode<'_>, prefix: &[u64], more: u64, values: &mut [f64]) {
    let SearchNode { total, least, l2, unsplit_value, .. } = *node;
    let total = GradientSums::of(total);
    let (grad, mass) = (f64::from(total.grad), f64::from(total.mass));
    // One by one: from steps of eight the compiler makes slow gathers and scatters.
    for (prefix, value) in prefix.iter().zip(values) {
        let sums = GradientSums::of(prefix.wrapping_add(more));
        let (left_grad, left_mass) = (f64::from(sums.grad), f64::from(sums.mass));
        let (right_grad, right_mass) = (grad - left_grad, mass - left_mass);
        let (left, right) = (left_mass + l2, right_mass + l2);
        let both =
            (left_grad * left_grad * right + right_grad * right_grad * left) / (left * right);
        let fits = left_mass.min(right_mass) >= least;
        *value += if fits { both - unsplit_value } else { 0.0 };
    }
}
