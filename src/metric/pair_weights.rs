//! Tables of pair weights, which `LambdaRank` asks a metric for once a query.
//!
//! The weight of the pair at ranks i < j is `|gain_i - gain_j| (above_i - share_i below_j)`; see
//! `objective/weight.rs` for how the tables are used and `registry/` for how metrics fill them.

use std::ops::Range;

/// The ranks that count, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankLimits {
    /// The number of ranks within the metric's cut.
    pub(crate) cut: usize,
    /// The number of ranks that the upper document of a pair can have.
    pub(crate) depth: usize,
}

impl RankLimits {
    /// 1/rank of a rank counted from 0; 0 below the cut.
    pub(crate) fn reciprocal(self, rank: usize) -> f64 {
        if rank < self.cut { ((rank + 1) as f64).recip() } else { 0.0 }
    }
}

/// The tables of one query, by rank. The second of two is for pairs in the wrong order: their better
/// document is the lower one.
#[derive(Debug)]
pub(crate) struct PairColumns<'a> {
    pub(crate) above: [&'a mut [f32]; 2],
    pub(crate) below: [&'a mut [f32]; 2],
    pub(crate) share: &'a mut [f32],
    /// For each block of tied documents: the weight of a pair inside it, but for the gains.
    pub(crate) inside: &'a mut [f64],
    /// Room for a metric's own numbers by rank.
    pub(crate) room: &'a mut Vec<f64>,
}

impl PairColumns<'_> {
    /// Sets `above` and `below` of a rank to one value.
    pub(crate) fn set(&mut self, table: usize, rank: usize, value: f64) {
        self.above[table][rank] = value as f32;
        self.below[table][rank] = value as f32;
    }

    /// Writes the expected weights of a block; `number` is its place among the tied blocks, if it has
    /// more than one document.
    pub(crate) fn set_block(
        &mut self,
        number: Option<usize>,
        block: &Range<usize>,
        weights: &BlockWeights,
    ) {
        for table in 0..2 {
            self.above[table][block.clone()].fill(weights.above[table] as f32);
            self.below[table][block.clone()].fill(weights.below[table] as f32);
        }
        if let Some(number) = number {
            self.inside[number] = weights.inside;
        }
    }
}

/// The weights that all documents of a tied block share.
#[derive(Debug, Default)]
pub(crate) struct BlockWeights {
    pub(crate) above: [f64; 2],
    pub(crate) below: [f64; 2],
    pub(crate) inside: f64,
}

/// A metric that fills tables of pair weights. All columns hold 0 before, and `share` holds 1.
pub(crate) trait PairWeightTables: Send + Sync {
    /// Whether pairs in the wrong order have tables of their own.
    fn has_two_directions(&self) -> bool;

    /// Whether [`expect`](Self::expect) is exact; if not, `LambdaRank` draws an order of tied documents.
    fn expects_ties(&self) -> bool {
        false
    }

    /// Fills the tables for documents without ties; `gains` are by rank.
    fn fill(&self, limits: RankLimits, gains: &[f32], columns: &mut PairColumns<'_>);

    /// Fills the tables with expectations over the orders of the tied `blocks`.
    fn expect(
        &self,
        limits: RankLimits,
        gains: &[f32],
        _blocks: &[Range<usize>],
        columns: &mut PairColumns<'_>,
    ) {
        self.fill(limits, gains, columns);
    }
}

/// All blocks from the last to the first; those of one document have no number.
pub(crate) fn blocks_backwards(
    blocks: &[Range<usize>],
    num_docs: usize,
) -> impl Iterator<Item = (Option<usize>, Range<usize>)> {
    let (mut end, mut at) = (num_docs, blocks.len());
    std::iter::from_fn(move || {
        let single = end.checked_sub(1)?;
        let tied = at > 0 && blocks[at - 1].end == end;
        at -= usize::from(tied);
        let block = if tied { blocks[at].clone() } else { single..end };
        end = block.start;
        Some((tied.then_some(at), block))
    })
}

/// The number of relevant documents of a block.
pub(crate) fn relevant_docs(gains: &[f32], block: &Range<usize>) -> usize {
    gains[block.clone()].iter().filter(|gain| **gain > 0.0).count()
}

/// `part / whole`; 0 where there is no whole.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
