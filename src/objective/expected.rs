//! The tables of tied docs for AP and RR: expectations over the orders of each block.
//!
//! As `weight.rs`, with these differences. Of a block of m docs, r of them hits, one doc (or both
//! docs of a pair inside it) is watched; the hits among the others fall on the other ranks uniformly.
//!
//! - AP: rank p of the block, o ranks into it, has `o rho` of those hits above it and each rank below
//!   has `rho`, where rho is their share of the other docs. Values are linear in both.
//! - RR: only the first block with hits, and if it has one hit only the second, matter. The watched
//!   doc comes before all k other hits with probability C(m-1-o, k) / C(m-1, k), and then the next of
//!   them decides what its place was worth.
//!
//! Cost: O(1) a doc.

use super::weight::{Ranks, Tables};
use std::ops::Range;

/// One block as AP sees it.
struct Precisions {
    block: Range<usize>,
    hits: f64,
    /// Hits above the block.
    above: f64,
    /// The sum of 1/t over hits below the block.
    later: f64,
}

/// What a block's docs are given.
#[derive(Default)]
struct Entry {
    above: [f64; 2],
    below: [f64; 2],
    inside: f64,
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Precisions {
    fn entry(&self, ranks: &Ranks) -> Entry {
        let (m, r, c) = (self.block.len() as f64, self.hits, self.above);
        let (beside_hit, beside_miss) = (ratio(r - 1.0, m - 1.0), ratio(r, m - 1.0));
        let beside_both = ratio(r - 1.0, m - 2.0);
        let mut entry = Entry::default();
        // Over the ranks below p: 1/q, what the hit of a pair is worth there, and how often a rank
        // lies between p and q.
        let (mut after, mut lower, mut between) = (0.0, 0.0, 0.0);
        for p in self.block.clone().rev() {
            let (o, w) = ((p - self.block.start) as f64, ranks.reciprocal(p));
            let hit = (c + 1.0 + o * beside_hit) * w + beside_hit * after + self.later;
            let miss = (c + o * beside_miss) * w + beside_miss * after + self.later;
            entry.below[0] += miss / m;
            entry.below[1] += (hit + w) / m;
            if p < ranks.depth {
                entry.above[0] += hit / m;
                entry.above[1] += (miss + w) / m;
                let upper = (c + 1.0 + o * beside_both) * w;
                entry.inside += (m - 1.0 - o) * upper - lower + beside_both * between;
            }
            after += w;
            lower += (c + 1.0 + (o - 1.0) * beside_both) * w;
            between += (m - 1.0 - o) * w;
        }
        entry.inside = ratio(entry.inside, m * (m - 1.0) / 2.0);
        entry
    }
}

/// All blocks from the last to the first; those of one doc have no number.
fn backwards(
    blocks: &[Range<usize>],
    num_docs: usize,
) -> impl Iterator<Item = (Option<usize>, Range<usize>)> {
    let (mut end, mut at) = (num_docs, blocks.len());
    std::iter::from_fn(move || {
        let single = end.checked_sub(1)?;
        let tied = at > 0 && blocks[at - 1].end == end;
        at -= usize::from(tied);
        let block = if tied { blocks[at].clone() } else { single..end };
        end = block.start;
        Some((tied.then_some(at), block))
    })
}

fn hits(gains: &[f32], block: &Range<usize>) -> usize {
    gains[block.clone()].iter().filter(|gain| **gain > 0.0).count()
}

impl Tables {
    fn put(&mut self, (number, block): (Option<usize>, &Range<usize>), entry: &Entry) {
        for table in 0..2 {
            self.above[table][block.clone()].fill(entry.above[table] as f32);
            self.below[table][block.clone()].fill(entry.below[table] as f32);
        }
        if let Some(number) = number {
            self.inside[number] = entry.inside;
        }
    }

    /// Average precision.
    pub(super) fn expect_precisions(
        &mut self,
        ranks: &Ranks,
        gains: &[f32],
        blocks: &[Range<usize>],
    ) {
        let mut above = hits(gains, &(0..gains.len()));
        let mut later = 0.0;
        for (number, block) in backwards(blocks, gains.len()) {
            let hits = hits(gains, &block);
            above -= hits;
            let place = block.clone();
            let (hits, above) = (hits as f64, above as f64);
            let precisions = Precisions { block, hits, above, later };
            self.put((number, &place), &precisions.entry(ranks));
            let sum: f64 = place.clone().map(|p| ranks.reciprocal(p)).sum();
            later += hits / place.len() as f64 * sum;
        }
    }

    /// Reciprocal rank.
    pub(super) fn expect_first(&mut self, ranks: &Ranks, gains: &[f32], blocks: &[Range<usize>]) {
        // The first and the second block with hits.
        let mut found: [Option<Range<usize>>; 2] = [None, None];
        for (_, block) in backwards(blocks, gains.len()) {
            if hits(gains, &block) > 0 {
                found = [Some(block), found[0].take()];
            }
        }
        let [Some(first), second] = found else { return };
        let num_hits = hits(gains, &first);
        let value = self.next_hit(ranks, &first, num_hits);
        let of_second = |tables: &mut Self, more: usize| {
            let value = |block| tables.next_hit(ranks, block, hits(gains, block) + more);
            second.as_ref().map_or(0.0, value)
        };
        let values = [of_second(self, 0), of_second(self, 1)];
        let second = second.map_or(gains.len(), |block| block.start);
        for (number, block) in backwards(blocks, gains.len()) {
            let known = block.start..block.end.min(ranks.depth).max(block.start);
            let size = block.len() as f64;
            let share = known.len() as f64 / size;
            let mean =
                |ranked: Range<usize>| ranked.map(|p| ranks.reciprocal(p)).sum::<f64>() / size;
            let mut entry = Entry::default();
            if block.start < first.start {
                entry.above[1] = mean(known);
            } else {
                entry.above[1] = share * value;
                entry.below[1] = value;
            }
            if num_hits == 1 && block.start > first.start {
                entry.above[0] = share * values[0];
                entry.below[0] = match block.start.cmp(&second) {
                    std::cmp::Ordering::Less => mean(block.clone()),
                    std::cmp::Ordering::Equal => values[1],
                    std::cmp::Ordering::Greater => values[0],
                };
            }
            if block == first {
                self.in_first(ranks, &block, num_hits, &mut entry);
            }
            self.put((number, &block), &entry);
        }
    }

    /// Adds what moving docs of the first block with hits is worth.
    fn in_first(&mut self, ranks: &Ranks, block: &Range<usize>, hits: usize, entry: &mut Entry) {
        let (m, r) = (block.len() as f64, hits as f64);
        for (watched, others) in [(0, hits - 1), (1, hits)] {
            self.next_hit(ranks, block, others);
            // The probabilities that the watched docs come before all other hits.
            let (mut one, mut both) = (1.0, 1.0);
            for p in block.start..block.end.min(ranks.depth) {
                let o = p - block.start;
                let next = self.next.get(o + 1).copied().unwrap_or_default();
                let worth = ranks.reciprocal(p) - next;
                entry.above[watched] += one * worth / m;
                let left = m - 1.0 - o as f64;
                if watched == 1 {
                    entry.inside += left * both * worth;
                }
                one *= ratio(left - others as f64, left).max(0.0);
                both *= ratio(left - 1.0 - (r - 1.0), left - 1.0).max(0.0);
            }
        }
        entry.inside = ratio(entry.inside, m * (m - 1.0) / 2.0);
    }

    /// The expected 1/rank of the first of some hits in a block; `next[o]` becomes that of as many
    /// hits from rank o of the block on.
    fn next_hit(&mut self, ranks: &Ranks, block: &Range<usize>, hits: usize) -> f64 {
        self.next.clear();
        self.next.resize(block.len(), 0.0);
        let mut next = 0.0;
        for o in (0..block.len()).rev() {
            let here = (hits as f64 / (block.len() - o) as f64).min(1.0);
            next = here * ranks.reciprocal(block.start + o) + (1.0 - here) * next;
            self.next[o] = next;
        }
        next
    }
}
