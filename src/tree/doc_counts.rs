//! Holds the least number of documents of a leaf exactly where splits are chosen by hessians.
//!
//! A histogram has the gradients and hessians of its documents, but not their number. So the search
//! allows splits whose sides hold enough hessians. The documents of a split that beats all before it
//! are counted, only until both sides have enough, which is after a few documents as a rule. If a side
//! has too few, the documents of the node are counted by code of that feature, and the feature is
//! searched again among the splits that leave enough on both sides.
//!
//! Where workers have parts of the documents, none of them can count those of all. There the documents
//! of the best split are counted together, and only if they do not suffice, all columns.

use super::column_scan::NodeColumns;
use super::constrained_search::{ConstrainedSearch, DocCounts, FeatureHistogram};
use super::constraints::ActiveConstraints;
use super::features::FeatureSlot;
use super::grower::{Grower, OpenLeaf, TreeGrowth};
use super::histogram::NodeDocs;
use super::kernel::{GAP, feature_sums};
use super::options::Criterion;
use super::packed_gradients::GradientSums;
use super::split_search::{SearchNode, SearchResult, SplitCandidate};
use crate::binning::BinnedMatrix;
use crate::error::Result;
use std::ops::Range;

/// Counts the documents of a node on both sides of a split.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideCounter<'a> {
    docs: &'a [u32],
    matrix: &'a BinnedMatrix,
    /// The fewest documents of a side.
    least: u64,
    /// The mass that fewer documents cannot have.
    sufficient_mass: f64,
}

impl SideCounter<'_> {
    /// Whether a split leaves too few documents on a side.
    #[inline]
    pub(super) fn is_short(&self, slot: &FeatureSlot, split: &SplitCandidate, total: u64) -> bool {
        !self.must_suffice(split, total)
            && self.count_up_to(self.least, slot, split).iter().any(|&docs| docs < self.least)
    }

    /// Whether both sides of a split hold more hessians than too few documents could have.
    #[inline]
    fn must_suffice(&self, split: &SplitCandidate, total: u64) -> bool {
        let sides = [split.left, total.wrapping_sub(split.left)];
        sides.iter().all(|&side| f64::from(GradientSums::of(side).mass) >= self.sufficient_mass)
    }

    /// The documents on both sides of a split, each counted up to `most`.
    fn count_up_to(&self, most: u64, slot: &FeatureSlot, split: &SplitCandidate) -> [u64; 2] {
        let cells = self.matrix.padded(slot.location.column as usize);
        let mut counts = [0; 2];
        for &doc in self.docs {
            let is_left = slot.is_left(cells[doc as usize], &split.test, split.missing_left);
            counts[usize::from(!is_left)] += 1;
            if counts[0] >= most && counts[1] >= most {
                break;
            }
        }
        counts.map(|docs: u64| docs.min(most))
    }

    /// The documents by code of a feature.
    pub(super) fn by_code(&self, slot: &FeatureSlot) -> [u64; 256] {
        let cells = self.matrix.padded(slot.location.column as usize);
        let mut counts = [0; 256];
        for &doc in self.docs {
            counts[usize::from(slot.code(cells[doc as usize]))] += 1;
        }
        counts
    }

    /// The codes after which a split leaves enough documents on both sides, of the first
    /// `num_splits`. `is_missing_left` says on which side missing values are.
    pub(super) fn allowed_codes(
        &self,
        slot: &FeatureSlot,
        num_splits: usize,
        is_missing_left: impl Fn(usize) -> bool,
    ) -> Range<usize> {
        let by_code = self.by_code(slot);
        let (all, missing) =
            (self.docs.len() as u64, by_code[usize::from(slot.location.codes) - 1]);
        let (mut left, mut allowed) = (0, num_splits..num_splits);
        for (code, docs) in by_code[..num_splits].iter().enumerate() {
            left += docs;
            let left = if missing > 0 && is_missing_left(code) { left + missing } else { left };
            if all - left < self.least {
                return allowed.start..code.max(allowed.start);
            }
            if left >= self.least {
                allowed.start = allowed.start.min(code);
            }
        }
        allowed
    }

    /// The counts of a feature.
    pub(super) fn counts<'c>(&self, by_code: &'c [u64]) -> DocCounts<'c> {
        DocCounts { by_code, total: self.docs.len() as u64, least: self.least }
    }
}

/// A leaf whose best split has been searched in a histogram of all workers.
pub(super) struct SearchedLeaf<'a> {
    leaf: usize,
    node: &'a SearchNode<'a>,
    sums: &'a [u64],
}

impl<'a> SearchedLeaf<'a> {
    /// `None` without a leaf, or if it was not searched because it will not be split.
    pub(super) fn of(
        leaf: Option<usize>,
        node: Option<&'a SearchNode<'a>>,
        sums: Option<&'a [u64]>,
    ) -> Option<Self> {
        Some(Self { leaf: leaf?, node: node?, sums: sums? })
    }
}

impl Grower {
    /// The counter of the documents of a leaf, if this process has all of them and hessians do not
    /// count them.
    pub(super) fn side_counter<'a>(
        &'a self,
        leaf: &OpenLeaf,
        growth: &TreeGrowth<'a>,
    ) -> Option<SideCounter<'a>> {
        let is_needed = !self.reducer.divides_docs()
            && self.options.criterion == Criterion::SecondOrder
            && self.options.min_leaf_docs > 1;
        is_needed.then(|| self.counter_of(leaf, growth))
    }

    fn counter_of<'a>(&'a self, leaf: &OpenLeaf, growth: &TreeGrowth<'a>) -> SideCounter<'a> {
        let least = u64::from(self.options.min_leaf_docs);
        SideCounter {
            docs: self.docs.get(leaf.docs.clone()),
            matrix: growth.table.matrix,
            least,
            sufficient_mass: least as f64 * growth.scale.largest_mass,
        }
    }

    /// Replaces each split that leaves too few documents of all workers on a side by the best split
    /// that does not.
    pub(super) fn recount(
        &self,
        leaves: [Option<SearchedLeaf<'_>>; 2],
        mut found: [SearchResult; 2],
        spare: &mut Vec<u64>,
        growth: &TreeGrowth<'_>,
    ) -> Result<[SearchResult; 2]> {
        let are_short = self.are_short(&leaves, &found, growth)?;
        for (at, leaf) in leaves.into_iter().enumerate() {
            if let Some(leaf) = leaf.filter(|_| are_short[at]) {
                found[at].best = self.search_counted(&leaf, spare, growth)?.best;
            }
        }
        Ok(found)
    }

    /// Which of the splits leave too few documents on a side.
    fn are_short(
        &self,
        leaves: &[Option<SearchedLeaf<'_>>; 2],
        found: &[SearchResult; 2],
        growth: &TreeGrowth<'_>,
    ) -> Result<[bool; 2]> {
        let least = u64::from(self.options.min_leaf_docs);
        let doubtful = [0, 1].map(|at| {
            let (leaf, best) = (leaves[at].as_ref()?, found[at].best.as_ref()?);
            let counter = self.counter_of(&self.leaves[leaf.leaf], growth);
            (!counter.must_suffice(best, leaf.node.total)).then_some((counter, best))
        });
        if doubtful.iter().all(Option::is_none) {
            return Ok([false; 2]);
        }
        let mut counts = doubtful.map(|split| {
            split.map_or([least; 2], |(counter, best)| {
                counter.count_up_to(least, &self.slots.list[best.slot], best)
            })
        });
        let (what, round) = ("the docs of sides", growth.job.round);
        self.reducer.sum(what, round, counts.as_flattened_mut())?;
        Ok(counts.map(|sides| sides.iter().any(|&docs| docs < least)))
    }

    /// The best split of a leaf that leaves enough documents of all workers on both sides.
    fn search_counted(
        &self,
        leaf: &SearchedLeaf<'_>,
        spare: &mut Vec<u64>,
        growth: &TreeGrowth<'_>,
    ) -> Result<SearchResult> {
        let (searcher, open) = (self.searcher(growth), &self.leaves[leaf.leaf]);
        let len = growth.positions.len() * self.pool.shape.stride;
        let mut counts = vec![0; len];
        let docs = self.docs.get(open.docs.clone());
        let ones = vec![1; docs.len()];
        searcher.fill(NodeDocs { docs, packed: &ones, active_runs: &[] }, &mut counts, spare);
        counts[len - GAP..].fill(0);
        self.reducer.sum_histogram(growth.job.round, &mut counts)?;
        let sums = &leaf.sums[..len];
        let columns = NodeColumns { searcher: &searcher, node: leaf.node, first: 0, sums };
        let none = ActiveConstraints::none(self.slots.list.len());
        let constraints = self.constraints.as_ref().unwrap_or(&none);
        let mut search = ConstrainedSearch {
            constraints,
            features: leaf.node.features.clone(),
            bounds: open.bounds,
            floor: self.floor(leaf.node.unsplit_value, growth),
            doc_mass: 1.0,
        };
        if let Some(constrained) = &leaf.node.constrained {
            search.features.unite(&constrained.features);
            search.doc_mass = constrained.doc_mass;
        }
        let least = u64::from(self.options.min_leaf_docs);
        let mut found = SearchResult::default();
        search.search_counted(columns, &counts, [open.count as u64, least], &mut found);
        Ok(found)
    }
}

impl ConstrainedSearch<'_> {
    /// Searches the features of some columns, of which the documents are counted too.
    fn search_counted(
        &self,
        of: NodeColumns<'_>,
        counts: &[u64],
        [total, least]: [u64; 2],
        found: &mut SearchResult,
    ) {
        let (mut own, mut own_counts) = ([0; 256], [0; 256]);
        let counted = NodeColumns { sums: counts, ..of };
        let features = of.features(&self.features).zip(counted.features(&self.features));
        for ((number, slot, sums), (_, _, counts)) in features {
            let codes = usize::from(slot.location.codes);
            let sums = &feature_sums(sums, slot, &mut own)[..codes];
            let by_code = &feature_sums(counts, slot, &mut own_counts)[..codes];
            let docs = Some(DocCounts { by_code, total, least });
            self.search_feature(&of, &FeatureHistogram { number, slot, sums, docs }, found);
        }
    }
}
