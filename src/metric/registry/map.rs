//! Average precision; its mean over queries is MAP. As `trec_eval` computes it, in expectation over the
//! orders of tied documents.
//!
//! In a block of `m` documents, `r` of them relevant, after `s` documents, `c` of them relevant, rank
//! s+p holds a relevant document with probability r/m, and then the p-1 documents of the block above it
//! hold (p-1)(r-1)/(m-1) relevant ones on average. With H the sum of 1/(s+p) and G that of (p-1)/(s+p)
//! over ranks within the cut, the block adds `r/m ((c+1) H + (r-1)/(m-1) G)`.
//!
//! Swap deltas: an exchange of a relevant with an irrelevant document changes `r` of two blocks and `c`
//! of those between. O(n) to prepare, O(1) a pair.
//!
//! Pair weights without ties: moving a relevant document from rank i down to j takes `C_i / i` away,
//! gives `C_j / j` and takes one from the relevant documents counted at each one between. So with `C_r`
//! the relevant documents to rank r and `T_r` the sum of `1/t` over relevant documents at t > r, the
//! weights are those of `X_r = C_r / r + T_r`. Moving one up from j to i adds one to the count of each
//! between: `Y_r = (C_r + 1) / r + T_r`.
//!
//! Pair weights with ties: of a block of m documents, one (or both of a pair inside it) is watched; the
//! relevant ones among the others fall on the other ranks uniformly. Rank p of the block, o ranks into
//! it, has `o rho` of them above it and each rank below has `rho`, where rho is their share of the other
//! documents. Values are linear in both. O(1) a document.
//!
//! Sums run from the far end, so that small differences deep down keep their digits.

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
pub(super) struct AveragePrecision;

impl MetricDefinition for AveragePrecision {
    fn name(&self) -> &'static str {
        "map"
    }

    fn other_names(&self) -> &'static [&'static str] {
        &["average_precision", "mean_average_precision"]
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Relevance
    }

    fn normaliser(&self) -> Normaliser {
        Normaliser::RelevantDocs
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        let ranks = metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(ranks);
        sum_of_precisions(ranking, metric.relevant_from(), reciprocal, metric.cut())
    }

    fn swap_table(&self) -> Box<dyn SwapTable> {
        Box::new(PrecisionSwaps::default())
    }

    fn pair_weights(&self) -> PairWeights<'_> {
        PairWeights::Tables(self)
    }
}

/// The sums H and G of the module's text.
fn sums(reciprocals: &[f64]) -> (f64, f64) {
    let h = reciprocals.iter().sum();
    let g = reciprocals.iter().enumerate().map(|(above, rank)| above as f64 * rank).sum();
    (h, g)
}

/// The expected sum of the precisions at the ranks of relevant docs above the cut.
fn sum_of_precisions(ranking: &Ranking, from: f32, reciprocal: &[f64], cut: usize) -> f64 {
    let (mut sum, mut above) = (0.0, 0.0);
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let block = TiedBlock::of(block, from);
        if block.relevant > 0 {
            let sums = sums(block.reciprocals(reciprocal, cut));
            sum += precisions_of(block, sums, (block.relevant as f64, above));
        }
        above += block.relevant as f64;
    }
    sum
}

/// The share of a block in the sum of precisions if `r` of its docs are relevant, `c` above it.
fn precisions_of(block: TiedBlock, (h, g): (f64, f64), (r, c): (f64, f64)) -> f64 {
    let m = block.size as f64;
    let beside = if block.size > 1 { (r - 1.0) / (m - 1.0) } else { 0.0 };
    r / m * ((c + 1.0) * h + beside * g)
}

/// Deltas of average precision; all tables are by block and divided by the relevant docs.
#[derive(Debug, Clone, Default)]
pub(super) struct PrecisionSwaps {
    docs: RelevantDocs,
    /// A relevant doc leaves, for a later block.
    leaves_down: Vec<f64>,
    /// A relevant doc leaves, for an earlier block: one more above.
    leaves_up: Vec<f64>,
    /// A relevant doc enters, from an earlier block: one fewer above.
    enters_down: Vec<f64>,
    /// A relevant doc enters, from a later block.
    enters_up: Vec<f64>,
    /// The sum of r/m H over the blocks before: what one relevant doc more above them is worth.
    between: Vec<f64>,
}

impl SwapTable for PrecisionSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let (ranking, from) = (query.ranking, query.metric.relevant_from());
        let cut = query.metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(cut);
        self.docs.fill(ranking, from);
        for table in [
            &mut self.leaves_down,
            &mut self.leaves_up,
            &mut self.enters_down,
            &mut self.enters_up,
            &mut self.between,
        ] {
            table.clear();
        }
        let per_doc = (ranking.num_at_least(from) as f64).recip();
        let (mut above, mut passed) = (0.0, 0.0);
        for &block in &self.docs.blocks {
            let sums = sums(block.reciprocals(reciprocal, cut));
            let r = block.relevant as f64;
            let share = |r: f64, c: f64| precisions_of(block, sums, (r, c));
            let now = share(r, above);
            self.leaves_down.push((share(r - 1.0, above) - now) * per_doc);
            self.leaves_up.push((share(r - 1.0, above + 1.0) - now) * per_doc);
            self.enters_down.push((share(r + 1.0, above - 1.0) - now) * per_doc);
            self.enters_up.push((share(r + 1.0, above) - now) * per_doc);
            self.between.push(passed);
            passed += r / block.size as f64 * sums.0 * per_doc;
            above += r;
        }
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let Some((from, to)) = self.docs.moved(a, b) else { return 0.0 };
        if from < to {
            let passed = self.between[to] - self.between[from + 1];
            self.leaves_down[from] + self.enters_down[to] - passed
        } else {
            let passed = self.between[from] - self.between[to + 1];
            self.leaves_up[from] + self.enters_up[to] + passed
        }
    }
}

impl PairWeightTables for AveragePrecision {
    fn has_two_directions(&self) -> bool {
        true
    }

    fn expects_ties(&self) -> bool {
        true
    }

    fn fill(&self, limits: RankLimits, gains: &[f32], columns: &mut PairColumns<'_>) {
        let cut = limits.cut;
        let mut hits = gains.iter().take(cut).filter(|gain| **gain > 0.0).count() as f64;
        let mut later = 0.0;
        for (rank, &gain) in gains.iter().enumerate().take(cut).rev() {
            let place = (rank + 1) as f64;
            columns.set(0, rank, hits / place + later);
            columns.set(1, rank, (hits + 1.0) / place + later);
            if gain > 0.0 {
                later += place.recip();
                hits -= 1.0;
            }
        }
    }

    fn expect(
        &self,
        limits: RankLimits,
        gains: &[f32],
        blocks: &[Range<usize>],
        columns: &mut PairColumns<'_>,
    ) {
        let mut above = relevant_docs(gains, &(0..gains.len()));
        let mut later = 0.0;
        for (number, block) in blocks_backwards(blocks, gains.len()) {
            let hits = relevant_docs(gains, &block);
            above -= hits;
            let place = block.clone();
            let (hits, above) = (hits as f64, above as f64);
            let precisions = ExpectedPrecisions { block, hits, above, later };
            columns.set_block(number, &place, &precisions.weights(limits));
            let sum: f64 = place.clone().map(|p| limits.reciprocal(p)).sum();
            later += hits / place.len() as f64 * sum;
        }
    }
}

/// One block as AP sees it.
struct ExpectedPrecisions {
    block: Range<usize>,
    hits: f64,
    /// Hits above the block.
    above: f64,
    /// The sum of 1/t over hits below the block.
    later: f64,
}

impl ExpectedPrecisions {
    fn weights(self, limits: RankLimits) -> BlockWeights {
        let (m, r, c) = (self.block.len() as f64, self.hits, self.above);
        let (beside_hit, beside_miss) = (ratio(r - 1.0, m - 1.0), ratio(r, m - 1.0));
        let beside_both = ratio(r - 1.0, m - 2.0);
        let mut weights = BlockWeights::default();
        // Over the ranks below p: 1/q, what the hit of a pair is worth there, and how often a rank
        // lies between p and q.
        let (mut after, mut lower, mut between) = (0.0, 0.0, 0.0);
        for p in self.block.clone().rev() {
            let (o, w) = ((p - self.block.start) as f64, limits.reciprocal(p));
            let hit = (c + 1.0 + o * beside_hit) * w + beside_hit * after + self.later;
            let miss = (c + o * beside_miss) * w + beside_miss * after + self.later;
            weights.below[0] += miss / m;
            weights.below[1] += (hit + w) / m;
            if p < limits.depth {
                weights.above[0] += hit / m;
                weights.above[1] += (miss + w) / m;
                let upper = (c + 1.0 + o * beside_both) * w;
                weights.inside += (m - 1.0 - o) * upper - lower + beside_both * between;
            }
            after += w;
            lower += (c + 1.0 + (o - 1.0) * beside_both) * w;
            between += (m - 1.0 - o) * w;
        }
        weights.inside = ratio(weights.inside, m * (m - 1.0) / 2.0);
        weights
    }
}
