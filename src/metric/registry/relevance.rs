//! What metrics of relevant and irrelevant documents share: precision, recall, average precision and
//! reciprocal rank, as `trec_eval` computes them, in expectation over the orders of tied documents.

use crate::metric::ranking::{Ranking, ScoreBlock};

/// How many docs of a block are relevant.
pub(super) fn relevant(block: &ScoreBlock<'_>, from: f32) -> usize {
    block.labels.partition_point(|&label| label >= from)
}

/// The expected number of relevant docs above the cut.
pub(super) fn hits(ranking: &Ranking, from: f32, cut: usize) -> f64 {
    let mut sum = 0.0;
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let size = block.labels.len();
        sum += (relevant(&block, from) * size.min(cut - block.start)) as f64 / size as f64;
    }
    sum
}
