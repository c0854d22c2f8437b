//! Average precision; its mean over queries is MAP. As `trec_eval` computes it, in expectation over the
//! orders of tied documents.
//!
//! In a block of `m` documents, `r` of them relevant, after `s` documents, `c` of them relevant, rank
//! s+p holds a relevant document with probability r/m, and then the p-1 documents of the block above it
//! hold (p-1)(r-1)/(m-1) relevant ones on average. With H the sum of 1/(s+p) and G that of (p-1)/(s+p)
//! over ranks within the cut, the block adds `r/m ((c+1) H + (r-1)/(m-1) G)`.
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
//! documents. Values are linear in both. O(1) a document. Swap deltas are these weights, O(1) a pair.
//!
//! Sums run from the far end, so that small differences deep down keep their digits.

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
pub(super) struct AveragePrecision;

impl MetricDefinition for AveragePrecision {
    fn facts(&self) -> MetricFacts {
        MetricFacts {
            other_names: &["average_precision", "mean_average_precision"],
            ..MetricFacts::new("map", LabelUse::Relevance, Normaliser::RelevantDocs)
        }
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        let ranks = metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(ranks);
        let (mut sum, mut above) = (0.0, 0.0);
        for block in ranking.blocks().take_while(|block| block.start < ranks) {
            let (m, r) =
                (block.labels.len() as f64, relevant(&block, metric.relevant_from()) as f64);
            if r > 0.0 {
                let reciprocal = block.part(reciprocal);
                let h = reciprocal.iter().sum::<f64>();
                let g: f64 = reciprocal.iter().enumerate().map(|(o, rank)| o as f64 * rank).sum();
                sum += r / m * ((above + 1.0) * h + ratio(r - 1.0, m - 1.0) * g);
            }
            above += r;
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
    let RankedGains { limits: RankLimits { cut, .. }, gains, .. } = ranked;
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

/// The expected pair weights.
fn expect<T: TableNumber + Copy>(ranked: RankedGains<'_>, columns: &mut PairColumns<'_, T>) {
    let RankedGains { limits, gains, blocks } = ranked;
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
