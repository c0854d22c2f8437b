//! Metrics of docs that are relevant or not: precision, recall, average precision and reciprocal
//! rank, as `trec_eval` computes them, in expectation over the orders of tied docs.
//!
//! For a block of `m` docs, `r` of them relevant, that begins after `s` docs, `c` of them relevant:
//!
//! - precision and recall: `r/m` relevant docs at each of its ranks;
//! - average precision: rank s+p holds a relevant doc with probability r/m, and then the p-1 docs of
//!   the block above it hold (p-1)(r-1)/(m-1) relevant ones on average. With H the sum of 1/(s+p)
//!   and G that of (p-1)/(s+p) over ranks within the cut, the block adds
//!   `r/m ((c+1) H + (r-1)/(m-1) G)`;
//! - reciprocal rank: the first block with a relevant doc decides; its first relevant doc is at
//!   position p with probability C(m-p, r-1)/C(m, r).
//!
//! Values cost O(n). Deltas take O(n) to prepare and O(1) a pair: a swap of a relevant with an
//! irrelevant doc changes `r` of two blocks and `c` of those between.

use crate::metric::delta::SwapTable;
use crate::metric::ranking::{Block, Ranking};

/// A block as these metrics see it.
#[derive(Debug, Clone, Copy)]
struct Tied {
    start: usize,
    size: usize,
    relevant: usize,
}

impl Tied {
    fn of(block: Block<'_>, from: f32) -> Self {
        let relevant = block.labels.partition_point(|&label| label >= from);
        Self { start: block.start, size: block.labels.len(), relevant }
    }

    /// How many of its ranks lie within the cut.
    fn inside(self, cut: usize) -> usize {
        (self.start + self.size).min(cut).saturating_sub(self.start)
    }

    /// Its reciprocal ranks within the cut.
    fn reciprocals(self, reciprocal: &[f64], cut: usize) -> &[f64] {
        let start = self.start.min(cut);
        &reciprocal[start..start + self.inside(cut)]
    }
}

/// The sums H and G of the module's text.
fn sums(reciprocals: &[f64]) -> (f64, f64) {
    let h = reciprocals.iter().sum();
    let g = reciprocals.iter().enumerate().map(|(above, rank)| above as f64 * rank).sum();
    (h, g)
}

/// The expected number of relevant docs above the cut.
pub(crate) fn hits(ranking: &Ranking, from: f32, cut: usize) -> f64 {
    let mut sum = 0.0;
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let block = Tied::of(block, from);
        sum += (block.relevant * block.inside(cut)) as f64 / block.size as f64;
    }
    sum
}

/// The expected sum of the precisions at the ranks of relevant docs above the cut.
pub(crate) fn sum_of_precisions(
    ranking: &Ranking,
    from: f32,
    reciprocal: &[f64],
    cut: usize,
) -> f64 {
    let (mut sum, mut above) = (0.0, 0.0);
    for block in ranking.blocks().take_while(|block| block.start < cut) {
        let block = Tied::of(block, from);
        if block.relevant > 0 {
            let sums = sums(block.reciprocals(reciprocal, cut));
            sum += precisions_of(block, sums, (block.relevant as f64, above));
        }
        above += block.relevant as f64;
    }
    sum
}

/// The share of a block in the sum of precisions if `r` of its docs are relevant, `c` above it.
fn precisions_of(block: Tied, (h, g): (f64, f64), (r, c): (f64, f64)) -> f64 {
    let m = block.size as f64;
    let beside = if block.size > 1 { (r - 1.0) / (m - 1.0) } else { 0.0 };
    r / m * ((c + 1.0) * h + beside * g)
}

/// The expected reciprocal rank of the first relevant doc; 0 below the cut.
pub(crate) fn reciprocal_rank(ranking: &Ranking, from: f32, reciprocal: &[f64], cut: usize) -> f64 {
    let first = ranking
        .blocks()
        .take_while(|block| block.start < cut)
        .map(|block| Tied::of(block, from))
        .find(|block| block.relevant > 0);
    first.map_or(0.0, |block| first_of(block, block.relevant, block.reciprocals(reciprocal, cut)))
}

/// The expected reciprocal rank of the first relevant doc of a block with `r >= 1` of them.
fn first_of(block: Tied, r: usize, reciprocals: &[f64]) -> f64 {
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

/// Which docs are relevant, and in which block each is.
#[derive(Debug, Clone, Default)]
struct Docs {
    block: Vec<u32>,
    relevant: Vec<bool>,
    blocks: Vec<Tied>,
}

impl Docs {
    fn fill(&mut self, ranking: &Ranking, from: f32) {
        let docs = ranking.docs();
        self.blocks.clear();
        self.block.clear();
        self.block.resize(docs.len(), 0);
        self.relevant.clear();
        self.relevant.resize(docs.len(), false);
        for (number, block) in ranking.all_blocks().enumerate() {
            self.blocks.push(Tied::of(block, from));
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                self.block[doc as usize] = number as u32;
                self.relevant[doc as usize] = label >= from;
            }
        }
    }

    /// The blocks that a swap takes a relevant doc out of and puts it into, unless that is nothing.
    fn moved(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        let (of_a, of_b) = (self.block[a] as usize, self.block[b] as usize);
        if of_a == of_b || self.relevant[a] == self.relevant[b] {
            return None;
        }
        Some(if self.relevant[a] { (of_a, of_b) } else { (of_b, of_a) })
    }
}

/// Deltas of average precision; all tables are by block and divided by the relevant docs.
#[derive(Debug, Clone, Default)]
pub(crate) struct PrecisionsTable {
    docs: Docs,
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

impl SwapTable for PrecisionsTable {
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

impl PrecisionsTable {
    pub(crate) fn fill(&mut self, ranking: &Ranking, from: f32, cut: usize, reciprocal: &[f64]) {
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
        let cut = cut.min(ranking.retrieved());
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
}

/// Deltas of reciprocal rank.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstTable {
    docs: Docs,
    /// The first two blocks with a relevant doc; one past the last block where there is none.
    first: [usize; 2],
    /// Their values with one relevant doc fewer, as many, and one more.
    around: [[f64; 3]; 2],
    /// The value of each block if it held one relevant doc and none were above it.
    alone: Vec<f64>,
}

impl SwapTable for FirstTable {
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

impl FirstTable {
    pub(crate) fn fill(&mut self, ranking: &Ranking, from: f32, cut: usize, reciprocal: &[f64]) {
        self.docs.fill(ranking, from);
        let cut = cut.min(ranking.retrieved());
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
}
