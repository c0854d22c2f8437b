//! The order of one query's docs, by rank.
//!
//! Docs with equal scores make a *block*; in it they lie by a key of their content. Docs with equal
//! keys too are *alike*: nothing tells them apart, and they are given the same gradient. Only blocks
//! and groups of alike docs of more than one doc are listed.
//!
//! Ranks are counted in short queries, sixteen docs at a step, and come from a sort in long ones.

use super::kernel::{Column, Kernels};
use std::ops::Range;

/// Queries of more docs are sorted: counting is quadratic.
const COUNTED: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Order {
    /// Docs by rank.
    pub(super) docs: Vec<u32>,
    /// Ranks of tied docs.
    pub(super) blocks: Vec<Range<usize>>,
    /// Ranks of docs that are alike.
    pub(super) alike: Vec<Range<usize>>,
    /// Scores by rank, padded with -inf.
    pub(super) scores: Column<f32>,
    ranks: Column<u32>,
    keys: Vec<u64>,
}

impl Order {
    /// Ranks docs by falling score; `scores` is a column padded with -inf, `key` orders ties.
    pub(super) fn rank(
        &mut self,
        kernels: Kernels,
        (scores, num_docs): (&[f32], usize),
        key: impl Fn(u32) -> (u64, u64),
    ) {
        if num_docs <= COUNTED {
            self.count(kernels, scores, num_docs);
        } else {
            self.sort(&scores[..num_docs]);
        }
        self.scores.reset_tail(num_docs, f32::NEG_INFINITY);
        for (ranked, &doc) in self.scores.iter_mut().zip(&self.docs) {
            *ranked = scores[doc as usize];
        }
        self.blocks.clear();
        self.alike.clear();
        if !has_ties(&self.scores[..num_docs]) {
            return;
        }
        self.find_blocks();
        for block in &self.blocks {
            let docs = &mut self.docs[block.clone()];
            docs.sort_unstable_by_key(|&doc| (key(doc), doc));
            let mut start = block.start;
            for alike in docs.chunk_by(|&a, &b| key(a) == key(b)) {
                if alike.len() > 1 {
                    self.alike.push(start..start + alike.len());
                }
                start += alike.len();
            }
        }
    }

    fn count(&mut self, kernels: Kernels, scores: &[f32], num_docs: usize) {
        self.ranks.reserve(num_docs);
        kernels.ranks(scores, &mut self.ranks);
        self.docs.resize(num_docs, 0);
        for (doc, &rank) in (0..).zip(&self.ranks[..num_docs]) {
            self.docs[rank as usize] = doc;
        }
    }

    fn sort(&mut self, scores: &[f32]) {
        self.keys.clear();
        self.keys.extend(scores.iter().zip(0u64..).map(|(&score, doc)| falling(score) << 32 | doc));
        self.keys.sort_unstable();
        self.docs.clear();
        self.docs.extend(self.keys.iter().map(|&key| key as u32));
    }

    fn find_blocks(&mut self) {
        let mut start = 0;
        for block in self.scores[..self.docs.len()].chunk_by(|a, b| a == b) {
            let end = start + block.len();
            if block.len() > 1 {
                self.blocks.push(start..end);
            }
            start = end;
        }
    }
}

/// Whether a number equals the next one.
fn has_ties(ranked: &[f32]) -> bool {
    let next = ranked.get(1..).unwrap_or_default();
    ranked.iter().zip(next).fold(0, |some, (a, b)| some | u32::from(a == b)) != 0
}

/// Bits that rise as the score falls; the two zeros are one score.
fn falling(score: f32) -> u64 {
    let bits = (score + 0.0).to_bits();
    u64::from(!(bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | 1 << 31)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;
    use crate::simd::Level;

    #[test]
    fn counting_equals_sorting_at_every_level() {
        for (n, levels) in [(1, 3), (15, 2), (16, 100), (17, 5), (120, 9), (250, 1 << 40)] {
            let draw = |doc| hash::below(hash::draw(n, levels, doc), levels) as f32 - 3.0;
            let mut scores = Column::default();
            scores.reset(n as usize, f32::NEG_INFINITY);
            (0..n).for_each(|doc| scores[doc as usize] = draw(doc) * 0.1);
            let mut sorted = Order::default();
            sorted.sort(&scores[..n as usize]);
            for level in Level::available() {
                let mut counted = Order::default();
                counted.count(Kernels::new(level), &scores, n as usize);
                assert_eq!(counted.docs, sorted.docs);
            }
        }
    }

    #[test]
    fn ties_lie_by_their_keys() {
        let mut scores = Column::default();
        scores.reset(6, f32::NEG_INFINITY);
        scores[..6].copy_from_slice(&[1.0, 0.0, 1.0, -0.0, 0.0, -2.0]);
        let keys = [5, 7, 4, 3, 7, 0];
        let mut order = Order::default();
        order.rank(Kernels::new(Level::Portable), (&scores, 6), |doc| (keys[doc as usize], 0));
        assert_eq!(order.docs, [2, 0, 3, 1, 4, 5]);
        assert_eq!(order.blocks, [0..2, 2..5]);
        assert_eq!(order.alike.iter().map(|r| (r.start, r.end)).collect::<Vec<_>>(), [(3, 5)]);
    }
}
