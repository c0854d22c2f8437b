//! The gains of a query's docs over the metric's divisor, for pair weights.

use super::kernel::Column;
use super::pair_weights::RankDiscounts;
use crate::metric::{LabelFacts, LabelUse, Normaliser, PreparedMetric, Ranking};

/// Whole labels below this one are counted all at once, and their gains are looked up.
const FEW: usize = 8;

/// How the labels of all queries are read.
#[derive(Debug)]
pub(super) struct PairLabels<'a> {
    /// Without a metric a label is its own gain.
    pub(super) metric: Option<&'a PreparedMetric>,
    pub(super) ranks: &'a RankDiscounts,
    /// The last rank of the ideal order that counts.
    pub(super) ideal_to: usize,
    pub(super) facts: LabelFacts,
}

#[derive(Debug, Default)]
pub(super) struct PairGains {
    /// The gain of each doc.
    pub(super) gain: Column<f32>,
    /// Counts other labels.
    ranking: Ranking,
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
        let divisor = match metric.facts.normaliser {
            Normaliser::Ideal => self.ideal(all, metric, labels),
            Normaliser::Ranks => metric.metric.cut().unwrap_or(labels.len()) as f64,
            Normaliser::RelevantDocs => f64::from(relevant().max(1)),
            Normaliser::One => 1.0,
        };
        let scale = if divisor > 0.0 { divisor.recip() } else { 0.0 };
        let docs = self.gain.iter_mut().zip(labels);
        match metric.facts.label_use {
            LabelUse::Gain if all.facts.are_below(FEW) => {
                let mut gains = [0.0; FEW];
                for (label, gain) in gains[..=all.facts.max as usize].iter_mut().enumerate() {
                    *gain = (metric.gains.of(label as f32) * scale) as f32;
                }
                docs.for_each(|(gain, label)| *gain = gains[number(*label)]);
            }
            LabelUse::Gain => {
                docs.for_each(|(gain, label)| *gain = (metric.gains.of(*label) * scale) as f32);
            }
            // Below 1: the tables divide by the probability that the reader goes on.
            LabelUse::Satisfaction => docs.for_each(|(gain, label)| {
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
            let end = start + count;
            sum +=
                metric.gain(label) * all.ranks.sum(start.min(all.ideal_to)..end.min(all.ideal_to));
            start = end;
        };
        if all.facts.are_below(FEW) {
            let counts = count_few(labels);
            (0..=all.facts.max as usize).rev().for_each(|label| add(label as f32, counts[label]));
        } else {
            self.ranking.begin(labels);
            self.ranking.levels().iter().for_each(|level| add(level.label, level.count));
        }
        sum
    }
}

/// The number of a whole label below [`FEW`]: the low bits of its sum with 2^23.
fn number(label: f32) -> usize {
    (label + 8_388_608.0).to_bits() as usize % FEW
}

/// The docs of each whole label below [`FEW`]: a byte a label, all in one word.
fn count_few(labels: &[f32]) -> [usize; FEW] {
    let mut counts = [0; FEW];
    for few in labels.chunks(255) {
        let sum = few.iter().map(|&label| 1 << (8 * number(label))).fold(0, u64::wrapping_add);
        for (count, more) in counts.iter_mut().zip(sum.to_le_bytes()) {
            *count += usize::from(more);
        }
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
