//! The gains of a query's docs over the metric's divisor, for pair weights.

use super::kernel::Column;
use super::pair_weights::RankDiscounts;
use crate::metric::{LabelLevel, LabelUse, Normaliser, PreparedMetric, Ranking};

#[derive(Debug, Default)]
pub(super) struct PairGains {
    /// The gain of each doc.
    pub(super) gain: Column<f32>,
    /// Counts the labels.
    ranking: Ranking,
}

impl PairGains {
    /// Reads the labels of a query; false if all pairs of its docs have weight 0. Without a metric a label
    /// is its own gain.
    pub(super) fn load(
        &mut self,
        metric: Option<&PreparedMetric>,
        ranks: &RankDiscounts,
        labels: &[f32],
    ) -> bool {
        if all_equal(labels) {
            return false;
        }
        self.gain.reset_tail(labels.len(), 0.0);
        let Some(metric) = metric else {
            self.gain[..labels.len()].copy_from_slice(labels);
            return true;
        };
        let from = metric.relevant_from();
        let relevant = || labels.iter().map(|label| u32::from(*label >= from)).sum::<u32>();
        let divisor = match metric.facts.normaliser {
            Normaliser::Ideal => self.ideal(metric, ranks, labels),
            Normaliser::Ranks => metric.metric.cut().unwrap_or(labels.len()) as f64,
            Normaliser::RelevantDocs => f64::from(relevant().max(1)),
            Normaliser::One => 1.0,
        };
        let scale = if divisor > 0.0 { divisor.recip() } else { 0.0 };
        let docs = self.gain.iter_mut().zip(labels);
        match metric.facts.label_use {
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
    fn ideal(&mut self, metric: &PreparedMetric, ranks: &RankDiscounts, labels: &[f32]) -> f64 {
        self.ranking.begin(labels);
        let mut start = 0;
        let of_level = |level: &LabelLevel| {
            start += level.count;
            metric.gain(level.label) * ranks.sum(start - level.count..start)
        };
        self.ranking.levels().iter().map(of_level).sum()
    }
}

fn all_equal(values: &[f32]) -> bool {
    let differ = |value: &f32| u32::from(*value != values[0]);
    values.iter().map(differ).fold(0, |some, differs| some | differs) == 0
}
