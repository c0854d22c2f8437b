//! Normalisations: functions applied to the scores of a part before they are weighted or made into features.
//!
//! Some depend on the score alone, some on all scores of its query. The latter do not depend on the order of
//! the docs, since they sum in the order of the scores.

use crate::error::{Error, Result};

/// A function of a score, or of the scores of a query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Normalisation {
    /// Nothing.
    #[default]
    AsIs,
    /// `(score - mean) / scale`, the same for all docs.
    Fixed {
        /// What is subtracted.
        mean: f64,
        /// What is divided by; above 0.
        scale: f64,
    },
    /// `1 / (1 + exp(-score))`: the probability that the score of a logistic loss stands for.
    Logistic,
    /// `(score - mean) / deviation` of the scores in the doc's query; 0 where they are all equal.
    Query,
    /// `(score - least) / (largest - least)` in the doc's query; 0 where they are all equal.
    QueryRange,
    /// `P_max * (1 + P - P_max)`, where `P` is the [probability](Self::Logistic) of a doc and `P_max`
    /// the largest of its query: from Burges and others, "Learning to Rank Using an Ensemble of
    /// Lambda-Gradient Models" (2011), section 4.2.
    ///
    /// The best doc keeps its probability; the others keep their distances from it, shrunk by it,
    /// so that queries without a good doc differ less.
    QueryTop,
}

/// Normalisations without parameters, by name.
const NAMED: [(&str, Normalisation); 5] = [
    ("as-is", Normalisation::AsIs),
    ("logistic", Normalisation::Logistic),
    ("query", Normalisation::Query),
    ("query_range", Normalisation::QueryRange),
    ("query_top", Normalisation::QueryTop),
];

impl Normalisation {
    /// The one of a name, as files and options have it; [`Fixed`](Self::Fixed) has none.
    pub fn named(name: &str) -> Result<Self> {
        let found = NAMED.iter().find(|(known, _)| *known == name);
        found.map(|&(_, normalisation)| normalisation).ok_or_else(|| {
            let known = NAMED.map(|(name, _)| name).join(", ");
            Error::param("normalise", "there is no such normalisation").got(name).expected(known)
        })
    }

    /// Its name, if that says all of it.
    pub fn name(self) -> Option<&'static str> {
        NAMED.iter().find(|(_, known)| *known == self).map(|&(name, _)| name)
    }

    /// Whether it depends on the other docs of the query.
    pub fn needs_queries(self) -> bool {
        matches!(self, Self::Query | Self::QueryRange | Self::QueryTop)
    }

    /// Does it to scores of queries: query `i` has the scores `bounds[i]..bounds[i + 1]`.
    pub fn apply(self, scores: &mut [f64], bounds: &[usize]) -> Result<()> {
        self.check()?;
        check_bounds(bounds, scores.len())?;
        self.normalise(scores, bounds);
        Ok(())
    }

    /// As [`apply`](Self::apply), once everything is checked.
    pub(super) fn normalise(self, scores: &mut [f64], bounds: &[usize]) {
        if self.needs_queries() {
            for query in bounds.windows(2) {
                self.of_query(&mut scores[query[0]..query[1]]);
            }
        } else if self != Self::AsIs {
            for score in scores {
                *score = self.of_doc(*score);
            }
        }
    }

    /// What becomes of a score whatever its query; the score itself where that decides.
    pub(crate) fn of_doc(self, score: f64) -> f64 {
        match self {
            Self::Fixed { mean, scale } => (score - mean) / scale,
            Self::Logistic => logistic(score),
            Self::AsIs | Self::Query | Self::QueryRange | Self::QueryTop => score,
        }
    }

    fn of_query(self, scores: &mut [f64]) {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Query => standardise(scores),
            Self::QueryRange => {
                let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
                let range = largest - least;
                for score in scores {
                    *score = if range > 0.0 { (*score - least) / range } else { 0.0 };
                }
            }
            Self::QueryTop => {
                let top = logistic(largest);
                for score in scores {
                    *score = top * (1.0 + logistic(*score) - top);
                }
            }
            Self::AsIs | Self::Fixed { .. } | Self::Logistic => {}
        }
    }

    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Fixed { mean, scale }
                if !(mean.is_finite() && scale.is_finite() && scale > 0.0) =>
            {
                let what = "a normalisation must be finite, its scale above 0";
                Err(Error::model("model.number", what))
            }
            _ => Ok(()),
        }
    }
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Mean 0 and deviation 1 within a query, or all 0 where all are equal.
fn standardise(scores: &mut [f64]) {
    // Summed in the order of the scores, so that the order of the docs cannot matter.
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = scores.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / count;
    let equal = sorted.first() == sorted.last() || variance <= 0.0;
    for score in scores {
        *score = if equal { 0.0 } else { (*score - mean) / variance.sqrt() };
    }
}

/// Refuses bounds of queries that do not rise from 0 to the number of rows.
pub(super) fn check_bounds(bounds: &[usize], rows: usize) -> Result<()> {
    let rise = bounds.windows(2).all(|pair| pair[0] <= pair[1]);
    if rise && bounds.first() == Some(&0) && bounds.last() == Some(&rows) {
        return Ok(());
    }
    Err(Error::param("score.bounds", "the bounds of queries must rise")
        .expected(format!("from 0 to {rows}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_normalisation_does_what_it_says() {
        let (scores, bounds) = ([1.0, 3.0, 2.0, 5.0, 5.0, -700.0], [0, 3, 3, 5, 6]);
        let done = |normalisation: Normalisation| {
            let mut scores = scores;
            normalisation.apply(&mut scores, &bounds).expect("whole bounds");
            scores
        };
        assert_eq!(done(Normalisation::AsIs), scores);
        let fixed = Normalisation::Fixed { mean: 1.0, scale: 2.0 };
        assert_eq!(done(fixed), [0.0, 1.0, 0.5, 2.0, 2.0, -350.5]);
        assert_eq!(done(Normalisation::QueryRange), [0.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        let deviation = (2.0f64 / 3.0).sqrt();
        assert_eq!(
            done(Normalisation::Query),
            [-1.0 / deviation, 1.0 / deviation, 0.0, 0.0, 0.0, 0.0]
        );
        let p = |score: f64| 1.0 / (1.0 + (-score).exp());
        let top = p(3.0);
        let topped = done(Normalisation::QueryTop);
        let expected = [top * (1.0 + p(1.0) - top), top, top * (1.0 + p(2.0) - top)];
        // An exponential that the compiler has worked out may differ in the last digit.
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 4.0 * f64::EPSILON * b.abs();
        assert!(topped.iter().zip(&expected).all(is_near), "{topped:?}");
        assert!(topped[3..].iter().zip(&[p(5.0), p(5.0), p(-700.0)]).all(is_near), "{topped:?}");
        assert!(is_near((&done(Normalisation::Logistic)[5], &p(-700.0))));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let fixed = Normalisation::Fixed { mean: 0.0, scale: 0.0 };
        assert!(fixed.apply(&mut [1.0], &[0, 1]).is_err());
        for bounds in [&[][..], &[0], &[1, 2], &[0, 3], &[0, 2, 1, 2]] {
            assert!(Normalisation::Query.apply(&mut [1.0, 2.0], bounds).is_err());
        }
    }
}
