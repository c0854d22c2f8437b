//! Ranks the docs of one query by score.
//!
//! Docs with equal scores form a *block* and are sorted inside it by a key of their content. Docs whose keys
//! are equal too are *alike* and get the same gradient. Only blocks and groups of more than one doc are
//! listed.
//!
//! Short queries are ranked by counting the docs above each doc, sixteen at a time; with AVX-512 by a sorting
//! network in registers. Long queries are sorted.

use super::kernel::{self, Column, LANES};
use crate::metric::falling;
use crate::simd::Level;
use std::ops::Range;

/// The longest query that is ranked by counting, which is quadratic.
const COUNTED: usize = 256;
/// The shortest query for which the sorting network is faster than counting.
const SORTED_IN_REGISTERS: usize = 33;

#[derive(Debug, Default)]
pub(super) struct RankedDocs {
    /// Docs by rank.
    pub(super) docs: Vec<u32>,
    /// Ranks of tied docs.
    pub(super) blocks: Vec<Range<usize>>,
    /// Ranks of docs that are alike.
    pub(super) alike: Vec<Range<usize>>,
    /// Scores by rank.
    scores: Vec<f32>,
    /// How many docs are above each.
    above: Column<f32>,
    /// By rank: how many docs with that rank have been placed.
    placed: Vec<u8>,
    /// For the network.
    coded: Column<u32>,
    keys: Vec<u64>,
    drawn: Vec<u128>,
}

impl RankedDocs {
    /// Ranks docs by falling score; `scores` is a column padded with -inf.
    pub(super) fn rank(&mut self, level: Level, scores: &[f32], num_docs: usize) {
        self.blocks.clear();
        self.alike.clear();
        let may_tie = match num_docs {
            SORTED_IN_REGISTERS..=COUNTED if kernel::has_network(level) => {
                self.sort_in_registers(scores, num_docs)
            }
            ..=COUNTED => self.count(level, scores, num_docs),
            _ => {
                self.sort(&scores[..num_docs]);
                true
            }
        };
        if !may_tie {
            return;
        }
        self.scores.clear();
        self.scores.extend(self.docs.iter().map(|&doc| scores[doc as usize]));
        let mut start = 0;
        for block in self.scores.chunk_by(|a, b| a == b) {
            let end = start + block.len();
            if block.len() > 1 {
                self.blocks.push(start..end);
            }
            start = end;
        }
    }

    /// Puts tied docs into falling order of their gains.
    pub(super) fn order_by_gain(&mut self, gains: &[f32]) {
        for block in &self.blocks {
            let docs = &mut self.docs[block.clone()];
            self.keys.clear();
            self.keys
                .extend(docs.iter().map(|&doc| falling_gain(gains, doc) << 32 | u64::from(doc)));
            self.keys.sort_unstable();
            for (doc, &key) in docs.iter_mut().zip(&self.keys) {
                *doc = key as u32;
            }
            list_alike(&mut self.alike, block.start, &self.keys, |key| key >> 32);
        }
    }

    /// Puts tied docs into the order of their draws.
    pub(super) fn order_by_draw(&mut self, gains: &[f32], draw: impl Fn(u32) -> u64) {
        for block in &self.blocks {
            let docs = &mut self.docs[block.clone()];
            self.drawn.clear();
            self.drawn.extend(docs.iter().map(|&doc| {
                let low = falling_gain(gains, doc) << 32 | u64::from(doc);
                u128::from(draw(doc)) << 64 | u128::from(low)
            }));
            self.drawn.sort_unstable();
            for (doc, &key) in docs.iter_mut().zip(&self.drawn) {
                *doc = key as u32;
            }
            list_alike(&mut self.alike, block.start, &self.drawn, |key| key >> 32);
        }
    }

    /// Orders the docs by counting; whether any are tied.
    fn count(&mut self, level: Level, scores: &[f32], num_docs: usize) -> bool {
        self.above.reserve(num_docs);
        kernel::above(level, scores, &mut self.above);
        self.placed.clear();
        self.placed.resize(num_docs, 0);
        self.docs.resize(num_docs, 0);
        let mut tied = 0;
        for (doc, &above) in (0..).zip(&self.above[..num_docs]) {
            let above = above as usize;
            let placed = &mut self.placed[above];
            self.docs[above + usize::from(*placed)] = doc;
            tied |= *placed;
            *placed = placed.wrapping_add(1);
        }
        tied != 0
    }

    /// Sorts the docs by the network, then corrects the order by the bits that keys do not hold; returns
    /// whether any docs are tied.
    fn sort_in_registers(&mut self, scores: &[f32], num_docs: usize) -> bool {
        let steps = num_docs.div_ceil(LANES);
        self.coded.reserve(steps.next_power_of_two() * LANES);
        let keys = self.coded.as_chunks_mut::<LANES>().0;
        kernel::order(&scores[..steps * LANES], keys);
        self.docs.clear();
        let (mut before, mut tied) = (f32::INFINITY, false);
        for (rank, key) in self.coded[..num_docs].iter().enumerate() {
            let doc = key & 255;
            let score = scores[doc as usize];
            self.docs.push(doc);
            if score < before {
                before = score;
                continue;
            }
            // An insertion sort: few docs move, and not far.
            let lower = |&&above: &&u32| scores[above as usize] < score;
            let up = self.docs[..rank].iter().rev().take_while(lower).count();
            self.docs[rank - up..].rotate_right(1);
            tied |= up < rank && scores[self.docs[rank - up - 1] as usize] == score;
            before = scores[self.docs[rank] as usize];
        }
        tied
    }

    fn sort(&mut self, scores: &[f32]) {
        self.keys.clear();
        let key = |(&score, doc)| u64::from(falling(score + 0.0)) << 32 | doc;
        self.keys.extend(scores.iter().zip(0u64..).map(key));
        self.keys.sort_unstable();
        self.docs.clear();
        self.docs.extend(self.keys.iter().map(|&key| key as u32));
    }
}

/// Lists the runs of equal keys.
fn list_alike<K: Copy + PartialEq>(
    alike: &mut Vec<Range<usize>>,
    mut start: usize,
    keys: &[K],
    content: impl Fn(K) -> K,
) {
    for run in keys.chunk_by(|&a, &b| content(a) == content(b)) {
        if run.len() > 1 {
            alike.push(start..start + run.len());
        }
        start += run.len();
    }
}

/// The bits of a gain >= 0 rise with it.
fn falling_gain(gains: &[f32], doc: u32) -> u64 {
    u64::from(!(gains[doc as usize] + 0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn counting_equals_sorting_at_every_level() {
        for (n, levels) in [(1, 3), (15, 2), (16, 100), (17, 5), (120, 9), (256, 1), (250, 1 << 40)]
        {
            let draw = |doc| random::below(random::draw(n, levels, doc), levels) as f32 - 3.0;
            let mut scores = Column::default();
            scores.reset(n as usize, f32::NEG_INFINITY);
            (0..n).for_each(|doc| scores[doc as usize] = draw(doc) * 0.1);
            let mut sorted = RankedDocs::default();
            sorted.sort(&scores[..n as usize]);
            for level in Level::available() {
                let mut counted = RankedDocs::default();
                let tied = counted.count(level, &scores, n as usize);
                assert_eq!(counted.docs, sorted.docs);
                counted.docs.clear();
                counted.rank(level, &scores, n as usize);
                assert_eq!(counted.docs, sorted.docs);
                assert_eq!(tied, !counted.blocks.is_empty());
            }
        }
    }

    #[test]
    fn scores_that_differ_in_their_last_bits_are_told_apart() {
        for level in Level::available() {
            for n in [40u32, 200] {
                let mut scores = Column::default();
                scores.reset(n as usize, f32::NEG_INFINITY);
                for doc in 0..n {
                    let bits = random::below(random::draw(6, 6, doc.into()), 300) as u32;
                    scores[doc as usize] = -f32::from_bits(2f32.to_bits() + bits);
                }
                let (mut order, mut sorted) = (RankedDocs::default(), RankedDocs::default());
                sorted.sort(&scores[..n as usize]);
                order.rank(level, &scores, n as usize);
                assert_eq!(order.docs, sorted.docs);
                assert!(!order.blocks.is_empty());
            }
        }
    }

    #[test]
    fn ties_lie_by_their_keys() {
        let mut scores = Column::default();
        scores.reset(6, f32::NEG_INFINITY);
        scores[..6].copy_from_slice(&[1.0, 0.0, 1.0, -0.0, 0.0, -2.0]);
        let gains = [1.0, 0.0, 3.0, 0.5, 0.0, 0.0];
        let ranges =
            |list: &[Range<usize>]| list.iter().map(|r| (r.start, r.end)).collect::<Vec<_>>();
        let mut order = RankedDocs::default();
        order.rank(Level::Portable, &scores, 6);
        order.order_by_gain(&gains);
        assert_eq!(order.docs, [2, 0, 3, 1, 4, 5]);
        assert_eq!(ranges(&order.blocks), [(0, 2), (2, 5)]);
        assert_eq!(ranges(&order.alike), [(3, 5)]);
        order.rank(Level::Portable, &scores, 6);
        order.order_by_draw(&gains, |doc| [5, 7, 4, 9, 7, 0][doc as usize]);
        assert_eq!(order.docs, [2, 0, 1, 4, 3, 5]);
        assert_eq!(ranges(&order.alike), [(2, 4)]);
    }
}
