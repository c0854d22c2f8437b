//! The weighted mean of a metric over queries, with the number of skipped queries.

use crate::error::Result;
use crate::exact_sum::{ExactSum, WORDS};
use crate::queries::check_query_weights;

/// A weighted mean over the queries that have a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean; NaN if every query is skipped or has weight 0.
    pub value: f64,
    /// The number of all queries.
    pub num_queries: usize,
    /// How many of them were skipped: nothing could be found in them.
    pub num_skipped: usize,
}

impl Mean {
    /// The mean of per-query values (NaN where skipped); without weights all queries weigh the same.
    ///
    /// Its bits depend on the values and their weights, not on the order of queries.
    pub fn of(values: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        let largest = match weights {
            None => 1.0,
            Some(weights) => {
                check_query_weights(weights, values.len())?;
                largest(weights)
            }
        };
        Ok(Self::of_words(&Self::words(values, weights, largest)))
    }

    /// The sums behind a mean as integers, so that those of several shards can be added exactly. `largest`
    /// is the largest weight of all shards.
    pub(crate) fn words(values: &[f64], weights: Option<&[f64]>, largest: f64) -> Vec<u64> {
        let (mut sum, mut total) = (ExactSum::default(), ExactSum::default());
        for (query, &value) in values.iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[query] / largest);
            if !value.is_nan() && weight > 0.0 {
                sum.add(weight * value);
                total.add(weight);
            }
        }
        let num_skipped = values.iter().filter(|value| value.is_nan()).count();
        let counts = [values.len() as u64, num_skipped as u64];
        [&sum.words()[..], &total.words(), &counts].concat()
    }

    /// The mean of added [`words`](Self::words).
    pub(crate) fn of_words(words: &[u64]) -> Self {
        let [sum, total] = [0, WORDS].map(|at| ExactSum::of_words(&words[at..at + WORDS]).value());
        let [num_queries, num_skipped] = [2 * WORDS, 2 * WORDS + 1].map(|at| words[at] as usize);
        Self { value: sum / total, num_queries, num_skipped }
    }

    /// The number of words of a mean.
    pub(crate) const WORDS: usize = 2 * WORDS + 2;
}

/// The largest weight. Weights are divided by it, so that no sum of them overflows.
pub(crate) fn largest(weights: &[f64]) -> f64 {
    weights.iter().copied().fold(0.0, f64::max)
}

/// The values that are not NaN and weigh something, with their weights, sorted by content, so that sums do
/// not depend on the order of queries; weights are scaled to at most 1, so that no sum of them overflows.
pub(super) fn sorted_by_content(
    values: &[f64],
    weights: Option<&[f64]>,
) -> Result<Vec<(f64, f64)>> {
    let mut pairs: Vec<(f64, f64)> = match weights {
        None => values.iter().map(|&value| (value, 1.0)).collect(),
        Some(weights) => {
            check_query_weights(weights, values.len())?;
            let largest = largest(weights);
            values.iter().zip(weights).map(|(&value, &w)| (value, w / largest)).collect()
        }
    };
    pairs.retain(|(value, weight)| !value.is_nan() && *weight > 0.0);
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    Ok(pairs)
}

/// The weighted mean of (value, weight) pairs; NaN if there are none.
pub(super) fn mean_of(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (value, weight) in pairs {
        sum += weight * value;
        total += weight;
    }
    sum / total
}
