//! Pairwise accuracy: the share of pairs of docs with different labels that are ranked rightly.
//!
//! At a cut, a pair counts if its better doc is above the cut; the value is divided by that of the
//! ideal order. Docs without a rank are below all others. In a tied block of `m` docs, `k` of its
//! ranks within the cut, a doc is above the cut with probability k/m (its weight against later
//! blocks), and above the cut and above a given other doc of its block with probability
//! `(2m - k - 1) k / (2m (m - 1))` (its weight inside), which is 1/2 without a cut.
//!
//! *Level* is a label's number among the query's distinct labels, 0 the largest. Values cost
//! O(n log L) for L levels. Deltas need what a level is worth in a block: from a table of blocks x
//! levels for few levels, O(n L) to prepare and O(1) a pair, and for many from the counts of a wavelet
//! matrix, O(n log L) to prepare and O(log L) a pair.

use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::{LabelLevel, Ranking};
use crate::metric::swap_delta::{SwapQuery, SwapTable};

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

/// Up to this many levels the deltas come from a table: 8 bytes a block and level.
const TABLE_LEVELS: usize = 32;

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

    /// How many docs have a smaller label than `level`.
    fn below(&self, level: usize) -> usize {
        let (mut at, mut up_to) = (level + 1, 0);
        while at > 0 {
            up_to += self.tree[at];
            at &= at - 1;
        }
        self.total - up_to
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
    weights: Vec<BlockPairWeights>,
    worths: LevelWorths,
    per_pair: f64,
}

impl SwapTable for PairSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, _scratch: &mut MetricScratch) {
        let ranking = query.ranking;
        let docs = ranking.docs();
        let levels = ranking.levels();
        let cut = query.metric.cut().min(ranking.retrieved());
        self.per_pair = query.divisor.recip();
        self.weights.clear();
        self.block.clear();
        self.block.resize(docs.len(), 0);
        self.level.clear();
        self.level.resize(docs.len(), 0);
        for (number, block) in ranking.all_blocks().enumerate() {
            let size = block.labels.len();
            let within = size.min(cut.saturating_sub(block.start));
            self.weights.push(BlockPairWeights::new(size, within));
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                self.block[doc as usize] = number as u32;
                self.level[doc as usize] = level_of(levels, label) as u32;
            }
        }
        self.worths.fill(ranking, &self.weights, &self.level);
        let places = self.block.iter().zip(&self.level);
        self.own.clear();
        self.own
            .extend(places.map(|(&b, &l)| self.worths.of(&self.weights, b as usize, l as usize)));
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let (a, b) = if self.block[a] <= self.block[b] { (a, b) } else { (b, a) };
        let (i, j) = (self.block[a] as usize, self.block[b] as usize);
        let (x, y) = (self.level[a] as usize, self.level[b] as usize);
        if i == j || x == y {
            return 0.0;
        }
        let above = self.worths.of(&self.weights, i, y) - self.own[a];
        let below = self.worths.of(&self.weights, j, x) - self.own[b];
        let (upper, lower) = (self.weights[i], self.weights[j]);
        (above + below + upper.later - upper.inside - lower.inside) * self.per_pair
    }
}

/// The worth of each level in each block.
#[derive(Debug, Clone)]
enum LevelWorths {
    /// For few levels: `[block][level]`.
    Table(WorthTable),
    /// For many: found by counting.
    Counted(WaveletWorths),
}

impl Default for LevelWorths {
    fn default() -> Self {
        Self::Table(WorthTable::default())
    }
}

impl LevelWorths {
    fn fill(&mut self, ranking: &Ranking, weights: &[BlockPairWeights], level: &[u32]) {
        let many = ranking.levels().len() > TABLE_LEVELS;
        if many != matches!(self, Self::Counted(_)) {
            *self = if many { Self::Counted(WaveletWorths::default()) } else { Self::default() };
        }
        match self {
            Self::Table(table) => table.fill(ranking, weights, level),
            Self::Counted(counted) => counted.fill(ranking, weights, level),
        }
    }

    fn of(&self, weights: &[BlockPairWeights], block: usize, level: usize) -> f64 {
        match self {
            Self::Table(table) => table.worths[block * table.num_levels + level],
            Self::Counted(counted) => counted.worth(weights, block, level),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct WorthTable {
    num_levels: usize,
    worths: Vec<f64>,
    /// By level, while filling: docs after the block, docs in it, weighted docs of better levels
    /// before it.
    after: Vec<usize>,
    here: Vec<usize>,
    better: Vec<f64>,
}

impl WorthTable {
    fn fill(&mut self, ranking: &Ranking, weights: &[BlockPairWeights], level: &[u32]) {
        let Self { num_levels, worths, after, here, better } = self;
        *num_levels = ranking.levels().len();
        worths.clear();
        after.clear();
        after.extend(ranking.levels().iter().map(|level| level.count));
        here.clear();
        here.resize(*num_levels, 0);
        better.clear();
        better.resize(*num_levels, 0.0);
        for (block, weights) in ranking.all_blocks().zip(weights) {
            here.fill(0);
            for &doc in &ranking.docs()[block.start..][..block.labels.len()] {
                here[level[doc as usize] as usize] += 1;
            }
            let mut below: usize = ranking.levels().iter().map(|level| level.count).sum();
            below -= block.start + block.labels.len();
            let mut above = 0;
            for (level, &here) in here.iter().enumerate() {
                after[level] -= here;
                below -= after[level];
                let wins = weights.later * below as f64;
                worths.push(wins - weights.inside * here as f64 + better[level]);
                better[level] += weights.later * f64::from(above);
                above += here as u32;
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
struct WaveletWorths {
    wavelet: Wavelet,
    /// The docs before each block, and of all blocks.
    starts: Vec<u32>,
    /// How many blocks lie wholly above the cut; the next one may do so in part.
    whole: usize,
    num_levels: usize,
}

impl WaveletWorths {
    fn fill(&mut self, ranking: &Ranking, weights: &[BlockPairWeights], level: &[u32]) {
        self.num_levels = ranking.levels().len();
        self.starts.clear();
        self.starts.extend(ranking.all_blocks().map(|block| block.start as u32));
        self.starts.push(ranking.docs().len() as u32);
        self.whole = weights.iter().take_while(|weights| weights.later == 1.0).count();
        let by_rank = ranking.docs().iter().map(|&doc| level[doc as usize]);
        self.wavelet.fill(by_rank, self.num_levels);
    }

    fn worth(&self, weights: &[BlockPairWeights], block: usize, level: usize) -> f64 {
        let before = |block: usize, level| self.wavelet.before(self.starts[block], level);
        let BlockPairWeights { later, inside } = weights[block];
        let (from, to) = (before(block, level + 1), before(block + 1, level + 1));
        let better = before(block.min(self.whole), level);
        let here = (to - from) - (before(block + 1, level) - before(block, level));
        let end = self.starts.len() - 1;
        let not_below = before(end, level + 1) - to;
        let after = self.starts[end] - self.starts[block + 1];
        let mut worth = later * f64::from(after - not_below) - inside * f64::from(here);
        if self.whole < block {
            let partly = before(self.whole + 1, level) - better;
            worth += weights[self.whole].later * f64::from(partly);
        }
        worth + f64::from(better)
    }
}

/// A wavelet matrix of levels by rank: a bit plane a bit, each sorted stably by the bits above it.
#[derive(Debug, Clone, Default)]
struct Wavelet {
    bits: u32,
    /// `zeros[plane * (n + 1) + i]`: the zero bits among the first `i` of a plane.
    zeros: Vec<u32>,
    row: usize,
    now: Vec<u32>,
    next: Vec<u32>,
}

impl Wavelet {
    fn fill(&mut self, levels: impl Iterator<Item = u32>, num_levels: usize) {
        self.bits = usize::BITS - num_levels.leading_zeros();
        self.now.clear();
        self.now.extend(levels);
        self.row = self.now.len() + 1;
        self.zeros.clear();
        for bit in (0..self.bits).rev() {
            let mut zeros = 0;
            self.zeros.push(0);
            self.next.clear();
            for &level in &self.now {
                if level >> bit & 1 == 0 {
                    zeros += 1;
                    self.next.push(level);
                }
                self.zeros.push(zeros);
            }
            self.next.extend(self.now.iter().filter(|&&level| level >> bit & 1 == 1));
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    /// How many of the first `end` docs are at levels before `level`.
    fn before(&self, end: u32, level: usize) -> u32 {
        let (mut from, mut to, mut found) = (0u32, end, 0);
        for (plane, bit) in self.zeros.chunks_exact(self.row).zip((0..self.bits).rev()) {
            let (left, right) = (plane[from as usize], plane[to as usize]);
            if level >> bit & 1 == 1 {
                found += right - left;
                let all = plane[self.row - 1];
                (from, to) = (all + from - left, all + to - right);
            } else {
                (from, to) = (left, right);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wavelet_counts_like_a_scan() {
        let levels: Vec<u32> = (0..200u32).map(|i| i * i % 37).collect();
        let mut wavelet = Wavelet::default();
        for n in [0, 1, 2, 63, 200] {
            wavelet.fill(levels[..n].iter().copied(), 37);
            for end in 0..=n {
                for level in 0..=37 {
                    let scan = levels[..end].iter().filter(|&&l| (l as usize) < level).count();
                    assert_eq!(wavelet.before(end as u32, level) as usize, scan);
                }
            }
        }
    }
}
