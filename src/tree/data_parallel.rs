//! Data-parallel growth: each worker has a part of the documents, and histograms are summed over
//! all.
//!
//! Histograms are integers, so after the sum every worker has what a single process would have,
//! chooses the same split, and partitions its own documents by it. Of two siblings only the one
//! with less mass is summed from documents. The number of documents of a node travels in the gap
//! after the last column of its histogram.
//!
//! A message takes eight bytes per column and byte value, whatever the number of documents.

use super::grower::sum;
use super::grower::{Grower, TreeGrowth};
use super::histogram::NodeDocs;
use super::kernel::{GAP, subtract};
use super::leaf_search::NodeSummary;
use super::packed_gradients::GradientSums;
use super::reducer::REDUCER_ROOM;
use super::split_search::{SearchResult, SumBuffers};
use crate::error::{Error, Result};
use crate::simd::Level;

impl Grower {
    /// Finds the best splits of two new leaves, whose documents have been counted on this worker
    /// only.
    pub(super) fn search_children_data_parallel(
        &mut self,
        children: [usize; 2],
        histogram: Option<Box<[u64]>>,
        growth: &mut TreeGrowth<'_>,
    ) -> Result<()> {
        if self.options.rows_per_node < 1.0 {
            return self.search_samples(children, growth);
        }
        let Some(mut parent) = histogram else { return Ok(()) };
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !children.iter().any(|&child| self.is_divisible(child)) {
            self.pool.release(parent);
            return Ok(());
        }
        let mass = |leaf: usize| GradientSums::of(self.leaves[leaf].total).mass;
        let [left, right] = children;
        let (small, large) = if mass(left) <= mass(right) { (left, right) } else { (right, left) };
        let (mut own, summary) = self.reduced_histogram(small, None, growth)?;
        let both = self.summary_in_gap(&parent, growth);
        self.leaves[small].count = summary.num_docs;
        self.leaves[large].count = both.num_docs.wrapping_sub(summary.num_docs);
        subtract(Level::best(), &mut parent, &own);
        for (leaf, sums) in [(small, &mut own), (large, &mut parent)] {
            let summary = self.leaves[leaf].summary();
            self.search_sums(leaf, sums, summary, growth);
        }
        self.keep(small, Some(own));
        self.keep(large, Some(parent));
        Ok(())
    }

    /// Finds the best split of a leaf from its documents.
    pub(super) fn search_leaf_data_parallel(
        &mut self,
        at: usize,
        growth: &mut TreeGrowth<'_>,
    ) -> Result<()> {
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !self.may_split(at) || growth.positions.is_empty() {
            return Ok(());
        }
        let is_sampled = self.options.rows_per_node < 1.0;
        let sample = is_sampled.then(|| self.sample(&self.leaves[at], growth));
        let (mut sums, mut summary) = self.reduced_histogram(at, sample.as_deref(), growth)?;
        if !is_sampled {
            summary.total = self.leaves[at].total;
        }
        if summary.num_docs > 0 {
            self.search_sums(at, &mut sums, summary, growth);
        }
        let kept = if is_sampled {
            self.pool.release(sums);
            None
        } else {
            Some(sums)
        };
        self.keep(at, kept);
        Ok(())
    }

    /// With sampled documents, the histogram of one child does not follow from the other's.
    fn search_samples(&mut self, children: [usize; 2], growth: &mut TreeGrowth<'_>) -> Result<()> {
        let mut words: Vec<u64> = Vec::new();
        for &child in &children {
            let leaf = &self.leaves[child];
            words.extend([
                leaf.docs.len() as u64,
                sum(&self.packed, self.docs.get(leaf.docs.clone())),
            ]);
        }
        self.reducer.sum("two leaves", growth.job.round, &mut words)?;
        for (&child, words) in children.iter().zip(words.chunks_exact(2)) {
            (self.leaves[child].count, self.leaves[child].total) = (words[0] as usize, words[1]);
        }
        children.into_iter().try_for_each(|child| self.search_leaf_data_parallel(child, growth))
    }

    /// Whether a leaf could be split, without knowing its number of documents.
    fn is_divisible(&self, at: usize) -> bool {
        let leaf = &self.leaves[at];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && GradientSums::of(leaf.total).mass >= 2
    }

    /// The histogram of a leaf's documents, or of a sample of them, over all workers.
    fn reduced_histogram(
        &mut self,
        at: usize,
        sample: Option<&[u32]>,
        growth: &TreeGrowth<'_>,
    ) -> Result<(Box<[u64]>, NodeSummary)> {
        let mut sums = self.pool.acquire_for(usize::MAX)?.ok_or_else(no_histogram)?;
        let len = growth.positions.len() * self.pool.shape().stride;
        let mut scratch = std::mem::take(&mut self.scratch);
        let docs = sample.unwrap_or_else(|| self.docs.get(self.leaves[at].docs.clone()));
        let own = [docs.len() as u64, sum(&self.packed, docs)];
        let docs = NodeDocs::of(docs, self.doc_data(), &mut scratch.gathered);
        self.searcher(growth).fill(docs, &mut sums[..len], &mut scratch.spare);
        self.scratch = scratch;
        let gap = len - GAP..len - REDUCER_ROOM;
        sums[gap.clone()].fill(0);
        sums[gap.start..gap.start + 2].copy_from_slice(&own);
        self.reducer.sum_histogram(growth.job.round, &mut sums[..len])?;
        let summary = self.summary_in_gap(&sums, growth);
        Ok((sums, summary))
    }

    /// The number and sums of a node's documents, which travel in the gap of its histogram.
    fn summary_in_gap(&self, sums: &[u64], growth: &TreeGrowth<'_>) -> NodeSummary {
        let start = growth.positions.len() * self.pool.shape().stride - GAP;
        NodeSummary { num_docs: sums[start] as usize, total: sums[start + 1] }
    }

    /// Finds the best split of a leaf in its histogram.
    fn search_sums(
        &mut self,
        at: usize,
        sums: &mut [u64],
        summary: NodeSummary,
        growth: &mut TreeGrowth<'_>,
    ) {
        if !self.may_split(at) {
            return;
        }
        let search = self.new_search(at, growth);
        let node = self.node(summary, &self.leaves[at], &search, growth);
        // Without documents, the sibling's sums are the parent's.
        let nothing = NodeDocs::none();
        let buffers = SumBuffers { own: None, parent: Some(sums), spare: &mut Vec::new() };
        let [_, found]: [SearchResult; 2] =
            self.searcher(growth).search_nodes([None, Some(node)], nothing, buffers);
        self.record_result(at, found, summary.total, growth);
    }
}

fn no_histogram() -> Error {
    Error::internal("no histogram")
}
