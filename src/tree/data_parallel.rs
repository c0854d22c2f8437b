//! Data-parallel growth: each worker has a part of the documents, and histograms are summed over
//! all.
//!
//! Histograms are integers, so after the sum every worker has what a single process would have,
//! chooses the same split, and partitions its own documents by it. Of two siblings only the one
//! with less mass is summed from documents. The number of documents of a node travels in the gap
//! after the last column of its histogram.
//!
//! A message takes eight bytes per column and byte value, whatever the number of documents.

use super::grower::{Grower, TreeGrowth, sum};
use super::kernel::GAP;
use super::leaf_search::{HistogramJob, NodeSummary};
use super::reducer::REDUCER_ROOM;
use crate::error::{Error, Result};

impl Grower {
    /// Sums the documents of a job and reduces the histogram over all workers. Counts the documents
    /// of the leaf and its sibling, and returns the summary of those that were summed.
    pub(super) fn reduce_histogram(
        &mut self,
        job: &mut HistogramJob,
        growth: &TreeGrowth<'_>,
    ) -> Result<NodeSummary> {
        let mut sums = job.own.take().ok_or_else(|| Error::internal("no histogram"))?;
        let len = growth.positions.len() * self.pool.shape.stride;
        let mut scratch = std::mem::take(&mut self.scratch);
        let docs = self.docs_to_sum(job);
        let own = [docs.len() as u64, sum(&self.packed, docs)];
        let docs = self.look_up(&[docs], &mut scratch.gathered)[0];
        self.searcher(growth).fill(docs, &mut sums[..len], &mut scratch.spare);
        self.scratch = scratch;
        let gap = len - GAP..len - REDUCER_ROOM;
        sums[gap.clone()].fill(0);
        sums[gap.start..gap.start + 2].copy_from_slice(&own);
        self.reducer.sum_histogram(growth.job.round, &mut sums[..len])?;
        let count = sums[gap.start] as usize;
        if let (Some(sibling), Some(parent)) = (job.sibling, &job.parent) {
            self.leaves[job.leaf].count = count;
            self.leaves[sibling].count = (parent[gap.start] as usize).wrapping_sub(count);
        }
        let summary = NodeSummary { num_docs: count, total: sums[gap.start + 1] };
        job.own = Some(sums);
        Ok(summary)
    }

    /// Sums up two new leaves over all workers: with sampled documents, that does not follow from
    /// histograms.
    pub(super) fn reduce_totals(
        &mut self,
        children: [usize; 2],
        growth: &TreeGrowth<'_>,
    ) -> Result<()> {
        let mut words = children.map(|child| {
            let docs = self.docs.get(self.leaves[child].docs.clone());
            [docs.len() as u64, sum(&self.packed, docs)]
        });
        self.reducer.sum("two leaves", growth.job.round, words.as_flattened_mut())?;
        for (child, [count, total]) in children.into_iter().zip(words) {
            (self.leaves[child].count, self.leaves[child].total) = (count as usize, total);
        }
        Ok(())
    }
}
