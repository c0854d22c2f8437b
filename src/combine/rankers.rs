//! Weighted sums of any number of rankers and the metric of such a sum: the common ground of
//! `coordinate_ascent` and `pairwise_merge`.
//!
//! A ranker's *spread*, the median over queries of the range of its scores, makes the weights of rankers
//! with different scales comparable.

use super::sweep::{TwoRankers, sweep_checked};
use super::{AlphaRange, JudgedQueries, Sweep, SweepOptions};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Metric;

/// A rise below this share of the value is rounding.
const LEAST_RISE: f64 = 1e-12;

/// The weights of rankers, and how they were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// The factor of each ranker's scores.
    pub weights: Vec<f64>,
    /// The mean of the metric, from `evaluate` on [`mix`] with these weights.
    pub value: f64,
    /// The value at the start and after each improvement; for pairwise merges, of each merge.
    pub history: Vec<f64>,
    /// The weights of each value of `history`: a held-out set can choose among them.
    pub path: Vec<Vec<f64>>,
    /// The number of passes; for pairwise merges, of merges.
    pub passes: usize,
}

/// The weighted sum of all rankers' scores; rankers of weight 0 are skipped.
///
/// # Panics
/// If the rankers have not scored the same number of documents.
pub fn mix(rankers: &[&[f64]], weights: &[f64]) -> Vec<f64> {
    let mut mixed = vec![0.0; rankers.first().map_or(0, |scores| scores.len())];
    for (scores, &weight) in rankers.iter().zip(weights) {
        assert_eq!(scores.len(), mixed.len(), "rankers of the same docs");
        if weight != 0.0 {
            mixed.iter_mut().zip(*scores).for_each(|(sum, score)| *sum += weight * score);
        }
    }
    mixed
}

/// The mean of the metric for each of several lists of weights, such as the [path](Combination::path)
/// of a combination on documents that it was not fitted to.
pub fn values(
    rankers: &[&[f64]],
    judged: &JudgedQueries<'_>,
    metric: &Metric,
    weights: &[Vec<f64>],
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    check(rankers, judged)?;
    if let Some(at) = weights.iter().position(|weights| weights.len() != rankers.len()) {
        return Err(Error::param("combine.weights", format!("weights[{at}] has the wrong length"))
            .got(weights[at].len())
            .expected(format!("{}, the number of rankers", rankers.len())));
    }
    let set = RankerSet { rankers, judged, metric, interrupt };
    weights.iter().map(|weights| set.value(&mix(rankers, weights))).collect()
}

/// The mean of all rankers, each divided by its spread: a baseline.
pub fn average(
    rankers: &[&[f64]],
    judged: &JudgedQueries<'_>,
    metric: &Metric,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    let spreads: Vec<f64> = rankers.iter().map(|scores| spread(scores, judged)).collect();
    RankerSet { rankers, judged, metric, interrupt }.average(&spreads)
}

pub(super) fn check(rankers: &[&[f64]], judged: &JudgedQueries<'_>) -> Result<()> {
    if rankers.is_empty() {
        return Err(Error::param("combine.rankers", "no rankers").expected("at least one"));
    }
    judged.check()?;
    rankers.iter().enumerate().try_for_each(|(number, scores)| judged.check_scores(number, scores))
}

/// The range of the scores of a query.
pub(super) fn range(scores: &[f64]) -> f64 {
    let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (high - low).min(f64::MAX)
}

/// The weight that scales a ranker of this spread to spread 1; 0 if its scores are constant.
pub(super) fn inverse(spread: f64) -> f64 {
    if spread > 0.0 { spread.recip().min(f64::MAX) } else { 0.0 }
}

/// The median over queries of the range of the scores; the largest range if the median is 0.
pub(super) fn spread(scores: &[f64], judged: &JudgedQueries<'_>) -> f64 {
    let mut ranges: Vec<f64> = judged.queries.ranges().map(|docs| range(&scores[docs])).collect();
    let middle = ranges.len() / 2;
    let median = *ranges.select_nth_unstable_by(middle, f64::total_cmp).1;
    if median > 0.0 { median } else { ranges.iter().copied().fold(0.0, f64::max) }
}

/// Weight 1 for one ranker and 0 for the others.
pub(super) fn alone(ranker: usize, num_rankers: usize) -> Vec<f64> {
    let mut weights = vec![0.0; num_rankers];
    weights[ranker] = 1.0;
    weights
}

pub(crate) fn is_higher(value: f64, than: f64) -> bool {
    value > than + LEAST_RISE * than.abs()
}

/// Rankers, the documents that they scored, and the metric of their combinations.
#[derive(Clone, Copy)]
pub(super) struct RankerSet<'a> {
    pub(super) rankers: &'a [&'a [f64]],
    pub(super) judged: &'a JudgedQueries<'a>,
    pub(super) metric: &'a Metric,
    pub(super) interrupt: &'a Interrupt,
}

impl RankerSet<'_> {
    /// The best combination of two lists of scores, which are checked.
    pub(super) fn swept(&self, scores: TwoRankers<'_>, range: AlphaRange) -> Result<Sweep> {
        let options =
            SweepOptions { curve_steps: 0, ..SweepOptions::new(self.metric.clone(), range) };
        sweep_checked(scores, self.judged, &options, self.interrupt)
    }

    pub(super) fn value(&self, scores: &[f64]) -> Result<f64> {
        self.judged.mean(self.metric, scores, self.interrupt)
    }

    pub(super) fn combination(&self, weights: Vec<f64>) -> Result<Combination> {
        let value = self.value(&mix(self.rankers, &weights))?;
        let (history, path) = (vec![value], vec![weights.clone()]);
        Ok(Combination { weights, value, history, path, passes: 0 })
    }

    pub(super) fn average(&self, spreads: &[f64]) -> Result<Combination> {
        self.combination(spreads.iter().map(|&spread| inverse(spread)).collect())
    }

    /// The best of each ranker alone and of all together.
    pub(super) fn best_start(&self, spreads: &[f64]) -> Result<Combination> {
        let mut best = self.average(spreads)?;
        for ranker in 0..self.rankers.len() {
            let other = self.combination(alone(ranker, self.rankers.len()))?;
            // NaN means that no query counts: the sweep reports it.
            if other.value > best.value {
                best = other;
            }
        }
        Ok(best)
    }
}
