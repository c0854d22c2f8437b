//! Expected reciprocal rank (Chapelle et al. 2009), in expectation over the orders of tied docs.
//!
//! A reader walks down, is satisfied by a doc with probability R and then stops: ERR@k is the sum
//! over ranks p <= k of the probability to stop at p, divided by p. With q = 1 - R:
//!
//! - a block of `m` docs after `s` docs adds `P * T`, where P is the product of q above it,
//!   `T = sum over p of (E[p-1] - E[p]) / (s+p)` and E[p] is the mean, over all p of its docs, of the
//!   product of their q: the normalised elementary symmetric polynomials of the block;
//! - E[p] splits by how many of those p docs can satisfy at all (R > 0): that number is a draw
//!   without replacement, followed as a Markov chain, and for each such number the mean product
//!   comes from a recurrence in which all terms are positive. So a block costs O(r² + min(m, k) r)
//!   for its `r` docs with R > 0, and products too small to be seen (below [`UNSEEN`]) are left out:
//!   thousands of tied docs stay cheap.
//!
//! Deltas: T is linear in the q of one doc, with a slope per block and label, found by leaving one
//! such doc out; the blocks between two swapped docs scale by `q_new/q_old`. Sums over later blocks
//! are kept from the end, so that dividing by a small q magnifies no rounding. Preparing costs one
//! block evaluation per block and distinct label; a pair is O(1).
//!
//! Pair weights, of documents in a given order: with `A_r` the probability to get to rank r, over r, and
//! `L_r` the sum of `R_t A_t` over t > r, the pair at i < j weighs `|R_i - R_j|` times
//! `A_i - w_i L_i - w_i (A_j - L_j - R_j A_j)`, where `w_i = 1 / (1 - R_i)`.

use crate::metric::definition::{LabelUse, MetricDefinition, MetricFacts, Normaliser, PairWeights};
use crate::metric::pair_weights::{PairColumns, PairWeightTables, RankedGains};
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;
use crate::metric::swap_delta::{SwapQuery, SwapTable};

#[derive(Debug)]
pub(super) struct ExpectedReciprocalRank;

impl MetricDefinition for ExpectedReciprocalRank {
    fn facts(&self) -> MetricFacts {
        MetricFacts::new("err", LabelUse::Satisfaction, Normaliser::One)
    }

    fn sum(&self, metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
        let cut = metric.cut();
        let reciprocal = scratch.discounts.reciprocal(cut.min(ranking.retrieved()));
        let stops = |label| metric.satisfaction(label);
        err(ranking, stops, reciprocal, cut, &mut scratch.tied_products)
    }

    fn swap_table(&self) -> Box<dyn SwapTable> {
        Box::new(StopSwaps::default())
    }

    fn pair_weights(&self) -> PairWeights {
        PairWeights::Tables(&TABLES)
    }
}

/// Mean products below this change no value's last bit.
const UNSEEN: f64 = 1e-24;

/// Buffers for the mean products of tied docs.
#[derive(Debug, Clone, Default)]
pub(in crate::metric) struct TiedProducts {
    /// Mean product over `t` of the docs with R > 0.
    products: Vec<f64>,
    /// Probability that `t` of the docs drawn so far have R > 0.
    chain: Vec<f64>,
    /// Mean product over `p` docs of the block.
    means: Vec<f64>,
}

impl TiedProducts {
    /// Fills `means[p]` for p from 0 to `upto`: the mean over all `p` of `size` docs of the product
    /// of their q; `qs` are those of the docs with q < 1.
    fn fill(&mut self, qs: impl Iterator<Item = f64> + Clone, size: usize, upto: usize) {
        let (mut some, mut largest) = (0usize, 0.0f64);
        for q in qs.clone() {
            some += 1;
            largest = largest.max(q);
        }
        let seen = (UNSEEN.ln() / largest.ln()).ceil();
        let most = some.min(upto).min(if seen > 0.0 { seen as usize } else { 1 });
        self.products.clear();
        self.products.resize(most + 1, 0.0);
        self.products[0] = 1.0;
        for (before, q) in qs.enumerate() {
            let count = (before + 1) as f64;
            for t in (1..=most.min(before + 1)).rev() {
                let with = t as f64 / count;
                let without = (before + 1 - t) as f64 / count;
                self.products[t] = without * self.products[t] + with * q * self.products[t - 1];
            }
        }
        self.mix(some, size, upto);
    }

    /// Draws docs one by one, `some` of the `size` with R > 0.
    fn mix(&mut self, some: usize, size: usize, upto: usize) {
        let most = self.products.len() - 1;
        self.chain.clear();
        self.chain.resize(most + 1, 0.0);
        self.chain[0] = 1.0;
        self.means.clear();
        for drawn in 0..=upto {
            let known = most.min(drawn);
            let terms = self.chain[..=known].iter().zip(&self.products);
            self.means.push(terms.map(|(p, product)| p * product).sum());
            if drawn == upto {
                break;
            }
            let left = (size - drawn) as f64;
            for t in (0..=most.min(drawn + 1)).rev() {
                // A state that cannot occur has probability 0, whatever its factor.
                let stays = (left - (some - t) as f64) / left;
                let comes =
                    if t > 0 { self.chain[t - 1] * (some + 1 - t) as f64 / left } else { 0.0 };
                self.chain[t] = self.chain[t] * stays + comes;
            }
        }
    }

    /// T of a block: what it adds if the reader reaches it. `inside` are 1/rank within the cut.
    fn value(&mut self, qs: impl Iterator<Item = f64> + Clone, size: usize, inside: &[f64]) -> f64 {
        if inside.is_empty() {
            return 0.0;
        }
        self.fill(qs, size, inside.len());
        inside.iter().zip(self.means.windows(2)).map(|(rank, e)| rank * (e[0] - e[1])).sum()
    }

    /// dT/dq of a doc, given the q < 1 of the other docs of its block.
    fn slope(
        &mut self,
        others: impl Iterator<Item = f64> + Clone,
        size: usize,
        inside: &[f64],
    ) -> f64 {
        if let ([rank], 1) = (inside, size) {
            return -rank;
        }
        if inside.is_empty() {
            return 0.0;
        }
        // E[p] = (1 - p/m) F[p] + p/m q F[p-1], with F those of the others.
        self.fill(others, size - 1, inside.len().min(size - 1));
        let m = size as f64;
        let (mut slope, mut above) = (0.0, 0.0);
        for (at, rank) in inside.iter().enumerate() {
            let here = (at + 1) as f64 / m * self.means[at];
            slope += rank * (above - here);
            above = here;
        }
        slope
    }
}

/// The expected ERR of the ranked docs; `stops` is R of a label.
fn err(
    ranking: &Ranking,
    stops: impl Fn(f32) -> f64,
    reciprocal: &[f64],
    cut: usize,
    tied: &mut TiedProducts,
) -> f64 {
    let (mut sum, mut reach) = (0.0, 1.0);
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        if let [label] = *block.labels {
            let r = stops(label);
            sum += reach * r * reciprocal[block.start];
            reach *= 1.0 - r;
            continue;
        }
        let qs = block.labels.iter().map(|&label| 1.0 - stops(label)).filter(|q| *q < 1.0);
        sum += reach * tied.value(qs.clone(), block.labels.len(), block.part(reciprocal));
        reach *= qs.product::<f64>();
    }
    sum
}

/// Deltas of ERR.
#[derive(Debug, Clone, Default)]
struct StopSwaps {
    /// Per doc: its block, its q, and dT/dq.
    block: Vec<u32>,
    q: Vec<f64>,
    slope: Vec<f64>,
    /// Per block: the probability to reach it, its T, and the sum of what it and later blocks add.
    reach: Vec<f64>,
    value: Vec<f64>,
    later: Vec<f64>,
    tied: TiedProducts,
}

impl SwapTable for StopSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let SwapQuery { metric, ranking, .. } = query;
        let stops = |label| metric.satisfaction(label);
        let docs = ranking.docs();
        let cut = metric.cut().min(ranking.retrieved());
        let reciprocal = scratch.discounts.reciprocal(cut);
        for table in [&mut self.reach, &mut self.value, &mut self.later] {
            table.clear();
        }
        self.block.resize(docs.len(), 0);
        self.q.resize(docs.len(), 1.0);
        self.slope.resize(docs.len(), 0.0);
        let mut reach = 1.0;
        for (number, block) in ranking.all_blocks().enumerate() {
            let inside = block.part(reciprocal);
            let qs = block.labels.iter().map(|&label| 1.0 - stops(label));
            self.reach.push(reach);
            reach *= qs.clone().product::<f64>();
            let size = block.labels.len();
            self.value.push(self.tied.value(qs.clone().filter(|q| *q < 1.0), size, inside));
            let mut at = 0;
            for run in block.labels.chunk_by(|a, b| a == b) {
                let others = qs.clone().enumerate().filter(|(doc, q)| *doc != at && *q < 1.0);
                // A block of all docs has nothing to exchange a doc with. That is the first round of
                // training, in which every query is such a block.
                let inside = if size == docs.len() { &[] } else { inside };
                let slope = self.tied.slope(others.map(|(_, q)| q), size, inside);
                for &doc in &docs[block.start + at..][..run.len()] {
                    self.block[doc as usize] = number as u32;
                    self.slope[doc as usize] = slope;
                    self.q[doc as usize] = 1.0 - stops(run[0]);
                }
                at += run.len();
            }
        }
        self.later.resize(self.reach.len() + 1, 0.0);
        for at in (0..self.reach.len()).rev() {
            self.later[at] = self.later[at + 1] + self.reach[at] * self.value[at];
        }
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        let (a, b) = if self.block[a] <= self.block[b] { (a, b) } else { (b, a) };
        let (i, j) = (self.block[a] as usize, self.block[b] as usize);
        let (qa, qb) = (self.q[a], self.q[b]);
        if i == j || qa == qb {
            return 0.0;
        }
        let ratio = qb / qa;
        let above = self.reach[i] * self.slope[a] * (qb - qa);
        let between = (ratio - 1.0) * (self.later[i + 1] - self.later[j]);
        let new = self.value[j] + self.slope[b] * (qa - qb);
        above + between + self.reach[j] * (ratio * new - self.value[j])
    }
}

const TABLES: PairWeightTables = PairWeightTables { two_directions: false, fill, expect: None };

/// The pair weights of documents in a given order.
fn fill(ranked: RankedGains<'_>, columns: &mut PairColumns<'_, f32>) {
    let RankedGains { limits, gains, .. } = ranked;
    let mut reach = 1.0;
    for (rank, &stops) in gains.iter().enumerate().take(limits.cut) {
        let arrives = reach / (rank + 1) as f64;
        columns.set(0, rank, arrives);
        reach *= 1.0 - f64::from(stops);
    }
    let mut later = 0.0;
    for (rank, &stops) in gains.iter().enumerate().rev() {
        let stops = f64::from(stops);
        let arrives = f64::from(columns.above[0][rank]);
        let share = (1.0 - stops).recip();
        columns.above[0][rank] = (arrives - later * share) as f32;
        later += stops * arrives;
        columns.below[0][rank] = (arrives - later) as f32;
        columns.share[rank] = share as f32;
    }
}
