//! Pairwise accuracy: the share of pairs of docs with different labels that are ranked rightly.
//!
//! At a cut, a pair counts if its better doc is above the cut; the value is divided by that of the
//! ideal order. Docs without a rank are below all others. In a tied block of `m` docs, `k` of its
//! ranks within the cut, a doc is above the cut with probability k/m (its weight against later
//! blocks), and above the cut and above a given other doc of its block with probability
//! `(2m - k - 1) k / (2m (m - 1))` (its weight inside), which is 1/2 without a cut.
//!
//! *Level* is a label's number among the query's distinct labels, 0 the largest. Values cost
//! O(n log L) for L levels. Deltas are made for a row of pairs at a time: what each level is worth in the
//! block of one document, and its level in each block, take O(n) to count.

use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::{LabelLevel, Ranking};
use crate::metric::swap_delta::{SwapQuery, SwapTable};
use std::ops::Range;

#[derive(Debug)]
pub(super) struct PairwiseAccuracy;

impl MetricDefinition for PairwiseAccuracy {
    fn facts(&self) -> MetricFacts {
        MetricFacts::new("pairwise", LabelUse::Order, Normaliser::Ideal)
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        pairs(ranking, metric.cut(), &mut scratch.level_counter)
    }

    fn ideal(
        &self,
        metric: &PreparedMetric,
        ranking: &Ranking,
        _scratch: &mut MetricScratch,
    ) -> f64 {
        ideal(ranking, metric.cut())
    }

    fn swap_table(&self) -> Box<dyn SwapTable> {
        Box::new(PairSwaps::default())
    }
}

/// How a block's pairs are weighted.
#[derive(Debug, Clone, Copy)]
struct BlockPairWeights {
    /// Against docs of later blocks.
    later: f64,
    /// Inside the block.
    inside: f64,
}

impl BlockPairWeights {
    fn new(size: usize, within_cut: usize) -> Self {
        let (m, k) = (size as f64, within_cut as f64);
        if within_cut == size {
            return Self { later: 1.0, inside: 0.5 };
        }
        let inside = if size > 1 { (2.0 * m - k - 1.0) * k / (2.0 * m * (m - 1.0)) } else { 0.0 };
        Self { later: k / m, inside }
    }
}

fn level_of(levels: &[LabelLevel], label: f32) -> usize {
    levels.partition_point(|level| level.label > label)
}

/// The pairs of the ideal order.
fn ideal(ranking: &Ranking, cut: usize) -> f64 {
    let total: usize = ranking.levels().iter().map(|level| level.count).sum();
    let (mut above, mut pairs) = (0usize, 0u64);
    for level in ranking.levels() {
        let ranked = level.count.min(cut.saturating_sub(above));
        above += level.count;
        pairs += ranked as u64 * (total - above) as u64;
    }
    pairs as f64
}

/// Docs per level, as a binary indexed tree: counts up to a level in O(log L).
#[derive(Debug, Clone, Default)]
pub(in crate::metric) struct LevelCounter {
    tree: Vec<usize>,
    total: usize,
}

impl LevelCounter {
    fn fill(&mut self, levels: &[LabelLevel]) {
        self.total = levels.iter().map(|level| level.count).sum();
        self.tree.clear();
        self.tree.push(0);
        self.tree.extend(levels.iter().map(|level| level.count));
        for at in 1..self.tree.len() {
            let parent = at + (at & at.wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[at];
            }
        }
    }

    fn remove(&mut self, level: usize, count: usize) {
        self.total -= count;
        let mut at = level + 1;
        while at < self.tree.len() {
            self.tree[at] -= count;
            at += at & at.wrapping_neg();
        }
    }

    /// How many docs have a larger label than `level`.
    fn above(&self, level: usize) -> usize {
        let (mut at, mut above) = (level, 0);
        while at > 0 {
            above += self.tree[at];
            at &= at - 1;
        }
        above
    }

    /// How many docs have a smaller label than `level`.
    fn below(&self, level: usize) -> usize {
        self.total - self.above(level + 1)
    }
}

/// The expected number of pairs ranked rightly, the better doc above the cut.
fn pairs(ranking: &Ranking, cut: usize, counter: &mut LevelCounter) -> f64 {
    let levels = ranking.levels();
    counter.fill(levels);
    let mut sum = 0.0;
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let size = block.labels.len();
        let runs = || block.labels.chunk_by(|a, b| a == b);
        let mut same = 0u64;
        for run in runs() {
            counter.remove(level_of(levels, run[0]), run.len());
            same += (run.len() as u64).pow(2);
        }
        let later: u64 = runs()
            .map(|run| run.len() as u64 * counter.below(level_of(levels, run[0])) as u64)
            .sum();
        let inside = ((size as u64).pow(2) - same) / 2;
        let weights = BlockPairWeights::new(size, size.min(cut - block.start));
        sum += weights.later * later as f64 + weights.inside * inside as f64;
    }
    sum
}

/// Deltas of pairwise accuracy.
///
/// The *worth* of level `l` in block `b` is what the pairs of such a doc with all others add, but
/// for what does not depend on `l`:
///
/// `D(b, l) = later_b below(after b, l) - inside_b equal(b, l) + sum over c < b of later_c above(c, l)`
///
/// its wins over docs of later blocks; the pairs inside its block, which are all but those with docs
/// of its own level; and the wins of better docs of earlier blocks over it. So exchanging docs of
/// levels x and y in blocks i < j changes the pairs by
///
/// `D(i, y) - D(i, x) + D(j, x) - D(j, y) + later_i - inside_i - inside_j`
///
/// where the last three terms take out what the two docs count of each other and of themselves.
#[derive(Debug, Clone, Default)]
struct PairSwaps {
    /// Per doc: its block, its level, and the worth of its level in its block.
    block: Vec<u32>,
    level: Vec<u32>,
    own: Vec<f64>,
    /// Per block.
    weights: Vec<BlockPairWeights>,
    /// The rank at which each block begins, and the end.
    starts: Vec<usize>,
    /// How many blocks lie wholly above the cut; the next one may do so in part.
    whole: usize,
    /// The levels by rank.
    ranked: Vec<u32>,
    num_levels: usize,
    per_pair: f64,
}

impl SwapTable for PairSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let SwapQuery { metric, ranking, divisor } = query;
        let (docs, levels) = (ranking.docs(), ranking.levels());
        let cut = metric.cut().min(ranking.retrieved());
        (self.num_levels, self.per_pair) = (levels.len(), divisor.recip());
        self.weights.clear();
        self.starts.clear();
        self.ranked.clear();
        self.block.resize(docs.len(), 0);
        self.level.resize(docs.len(), 0);
        self.own.resize(docs.len(), 0.0);
        for (number, block) in ranking.all_blocks().enumerate() {
            let size = block.labels.len();
            let within = size.min(cut.saturating_sub(block.start));
            self.weights.push(BlockPairWeights::new(size, within));
            self.starts.push(block.start);
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                let level = level_of(levels, label) as u32;
                self.block[doc as usize] = number as u32;
                self.level[doc as usize] = level;
                self.ranked.push(level);
            }
        }
        self.starts.push(docs.len());
        self.whole = self.weights.iter().take_while(|weights| weights.later == 1.0).count();
        self.fill_own(ranking, &mut scratch.level_counter);
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let mut delta = Vec::new();
        self.row(a, b..b + 1, &mut delta);
        delta[0]
    }

    fn row(&self, a: usize, docs: Range<usize>, deltas: &mut Vec<f64>) {
        let (i, x) = (self.block[a] as usize, self.level[a] as usize);
        let (in_block, of_level) = (self.worths_in_block(i), self.worths_of_level(x));
        deltas.extend(docs.map(|b| {
            let (j, y) = (self.block[b] as usize, self.level[b] as usize);
            if i == j || x == y {
                return 0.0;
            }
            let change = (in_block[y] - self.own[a]) + (of_level[j] - self.own[b]);
            let (upper, lower) = (self.weights[i.min(j)], self.weights[i.max(j)]);
            (change + upper.later - upper.inside - lower.inside) * self.per_pair
        }));
    }
}

impl PairSwaps {
    /// Computes the worth of the level of each doc in its block.
    fn fill_own(&mut self, ranking: &Ranking, counter: &mut LevelCounter) {
        let levels = ranking.levels();
        counter.fill(levels);
        let larger = |sum: &mut usize, level: &LabelLevel| {
            *sum += level.count;
            Some(*sum - level.count)
        };
        let larger: Vec<usize> = levels.iter().scan(0, larger).collect();
        // The worth of a level is the same in all blocks below the cut.
        let cut = self.whole + 1;
        let tail = if cut < self.weights.len() { self.worths_in_block(cut) } else { vec![] };
        for (number, block) in ranking.all_blocks().enumerate() {
            let BlockPairWeights { later, inside } = self.weights[number];
            let runs = || block.labels.chunk_by(|a, b| a == b);
            for run in runs().filter(|_| number < cut) {
                counter.remove(level_of(levels, run[0]), run.len());
            }
            let mut start = block.start;
            for run in runs() {
                let level = level_of(levels, run[0]);
                let worth = if number < cut {
                    let better = larger[level] - counter.above(level) - (start - block.start);
                    later * counter.below(level) as f64 - inside * run.len() as f64 + better as f64
                } else {
                    tail[level]
                };
                for &doc in &ranking.docs()[start..start + run.len()] {
                    self.own[doc as usize] = worth;
                }
                start += run.len();
            }
        }
    }

    /// The worth of each level in a block.
    fn worths_in_block(&self, number: usize) -> Vec<f64> {
        let counts = |ranks: Range<usize>| {
            let mut counts = vec![0usize; self.num_levels];
            self.ranked[ranks].iter().for_each(|&level| counts[level as usize] += 1);
            counts
        };
        let of_block = |number: usize| counts(self.starts[number]..self.starts[number + 1]);
        let (num_docs, end) = (self.ranked.len(), self.starts[number + 1]);
        let (here, after) = (of_block(number), counts(end..num_docs));
        let cut = number.min(self.whole);
        let before = counts(0..self.starts[cut]);
        let partly = if cut < number { of_block(cut) } else { vec![0; self.num_levels] };
        let BlockPairWeights { later, inside } = self.weights[number];
        let (mut below, mut better, mut better_partly) = (num_docs - end, 0, 0);
        let of_level = |level: usize| {
            below -= after[level];
            let better_docs = better as f64 + self.weights[cut].later * better_partly as f64;
            better += before[level];
            better_partly += partly[level];
            later * below as f64 - inside * here[level] as f64 + better_docs
        };
        (0..self.num_levels).map(of_level).collect()
    }

    /// The worth of a level in each block.
    fn worths_of_level(&self, level: usize) -> Vec<f64> {
        let level = level as u32;
        let count = |docs: &[u32], is: fn(&u32, &u32) -> bool| {
            docs.iter().map(|other| u32::from(is(other, &level))).sum::<u32>()
        };
        let mut below = count(&self.ranked, u32::gt);
        let mut better = 0.0;
        let of_block = |(weights, ranks): (&BlockPairWeights, &[usize])| {
            let docs = &self.ranked[ranks[0]..ranks[1]];
            below -= count(docs, u32::gt);
            let wins = weights.later * f64::from(below);
            let worth = wins - weights.inside * f64::from(count(docs, u32::eq)) + better;
            better += weights.later * f64::from(count(docs, u32::lt));
            worth
        };
        self.weights.iter().zip(self.starts.windows(2)).map(of_block).collect()
    }
}
