//! Reciprocal rank of the first relevant document; its mean over queries is MRR. As `trec_eval`
//! computes it, in expectation over the orders of tied documents.
//!
//! The first block with a relevant document decides: with `r` of its `m` documents relevant, the first
//! of them is at position p with probability C(m-p, r-1)/C(m, r).
//!
//! Swap deltas: an exchange of a relevant with an irrelevant document changes the number of relevant
//! ones in two blocks. O(n) to prepare, O(1) a pair.
//!
//! Pair weights without ties: moving the first relevant document, at f, down to j is worth
//! `1/f - 1/min(j, g)`, with g the second; moving any relevant one to a rank i above f, `1/i - 1/f`.
//!
//! Pair weights with ties: only the first block with relevant documents, and if it has one only the
//! second, matter. The watched document of a pair comes before all k other relevant ones with
//! probability C(m-1-o, k) / C(m-1, k), and then the next of them decides what its place was worth.
//! O(1) a document.

use super::relevance::{RelevantDocs, TiedBlock};
use crate::metric::definition::{LabelUse, MetricDefinition, Normaliser, PairWeights};
use crate::metric::pair_weights::{
    BlockWeights, PairColumns, PairWeightTables, RankLimits, blocks_backwards, ratio, relevant_docs,
};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;
use crate::metric::swap_delta::{SwapQuery, SwapTable};
use std::ops::Range;

#[derive(Debug)]
pub(super) struct ReciprocalRank;

impl MetricDefinition for ReciprocalRank {
    fn name(&self) -> &'static str {
        "mrr"
    }

    fn other_names(&self) -> &'static [&'static str] {
        &["recip_rank", "reciprocal_rank"]
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Relevance
    }

    fn normaliser(&self) -> Normaliser {
        Normaliser::One
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        let ranks = metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(ranks);
        reciprocal_rank(ranking, metric.relevant_from(), reciprocal, metric.cut())
    }

    fn swap_table(&self) -> Box<dyn SwapTable> {
        Box::new(FirstRelevantSwaps::default())
    }

    fn pair_weights(&self) -> PairWeights<'_> {
        PairWeights::Tables(self)
    }
}

/// The expected reciprocal rank of the first relevant doc; 0 below the cut.
fn reciprocal_rank(ranking: &Ranking, from: f32, reciprocal: &[f64], cut: usize) -> f64 {
    let first = ranking
        .blocks()
        .take_while(|block| block.start < cut)
        .map(|block| TiedBlock::of(block, from))
        .find(|block| block.relevant > 0);
    first.map_or(0.0, |block| first_of(block, block.relevant, block.reciprocals(reciprocal, cut)))
}

/// The expected reciprocal rank of the first relevant doc of a block with `r >= 1` of them.
fn first_of(block: TiedBlock, r: usize, reciprocals: &[f64]) -> f64 {
    let mut probability = r as f64 / block.size as f64;
    let mut sum = 0.0;
    for (at, rank) in reciprocals.iter().enumerate() {
        sum += probability * rank;
        // C(m-p-1, r-1) / C(m-p, r-1): falls to 0 where the rest is all relevant.
        let left = block.size - at - 1;
        if left < r {
            break;
        }
        probability *= (left + 1 - r) as f64 / left as f64;
    }
    sum
}

/// Deltas of reciprocal rank.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstRelevantSwaps {
    docs: RelevantDocs,
    /// The first two blocks with a relevant doc; one past the last block where there is none.
    first: [usize; 2],
    /// Their values with one relevant doc fewer, as many, and one more.
    around: [[f64; 3]; 2],
    /// The value of each block if it held one relevant doc and none were above it.
    alone: Vec<f64>,
}

impl SwapTable for FirstRelevantSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let (ranking, from) = (query.ranking, query.metric.relevant_from());
        let cut = query.metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(cut);
        self.docs.fill(ranking, from);
        let blocks = &self.docs.blocks;
        self.alone.clear();
        self.alone.extend(blocks.iter().map(|block| {
            block.reciprocals(reciprocal, cut).iter().sum::<f64>() / block.size as f64
        }));
        let mut with_relevant =
            blocks.iter().enumerate().filter(|(_, block)| block.relevant > 0).map(|(at, _)| at);
        self.first = [(); 2].map(|()| with_relevant.next().unwrap_or(blocks.len()));
        self.around = self.first.map(|at| {
            let Some(&block) = blocks.get(at) else { return [0.0; 3] };
            let r = block.relevant;
            [r - 1, r, r + 1].map(|r| {
                if r == 0 || r > block.size {
                    return 0.0;
                }
                first_of(block, r, block.reciprocals(reciprocal, cut))
            })
        });
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let Some((from, to)) = self.docs.moved(a, b) else { return 0.0 };
        let [first, second] = self.first;
        let now = self.around[0][1];
        if to < first {
            self.alone[to] - now
        } else if to == first {
            self.around[0][2] - now
        } else if from > first {
            0.0
        } else if self.docs.blocks[first].relevant > 1 {
            self.around[0][0] - now
        } else if to < second {
            self.alone[to] - now
        } else {
            self.around[1][if to == second { 2 } else { 1 }] - now
        }
    }
}

impl PairWeightTables for ReciprocalRank {
    fn has_two_directions(&self) -> bool {
        true
    }

    fn expects_ties(&self) -> bool {
        true
    }

    fn fill(&self, limits: RankLimits, gains: &[f32], columns: &mut PairColumns<'_>) {
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

    fn expect(
        &self,
        limits: RankLimits,
        gains: &[f32],
        blocks: &[Range<usize>],
        columns: &mut PairColumns<'_>,
    ) {
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
            let mean =
                |ranks: Range<usize>| ranks.map(|p| limits.reciprocal(p)).sum::<f64>() / size;
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
