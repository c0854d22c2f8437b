//! Metrics that are a sum over ranks of a document's gain times the rank's discount.
//!
//! NDCG and DCG discount by 1/log2(1 + rank); precision and recall count every rank within the cut
//! alike. In a tied block every document is as likely at every rank, so each rank adds the block's
//! mean gain times its discount.
//!
//! The *mean discount* of a document is that of the ranks of its block. Exchanging the scores of two
//! documents exchanges their mean discounts, so a swap delta is a product of two differences.

use super::definition::LabelUse;
use super::prepared::{MetricScratch, PreparedMetric};
use super::ranking::Ranking;
use super::swap_delta::{SwapQuery, SwapTable};

/// The expected sum of the ranked documents down to the cut.
pub(crate) fn sum(metric: &PreparedMetric, ranking: &Ranking, scratch: &mut MetricScratch) -> f64 {
    let ranks = metric.cut().min(ranking.retrieved());
    let discounts = scratch.discounts.of(metric.metric.measure(), ranks);
    // The choice is made here, and not for each document.
    match metric.facts.label_use {
        LabelUse::Gain => add_blocks(ranking, |label| metric.gains.of(label), discounts),
        _ => add_blocks(ranking, |label| metric.gain(label), discounts),
    }
}

fn add_blocks(ranking: &Ranking, gain: impl Fn(f32) -> f64, discounts: &[f64]) -> f64 {
    let mut sum = 0.0;
    for block in ranking.blocks() {
        if block.start >= discounts.len() {
            break;
        }
        let end = (block.start + block.labels.len()).min(discounts.len());
        let gain = mean_gain(block.labels, &gain);
        for discount in &discounts[block.start..end] {
            sum += gain * discount;
        }
    }
    sum
}

/// Labels fall, so equal ends mean equal labels: their mean must not be rounded, or a perfect
/// ranking would score just below 1.
fn mean_gain(labels: &[f32], gain: impl Fn(f32) -> f64) -> f64 {
    let (first, last) = (labels[0], labels[labels.len() - 1]);
    if first == last {
        return gain(first);
    }
    labels.iter().map(|&label| gain(label)).sum::<f64>() / labels.len() as f64
}

/// The sum of the ideal order of all documents, retrieved or not.
pub(crate) fn ideal(
    metric: &PreparedMetric,
    ranking: &Ranking,
    scratch: &mut MetricScratch,
) -> f64 {
    let num_docs = ranking.levels().iter().map(|level| level.count).sum::<usize>();
    let ranks = num_docs.min(metric.cut());
    let discounts = scratch.discounts.of(metric.metric.measure(), ranks);
    let (mut sum, mut start) = (0.0, 0);
    for level in ranking.levels() {
        let end = (start + level.count).min(ranks);
        let gain = metric.gain(level.label);
        for discount in &discounts[start..end] {
            sum += gain * discount;
        }
        start = end;
    }
    sum
}

/// Swap deltas of a sum of gains times discounts.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiscountSwaps {
    /// By document: its gain, and its mean discount over the query's divisor.
    gain: Vec<f64>,
    discount: Vec<f64>,
}

impl SwapTable for DiscountSwaps {
    fn fill(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let num_docs = query.ranking.docs().len();
        self.gain.clear();
        self.gain.resize(num_docs, 0.0);
        self.discount.clear();
        self.discount.resize(num_docs, 0.0);
        if query.metric.single_cuts().is_empty() {
            return self.add(query, scratch);
        }
        for metric in query.metric.single_cuts() {
            let divisor = metric.divisor(query.ranking, scratch).unwrap_or(1.0) * query.divisor;
            self.add(SwapQuery { metric, divisor, ..query }, scratch);
        }
    }

    fn delta(&self, a: usize, b: usize) -> f64 {
        // + 0.0: a delta of 0 has no sign, whichever document comes first.
        (self.gain[a] - self.gain[b]) * (self.discount[b] - self.discount[a]) + 0.0
    }
}

impl DiscountSwaps {
    /// Adds the discounts of a cut.
    fn add(&mut self, query: SwapQuery<'_>, scratch: &mut MetricScratch) {
        let SwapQuery { metric, ranking, divisor } = query;
        let ranks = ranking.retrieved().min(metric.cut());
        let discounts = scratch.discounts.of(metric.metric.measure(), ranks);
        let docs = ranking.docs();
        for block in ranking.all_blocks() {
            let size = block.labels.len();
            let mean = block.part(discounts).iter().sum::<f64>() / divisor / size as f64;
            for (&doc, &label) in docs[block.start..].iter().zip(block.labels) {
                self.gain[doc as usize] = metric.gain(label);
                self.discount[doc as usize] += mean;
            }
        }
    }
}
