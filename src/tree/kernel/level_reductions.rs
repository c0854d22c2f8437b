//! The reductions of all splits of a level, summed over its nodes: one safe loop, compiled for each
//! SIMD level.
#![expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]

#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512Ops;
use super::search::{
    PortableOps, SearchOps, SearchScratch, feature_sums, padded, score_all, split_value,
};
use crate::simd::for_levels;
use crate::tree::column_scan::{NodeColumns, SiblingPair, SplitSearcher};
use crate::tree::constraints::ActiveConstraints;
use crate::tree::features::{FeatureSet, FeatureSlot};
use crate::tree::split_noise::SplitNoise;
use crate::tree::split_search::SearchNode;
use std::ops::Range;

for_levels! {
    /// Adds the reductions of some columns of a node.
    fn add_node(reductions: &mut LevelReductions<'_>, columns: NodeColumns<'_>) =
        LevelReductions::add::<PortableOps>,
        LevelReductions::add::<Avx512Ops>
}

/// The conditions for a split of a level, besides the nodes.
#[derive(Debug)]
pub(crate) struct LevelCriteria {
    pub(crate) features: FeatureSet,
    /// The value of all nodes if none is split.
    pub(crate) base: f64,
    /// The value that a split must exceed.
    pub(crate) floor: f64,
    pub(crate) noise: Option<SplitNoise>,
}

impl SplitSearcher<'_> {
    /// The split that reduces the loss of all nodes together most, the first of equals.
    pub(crate) fn search_level(
        &self,
        pairs: Vec<SiblingPair<'_>>,
        criteria: &LevelCriteria,
        spare: &mut Vec<u64>,
    ) -> Option<LevelSplit> {
        let found = self.scan(pairs, spare, |task, spare| {
            let mut reductions = LevelReductions::new(self, criteria, task.columns.clone());
            self.for_each_node(task, spare, |_, columns| {
                add_node(self.level, &mut reductions, columns);
            });
            reductions.best()
        });
        found
            .into_iter()
            .flatten()
            .reduce(|best, other| if other.beats(&best) { other } else { best })
    }
}

/// The reduction of each split on some columns, over all nodes added so far.
#[derive(Debug)]
pub(crate) struct LevelReductions<'a> {
    searcher: &'a SplitSearcher<'a>,
    criteria: &'a LevelCriteria,
    /// The index of the first column in the searcher's positions.
    first: usize,
    /// The index of the first feature of each column in `features`.
    of_column: Vec<usize>,
    features: Vec<FeatureReductions>,
    values: Vec<f64>,
    scratch: SearchScratch,
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

impl<'a> LevelReductions<'a> {
    /// No nodes yet, for some columns of the searcher.
    pub(crate) fn new(
        searcher: &'a SplitSearcher<'a>,
        criteria: &'a LevelCriteria,
        columns: Range<usize>,
    ) -> Self {
        let (mut features, mut of_column, mut start) = (Vec::new(), Vec::new(), 0);
        for &position in &searcher.positions[columns.clone()] {
            of_column.push(features.len());
            for (slot, of) in searcher.slots_at(position) {
                if criteria.features.contains(slot) {
                    let len = padded(usize::from(of.location.codes) - 1);
                    features.push(FeatureReductions { slot, start, len, has_missing: false });
                    start += 2 * len;
                }
            }
        }
        let (first, values) = (columns.start, vec![0.0; start]);
        let scratch = SearchScratch::new();
        Self { searcher, criteria, first, of_column, features, values, scratch }
    }

    #[inline(always)]
    fn add<Ops: SearchOps>(&mut self, columns: NodeColumns<'_>) {
        let first = self.of_column[columns.first - self.first];
        let Self { features, values, scratch, .. } = self;
        let mut features = features[first..].iter_mut();
        let mut own = [0; 256];
        for (_, slot, sums) in columns.features(&self.criteria.features) {
            let sums = feature_sums(sums, slot, &mut own);
            let Some(feature) = features.next() else { break };
            let values = &mut values[feature.start..feature.start + 2 * feature.len];
            add_feature::<Ops>(columns, (slot, sums), (feature, values), scratch);
        }
    }

    /// The split that reduces the loss most, the first of equals.
    pub(crate) fn best(&self) -> Option<LevelSplit> {
        let &LevelCriteria { base, floor, ref noise, .. } = self.criteria;
        let SplitSearcher { slots, constraints, .. } = *self.searcher;
        let mut best: Option<LevelSplit> = None;
        for feature in &self.features {
            let weight = constraints.map_or(1.0, |constraints| constraints.weight(feature.slot));
            for missing_left in [false, true] {
                if missing_left && !feature.has_missing {
                    continue;
                }
                let start = feature.start + usize::from(missing_left) * feature.len;
                let reductions = &self.values[start..start + feature.len];
                let mut scores = [0.0; 256];
                let scores = &mut scores[..feature.len];
                for (score, &reduction) in scores.iter_mut().zip(reductions) {
                    let reduction = match constraints {
                        Some(_) if base + reduction > floor => weight * reduction,
                        Some(_) => 0.0,
                        None => reduction,
                    };
                    *score = if noise.is_some() { base + reduction } else { reduction };
                }
                let (least, most) = match noise {
                    Some(noise) => {
                        let id = (slots.list[feature.slot].feature, missing_left);
                        (f64::NEG_INFINITY, score_all(noise, id, scores))
                    }
                    // A split must reduce something.
                    None => {
                        (0.0, scores.iter().fold(0.0, |most, &x| if x > most { x } else { most }))
                    }
                };
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
#[inline(always)]
fn add_feature<Ops: SearchOps>(
    columns: NodeColumns<'_>,
    (slot, sums): (&FeatureSlot, &[u64]),
    (feature, values): (&mut FeatureReductions, &mut [f64]),
    scratch: &mut SearchScratch,
) {
    let NodeColumns { searcher, node, .. } = columns;
    let codes = usize::from(slot.location.codes);
    let is_unknown = |constraints: &ActiveConstraints| constraints.categories.missing_unknown;
    // Then they stay with all others.
    let stays = slot.is_category && searcher.constraints.is_some_and(is_unknown);
    let missing = if stays { 0 } else { sums[codes - 1] };
    let (right, left) = values.split_at_mut(feature.len);
    if missing != 0 && !feature.has_missing {
        // Up to here the side of missing values made no difference.
        left.copy_from_slice(right);
        feature.has_missing = true;
    }
    // A single category is separated from the rest. The code of all others cannot be named.
    let num_splits = codes - 1 - usize::from(slot.is_category);
    let prefix = &mut scratch.prefix;
    if slot.is_category {
        prefix[..num_splits].copy_from_slice(&sums[..num_splits]);
    } else {
        Ops::prefix_sums(&sums[..feature.len], prefix);
    }
    let prefix = &mut prefix[..feature.len];
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
#[inline(always)]
fn add_values(node: &SearchNode<'_>, prefix: &[u64], more: u64, values: &mut [f64]) {
    let SearchNode { total, least, l2, unsplit_value, .. } = *node;
    // One by one: from steps of eight the compiler makes slow gathers and scatters.
    for (prefix, value) in prefix.iter().zip(values) {
        let (both, mass) = split_value(total, prefix.wrapping_add(more), l2);
        *value += if mass >= least { both - unsplit_value } else { 0.0 };
    }
}
