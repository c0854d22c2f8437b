//! Reciprocal rank of the first relevant document; its mean over queries is MRR. As `trec_eval`
//! computes it, in expectation over the orders of tied documents.
//!
//! The first block with a relevant document decides: with `r` of its `m` documents relevant, the first
//! of them is at position p with probability C(m-p, r-1)/C(m, r).
//!
//! Pair weights without ties: moving the first relevant document, at f, down to j is worth
//! `1/f - 1/min(j, g)`, with g the second; moving any relevant one to a rank i above f, `1/i - 1/f`.
//!
//! Pair weights with ties: only the first block with relevant documents, and if it has one only the
//! second, matter. The watched document of a pair comes before all k other relevant ones with
//! probability C(m-1-o, k) / C(m-1, k), and then the next of them decides what its place was worth.
//! O(1) a document. Swap deltas are these weights, O(1) a pair.

use super::relevance::relevant;
use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser, PairWeights};
use crate::metric::pair_weights::{
    BlockWeights, PairColumns, PairWeightTables, RankLimits, RankedGains, TableNumber, WeightSwaps,
    blocks_backwards, ratio, relevant_docs,
};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;
use crate::metric::swap_delta::SwapTable;
use std::ops::Range;

#[derive(Debug)]
pub(super) struct ReciprocalRank;

impl MetricDefinition for ReciprocalRank {
    fn facts(&self) -> MetricFacts {
        MetricFacts {
            other_names: &["recip_rank", "reciprocal_rank"],
            ..MetricFacts::new("mrr", LabelUse::Relevance, Normaliser::One)
        }
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        let ranks = metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(ranks);
        let mut blocks =
            ranking.blocks().map(|block| (relevant(&block, metric.relevant_from()), block));
        let Some((r, block)) = blocks.find(|(relevant, _)| *relevant > 0) else { return 0.0 };
        let size = block.labels.len();
        let mut probability = r as f64 / size as f64;
        let mut sum = 0.0;
        for (at, rank) in block.part(reciprocal).iter().enumerate() {
            sum += probability * rank;
            // C(m-p-1, r-1) / C(m-p, r-1): falls to 0 where the rest is all relevant.
            let left = size - at - 1;
            if left < r {
                break;
            }
            probability *= (left + 1 - r) as f64 / left as f64;
        }
        sum
    }

    fn swap_table(&self) -> Box<dyn SwapTable> {
        Box::new(WeightSwaps::new(expect))
    }

    fn pair_weights(&self) -> PairWeights {
        PairWeights::Tables(&TABLES)
    }
}

const TABLES: PairWeightTables =
    PairWeightTables { two_directions: true, fill, expect: Some(expect) };

/// The pair weights of documents without ties.
fn fill(ranked: RankedGains<'_>, columns: &mut PairColumns<'_, f32>) {
    let RankedGains { limits, gains, .. } = ranked;
    let worth = |rank: usize| limits.reciprocal(rank);
    let mut hits = (0..gains.len()).filter(|rank| gains[*rank] > 0.0);
    let first = hits.next().unwrap_or(gains.len());
    let second = hits.next().unwrap_or(gains.len());
    let at_second = if second < gains.len() { worth(second) } else { 0.0 };
    for rank in 0..gains.len() {
        let down = if rank < second { worth(rank.max(first)) } else { at_second };
        columns.set(0, rank, down);
        columns.set(1, rank, worth(rank.min(first)));
    }
}

/// The expected pair weights.
fn expect<T: TableNumber + Copy>(ranked: RankedGains<'_>, columns: &mut PairColumns<'_, T>) {
    let RankedGains { limits, gains, blocks } = ranked;
    // The first and the second block with relevant documents.
    let mut found: [Option<Range<usize>>; 2] = [None, None];
    for (_, block) in blocks_backwards(blocks, gains.len()) {
        if relevant_docs(gains, &block) > 0 {
            found = [Some(block), found[0].take()];
        }
    }
    let [Some(first), second] = found else { return };
    let relevant = relevant_docs(gains, &first);
    let value = next_relevant(limits, &first, relevant, columns.room);
    let mut of_second = |more: usize| {
        second.as_ref().map_or(0.0, |block| {
            next_relevant(limits, block, relevant_docs(gains, block) + more, columns.room)
        })
    };
    let values = [of_second(0), of_second(1)];
    let second = second.map_or(gains.len(), |block| block.start);
    for (number, block) in blocks_backwards(blocks, gains.len()) {
        let known = block.start..block.end.min(limits.depth).max(block.start);
        let size = block.len() as f64;
        let share = known.len() as f64 / size;
        let mean = |ranks: Range<usize>| ranks.map(|p| limits.reciprocal(p)).sum::<f64>() / size;
        let mut weights = BlockWeights::default();
        if block.start < first.start {
            weights.above[1] = mean(known);
        } else {
            weights.above[1] = share * value;
            weights.below[1] = value;
        }
        if relevant == 1 && block.start > first.start {
            weights.above[0] = share * values[0];
            weights.below[0] = match block.start.cmp(&second) {
                std::cmp::Ordering::Less => mean(block.clone()),
                std::cmp::Ordering::Equal => values[1],
                std::cmp::Ordering::Greater => values[0],
            };
        }
        if block == first {
            add_moves_in_first(limits, &block, relevant, (columns.room, &mut weights));
        }
        columns.set_block(number, &block, &weights);
    }
}

/// Adds what moving documents of the first block with relevant ones is worth.
fn add_moves_in_first(
    limits: RankLimits,
    block: &Range<usize>,
    relevant: usize,
    (next_from, weights): (&mut Vec<f64>, &mut BlockWeights),
) {
    let (m, r) = (block.len() as f64, relevant as f64);
    for (watched, others) in [(0, relevant - 1), (1, relevant)] {
        next_relevant(limits, block, others, next_from);
        // The probabilities that the watched documents come before all other relevant ones.
        let (mut one, mut both) = (1.0, 1.0);
        for p in block.start..block.end.min(limits.depth) {
            let o = p - block.start;
            let next = next_from.get(o + 1).copied().unwrap_or_default();
            let worth = limits.reciprocal(p) - next;
            weights.above[watched] += one * worth / m;
            let left = m - 1.0 - o as f64;
            if watched == 1 {
                weights.inside += left * both * worth;
            }
            one *= ratio(left - others as f64, left).max(0.0);
            both *= ratio(left - 1.0 - (r - 1.0), left - 1.0).max(0.0);
        }
    }
    weights.inside = ratio(weights.inside, m * (m - 1.0) / 2.0);
}

/// The expected 1/rank of the first of some relevant documents in a block; `next_from[o]` becomes that
/// of as many from rank o of the block on.
fn next_relevant(
    limits: RankLimits,
    block: &Range<usize>,
    relevant: usize,
    next_from: &mut Vec<f64>,
) -> f64 {
    next_from.clear();
    next_from.resize(block.len(), 0.0);
    let mut next = 0.0;
    for o in (0..block.len()).rev() {
        let here = (relevant as f64 / (block.len() - o) as f64).min(1.0);
        next = here * limits.reciprocal(block.start + o) + (1.0 - here) * next;
        next_from[o] = next;
    }
    next
}
