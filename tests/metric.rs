//! Values of metrics: against brute force over all orders of tied docs, by hand, and blind to the
//! order of rows, queries and threads.

#![expect(clippy::unwrap_used, reason = "a test")]

mod oracle;

use oracle::Query;
use proptest::prelude::*;
use rustrank::metric::{Rbp, evaluate};
use rustrank::{Convention, Empty, Gain, Interrupt, Mean, Measure, Metric, Queries, Ties, random};
use std::time::Instant;

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn with(name: &str, change: impl FnOnce(&mut Convention)) -> Metric {
    let mut convention = Convention::default();
    change(&mut convention);
    metric(name).with_convention(&convention).unwrap()
}

fn value(metric: &Metric, scores: &[f64], labels: &[f32]) -> f64 {
    let queries =
        Queries::from_sizes(&[i64::try_from(scores.len()).unwrap()], scores.len()).unwrap();
    metric.per_query(scores, labels, &queries, &Interrupt::new()).unwrap()[0]
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(1.0) || a.is_nan() && b.is_nan()
}

/// Scores with many ties: some exact in 32 bits, some not, some infinite.
fn scores(len: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<f64>> {
    let score = prop_oneof![
        6 => (0..3i32).prop_map(f64::from),
        1 => Just(0.1),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
        2 => Just(f64::NEG_INFINITY),
    ];
    prop::collection::vec(score, len)
}

fn conventions() -> impl Strategy<Value = Convention> {
    let gain = prop_oneof![
        Just(Gain::Exp2),
        Just(Gain::Linear),
        Just(Gain::Table(vec![0.0, 0.0, 2.0, 2.5, 7.0]))
    ];
    let max_label = prop_oneof![Just(None), Just(Some(4.0))];
    (gain, max_label, prop_oneof![Just(1.0f32), Just(2.0)]).prop_map(
        |(gain, max_label, relevant_from)| Convention {
            gain,
            max_label,
            relevant_from,
            ..Convention::default()
        },
    )
}

fn queries() -> impl Strategy<Value = Query> {
    scores(1..=6).prop_flat_map(|scores| {
        let len = scores.len();
        prop::collection::vec((0..5u8).prop_map(f32::from), len)
            .prop_map(move |labels| Query { scores: scores.clone(), labels })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_metric_is_the_mean_over_all_orders(query in queries(), convention in conventions()) {
        let max = query.labels.iter().copied().fold(0.0, f32::max);
        let impatient = Measure::Rbp(Rbp::new(0.35).unwrap());
        for measure in Measure::ALL.into_iter().chain([impatient]) {
            for cut in [None, Some(1), Some(2), Some(3), Some(5), Some(9)] {
                let metric = Metric::new(measure, cut, convention.clone()).unwrap();
                let got = value(&metric, &query.scores, &query.labels);
                let expected = oracle::expected(&metric, &query, max).unwrap_or(f64::NAN);
                prop_assert!(near(got, expected), "{metric}: {got} != {expected}");
            }
        }
    }

    #[test]
    fn fixed_tie_rules_value_one_order(query in queries(), convention in conventions()) {
        let max = query.labels.iter().copied().fold(0.0, f32::max);
        for ties in [Ties::RowOrder, Ties::Worst] {
            let retrieved = |doc: &usize| query.scores[*doc] > f64::NEG_INFINITY;
            let mut order: Vec<usize> = (0..query.len()).filter(retrieved).collect();
            if ties == Ties::Worst {
                order.sort_by(|a, b| query.labels[*a].total_cmp(&query.labels[*b]));
            }
            let by_score = |a: &usize, b: &usize| query.scores[*b].partial_cmp(&query.scores[*a]);
            order.sort_by(|a, b| by_score(a, b).unwrap());
            let convention = Convention { ties, ..convention.clone() };
            for measure in Measure::ALL {
                for cut in [None, Some(1), Some(2), Some(4)] {
                    let metric = Metric::new(measure, cut, convention.clone()).unwrap();
                    let got = value(&metric, &query.scores, &query.labels);
                    let expected = oracle::value(&metric, &query, &order, max).unwrap_or(f64::NAN);
                    prop_assert!(near(got, expected), "{metric} {ties}: {got} != {expected}");
                }
            }
        }
    }
}

#[test]
fn known_values_by_hand() {
    let (scores, labels) = ([4.0, 3.0, 2.0, 1.0], [2.0, 0.0, 1.0, 0.0]);
    let at = |name: &str| value(&metric(name), &scores, &labels);
    for (name, expected) in [
        ("dcg", 3.0 + 0.5),
        ("ndcg", 3.5 / (3.0 + 1.0 / 3f64.log2())),
        ("ndcg@1", 1.0),
        ("map", f64::midpoint(1.0, 2.0 / 3.0)),
        ("map@2", 0.5),
        ("mrr", 1.0),
        ("precision@3", 2.0 / 3.0),
        ("precision@8", 2.0 / 8.0),
        ("precision", 0.5),
        ("recall@2", 0.5),
        ("pairwise", 4.0 / 5.0),
        ("err", 0.75 + 0.25 * 0.25 / 3.0),
        ("rbp(p=0.5)", 0.5 * (1.0 + 0.25)),
        ("rbp(p=0.95)", 0.05 * (1.0 + 0.95 * 0.95)),
        ("rbp(p=0.8)@2", 0.2),
    ] {
        assert!(near(at(name), expected), "{name}: {}", at(name));
    }
    assert!(near(value(&with("err", |c| c.max_label = Some(4.0)), &scores, &labels), {
        let (first, third) = (3.0 / 16.0, 1.0 / 16.0);
        first + (1.0 - first) * third / 3.0
    }));
    assert!(near(
        value(&with("ndcg@1", |c| c.gain = Gain::Linear), &[1.0, 1.0], &[2.0, 1.0]),
        0.75
    ));
    assert!(near(value(&metric("mrr"), &[1.0, 1.0], &[1.0, 0.0]), 0.75));
    assert!(near(value(&metric("rbp(p=0.6)"), &[1.0, 1.0], &[1.0, 0.0]), 0.4 * 0.8));
}

#[test]
fn a_perfect_ranking_is_exactly_one() {
    for n in 1..200u16 {
        let labels: Vec<f32> = (0..n).map(|i| f32::from(i % 31)).collect();
        let scores: Vec<f64> = labels.iter().map(|l| f64::from(*l)).collect();
        if n > 1 {
            for name in ["ndcg", "ndcg@7", "pairwise", "pairwise@7"] {
                assert_eq!(value(&metric(name), &scores, &labels), 1.0, "{name} {n}");
            }
        }
    }
}

#[test]
fn a_query_without_anything_to_find_is_skipped_or_a_constant() {
    for measure in Measure::ALL {
        for (empty, expected) in [(Empty::Skip, f64::NAN), (Empty::Zero, 0.0), (Empty::One, 1.0)] {
            let convention = Convention { empty, ..Convention::default() };
            let metric = Metric::new(measure, Some(2), convention).unwrap();
            assert!(near(value(&metric, &[2.0, 1.0, 1.0], &[0.0; 3]), expected), "{metric}");
        }
    }
    assert!(value(&metric("pairwise"), &[2.0, 1.0], &[3.0, 3.0]).is_nan());
    let none = [f64::NEG_INFINITY; 2];
    for measure in Measure::ALL {
        let metric = Metric::new(measure, None, Convention::default()).unwrap();
        assert_eq!(value(&metric, &none, &[1.0, 0.0]), 0.0, "{metric}");
    }
}

/// Docs of `num` queries with ties; labels are real numbers where `real`.
fn many(num: usize, real: bool) -> (Vec<f64>, Vec<f32>, Vec<i64>) {
    let sizes: Vec<i64> =
        (0..num).map(|q| 1 + (random::draw(1, 0, q as u64) % 70).cast_signed()).collect();
    let rows = sizes.iter().sum::<i64>() as u64;
    let score = |row| random::below(random::draw(2, 0, row), 40) as f64 / 7.0;
    let label = |row| {
        let label = random::below(random::draw(3, 0, row), 5) as f32;
        if real { label + random::below(random::draw(4, 0, row), 97) as f32 / 97.0 } else { label }
    };
    ((0..rows).map(score).collect(), (0..rows).map(label).collect(), sizes)
}

fn all_metrics(gain: &Gain) -> Vec<Metric> {
    let cuts = [None, Some(1), Some(10), Some(33)];
    let convention = Convention { gain: gain.clone(), ..Convention::default() };
    let metrics = Measure::ALL.into_iter().flat_map(|m| cuts.map(|cut| (m, cut)));
    metrics.map(|(m, cut)| Metric::new(m, cut, convention.clone()).unwrap()).collect()
}

fn bits(values: &[Vec<f64>]) -> Vec<Vec<u64>> {
    values.iter().map(|v| v.iter().map(|x| x.to_bits()).collect()).collect()
}

#[test]
fn row_order_and_threads_change_no_bit() {
    for (real, gain) in [(false, Gain::Exp2), (true, Gain::Linear)] {
        let (mut scores, mut labels, sizes) = many(300, real);
        let queries = Queries::from_sizes(&sizes, scores.len()).unwrap();
        let metrics = all_metrics(&gain);
        let interrupt = Interrupt::new();
        let run = |threads: usize, scores: &[f64], labels: &[f32]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let values = pool.install(|| evaluate(&metrics, scores, labels, &queries, &interrupt));
            values.unwrap()
        };
        let one = run(1, &scores, &labels);
        assert_eq!(bits(&one), bits(&run(4, &scores, &labels)));
        for (number, metric) in metrics.iter().enumerate() {
            let alone = metric.per_query(&scores, &labels, &queries, &interrupt).unwrap();
            assert_eq!(bits(&[alone])[0], bits(&one)[number], "{metric} alone");
        }
        for (q, docs) in queries.ranges().enumerate() {
            let by = q % docs.len();
            scores[docs.clone()].rotate_left(by);
            labels[docs.clone()].rotate_left(by);
            scores[docs.clone()].reverse();
            labels[docs].reverse();
        }
        assert_eq!(bits(&one), bits(&run(4, &scores, &labels)));
    }
}

#[test]
fn different_tie_rules_in_one_call() {
    let scores = [1.0, 1.0, 1.0];
    let labels = [1.0, 0.0, 0.0];
    let queries = Queries::from_sizes(&[3], 3).unwrap();
    let rules = [Ties::Expected, Ties::RowOrder, Ties::Worst];
    let metrics = rules.map(|ties| with("mrr", |c| c.ties = ties));
    let values = evaluate(&metrics, &scores, &labels, &queries, &Interrupt::new()).unwrap();
    let thirds = (1.0 + 0.5 + 1.0 / 3.0) / 3.0;
    assert!(near(values[0][0], thirds));
    assert_eq!((values[1][0], values[2][0]), (1.0, 1.0 / 3.0));
}

#[test]
fn thousands_of_tied_docs_stay_cheap() {
    let labels: Vec<f32> = (0..5000).map(|i| (random::draw(9, 0, i) % 5) as f32).collect();
    let scores = vec![1.0; labels.len()];
    let start = Instant::now();
    for metric in all_metrics(&Gain::Exp2) {
        let value = value(&metric, &scores, &labels);
        assert!(value.is_finite() && value >= 0.0, "{metric}");
    }
    // Ample: a cubic step somewhere would take minutes.
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
}

#[test]
fn a_tied_block_of_equal_labels_is_like_an_untied_one() {
    let labels = vec![2.0; 400];
    let tied = vec![1.0; 400];
    let untied: Vec<f64> = (0..400).map(f64::from).collect();
    for metric in all_metrics(&Gain::Exp2) {
        let (a, b) = (value(&metric, &tied, &labels), value(&metric, &untied, &labels));
        assert!(near(a, b), "{metric}: {a} {b}");
    }
}

#[test]
fn the_mean_weighs_counts_and_forgets_the_order() {
    let values = [0.1, f64::NAN, 0.7, 0.3, 1.0 / 3.0];
    let weights = [1.0, 5.0, 2.0, 0.0, 0.25];
    let mean = Mean::of(&values, Some(&weights)).unwrap();
    assert!(near(mean.value, (0.1 + 1.4 + 0.25 / 3.0) / 3.25));
    assert_eq!((mean.num_queries, mean.num_skipped), (5, 1));
    let (values, weights) = ([0.7, 1.0 / 3.0, 0.3, f64::NAN, 0.1], [2.0, 0.25, 0.0, 5.0, 1.0]);
    let again = Mean::of(&values, Some(&weights)).unwrap();
    assert_eq!(mean.value.to_bits(), again.value.to_bits());
    let huge = Mean::of(&[0.5, 0.25], Some(&[f64::MAX, f64::MAX])).unwrap();
    assert_eq!(huge.value, 0.375);
    assert!(Mean::of(&[f64::NAN], None).unwrap().value.is_nan());
}

#[test]
fn work_ends_when_it_is_interrupted() {
    let interrupt = Interrupt::new();
    interrupt.raise();
    let queries = Queries::from_sizes(&[1], 1).unwrap();
    let ended = metric("map").per_query(&[1.0], &[1.0], &queries, &interrupt);
    assert!(matches!(ended.unwrap_err().kind(), rustrank::ErrorKind::Interrupted));
}
