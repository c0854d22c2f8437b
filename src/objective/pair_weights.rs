//! Pair weights by rank: the magnitude of what exchanging two documents changes the metric by.
//!
//! For the upper document at rank i and the lower one at rank j, the weight is
//! `|gain_i - gain_j| (above_i - share_i below_j)`, with tables by rank that take O(n) to fill:
//!
//! | metric | gain | above | below | share |
//! | --- | --- | --- | --- | --- |
//! | a sum of gains times discounts | gain, over the metric's divisor | `d_i` | `d_j` | 1 |
//! | MAP, MRR, ERR | relevant or not; R | see their files in `metric/registry` | | |
//! | no metric | sign of the labels | 1 | 0 | |
//!
//! `d` is the discount, 0 below the cut. A metric without such tables gives its swap deltas, a row of
//! pairs at a time.
//!
//! Tied documents, for a discount and for no metric: the expectation over the orders of each block, of
//! pairs with the upper one within `pairs_to`. Documents of two blocks take their ranks independently,
//! so above is the mean over the block of `d` within `pairs_to`, share the part of the block within it,
//! and below the mean of `d`. Pairs inside a block weigh the difference of their gains times the mean
//! of `d_p - d_q` over the block's pairs of ranks p < q, p within `pairs_to`; their scores are equal,
//! so that the sums over them need no loop over pairs (`tied_pairs.rs`).

use super::kernel::Column;
use crate::metric::{PairColumns, PairWeights, PreparedMetric, RankLimits, RankedGains};
use std::ops::Range;

/// What ranks are worth, for all queries of a call.
#[derive(Debug)]
pub(super) struct RankDiscounts {
    pub(super) limits: RankLimits,
    /// By rank from 0: the discount; 0 below the cut.
    worth: Vec<f64>,
    /// The same in 32 bits.
    worth32: Vec<f32>,
    /// `sums[r]` is the sum of the first r.
    sums: Vec<f64>,
}

impl RankDiscounts {
    /// For queries of at most `longest` docs; `metric` is absent where all pairs weigh the same.
    pub(super) fn new(
        metric: Option<&PreparedMetric>,
        pairs_to: Option<usize>,
        longest: usize,
    ) -> Self {
        let cut = metric.map_or(usize::MAX, PreparedMetric::cut);
        let depth = cut.min(pairs_to.unwrap_or(usize::MAX));
        let discount =
            |rank| metric.map_or(1.0, |one| one.definition().discount(rank).unwrap_or(1.0));
        let worth = |rank: usize| if rank < cut { discount(rank) } else { 0.0 };
        let worth: Vec<f64> = (0..longest).map(worth).collect();
        let mut sums = vec![0.0; longest + 1];
        for (rank, worth) in worth.iter().enumerate() {
            sums[rank + 1] = sums[rank] + worth;
        }
        let worth32 = worth.iter().map(|&worth| worth as f32).collect();
        Self { limits: RankLimits { cut, depth }, worth, worth32, sums }
    }

    /// What a run of ranks is worth.
    pub(super) fn sum(&self, ranks: Range<usize>) -> f64 {
        self.sums[ranks.end] - self.sums[ranks.start]
    }

    /// The part of a block within `depth`.
    fn share(&self, block: &Range<usize>) -> f64 {
        (block.end.min(self.limits.depth).max(block.start) - block.start) as f64
            / block.len() as f64
    }

    /// The mean of `d_p - d_q` over the pairs of ranks p < q of a block of at least two, p below
    /// `depth` counting as 0; without a metric, of 1.
    fn inside(&self, rule: PairWeights, block: &Range<usize>) -> f64 {
        let pairs = (block.len() * (block.len() - 1) / 2) as f64;
        let uppers = block.start..block.end.min(self.limits.depth);
        let worth = |p: usize| {
            let lower = (block.end - p - 1) as f64;
            match rule {
                PairWeights::Discounts => self.worth[p] * lower - self.sum(p + 1..block.end),
                _ => lower,
            }
        };
        uppers.map(worth).sum::<f64>() / pairs
    }
}

/// The tables of one ranked query; the second of two is for pairs in the wrong order.
#[derive(Debug, Default)]
pub(super) struct PairTables {
    pub(super) above: [Column<f32>; 2],
    pub(super) below: [Column<f32>; 2],
    pub(super) share: Column<f32>,
    pub(super) lower_from: Column<u32>,
    /// How many docs are upper ones.
    pub(super) uppers: usize,
    /// Of each block of tied docs: what a pair inside it weighs, but for the gains.
    pub(super) inside: Vec<f64>,
    /// Room for a metric's own numbers by rank.
    room: Vec<f64>,
}

impl PairTables {
    /// Fills the tables by expectation over the blocks of tied docs; `gains` are by rank.
    pub(super) fn fill(
        &mut self,
        rule: PairWeights,
        ranks: &RankDiscounts,
        gains: &[f32],
        blocks: &[Range<usize>],
    ) {
        self.start(rule, ranks, gains.len());
        for block in blocks {
            let share = ranks.share(block);
            self.share[block.clone()].fill(share as f32);
            self.lower_from[block.clone()].fill(block.end as u32);
            if block.contains(&(self.uppers.max(1) - 1)) {
                self.uppers = block.end;
            }
        }
        self.inside.clear();
        self.inside.resize(blocks.len(), 0.0);
        let ranked = RankedGains { limits: ranks.limits, gains, blocks };
        match rule {
            PairWeights::Tables(tables) => {
                let fill = tables.expect.filter(|_| !blocks.is_empty()).unwrap_or(tables.fill);
                fill(ranked, &mut self.columns());
            }
            _ => self.expect_by_rank(rule, ranks, blocks),
        }
    }

    fn columns(&mut self) -> PairColumns<'_, f32> {
        let [above, above_wrong] = &mut self.above;
        let [below, below_wrong] = &mut self.below;
        PairColumns {
            above: [above, above_wrong],
            below: [below, below_wrong],
            share: &mut self.share,
            inside: &mut self.inside,
            room: &mut self.room,
        }
    }

    fn expect_by_rank(
        &mut self,
        rule: PairWeights,
        ranks: &RankDiscounts,
        blocks: &[Range<usize>],
    ) {
        for (inside, block) in self.inside.iter_mut().zip(blocks) {
            let size = block.len() as f64;
            let known = block.end.min(ranks.limits.depth).max(block.start);
            let (above, below) = match rule {
                PairWeights::Discounts => {
                    (ranks.sum(block.start..known) / size, ranks.sum(block.clone()) / size)
                }
                _ => (ranks.share(block), 0.0),
            };
            self.above[0][block.clone()].fill(above as f32);
            self.below[0][block.clone()].fill(below as f32);
            *inside = ranks.inside(rule, block);
        }
    }

    /// What depends on ranks alone, for a query without ties.
    fn start(&mut self, rule: PairWeights, ranks: &RankDiscounts, num_docs: usize) {
        let Self { above: [above, above_wrong], below: [below, below_wrong], .. } = self;
        above_wrong.reserve(num_docs);
        below_wrong.reserve(num_docs);
        match rule {
            PairWeights::Discounts => {
                above.reserve(num_docs);
                below.reserve(num_docs);
                above[..num_docs].copy_from_slice(&ranks.worth32[..num_docs]);
                below[..num_docs].copy_from_slice(&ranks.worth32[..num_docs]);
            }
            PairWeights::Equal => {
                above.reset(num_docs, 1.0);
                below.reset(num_docs, 0.0);
            }
            PairWeights::Tables(_) | PairWeights::SwapDeltas => {
                for column in [above, above_wrong, below, below_wrong] {
                    column.reset(num_docs, 0.0);
                }
            }
        }
        let from_deltas = matches!(rule, PairWeights::SwapDeltas);
        self.share.reset(num_docs, if from_deltas { -1.0 } else { 1.0 });
        self.lower_from.reserve(num_docs);
        for (from, next) in self.lower_from.iter_mut().zip(1..) {
            *from = next;
        }
        self.uppers = num_docs.min(ranks.limits.depth);
    }
}
