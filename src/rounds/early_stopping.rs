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
    /// Over how many rounds around each one values are averaged before they are compared; 1 for none.
    /// A single high value of a noisy curve is then no reason to keep a round.
    pub smooth: usize,
}

impl EarlyStopping {
    /// Ends training after so many rounds without a new best value of the first metric on the first set.
    pub fn after(rounds: usize) -> Self {
        Self { rounds, set: 0, metric: 0, smooth: 1 }
    }
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

/// The first round with the largest mean over the `smooth` rounds around it, counted from 0. Of rounds with equal
/// means, which late rounds have where their windows hold all rounds, the one with the largest value.
///
/// The mean of one of the first rounds is over as many rounds after it as before: with all later ones, the first
/// round would seem the best of a curve that rises fast and falls slowly. The last rounds have what there is.
/// A round is left out of all means, and is never the best, where its value is NaN.
pub(super) fn best(history: &[Vec<f64>], value: usize, smooth: usize) -> Option<usize> {
    let mean = |round: usize| {
        let before = round.min(smooth / 2);
        let from_it = smooth.div_ceil(2).min(before + 1);
        let end = (round + from_it).min(history.len());
        let known =
            history[round - before..end].iter().map(|values| values[value]).filter(|v| !v.is_nan());
        let (sum, count) = known.fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
        sum / count as f64
    };
    let rounds = (0..history.len()).filter(|&round| !history[round][value].is_nan());
    let keys = rounds.map(|round| (round, (mean(round), history[round][value])));
    keys.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(round, _)| round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_values_is_the_best() {
        let history = |values: &[f64]| values.iter().map(|&v| vec![v]).collect::<Vec<_>>();
        assert_eq!(best(&history(&[0.1, 0.3, 0.3, 0.2]), 0, 1), Some(1));
        assert_eq!(best(&history(&[f64::NAN, 0.3, f64::NAN]), 0, 1), Some(1));
        assert_eq!(best(&history(&[f64::NAN]), 0, 1), None);
        assert_eq!(best(&[], 0, 1), None);
    }

    #[test]
    fn a_single_high_value_is_not_the_best_of_a_smooth_curve() {
        let history: Vec<Vec<f64>> =
            [0.1, 0.9, 0.1, 0.5, 0.6, 0.5, 0.2].iter().map(|&value| vec![value]).collect();
        assert_eq!(best(&history, 0, 1), Some(1));
        // Means of three: .1, .37, .5, .4, .53, .43, .35.
        assert_eq!(best(&history, 0, 3), Some(4));
        // A value that is NaN counts for none, and its round is never the best.
        let mut history = history;
        history[4][0] = f64::NAN;
        // Means: .1, .37, .5, .3, -, .35, .35.
        assert_eq!(best(&history, 0, 3), Some(2));
    }

    #[test]
    fn the_first_round_is_not_the_best_of_a_curve_that_rises_fast_and_falls_slowly() {
        let value = |round: usize| {
            if round < 5 { 0.30 + 0.01 * round as f64 } else { 0.345 - 0.001 * round as f64 }
        };
        let history: Vec<Vec<f64>> = (0..100).map(|round| vec![value(round)]).collect();
        let mean_of_all_later = (0..21).map(value).sum::<f64>() / 21.0;
        assert!(mean_of_all_later > value(0));
        let found = best(&history, 0, 41).unwrap();
        assert!((4..12).contains(&found), "{found}");
    }

    #[test]
    fn a_rising_curve_is_best_at_its_end() {
        for smooth in [1, 2, 5, 40, 1000] {
            for rounds in 1..60 {
                let history: Vec<Vec<f64>> =
                    (0..rounds).map(|round| vec![f64::from(round)]).collect();
                assert_eq!(
                    best(&history, 0, smooth),
                    Some(rounds as usize - 1),
                    "{smooth} {rounds}"
                );
            }
        }
    }
}
