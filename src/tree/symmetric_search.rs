//! Finds the best split for all nodes of a level of a symmetric tree.
//!
//! Histograms are built some columns at a time, node after node, and the reductions of the splits
//! on these columns are added up meanwhile, so that both stay in a cache. As in leaf-wise growth,
//! only the smaller of two siblings is summed from its documents.

use super::column_strips::Strip;
use super::features::FeatureSet;
use super::histogram::{BLOCK, NodeDocs, StripColumns};
use super::kernel::{self, LevelReductions, LevelSplit, SearchScratch};
use super::split_noise::SplitNoise;
use super::split_search::{FEW, GROUP, NodeColumns, SearchNode, SplitSearcher, split_off};
use rayon::prelude::*;
use std::ops::Range;

/// A node that is summed from its documents, perhaps with its sibling.
pub(super) struct SiblingPair<'a> {
    pub(super) docs: NodeDocs<'a>,
    /// For the sums of the node, if they are kept.
    pub(super) own: Option<&'a mut [u64]>,
    /// The parent's sums, replaced by those of the sibling.
    pub(super) parent: Option<&'a mut [u64]>,
    /// The node and its sibling; `None` if it may not be split.
    pub(super) nodes: [Option<SearchNode<'a>>; 2],
    /// Whether the sums are complete already.
    pub(super) is_summed: bool,
}

/// The conditions for a split, besides the nodes.
#[derive(Clone, Copy)]
pub(super) struct LevelCriteria<'a> {
    pub(super) features: &'a FeatureSet,
    /// The value of all nodes if none is split.
    pub(super) base: f64,
    /// The value that a split must exceed.
    pub(super) floor: f64,
    pub(super) noise: Option<SplitNoise>,
}

/// Some columns of one strip, for all nodes.
struct LevelTask<'a> {
    strip: Strip<'a>,
    /// Indices in the searcher's positions.
    columns: Range<usize>,
    pairs: Vec<SiblingPair<'a>>,
}

impl SplitSearcher<'_> {
    /// The split that reduces the loss of all nodes together most, the first of equals.
    pub(super) fn search_level(
        &self,
        mut pairs: Vec<SiblingPair<'_>>,
        terms: LevelCriteria<'_>,
        spare: &mut Vec<u64>,
    ) -> Option<LevelSplit> {
        let sums = |pair: &SiblingPair<'_>| pair.docs.len() + self.shape.stride;
        let work = self.positions.len() * pairs.iter().map(sums).sum::<usize>();
        let threads = if work < FEW { 1 } else { rayon::current_num_threads() };
        for pair in &mut pairs {
            // Nodes with many documents are summed by all threads beforehand.
            let is_large = self.num_parts(pair.docs.len(), threads) > 1;
            if let Some(own) = pair.own.as_deref_mut().filter(|_| is_large) {
                self.fill(pair.docs, own, spare);
                pair.is_summed = true;
            }
        }
        let tasks = self.level_tasks(pairs, threads);
        let scan = |scratch: &mut Vec<u64>, task| self.search_level_task(task, terms, scratch);
        let better = |a: Option<LevelSplit>, b: Option<LevelSplit>| match (a, b) {
            (Some(a), Some(b)) if b.beats(&a) => Some(b),
            (None, b) => b,
            (a, _) => a,
        };
        if threads == 1 {
            let scratch = &mut Vec::new();
            return tasks.into_iter().map(|task| scan(scratch, task)).fold(None, better);
        }
        let found: Vec<_> = tasks.into_par_iter().map_init(Vec::new, scan).collect();
        found.into_iter().fold(None, better)
    }

    fn level_tasks<'s>(
        &'s self,
        mut pairs: Vec<SiblingPair<'s>>,
        threads: usize,
    ) -> Vec<LevelTask<'s>> {
        let positions = self.positions;
        // No more tasks than threads, because each task reads the cache lines of all small nodes.
        let most = if threads == 1 { usize::MAX } else { positions.len().div_ceil(threads).max(8) };
        let (mut tasks, mut start) = (Vec::new(), 0);
        while let Some(&position) = positions.get(start) {
            let (strip, of_strip) = self.strips.strip(position);
            let len = positions[start..].partition_point(|&position| position < of_strip.end);
            let num_parts = len.div_ceil(most);
            for part in 0..num_parts {
                let columns = start + len * part / num_parts..start + len * (part + 1) / num_parts;
                let size = columns.len() * self.shape.stride;
                let part = |pair: &mut SiblingPair<'s>| SiblingPair {
                    own: split_off(&mut pair.own, size),
                    parent: split_off(&mut pair.parent, size),
                    ..*pair
                };
                let pairs = pairs.iter_mut().map(part).collect();
                tasks.push(LevelTask { strip, columns, pairs });
            }
            start += len;
        }
        tasks
    }

    fn search_level_task(
        &self,
        task: LevelTask<'_>,
        terms: LevelCriteria<'_>,
        scratch: &mut Vec<u64>,
    ) -> Option<LevelSplit> {
        let mut reductions = LevelReductions::new(self, task.columns.clone(), terms.features);
        let search_scratch = &mut SearchScratch::new();
        for mut pair in task.pairs {
            // The sums of few documents are searched while they are in the first-level cache.
            let is_small = pair.docs.len() <= BLOCK;
            let most = if is_small { self.shape.tile() } else { task.columns.len() };
            for first in task.columns.clone().step_by(most) {
                let columns = first..task.columns.end.min(first + most);
                let size = columns.len() * self.shape.stride;
                let (own, parent) =
                    (split_off(&mut pair.own, size), split_off(&mut pair.parent, size));
                let own = own.unwrap_or_else(|| {
                    scratch.resize(size, 0);
                    scratch
                });
                let is_cold = first == task.columns.start;
                let (strip, positions) = (task.strip, &self.positions[columns]);
                let (level, runs) = (self.level, self.strips.sparse_runs().runs());
                let part = StripColumns { strip, positions, level, runs, is_cold, next: None };
                if !pair.is_summed {
                    part.fill(pair.docs, &self.shape, own);
                }
                self.add_pair((first, own, parent), &pair.nodes, search_scratch, &mut reductions);
            }
        }
        reductions.best(self, &terms)
    }

    /// Adds the reductions of a node, computes the histogram of its sibling, and adds that one's.
    fn add_pair(
        &self,
        (first, own, parent): (usize, &[u64], Option<&mut [u64]>),
        nodes: &[Option<SearchNode<'_>>; 2],
        search_scratch: &mut SearchScratch,
        reductions: &mut LevelReductions,
    ) {
        let mut add = |node: &Option<SearchNode<'_>>, first: usize, sums: &[u64]| {
            if let Some(node) = node {
                kernel::add_node(
                    NodeColumns { searcher: self, node, first, sums },
                    search_scratch,
                    reductions,
                );
            }
        };
        let group = GROUP * self.shape.stride;
        let mut parent = parent.map(|parent| parent.chunks_mut(group));
        for (i, own) in own.chunks(group).enumerate() {
            let first = first + i * GROUP;
            add(&nodes[0], first, own);
            let Some(parent) = parent.as_mut().and_then(Iterator::next) else { continue };
            kernel::subtract(self.level, parent, own);
            add(&nodes[1], first, parent);
        }
    }
}
