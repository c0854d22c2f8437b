//! What the docs of a query are worth: the gains of the pair weights, over the metric's divisor.

use super::kernel::Column;
use super::weight::Rule;
use crate::metric::{Judge, Measure};

#[derive(Debug, Default)]
pub(super) struct Values {
    /// The gain of each doc.
    pub(super) gain: Column<f32>,
    /// Labels to sort where they cannot be counted.
    sorted: Vec<f32>,
}

impl Values {
    /// Reads the labels of a query; false if no pair of its docs can weigh anything.
    pub(super) fn load(&mut self, judge: Option<&Judge>, rule: Rule, labels: &[f32]) -> bool {
        self.gain.reset(labels.len(), 0.0);
        if labels.iter().all(|label| *label == labels[0]) {
            return false;
        }
        let Some(judge) = judge.filter(|_| rule != Rule::Swap) else {
            self.gain[..labels.len()].copy_from_slice(labels);
            return true;
        };
        let from = judge.metric.convention().relevant_from;
        let hits = || labels.iter().filter(|label| **label >= from).count();
        let divisor = match judge.metric.measure() {
            Measure::Ndcg => self.ideal(judge, labels),
            Measure::Precision => judge.metric.cut().unwrap_or(labels.len()) as f64,
            Measure::Recall | Measure::Map => hits().max(1) as f64,
            _ => 1.0,
        };
        let scale = if divisor > 0.0 { divisor.recip() } else { 0.0 };
        let value = |label: f32| match judge.metric.measure() {
            Measure::Ndcg | Measure::Dcg => (judge.gains.of(label) * scale) as f32,
            // 1 would leave nobody to read on, and the tables divide by how many do.
            Measure::Err => (judge.stops(label) as f32).min(1.0f32.next_down()),
            _ => f32::from(u8::from(label >= from)) * scale as f32,
        };
        for (gain, &label) in self.gain.iter_mut().zip(labels) {
            *gain = value(label);
        }
        self.gain[..labels.len()].iter().any(|gain| *gain != self.gain[0])
    }

    /// The DCG of the ideal order.
    fn ideal(&mut self, judge: &Judge, labels: &[f32]) -> f64 {
        let cut = judge.depth();
        let discount = |rank: usize| ((rank + 2) as f64).log2().recip();
        self.sorted.clear();
        self.sorted.extend_from_slice(labels);
        self.sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let best = self.sorted.iter().take(cut).enumerate();
        best.map(|(rank, &label)| judge.gains.of(label) * discount(rank)).sum()
    }
}
