//! Early stopping: when training ends, and which round was the best. Both follow from the history
//! alone.

/// Ends training when a value has not risen for some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyStopping {
    /// The number of rounds without a new best value: at least 1.
    pub rounds: usize,
    /// The index of the evaluation set.
    pub set: usize,
    /// The index of the metric.
    pub metric: usize,
}

/// Why training has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// All rounds are done.
    Done,
    /// The value has not risen for long enough.
    EarlyStopping,
    /// Nothing more can be learned: many consecutive rounds found no split, or no feature fits.
    Nothing,
}

/// The first round with the largest value, counted from 0; NaN is never the largest.
pub(super) fn best(history: &[Vec<f64>], value: usize) -> Option<usize> {
    let values = history.iter().map(|values| values[value]).enumerate();
    let best = values.filter(|(_, value)| !value.is_nan());
    best.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(round, _)| round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_values_is_the_best() {
        let history = |values: &[f64]| values.iter().map(|&v| vec![v]).collect::<Vec<_>>();
        assert_eq!(best(&history(&[0.1, 0.3, 0.3, 0.2]), 0), Some(1));
        assert_eq!(best(&history(&[f64::NAN, 0.3, f64::NAN]), 0), Some(1));
        assert_eq!(best(&history(&[f64::NAN]), 0), None);
        assert_eq!(best(&[], 0), None);
    }
}
