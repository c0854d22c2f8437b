//! What metrics of relevant and irrelevant documents share: precision, recall, average precision and
//! reciprocal rank, as `trec_eval` computes them, in expectation over the orders of tied documents.

use crate::metric::ranking::{Ranking, ScoreBlock};

/// A block as these metrics see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiedBlock {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) relevant: usize,
}

impl TiedBlock {
    pub(super) fn of(block: ScoreBlock<'_>, from: f32) -> Self {
        let relevant = block.labels.partition_point(|&label| label >= from);
        Self { start: block.start, size: block.labels.len(), relevant }
    }

    /// How many of its ranks lie within the cut.
    pub(super) fn inside(self, cut: usize) -> usize {
        (self.start + self.size).min(cut).saturating_sub(self.start)
    }

    /// Its reciprocal ranks within the cut.
    pub(super) fn reciprocals(self, reciprocal: &[f64], cut: usize) -> &[f64] {
        let start = self.start.min(cut);
        &reciprocal[start..start + self.inside(cut)]
    }
}

/// The expected number of relevant docs above the cut.
pub(super) fn hits(ranking: &Ranking, from: f32, cut: usize) -> f64 {
    let mut sum = 0.0;
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let block = TiedBlock::of(block, from);
        sum += (block.relevant * block.inside(cut)) as f64 / block.size as f64;
    }
    sum
}
