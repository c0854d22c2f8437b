//! What a pair of docs weighs: the magnitude of what exchanging them changes the metric by.
//!
//! By rank, upper doc i and lower doc j, the weight of all these metrics is
//! `|gain_i - gain_j| (above_i - share_i below_j)`, with tables by rank that take O(n) to fill:
//!
//! | metric | gain | above | below | share |
//! | --- | --- | --- | --- | --- |
//! | NDCG, DCG | gain, over the ideal | `d_i` | `d_j` | 1 |
//! | precision, recall | hit, over docs or hits | `d_i` | `d_j` | 1 |
//! | MAP, better doc above | hit, over hits | `X_i` | `X_j` | 1 |
//! | MAP, better doc below | | `Y_i` | `Y_j` | 1 |
//! | MRR | hit | like MAP | | 1 |
//! | ERR | R | `A_i - w_i L_i` | `A_j - L_j - R_j A_j` | `w_i = 1 / (1 - R_i)` |
//! | no metric | sign of the labels | 1 | 0 | |
//!
//! `d` is the discount, 0 below the cut.
//!
//! AP: moving a hit from rank i down to j takes `C_i / i` away, gives `C_j / j` and takes one from the
//! hits counted at each hit between. So with `C_r` the hits to rank r and `T_r` the sum of `1/t` over
//! hits at t > r, `X_r = C_r / r + T_r`. Moving one up from j to i adds a hit to the count of each
//! between: `Y_r = (C_r + 1) / r + T_r`.
//!
//! RR: moving the first hit, at f, down is worth `1/f - 1/min(j, g)`, with g the second; moving any
//! hit to a rank above f, `1/i - 1/f`.
//!
//! ERR: `A_r` is the probability to get to rank r, over r, and `L_r` the sum of `R_t A_t` over t > r.
//!
//! Sums run from the far end, so that small differences deep down keep their digits.
//!
//! Tied docs, for a discount and for no metric (`expected.rs` for AP and RR): the expectation over the orders of each block, of
//! pairs with the upper one within `pairs_to`. Docs of two blocks take their ranks independently, so
//! above is the mean over the block of `d` within `pairs_to`, share the part of the block within it,
//! and below the mean of `d`. Pairs inside a block weigh the difference of their gains times the mean
//! of `d_p - d_q` over the block's pairs of ranks p < q, p within `pairs_to`; their scores are equal,
//! so that the sums over them need no loop over pairs (`ties.rs`).

use super::kernel::Column;
use crate::metric::{Judge, Measure};
use std::ops::Range;

/// How the tables are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// A discount a rank: NDCG, DCG, precision, recall.
    Discount,
    /// Average precision.
    Precisions,
    /// Reciprocal rank.
    First,
    /// Expected reciprocal rank.
    Stop,
    /// No metric.
    One,
    /// From [`crate::SwapDelta`], a row of pairs at a time.
    Swap,
}

impl Rule {
    pub(super) fn of(measure: Measure) -> Self {
        match measure {
            Measure::Ndcg | Measure::Dcg | Measure::Precision | Measure::Recall => Self::Discount,
            Measure::Map => Self::Precisions,
            Measure::Mrr => Self::First,
            Measure::Err => Self::Stop,
            Measure::Pairwise => Self::Swap,
        }
    }

    /// Whether tied docs count with their expectation, exactly.
    pub(super) fn has_expectation(self) -> bool {
        matches!(self, Self::Discount | Self::One | Self::Precisions | Self::First)
    }
}

/// What ranks are worth, for all queries of a call.
#[derive(Debug)]
pub(super) struct Ranks {
    /// The last rank within the metric's cut.
    cut: usize,
    /// The last rank of upper docs.
    pub(super) depth: usize,
    /// By rank from 0: the discount; 0 below the cut.
    worth: Vec<f64>,
    /// The same in 32 bits.
    worth32: Vec<f32>,
    /// `sums[r]` is the sum of the first r.
    sums: Vec<f64>,
}

impl Ranks {
    /// For queries of at most `longest` docs; `judge` is that of the metric, if there is one.
    pub(super) fn new(judge: Option<&Judge>, pairs_to: Option<usize>, longest: usize) -> Self {
        let cut = judge.map_or(usize::MAX, Judge::depth);
        let depth = cut.min(pairs_to.unwrap_or(usize::MAX));
        let logarithmic =
            judge.is_some_and(|j| matches!(j.metric.measure(), Measure::Ndcg | Measure::Dcg));
        let worth = |rank: usize| match (rank < cut, logarithmic) {
            (true, true) => ((rank + 2) as f64).log2().recip(),
            (true, false) => 1.0,
            (false, _) => 0.0,
        };
        let worth: Vec<f64> = (0..longest).map(worth).collect();
        let mut sums = vec![0.0; longest + 1];
        for (rank, worth) in worth.iter().enumerate() {
            sums[rank + 1] = sums[rank] + worth;
        }
        let worth32 = worth.iter().map(|&worth| worth as f32).collect();
        Self { cut, depth, worth, worth32, sums }
    }

    /// 1/rank of a rank counted from 0; 0 below the cut.
    pub(super) fn reciprocal(&self, rank: usize) -> f64 {
        if rank < self.cut { ((rank + 1) as f64).recip() } else { 0.0 }
    }

    /// What a run of ranks is worth.
    pub(super) fn sum(&self, ranks: Range<usize>) -> f64 {
        self.sums[ranks.end] - self.sums[ranks.start]
    }

    /// The part of a block within `depth`.
    fn share(&self, block: &Range<usize>) -> f64 {
        (block.end.min(self.depth).max(block.start) - block.start) as f64 / block.len() as f64
    }

    /// The mean of `d_p - d_q` over the pairs of ranks p < q of a block of at least two, p below
    /// `depth` counting as 0; without a metric, of 1.
    fn inside(&self, rule: Rule, block: &Range<usize>) -> f64 {
        let pairs = (block.len() * (block.len() - 1) / 2) as f64;
        let uppers = block.start..block.end.min(self.depth);
        let worth = |p: usize| {
            let lower = (block.end - p - 1) as f64;
            match rule {
                Rule::Discount => self.worth[p] * lower - self.sum(p + 1..block.end),
                _ => lower,
            }
        };
        uppers.map(worth).sum::<f64>() / pairs
    }
}

/// The tables of one ranked query; the second of two is for pairs in the wrong order.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) above: [Column<f32>; 2],
    pub(super) below: [Column<f32>; 2],
    pub(super) share: Column<f32>,
    pub(super) lower_from: Column<u32>,
    /// How many docs are upper ones.
    pub(super) uppers: usize,
    /// Of each block of tied docs: what a pair inside it weighs, but for the gains.
    pub(super) inside: Vec<f64>,
    /// See `expected.rs`.
    pub(super) next: Vec<f64>,
}

impl Tables {
    /// Fills the tables by expectation over the blocks of tied docs; `gains` are by rank.
    pub(super) fn expect(
        &mut self,
        rule: Rule,
        ranks: &Ranks,
        (gains, blocks): (&[f32], &[Range<usize>]),
    ) {
        if blocks.is_empty() {
            return self.fill(rule, ranks, gains);
        }
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
        match rule {
            Rule::Precisions => self.expect_precisions(ranks, gains, blocks),
            Rule::First => self.expect_first(ranks, gains, blocks),
            _ => self.expect_by_rank(rule, ranks, blocks),
        }
    }

    fn expect_by_rank(&mut self, rule: Rule, ranks: &Ranks, blocks: &[Range<usize>]) {
        for (inside, block) in self.inside.iter_mut().zip(blocks) {
            let size = block.len() as f64;
            let known = block.end.min(ranks.depth).max(block.start);
            let (above, below) = match rule {
                Rule::Discount => {
                    (ranks.sum(block.start..known) / size, ranks.sum(block.clone()) / size)
                }
                _ => (ranks.share(block), 0.0),
            };
            self.above[0][block.clone()].fill(above as f32);
            self.below[0][block.clone()].fill(below as f32);
            *inside = ranks.inside(rule, block);
        }
    }

    /// Fills the tables of docs without ties; `gains` are by rank.
    pub(super) fn fill(&mut self, rule: Rule, ranks: &Ranks, gains: &[f32]) {
        self.start(rule, ranks, gains.len());
        match rule {
            Rule::Discount | Rule::One | Rule::Swap => {}
            Rule::Precisions => self.precisions(ranks.cut, gains),
            Rule::First => self.first(ranks.cut, gains),
            Rule::Stop => self.stop(ranks.cut, gains),
        }
    }

    /// What depends on ranks alone, for a query without ties.
    fn start(&mut self, rule: Rule, ranks: &Ranks, num_docs: usize) {
        let Self { above: [above, above_wrong], below: [below, below_wrong], .. } = self;
        above_wrong.reserve(num_docs);
        below_wrong.reserve(num_docs);
        match rule {
            Rule::Discount => {
                above.reserve(num_docs);
                below.reserve(num_docs);
                above[..num_docs].copy_from_slice(&ranks.worth32[..num_docs]);
                below[..num_docs].copy_from_slice(&ranks.worth32[..num_docs]);
            }
            Rule::One => {
                above.reset(num_docs, 1.0);
                below.reset(num_docs, 0.0);
            }
            Rule::Precisions | Rule::First | Rule::Stop | Rule::Swap => {
                for column in [above, above_wrong, below, below_wrong] {
                    column.reset(num_docs, 0.0);
                }
            }
        }
        self.share.reset(num_docs, if rule == Rule::Swap { -1.0 } else { 1.0 });
        self.lower_from.reserve(num_docs);
        for (from, next) in self.lower_from.iter_mut().zip(1..) {
            *from = next;
        }
        self.uppers = num_docs.min(ranks.depth);
    }

    fn set(&mut self, table: usize, rank: usize, value: f64) {
        self.above[table][rank] = value as f32;
        self.below[table][rank] = value as f32;
    }

    fn precisions(&mut self, cut: usize, gains: &[f32]) {
        let mut hits = gains.iter().take(cut).filter(|gain| **gain > 0.0).count() as f64;
        let mut later = 0.0;
        for (rank, &gain) in gains.iter().enumerate().take(cut).rev() {
            let place = (rank + 1) as f64;
            self.set(0, rank, hits / place + later);
            self.set(1, rank, (hits + 1.0) / place + later);
            if gain > 0.0 {
                later += place.recip();
                hits -= 1.0;
            }
        }
    }

    fn first(&mut self, cut: usize, gains: &[f32]) {
        let worth = |rank: usize| if rank < cut { ((rank + 1) as f64).recip() } else { 0.0 };
        let mut hits = (0..gains.len()).filter(|rank| gains[*rank] > 0.0);
        let first = hits.next().unwrap_or(gains.len());
        let second = hits.next().unwrap_or(gains.len());
        let at_second = if second < gains.len() { worth(second) } else { 0.0 };
        for rank in 0..gains.len() {
            let down = if rank < second { worth(rank.max(first)) } else { at_second };
            self.set(0, rank, down);
            self.set(1, rank, worth(rank.min(first)));
        }
    }

    fn stop(&mut self, cut: usize, gains: &[f32]) {
        let mut reach = 1.0;
        for (rank, &stops) in gains.iter().enumerate().take(cut) {
            let arrives = reach / (rank + 1) as f64;
            self.set(0, rank, arrives);
            reach *= 1.0 - f64::from(stops);
        }
        let mut later = 0.0;
        for (rank, &stops) in gains.iter().enumerate().rev() {
            let stops = f64::from(stops);
            let arrives = f64::from(self.above[0][rank]);
            let share = (1.0 - stops).recip();
            self.above[0][rank] = (arrives - later * share) as f32;
            later += stops * arrives;
            self.below[0][rank] = (arrives - later) as f32;
            self.share[rank] = share as f32;
        }
    }
}
