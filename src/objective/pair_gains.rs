//! The gains of a query's docs over the metric's divisor, for pair weights.

use super::kernel::Column;
use super::pair_weights::{RankDiscounts, WeightRule};
use crate::metric::{LabelFacts, LabelUse, Normaliser, PreparedMetric};

/// Up to this label, whole labels are counted and not sorted.
const COUNTED_TO: f32 = 31.0;

/// How the labels of all queries are read.
#[derive(Debug)]
pub(super) struct PairLabels<'a> {
    metric: Option<&'a PreparedMetric>,
    ranks: &'a RankDiscounts,
    /// The largest label, if docs are counted by label.
    counted_to: Option<usize>,
}

impl<'a> PairLabels<'a> {
    pub(super) fn new(
        (metric, rule): (Option<&'a PreparedMetric>, WeightRule<'_>),
        ranks: &'a RankDiscounts,
        facts: LabelFacts,
    ) -> Self {
        let counted = facts.whole && facts.max <= COUNTED_TO;
        Self {
            metric: metric.filter(|_| !matches!(rule, WeightRule::SwapDeltas)),
            ranks,
            counted_to: counted.then_some(facts.max as usize),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PairGains {
    /// The gain of each doc.
    pub(super) gain: Column<f32>,
    /// Labels to sort where they cannot be counted.
    sorted: Vec<f32>,
}

impl PairGains {
    /// Reads the labels of a query; false if all pairs of its docs have weight 0.
    pub(super) fn load(&mut self, all: &PairLabels<'_>, labels: &[f32]) -> bool {
        if all_equal(labels) {
            return false;
        }
        self.gain.reset_tail(labels.len(), 0.0);
        let Some(metric) = all.metric else {
            self.gain[..labels.len()].copy_from_slice(labels);
            return true;
        };
        let from = metric.relevant_from();
        let relevant = || labels.iter().map(|label| u32::from(*label >= from)).sum::<u32>();
        let divisor = match metric.definition().normaliser() {
            Normaliser::Ideal => self.ideal(all, metric, labels),
            Normaliser::Ranks => metric.metric.cut().unwrap_or(labels.len()) as f64,
            Normaliser::RelevantDocs => f64::from(relevant().max(1)),
            Normaliser::One => 1.0,
        };
        let scale = if divisor > 0.0 { divisor.recip() } else { 0.0 };
        let docs = self.gain.iter_mut().zip(labels);
        match (metric.label_use(), all.counted_to) {
            (LabelUse::Gain, Some(top)) => {
                let mut gains = [0.0; COUNTED_TO as usize + 1];
                for (label, gain) in gains[..=top].iter_mut().enumerate() {
                    *gain = (metric.gains.of(label as f32) * scale) as f32;
                }
                // The low bits of a small whole number that is added to 2^23 are the number.
                let at = |label: f32| (label + 8_388_608.0).to_bits() as usize % gains.len();
                docs.for_each(|(gain, label)| *gain = gains[at(*label)]);
            }
            (LabelUse::Gain, None) => {
                docs.for_each(|(gain, label)| *gain = (metric.gains.of(*label) * scale) as f32);
            }
            // Below 1: the tables divide by the probability that the reader goes on.
            (LabelUse::Satisfaction, _) => docs.for_each(|(gain, label)| {
                *gain = (metric.satisfaction(*label) as f32).min(1.0f32.next_down());
            }),
            _ => {
                let hit = scale as f32;
                docs.for_each(|(gain, label)| *gain = if *label >= from { hit } else { 0.0 });
            }
        }
        !all_equal(&self.gain[..labels.len()])
    }

    /// The sum of gains times discounts of the ideal order.
    fn ideal(&mut self, all: &PairLabels<'_>, metric: &PreparedMetric, labels: &[f32]) -> f64 {
        let (mut sum, mut start) = (0.0, 0);
        let mut add = |label: f32, count: usize| {
            sum += metric.gain(label) * all.ranks.sum(start..start + count);
            start += count;
        };
        if let Some(top) = all.counted_to {
            if top < 8 {
                let counts = count_few(labels);
                (0..=top).rev().for_each(|level| add(level as f32, counts[level]));
                return sum;
            }
            for level in (0..=top).rev().map(|level| level as f32) {
                let count = labels.iter().map(|label| u32::from(*label == level)).sum::<u32>();
                add(level, count as usize);
            }
            return sum;
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(labels);
        self.sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        for level in self.sorted.chunk_by(|a, b| a == b) {
            add(level[0], level.len());
        }
        sum
    }
}

/// The docs of each whole label below eight: a byte a label, all in one word.
fn count_few(labels: &[f32]) -> [usize; 8] {
    let mut counts = [0; 8];
    for few in labels.chunks(255) {
        // The low bits of a small whole number that is added to 2^23 are the number.
        let one = |label: &f32| 1u64 << (8 * ((label + 8_388_608.0).to_bits() & 7));
        let sum: u64 = few.iter().map(one).fold(0, u64::wrapping_add);
        counts
            .iter_mut()
            .zip(sum.to_le_bytes())
            .for_each(|(count, more)| *count += usize::from(more));
    }
    counts
}

fn all_equal(values: &[f32]) -> bool {
    let differ = |value: &f32| u32::from(*value != values[0]);
    values.iter().map(differ).fold(0, |some, differs| some | differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn few_labels_are_counted_as_many_are() {
        for len in [1, 254, 255, 256, 1000] {
            let labels: Vec<f32> = (0..len).map(|i| (draw(1, len, i) % 8) as f32).collect();
            let one = |level: usize| labels.iter().filter(|&&label| label == level as f32).count();
            assert_eq!(count_few(&labels).to_vec(), (0..8).map(one).collect::<Vec<_>>());
            assert_eq!(count_few(&vec![7.0; len as usize])[7], len as usize);
        }
    }
}
