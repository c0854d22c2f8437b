//! More than two rankers: weights that never make the metric fall.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::combine::{
    Combination, CoordinateOptions, Judged, Pairing, coordinate_sweeps, mix, pairing,
};
use rustrank::{Interrupt, Mean, Metric, Queries, hash};

struct Problem {
    rankers: Vec<Vec<f64>>,
    labels: Vec<f32>,
    queries: Queries,
}

impl Problem {
    /// Rankers that know something of the labels, on scales of their own; coarse ones have ties.
    fn new(seed: u64, num_rankers: u64, num_queries: usize, coarse: bool) -> Self {
        const DOCS: usize = 8;
        let rows = 0..(num_queries * DOCS) as u64;
        let uniform = |stream, row| hash::draw(seed, stream, row) as f64 / 2f64.powi(64);
        let label = |row| (uniform(0, row) * 3.0).floor() as f32;
        let score = |ranker: u64, row| {
            let score = 4.0 * uniform(ranker + 1, row) + f64::from(label(row));
            let score = if coarse { score.round() } else { score };
            score * 7f64.powi(ranker as i32 % 5 - 2)
        };
        let ranker = |ranker| rows.clone().map(|row| score(ranker, row)).collect();
        let queries = Queries::from_sizes(&vec![8; num_queries], num_queries * DOCS).unwrap();
        Self {
            rankers: (0..num_rankers).map(ranker).collect(),
            labels: rows.clone().map(label).collect(),
            queries,
        }
    }

    fn rankers(&self) -> Vec<&[f64]> {
        self.rankers.iter().map(Vec::as_slice).collect()
    }

    fn judged(&self) -> Judged<'_> {
        Judged { labels: &self.labels, queries: &self.queries, query_weight: None }
    }

    fn value(&self, metric: &Metric, weights: &[f64]) -> f64 {
        let mixed = mix(&self.rankers(), weights);
        let interrupt = Interrupt::new();
        let values = metric.per_query(&mixed, &self.labels, &self.queries, &interrupt).unwrap();
        Mean::of(&values, None).unwrap().value
    }

    fn best_alone(&self, metric: &Metric) -> f64 {
        let alone = |ranker| {
            let weight = |other| f64::from(u8::from(other == ranker));
            self.value(metric, &(0..self.rankers.len()).map(weight).collect::<Vec<_>>())
        };
        (0..self.rankers.len()).map(alone).fold(0.0, f64::max)
    }

    fn coordinate(&self, options: &CoordinateOptions) -> Combination {
        let interrupt = Interrupt::new();
        coordinate_sweeps(&self.rankers(), &self.judged(), options, &interrupt).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn coordinate_sweeps_never_lower_the_metric_and_end(
        seed in 0u64..1000, num_rankers in 1u64..6, coarse: bool, negative: bool,
    ) {
        let problem = Problem::new(seed, num_rankers, 6, coarse);
        for name in ["ndcg@3", "map"] {
            let metric: Metric = name.parse().unwrap();
            let mut options = CoordinateOptions::new(metric.clone());
            options.negative = negative;
            let found = problem.coordinate(&options);
            prop_assert!(found.history.is_sorted_by(|x, y| x < y), "{:?}", found.history);
            prop_assert!(found.value >= problem.best_alone(&metric));
            prop_assert_eq!(found.value, problem.value(&metric, &found.weights));
            prop_assert!(found.passes < options.most_passes);
            prop_assert!(negative || found.weights.iter().all(|w| *w >= 0.0));
            // Where it ended nothing is left to gain.
            options.start = Some(found.weights.clone());
            let again = problem.coordinate(&options);
            prop_assert_eq!((again.weights, again.passes), (found.weights, 1));
        }
    }

    #[test]
    fn a_pairing_is_no_worse_than_its_rankers(
        seed in 0u64..1000, num_rankers in 1u64..6, coarse: bool,
    ) {
        let problem = Problem::new(seed, num_rankers, 6, coarse);
        let metric: Metric = "ndcg@3".parse().unwrap();
        for order in [Pairing::BestFirst, Pairing::MostDifferentFirst] {
            let interrupt = Interrupt::new();
            let judged = problem.judged();
            let found =
                pairing(&problem.rankers(), &judged, &metric, order, &interrupt).unwrap();
            prop_assert_eq!(found.passes as u64, num_rankers - 1);
            prop_assert_eq!(found.value, problem.value(&metric, &found.weights));
            if !coarse {
                prop_assert!(found.value >= problem.best_alone(&metric) - 1e-12);
            }
        }
    }
}

#[test]
fn many_rankers_and_one_that_says_nothing() {
    let mut problem = Problem::new(1, 200, 5, false);
    problem.rankers[7].fill(3.0);
    let mut options = CoordinateOptions::new("ndcg".parse().unwrap());
    options.most_passes = 1;
    let found = problem.coordinate(&options);
    assert!(found.value > problem.best_alone(&options.metric));
    assert_eq!(found.value, problem.value(&options.metric, &found.weights));
}

#[test]
fn what_cannot_be_used_is_named() {
    let problem = Problem::new(1, 2, 3, false);
    let options = CoordinateOptions::new("ndcg".parse().unwrap());
    let say = |rankers: &[&[f64]], options: &CoordinateOptions| {
        let found = coordinate_sweeps(rankers, &problem.judged(), options, &Interrupt::new());
        found.unwrap_err().to_string()
    };
    assert!(say(&[], &options).starts_with("no rankers"));
    assert!(
        say(&[&problem.rankers[0][1..]], &options).starts_with("scores[0] has the wrong length")
    );
    let far = CoordinateOptions { reach: f64::NAN, ..options.clone() };
    assert!(say(&problem.rankers(), &far).starts_with("reach"));
    let start = CoordinateOptions { start: Some(vec![1.0]), ..options.clone() };
    assert!(say(&problem.rankers(), &start).starts_with("start has the wrong length"));
}
