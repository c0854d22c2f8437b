//! Sorts the docs of one query by score and applies the tie rule.
//!
//! A *block* is a run of docs with equal scores whose order is uniformly random. Under the tie rules that
//! fix an order every block has one doc: metrics read blocks and need not know the rule. Inside a block
//! docs are sorted by falling label, so that sums do not depend on the order of rows.
//!
//! ```text
//! score   9   7 7 7   4   -inf -inf
//! label   1   2 0 0   1    3    0
//! block   0   1 1 1   2    (3, not retrieved)
//! ```
//!
//! A doc with score -inf is not retrieved: it has no rank, but counts in the levels, from which the ideal
//! value is computed.
//!
//! Cost: one pass and an unstable sort of packed integers, or a selection and a sort of the head
//! when the metrics look no deeper than a cut. Buffers are kept: a warm call does not allocate.

use crate::metric::Ties;

/// How many times longer than the head a query must be for a selection to pay.
const SELECT_FROM: usize = 3;
/// Whole labels below this are counted, not sorted.
const COUNTED_LABELS: usize = 16;

/// A label and how many docs of the query have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LabelLevel {
    pub(crate) label: f32,
    pub(crate) count: usize,
}

/// A run of docs with equal scores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreBlock<'a> {
    /// The number of docs ranked above it.
    pub(crate) start: usize,
    /// Its labels, falling.
    pub(crate) labels: &'a [f32],
}

impl ScoreBlock<'_> {
    /// The part of a table by rank that belongs to its ranks.
    #[inline]
    pub(crate) fn part<'t>(&self, by_rank: &'t [f64]) -> &'t [f64] {
        let end = (self.start + self.labels.len()).min(by_rank.len());
        by_rank.get(self.start..end).unwrap_or_default()
    }
}

/// One query's labels in the order of its scores; reused from query to query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranking {
    /// score (32 bits) · label or row (32 bits), when all scores are exact in 32 bits.
    narrow: Vec<u64>,
    /// score (64 bits) · label or row (32 bits) · doc (32 bits).
    wide: Vec<u128>,
    /// Labels by rank: whole blocks, down to the depth at least.
    labels: Vec<f32>,
    /// Docs by rank, after `rank_docs` only; the docs without a rank come last.
    docs: Vec<u32>,
    /// The end of each block in `labels`.
    ends: Vec<usize>,
    /// How many docs of the query have a rank.
    retrieved: usize,
    /// All labels of the query, falling.
    levels: Vec<LabelLevel>,
    /// Labels to sort where they cannot be counted.
    sorted: Vec<u32>,
}

impl Ranking {
    /// Ranks a query's docs; blocks that begin at rank `depth` (from 0) or below may be missing.
    /// No score is NaN, no label is NaN or negative.
    pub(crate) fn rank(&mut self, scores: &[f64], labels: &[f32], ties: Ties, depth: usize) {
        let exact = match ties {
            Ties::Expected => self.pack(scores, labels, |_, label| !label_bits(label)),
            Ties::Worst => self.pack(scores, labels, |_, label| label_bits(label)),
            Ties::RowOrder => self.pack(scores, labels, |doc, _| doc),
        };
        if exact {
            self.retrieved = self.narrow.len();
            sort_head(&mut self.narrow, depth, |key| key >> 32);
            let (keys, tied) = (&self.narrow, ties == Ties::Expected);
            self.labels.clear();
            self.labels.extend(keys.iter().map(|&key| match ties {
                Ties::Expected => f32::from_bits(!(key as u32)),
                Ties::Worst => f32::from_bits(key as u32),
                Ties::RowOrder => labels[key as u32 as usize] + 0.0,
            }));
            find_blocks(&mut self.ends, keys, |key| key >> 32, tied);
        } else {
            self.pack_wide(scores, labels, ties);
            self.wide.retain(|key| score_of(*key) < NOT_RETRIEVED);
            self.retrieved = self.wide.len();
            sort_head(&mut self.wide, depth, score_of);
            self.read_wide(labels, ties);
        }
        self.count_levels(labels);
    }

    /// Ranks all docs of a query, ties by expectation, and remembers which doc is where; docs that
    /// are not retrieved make up one last block.
    pub(crate) fn rank_docs(&mut self, scores: &[f64], labels: &[f32]) {
        self.pack_wide(scores, labels, Ties::Expected);
        self.wide.sort_unstable();
        self.retrieved = self.wide.partition_point(|key| score_of(*key) < NOT_RETRIEVED);
        self.read_wide(labels, Ties::Expected);
        self.docs.clear();
        self.docs.extend(self.wide.iter().map(|&key| key as u32));
        self.count_levels(labels);
    }

    /// Starts a query whose order the caller keeps: its labels, all docs ranked, no block yet.
    pub(crate) fn begin(&mut self, labels: &[f32]) {
        self.retrieved = labels.len();
        self.clear_blocks();
        self.count_levels(labels);
    }

    /// Removes the blocks and keeps the labels of the query.
    pub(crate) fn clear_blocks(&mut self) {
        self.labels.clear();
        self.ends.clear();
    }

    /// Adds the next block of a query started by [`Ranking::begin`]: its labels, falling.
    pub(crate) fn push_block(&mut self, labels: impl Iterator<Item = f32>) {
        self.labels.extend(labels.map(|label| label + 0.0));
        self.ends.push(self.labels.len());
    }

    /// The ranking of all documents by falling label.
    pub(crate) fn ideal(&self) -> Self {
        let mut ideal = Self { levels: self.levels.clone(), ..Self::default() };
        for level in &self.levels {
            ideal.push_block(std::iter::repeat_n(level.label, level.count));
        }
        ideal.retrieved = ideal.labels.len();
        ideal
    }

    /// The ranking after the documents at two ranks exchange their scores; `None` if that changes
    /// nothing, because they are of one block or have equal labels.
    pub(crate) fn swapped(&self, a: usize, b: usize) -> Option<Self> {
        let block_of = |rank: usize| self.ends.partition_point(|end| *end <= rank);
        if block_of(a) == block_of(b) || self.labels[a] == self.labels[b] {
            return None;
        }
        let mut swapped = self.clone();
        swapped.labels.swap(a, b);
        for block in [block_of(a), block_of(b)] {
            let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
            swapped.labels[start..self.ends[block]].sort_unstable_by(|x, y| y.total_cmp(x));
        }
        Some(swapped)
    }

    /// The blocks of ranked docs.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = ScoreBlock<'_>> {
        self.all_blocks().take_while(|block| block.start < self.retrieved)
    }

    /// The blocks, with the one of the docs that are not retrieved.
    pub(crate) fn all_blocks(&self) -> impl Iterator<Item = ScoreBlock<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let block = ScoreBlock { start, labels: &self.labels[start..end] };
            start = end;
            block
        })
    }

    /// Docs by rank, after [`Ranking::rank_docs`].
    pub(crate) fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// How many docs have a rank.
    pub(crate) fn retrieved(&self) -> usize {
        self.retrieved
    }

    /// The labels of all docs of the query, retrieved or not, falling.
    pub(crate) fn levels(&self) -> &[LabelLevel] {
        &self.levels
    }

    /// How many docs of the query, retrieved or not, have at least this label.
    pub(crate) fn num_at_least(&self, label: f32) -> usize {
        self.levels.iter().take_while(|level| level.label >= label).map(|level| level.count).sum()
    }

    /// Packs score and `low` into keys; false if a score needs 64 bits, which makes the keys invalid.
    fn pack(&mut self, scores: &[f64], labels: &[f32], low: impl Fn(u32, f32) -> u32) -> bool {
        self.narrow.clear();
        let mut exact = true;
        for (doc, (&score, &label)) in scores.iter().zip(labels).enumerate() {
            // -0.0 + 0.0 = 0.0: the two zeros are one score.
            let score = score + 0.0;
            let short = score as f32;
            exact &= f64::from(short) == score;
            if score > f64::NEG_INFINITY {
                let high = falling(short);
                self.narrow.push(u64::from(high) << 32 | u64::from(low(doc as u32, label)));
            }
        }
        exact
    }

    fn pack_wide(&mut self, scores: &[f64], labels: &[f32], ties: Ties) {
        self.wide.clear();
        let docs = scores.iter().zip(labels).enumerate();
        self.wide.extend(docs.map(|(doc, (&score, &label))| {
            let low = match ties {
                Ties::Expected => !label_bits(label),
                Ties::Worst => label_bits(label),
                Ties::RowOrder => doc as u32,
            };
            u128::from(falling64(score + 0.0)) << 64 | u128::from(low) << 32 | doc as u128
        }));
    }

    fn read_wide(&mut self, labels: &[f32], ties: Ties) {
        self.labels.clear();
        self.labels.extend(self.wide.iter().map(|&key| labels[key as u32 as usize] + 0.0));
        find_blocks(&mut self.ends, &self.wide, score_of, ties == Ties::Expected);
    }

    fn count_levels(&mut self, labels: &[f32]) {
        /// Adding it to a small number and subtracting it again rounds the number to a whole one.
        const ROUND: f32 = (1 << 23) as f32;
        self.levels.clear();
        // As integers, whose maximum is vectorised.
        let bits = labels.iter().map(|&label| label_bits(label).cast_signed());
        let highest = f32::from_bits(bits.fold(0, i32::max).cast_unsigned());
        let is_whole = |label: f32| label + ROUND - ROUND == label;
        if highest < COUNTED_LABELS as f32 && labels.iter().fold(true, |all, &l| all & is_whole(l))
        {
            // One vectorised pass a label: a histogram would wait for the addition before.
            for label in (0..=highest as u32).rev().map(|label| label as f32) {
                let found = labels.iter().map(|&l| u32::from(l == label));
                let count = found.fold(0, u32::wrapping_add) as usize;
                self.levels.extend((count > 0).then_some(LabelLevel { label, count }));
            }
            return;
        }
        self.sorted.clear();
        self.sorted.extend(labels.iter().map(|&label| !label_bits(label)));
        self.sorted.sort_unstable();
        let runs = self.sorted.chunk_by(|a, b| a == b);
        let level = |run: &[u32]| LabelLevel { label: f32::from_bits(!run[0]), count: run.len() };
        self.levels.extend(runs.map(level));
    }
}

/// The bits of a label >= 0, which rise with it; -0.0 is 0.0.
fn label_bits(label: f32) -> u32 {
    (label + 0.0).to_bits()
}

/// Bits that rise as the score falls; -0.0 comes after 0.0.
#[inline]
pub(crate) fn falling(score: f32) -> u32 {
    let bits = score.to_bits();
    !(bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | 1 << 31))
}

/// Bits that rise as the score falls.
fn falling64(score: f64) -> u64 {
    let bits = score.to_bits();
    !(bits ^ ((bits.cast_signed() >> 63).cast_unsigned() | 1 << 63))
}

/// `falling64` of -inf, the lowest score.
const NOT_RETRIEVED: u64 = f64::NEG_INFINITY.to_bits();

fn score_of(key: u128) -> u64 {
    (key >> 64) as u64
}

/// Sorts the keys. If only a small part is needed, sorts the first `depth` keys and all ties of the last.
fn sort_head<K: Ord + Copy>(keys: &mut Vec<K>, depth: usize, score: impl Fn(K) -> u64) {
    if depth == 0 || keys.len() / SELECT_FROM < depth {
        keys.sort_unstable();
        return;
    }
    let (_, &mut last, _) = keys.select_nth_unstable(depth - 1);
    let mut head = depth;
    for at in depth..keys.len() {
        if score(keys[at]) == score(last) {
            keys.swap(at, head);
            head += 1;
        }
    }
    keys.truncate(head);
    keys.sort_unstable();
}

fn find_blocks<K: Copy>(ends: &mut Vec<usize>, keys: &[K], score: impl Fn(K) -> u64, tied: bool) {
    ends.clear();
    for at in 1..keys.len() {
        if !tied || score(keys[at]) != score(keys[at - 1]) {
            ends.push(at);
        }
    }
    if !keys.is_empty() {
        ends.push(keys.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(ranking: &Ranking) -> Vec<Vec<f32>> {
        ranking.blocks().map(|block| block.labels.to_vec()).collect()
    }

    #[test]
    fn the_tie_rules_order_equal_scores() {
        let scores = [7.0, 9.0, 7.0, f64::NEG_INFINITY, 7.0];
        let labels = [0.0, 1.0, 2.0, 3.0, 1.0];
        let mut ranking = Ranking::default();
        ranking.rank(&scores, &labels, Ties::Expected, usize::MAX);
        assert_eq!(blocks(&ranking), [vec![1.0], vec![2.0, 1.0, 0.0]]);
        assert_eq!(ranking.levels()[0], LabelLevel { label: 3.0, count: 1 });
        ranking.rank(&scores, &labels, Ties::RowOrder, usize::MAX);
        assert_eq!(blocks(&ranking), [[1.0], [0.0], [2.0], [1.0]]);
        ranking.rank(&scores, &labels, Ties::Worst, usize::MAX);
        assert_eq!(blocks(&ranking), [[1.0], [0.0], [1.0], [2.0]]);
    }

    #[test]
    fn scores_of_any_width_and_the_two_zeros() {
        let mut ranking = Ranking::default();
        for tiny in [0.0, 1e-300] {
            let scores = [f64::INFINITY, -0.0, 0.0, tiny - 1.0, f64::NEG_INFINITY, -1e-30 * tiny];
            ranking.rank(&scores, &[0.5, 1.0, 2.0, 3.0, 4.0, 5.0], Ties::Expected, usize::MAX);
            assert_eq!(blocks(&ranking)[0], [0.5]);
            assert_eq!(ranking.retrieved(), 5);
        }
        ranking.rank(&[1e300, 2e300, -0.0, 0.0], &[0.0, 1.0, 2.0, 3.0], Ties::Expected, 9);
        assert_eq!(blocks(&ranking), [vec![1.0], vec![0.0], vec![3.0, 2.0]]);
    }

    #[test]
    fn a_head_is_the_beginning_of_the_whole() {
        let mut whole = Ranking::default();
        let mut head = Ranking::default();
        for n in 1..60usize {
            let scores: Vec<f64> = (0..n).map(|i| ((i * 37) % 11) as f64 / 3.0).collect();
            let labels: Vec<f32> = (0..n).map(|i| ((i * 5) % 4) as f32).collect();
            for depth in 1..8 {
                for wide in [false, true] {
                    let scores: Vec<f64> = scores
                        .iter()
                        .map(|s| if wide { *s } else { f64::from(*s as f32) })
                        .collect();
                    whole.rank(&scores, &labels, Ties::Expected, usize::MAX);
                    head.rank(&scores, &labels, Ties::Expected, depth);
                    let (whole, head) = (blocks(&whole), blocks(&head));
                    assert_eq!(head[..], whole[..head.len()]);
                    assert!(head.iter().map(Vec::len).sum::<usize>() >= depth.min(n));
                }
            }
        }
    }
}
