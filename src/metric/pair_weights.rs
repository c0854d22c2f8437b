//! Tables of pair weights, which `LambdaRank` asks a metric for once a query.
//!
//! The weight of the pair at ranks i < j is `|gain_i - gain_j| (above_i - share_i below_j)`; see
//! `objective/pair_weights.rs` for how the tables are used and `registry/` for how metrics fill them.

use super::prepared::MetricScratch;
use super::swap_delta::{SwapQuery, SwapTable};
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

/// The documents of a query by rank, as tables of pair weights are filled from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedGains<'a> {
    pub(crate) limits: RankLimits,
    pub(crate) gains: &'a [f32],
    /// The ranks of tied documents.
    pub(crate) blocks: &'a [Range<usize>],
}

/// A number of a table: 32 bits for `LambdaRank`, 64 for swap deltas.
pub(crate) trait TableNumber {
    fn of(value: f64) -> Self;
}

impl TableNumber for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl TableNumber for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// The tables of one query, by rank. The second of two is for pairs in the wrong order: their better
/// document is the lower one. All hold 0 before they are filled, and `share` holds 1.
#[derive(Debug)]
pub(crate) struct PairColumns<'a, T> {
    pub(crate) above: [&'a mut [T]; 2],
    pub(crate) below: [&'a mut [T]; 2],
    pub(crate) share: &'a mut [T],
    /// For each block of tied documents: the weight of a pair inside it, but for the gains.
    pub(crate) inside: &'a mut [f64],
    /// Room for a metric's own numbers by rank.
    pub(crate) room: &'a mut Vec<f64>,
}

impl<T: TableNumber + Copy> PairColumns<'_, T> {
    /// Sets `above` and `below` of a rank to one value.
    pub(crate) fn set(&mut self, table: usize, rank: usize, value: f64) {
        self.above[table][rank] = T::of(value);
        self.below[table][rank] = T::of(value);
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
            self.above[table][block.clone()].fill(T::of(weights.above[table]));
            self.below[table][block.clone()].fill(T::of(weights.below[table]));
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

/// How a metric fills tables.
pub(crate) type FillTables<T> = fn(RankedGains<'_>, &mut PairColumns<'_, T>);

/// A metric's tables of pair weights.
pub(crate) struct PairWeightTables {
    /// Whether pairs in the wrong order have tables of their own.
    pub(crate) two_directions: bool,
    /// Fills the tables for documents without ties.
    pub(crate) fill: FillTables<f32>,
    /// Fills the tables with expectations over the orders of tied documents. Without it `LambdaRank` draws
    /// an order of them.
    pub(crate) expect: Option<FillTables<f32>>,
}

/// Swap deltas from tables of pair weights: that of documents of two blocks is their expected weight.
#[derive(Debug, Clone)]
pub(crate) struct WeightSwaps {
    expect: FillTables<f64>,
    /// By rank.
    gains: Vec<f32>,
    above: [Vec<f64>; 2],
    below: [Vec<f64>; 2],
    /// By document.
    docs: Vec<SwapDoc>,
}

/// A document: what it weighs as the upper and as the lower one of a swap, in the right and in the wrong
/// order.
#[derive(Debug, Clone, Copy, Default)]
struct SwapDoc {
    /// The first rank of its block.
    block: u32,
    gain: f32,
    above: [f64; 2],
    below: [f64; 2],
}

impl WeightSwaps {
    /// From tables of a metric with two directions, in which the share of each rank is 1.
    pub(crate) fn new(expect: FillTables<f64>) -> Self {
        let [above, below] = <[[Vec<f64>; 2]; 2]>::default();
        Self { expect, gains: Vec::new(), above, below, docs: Vec::new() }
    }
}

impl SwapTable for WeightSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, _scratch: &mut MetricScratch) {
        let SwapQuery { metric, ranking, divisor } = query;
        let mut blocks = Vec::new();
        self.gains.clear();
        for block in ranking.all_blocks() {
            self.gains.extend(block.labels.iter().map(|&label| metric.gain(label) as f32));
            let ranks = block.start..self.gains.len();
            blocks.extend((ranks.len() > 1).then_some(ranks));
        }
        for column in self.above.iter_mut().chain(&mut self.below) {
            column.clear();
            column.resize(self.gains.len(), 0.0);
        }
        let cut = metric.cut().min(ranking.retrieved());
        let limits = RankLimits { cut, depth: usize::MAX };
        let mut columns = PairColumns {
            above: self.above.each_mut().map(Vec::as_mut_slice),
            below: self.below.each_mut().map(Vec::as_mut_slice),
            share: &mut [],
            inside: &mut vec![0.0; blocks.len()],
            room: &mut Vec::new(),
        };
        (self.expect)(RankedGains { limits, gains: &self.gains, blocks: &blocks }, &mut columns);
        self.docs.resize(self.gains.len(), SwapDoc::default());
        // A swap of documents in the right order loses their weight.
        let factors = [-divisor.recip(), divisor.recip()];
        for block in ranking.all_blocks() {
            for rank in block.start..block.start + block.labels.len() {
                let of = |table: &[Vec<f64>; 2]| [0, 1].map(|way| table[way][rank] * factors[way]);
                let (above, below) = (of(&self.above), of(&self.below));
                let (block, gain) = (block.start as u32, self.gains[rank]);
                let doc = ranking.docs()[rank] as usize;
                self.docs[doc] = SwapDoc { block, gain, above, below };
            }
        }
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.docs[a], &self.docs[b]);
        if a.block == b.block || a.gain == b.gain {
            return 0.0;
        }
        let (upper, lower) = if a.block < b.block { (a, b) } else { (b, a) };
        let way = usize::from(upper.gain < lower.gain);
        // + 0.0: a delta of 0 has no sign.
        upper.above[way] - lower.below[way] + 0.0
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
