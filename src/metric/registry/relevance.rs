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

/// Which docs are relevant, and in which block each is.
#[derive(Debug, Clone, Default)]
pub(super) struct RelevantDocs {
    pub(super) block: Vec<u32>,
    pub(super) relevant: Vec<bool>,
    pub(super) blocks: Vec<TiedBlock>,
}

impl RelevantDocs {
    pub(super) fn fill(&mut self, ranking: &Ranking, from: f32) {
        let docs = ranking.docs();
        self.blocks.clear();
        self.block.clear();
        self.block.resize(docs.len(), 0);
        self.relevant.clear();
        self.relevant.resize(docs.len(), false);
        for (number, block) in ranking.all_blocks().enumerate() {
            self.blocks.push(TiedBlock::of(block, from));
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                self.block[doc as usize] = number as u32;
                self.relevant[doc as usize] = label >= from;
            }
        }
    }

    /// The blocks that a swap takes a relevant doc out of and puts it into, unless that is nothing.
    pub(super) fn moved(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        let (of_a, of_b) = (self.block[a] as usize, self.block[b] as usize);
        if of_a == of_b || self.relevant[a] == self.relevant[b] {
            return None;
        }
        Some(if self.relevant[a] { (of_a, of_b) } else { (of_b, of_a) })
    }
}
