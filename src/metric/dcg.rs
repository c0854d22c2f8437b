//! DCG, NDCG and what shares their shape: a sum over docs of a gain times what its rank is worth.
//!
//! DCG@k = sum over ranks p <= k of gain / log2(1 + p) (Järvelin and Kekäläinen 2002, with the
//! discount of Burges et al. 2005); NDCG divides by the DCG of the ideal order. In a tied block
//! every doc is as likely at every position, so each position is worth the block's mean gain.
//!
//! Precision and recall are the same sum with a constant discount, so their deltas are here too: a
//! doc's *worth* is the mean discount of its block, and exchanging two docs exchanges their worths.

use crate::metric::delta::SwapTable;
use crate::metric::discounts::Discounts;
use crate::metric::gains::Gains;
use crate::metric::ranking::Ranking;

/// The expected DCG of the ranked docs down to the cut.
pub(crate) fn dcg(ranking: &Ranking, gains: &Gains, discounts: &[f64], cut: usize) -> f64 {
    let mut sum = 0.0;
    for block in ranking.blocks() {
        if block.start >= cut {
            break;
        }
        let end = (block.start + block.labels.len()).min(cut);
        let gain = mean_gain(block.labels, gains);
        for discount in &discounts[block.start..end] {
            sum += gain * discount;
        }
    }
    sum
}

/// Labels fall, so equal ends mean equal labels: their mean must not be rounded, or a perfect
/// ranking would score just below 1.
fn mean_gain(labels: &[f32], gains: &Gains) -> f64 {
    let (first, last) = (labels[0], labels[labels.len() - 1]);
    if first == last {
        return gains.of(first);
    }
    labels.iter().map(|&label| gains.of(label)).sum::<f64>() / labels.len() as f64
}

/// The DCG of the ideal order of all docs, retrieved or not.
pub(crate) fn ideal(ranking: &Ranking, gains: &Gains, discounts: &[f64], cut: usize) -> f64 {
    let (mut sum, mut start) = (0.0, 0);
    for level in ranking.levels() {
        let end = (start + level.count).min(cut);
        let gain = gains.of(level.label);
        for discount in &discounts[start..end] {
            sum += gain * discount;
        }
        start = end;
    }
    sum
}

/// Deltas of a sum of gains times worths.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorthTable {
    gain: Vec<f64>,
    worth: Vec<f64>,
}

impl SwapTable for WorthTable {
    fn delta(&self, a: usize, b: usize) -> f64 {
        // + 0.0: a delta of 0 has no sign, whichever doc comes first.
        (self.gain[a] - self.gain[b]) * (self.worth[b] - self.worth[a]) + 0.0
    }
}

impl WorthTable {
    /// Deltas of DCG divided by `ideal`.
    pub(crate) fn fill_dcg(
        &mut self,
        ranking: &Ranking,
        gains: &Gains,
        discounts: &mut Discounts,
        scale: (usize, f64),
    ) {
        let (cut, ideal) = scale;
        let discounts = discounts.log(ranking.retrieved().min(cut));
        let worth = |start: usize, end: usize| -> f64 {
            let end = end.min(discounts.len());
            discounts.get(start..end).map_or(0.0, |d| d.iter().sum::<f64>()) / ideal
        };
        self.fill(ranking, |label| gains.of(label), worth);
    }

    /// Deltas of the number of relevant docs above the cut divided by `divisor`.
    pub(crate) fn fill_hits(&mut self, ranking: &Ranking, from: f32, scale: (usize, f64)) {
        let (cut, divisor) = scale;
        let cut = cut.min(ranking.retrieved());
        let worth = |start: usize, end: usize| end.min(cut).saturating_sub(start) as f64 / divisor;
        self.fill(ranking, |label| f64::from(u8::from(label >= from)), worth);
    }

    /// `worth(start, end)` is the sum over the ranks of a block, from 0.
    fn fill(
        &mut self,
        ranking: &Ranking,
        gain: impl Fn(f32) -> f64,
        worth: impl Fn(usize, usize) -> f64,
    ) {
        let docs = ranking.docs();
        self.gain.clear();
        self.gain.resize(docs.len(), 0.0);
        self.worth.clear();
        self.worth.resize(docs.len(), 0.0);
        for block in ranking.all_blocks() {
            let size = block.labels.len();
            let mean = worth(block.start, block.start + size) / size as f64;
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                self.gain[doc as usize] = gain(label);
                self.worth[doc as usize] = mean;
            }
        }
    }
}
