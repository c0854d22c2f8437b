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
    above: [Vec<f64>; 2],
    below: [Vec<f64>; 2],
    /// By rank.
    gains: Vec<f32>,
    /// By document: its rank, and the start of its block.
    places: Vec<[usize; 2]>,
    per_gain: f64,
}

impl WeightSwaps {
    /// From tables of a metric with two directions, in which the share of each rank is 1.
    pub(crate) fn new(expect: FillTables<f64>) -> Self {
        let [above, below] = <[[Vec<f64>; 2]; 2]>::default();
        Self { expect, above, below, gains: Vec::new(), places: Vec::new(), per_gain: 0.0 }
    }
}

impl SwapTable for WeightSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, _scratch: &mut MetricScratch) {
        let SwapQuery { metric, ranking, divisor } = query;
        self.per_gain = divisor.recip();
        self.gains.clear();
        self.places.resize(ranking.docs().len(), [0; 2]);
        let mut blocks = Vec::new();
        for block in ranking.all_blocks() {
            self.gains.extend(block.labels.iter().map(|&label| metric.gain(label) as f32));
            let ranks = block.start..self.gains.len();
            for rank in ranks.clone() {
                self.places[ranking.docs()[rank] as usize] = [rank, block.start];
            }
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
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.places[a], self.places[b]);
        let ([upper, block], [lower, other]) = if a < b { (a, b) } else { (b, a) };
        if block == other || self.gains[upper] == self.gains[lower] {
            return 0.0;
        }
        let is_wrong = self.gains[upper] < self.gains[lower];
        let table = usize::from(is_wrong);
        let weight = (self.above[table][upper] - self.below[table][lower]) * self.per_gain;
        // 0.0 - : a delta of 0 has no sign.
        if is_wrong { weight } else { 0.0 - weight }
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
