//! More than two rankers: weights that never make the metric fall.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::combine::{
    Combination, CoordinateOptions, Directions, Judged, Pairing, TieBreak, average,
    coordinate_sweeps, mix, pairing, untied, values,
};
use rustrank::{Interrupt, Mean, Metric, Queries, random};

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
        let uniform = |stream, row| random::draw(seed, stream, row) as f64 / 2f64.powi(64);
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
        for (name, directions) in [
            ("ndcg@3", Directions::Rankers), ("map", Directions::Rankers), ("err", Directions::Powell),
        ] {
            let metric: Metric = name.parse().unwrap();
            let mut options = CoordinateOptions::new(metric.clone());
            (options.negative, options.directions) = (negative, directions);
            let found = problem.coordinate(&options);
            prop_assert!(found.history.is_sorted_by(|x, y| x < y), "{:?}", found.history);
            prop_assert!(found.value >= problem.best_alone(&metric));
            prop_assert_eq!(found.value, problem.value(&metric, &found.weights));
            prop_assert!(found.passes < options.most_passes);
            prop_assert!(negative || found.weights.iter().all(|w| *w >= 0.0));
            prop_assert_eq!(found.path.last(), Some(&found.weights));
            let judged = problem.judged();
            let again = values(
                &problem.rankers(), &judged, &metric, &found.path, &Interrupt::new(),
            );
            prop_assert_eq!(again.unwrap(), found.history.clone());
            options.restarts = 3;
            prop_assert!(problem.coordinate(&options).value >= found.value);
            options.restarts = 0;
            if directions == Directions::Powell {
                continue;
            }
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
                pairing(&problem.rankers(), &judged, &metric, &order, &interrupt).unwrap();
            prop_assert_eq!(found.passes as u64, num_rankers - 1);
            prop_assert_eq!(found.value, problem.value(&metric, &found.weights));
            if !coarse {
                prop_assert!(found.value >= problem.best_alone(&metric) - 1e-12);
            }
        }
    }
}

#[test]
fn a_given_tree_is_joined_as_it_says() {
    let problem = Problem::new(3, 4, 6, false);
    let metric: Metric = "ndcg@3".parse().unwrap();
    let judged = problem.judged();
    let joined = |joins: &[(usize, usize)]| {
        let order = Pairing::Given(joins.to_vec());
        pairing(&problem.rankers(), &judged, &metric, &order, &Interrupt::new())
    };
    let found = joined(&[(2, 0), (1, 3), (5, 4)]).unwrap();
    assert_eq!(found.value, problem.value(&metric, &found.weights));
    assert!(found.value >= problem.best_alone(&metric));
    // The first join mixes two rankers only.
    assert_eq!((found.path[0][1], found.path[0][3]), (0.0, 0.0));
    assert!(found.path[1][0] == 0.0 && found.path[1][2] == 0.0);
    let greedy = Pairing::BestFirst;
    let best = pairing(&problem.rankers(), &judged, &metric, &greedy, &Interrupt::new()).unwrap();
    assert!(best.history[0] >= found.history[0]);
    for wrong in [&[(0, 1)][..], &[(0, 1), (0, 2), (3, 4)], &[(0, 0), (1, 2), (3, 4)], &[(0, 9)]] {
        let refused = joined(wrong).unwrap_err();
        assert_eq!(refused.fault().unwrap().code, "combine.tree");
    }
}

#[test]
fn an_average_weighs_rankers_by_their_spread() {
    let problem = Problem::new(3, 3, 6, false);
    let metric: Metric = "ndcg@3".parse().unwrap();
    let judged = problem.judged();
    let found = average(&problem.rankers(), &judged, &metric, &Interrupt::new()).unwrap();
    for (ranker, weight) in problem.rankers.iter().zip(&found.weights) {
        let mut ranges: Vec<f64> = ranker
            .chunks(8)
            .map(|docs| {
                docs.iter().copied().fold(f64::MIN, f64::max)
                    - docs.iter().copied().fold(f64::MAX, f64::min)
            })
            .collect();
        ranges.sort_by(f64::total_cmp);
        assert_eq!(*weight, 1.0 / ranges[3]);
    }
    assert_eq!(found.value, problem.value(&metric, &found.weights));
}

#[test]
fn a_score_or_jitter_orders_docs_that_are_tied_and_no_others() {
    let problem = Problem::new(5, 3, 20, true);
    let judged = problem.judged();
    let by: Vec<f64> = (0..160).map(|doc| f64::from(doc * 37 % 8)).collect();
    let check = |tie_break| {
        let found = untied(&problem.rankers(), &judged, tie_break).unwrap();
        let mut num_tied = 0;
        for (after, before) in found.iter().zip(&problem.rankers) {
            for docs in problem.queries.ranges() {
                for (x, y) in docs.clone().flat_map(|x| docs.clone().map(move |y| (x, y))) {
                    if before[x] > before[y] {
                        assert!(after[x] > after[y]);
                    } else if before[x] == before[y] && x != y {
                        num_tied += 1;
                        if let TieBreak::Score(by) = tie_break {
                            assert_eq!(after[x].total_cmp(&after[y]), by[x].total_cmp(&by[y]));
                        }
                        // Docs that nothing tells apart stay tied: their order is worth nothing.
                        let same = |ranker: &Vec<f64>| ranker[x] == ranker[y];
                        let is_twin = problem.rankers.iter().all(same)
                            && problem.labels[x] == problem.labels[y];
                        assert!(after[x] != after[y] || is_twin);
                    }
                }
            }
        }
        assert!(num_tied > 100);
        found
    };
    check(TieBreak::Score(&by));
    let drawn = check(TieBreak::Jitter(1));
    assert_eq!(drawn, check(TieBreak::Jitter(1)));
    assert_ne!(drawn, check(TieBreak::Jitter(2)));
    // The mean over seeds is the expectation.
    let metric: Metric = "ndcg@3".parse().unwrap();
    let value = |scores: &[f64]| {
        let queries = &problem.queries;
        let values = metric.per_query(scores, &problem.labels, queries, &Interrupt::new()).unwrap();
        Mean::of(&values, None).unwrap().value
    };
    let seeds = 0..400;
    let one =
        |seed| value(&untied(&problem.rankers(), &judged, TieBreak::Jitter(seed)).unwrap()[0]);
    let mean = seeds.clone().map(one).sum::<f64>() / seeds.end as f64;
    assert!((mean - value(&problem.rankers[0])).abs() < 0.005);
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
