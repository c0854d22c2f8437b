//! Every swap delta equals evaluate(swapped) - evaluate(before).

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::{Convention, Gain, Interrupt, Measure, Metric, Queries, Ties, random};
use std::time::Instant;

#[derive(Debug, Clone)]
struct Query {
    scores: Vec<f64>,
    labels: Vec<f32>,
}

impl Query {
    fn len(&self) -> usize {
        self.scores.len()
    }

    fn swapped(&self, a: usize, b: usize) -> Self {
        let mut swapped = self.clone();
        swapped.scores.swap(a, b);
        swapped
    }
}

fn value(metric: &Metric, query: &Query) -> f64 {
    let queries = Queries::from_sizes(&[i64::try_from(query.len()).unwrap()], query.len()).unwrap();
    metric.per_query(&query.scores, &query.labels, &queries, &Interrupt::new()).unwrap()[0]
}

/// The largest miss over all pairs of docs, relative to the values where those are large.
fn largest_miss(metric: &Metric, query: &Query) -> f64 {
    let mut deltas = metric.swap_delta(&query.labels).unwrap();
    deltas.prepare(&query.scores, &query.labels).unwrap();
    let before = value(metric, query);
    assert_eq!(deltas.value().to_bits(), before.to_bits());
    let mut largest = 0.0f64;
    let mut row = Vec::new();
    for a in 0..query.len() {
        deltas.fill(a, 0..query.len(), &mut row);
        for (b, &in_row) in row.iter().enumerate() {
            let delta = deltas.delta(a, b);
            assert_eq!(delta, in_row);
            let after = value(metric, &query.swapped(a, b));
            if before.is_nan() {
                assert!(after.is_nan() && delta == 0.0);
                continue;
            }
            if query.scores[a] == query.scores[b] || query.labels[a] == query.labels[b] {
                assert_eq!(delta, 0.0);
            }
            let scale = before.abs().max(after.abs()).max(1.0);
            let miss = (delta - (after - before)).abs() / scale;
            assert!(miss.is_finite());
            largest = largest.max(miss);
        }
    }
    largest
}

fn check_all(query: &Query, convention: &Convention, cuts: &[Option<usize>]) {
    for measure in Measure::ALL {
        for &cut in cuts {
            let metric = Metric::new(measure, cut, convention.clone()).unwrap();
            let miss = largest_miss(&metric, query);
            assert!(miss <= 1e-12, "{metric}: {miss:e} {query:?}");
        }
    }
}

/// `levels` scores (few: many ties), labels below `labels`, some docs not retrieved.
fn query(seed: u64, len: usize, levels: u64, labels: u64) -> Query {
    let draw = |stream, doc: usize, n| random::below(random::draw(seed, stream, doc as u64), n);
    let score = |doc| match draw(0, doc, levels + 1) {
        0 if draw(1, doc, 2) == 0 => f64::NEG_INFINITY,
        score => score as f64 / 3.0,
    };
    Query {
        scores: (0..len).map(score).collect(),
        labels: (0..len).map(|doc| draw(2, doc, labels) as f32).collect(),
    }
}

const CUTS: [Option<usize>; 6] = [None, Some(1), Some(2), Some(3), Some(5), Some(11)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn deltas_are_exact_whatever_the_ties(
        seed: u64,
        len in 1..14usize,
        levels in 1..9u64,
        labels in 2..6u64,
        gain in prop_oneof![
            Just(Gain::Exp2),
            Just(Gain::Linear),
            Just(Gain::Table(vec![0.0, 0.5, 0.5, 3.0, 9.0]))
        ],
        relevant_from in prop_oneof![Just(1.0f32), Just(2.0)],
    ) {
        let convention = Convention { gain, relevant_from, ..Convention::default() };
        check_all(&query(seed, len, levels, labels), &convention, &CUTS);
    }
}

#[test]
fn deltas_of_longer_queries() {
    for (seed, levels) in [(1, 3), (2, 12), (3, 60), (4, 1 << 40)] {
        let query = query(seed, 60, levels, 5);
        check_all(&query, &Convention::default(), &[None, Some(10), Some(25)]);
    }
}

#[test]
fn deltas_with_more_levels_than_a_table_holds() {
    let convention = Convention { gain: Gain::Linear, ..Convention::default() };
    for (seed, levels) in [(5, 4), (6, 30)] {
        let mut query = query(seed, 40, levels, 1000);
        query.labels.iter_mut().for_each(|label| *label /= 250.0);
        check_all(&query, &convention, &[None, Some(1), Some(7)]);
    }
}

#[test]
fn deltas_at_the_top_of_the_label_scale() {
    for seed in 0..4 {
        let query = query(seed, 24, 9, 31);
        check_all(&query, &Convention::default(), &[None, Some(5)]);
    }
    let linear = Convention { gain: Gain::Linear, ..Convention::default() };
    let labels = vec![3e38, 1.0, 0.0, 3e38, 2e38, 0.0];
    let query = Query { scores: vec![1.0, 2.0, 2.0, 3.0, 3.0, 0.0], labels };
    for cut in [None, Some(2)] {
        let err = Metric::new(Measure::Err, cut, linear.clone()).unwrap();
        assert!(largest_miss(&err, &query) < 1e-12);
    }
}

#[test]
fn an_engine_is_reused_over_queries_of_all_kinds() {
    for measure in Measure::ALL {
        let metric = Metric::new(measure, Some(4), Convention::default()).unwrap();
        let all: Vec<Query> =
            (0..20).map(|q| query(q, 1 + (q as usize * 7) % 30, 1 + q % 5, 5)).collect();
        let labels: Vec<f32> = all.iter().flat_map(|q| q.labels.clone()).collect();
        let mut reused = metric.swap_delta(&labels).unwrap();
        for query in &all {
            let mut fresh = metric.swap_delta(&labels).unwrap();
            reused.prepare(&query.scores, &query.labels).unwrap();
            fresh.prepare(&query.scores, &query.labels).unwrap();
            for a in 0..query.len() {
                for b in 0..query.len() {
                    assert_eq!(reused.delta(a, b).to_bits(), fresh.delta(a, b).to_bits());
                }
            }
        }
    }
}

#[test]
fn the_order_is_by_score() {
    let metric: Metric = "ndcg".parse().unwrap();
    let mut deltas = metric.swap_delta(&[0.0, 1.0, 2.0]).unwrap();
    deltas.prepare(&[f64::NEG_INFINITY, 1.0, 2.0], &[0.0, 1.0, 2.0]).unwrap();
    assert_eq!(deltas.order(), [2, 1, 0]);
    deltas.prepare(&[f64::NEG_INFINITY, 1.0, 1.0], &[0.0, 1.0, 2.0]).unwrap();
    assert_eq!(deltas.blocks().collect::<Vec<_>>(), [&[2, 1][..], &[0]]);
    assert!(!deltas.is_empty());
    let error = deltas.prepare(&[f64::NAN, 1.0], &[0.0, 1.0]).unwrap_err();
    assert_eq!(error.fault().unwrap().place.row, Some(0));
    assert!(deltas.is_empty() && deltas.order().is_empty() && deltas.blocks().next().is_none());
    assert!(deltas.prepare(&[1.0], &[0.0, 1.0]).is_err());
}

#[test]
fn other_tie_rules_have_no_deltas() {
    let convention = Convention { ties: Ties::Worst, ..Convention::default() };
    let metric = Metric::new(Measure::Ndcg, None, convention).unwrap();
    let error = metric.swap_delta(&[1.0]).unwrap_err();
    assert_eq!(error.fault().unwrap().code, "metric.ties");
}

#[test]
fn the_order_of_rows_changes_no_bit() {
    for (seed, levels, labels) in [(1, 3, 5), (2, 1 << 30, 5), (3, 7, 1000)] {
        let query = query(seed, 50, levels, labels);
        let reversed = Query {
            scores: query.scores.iter().rev().copied().collect(),
            labels: query.labels.iter().rev().copied().collect(),
        };
        for measure in Measure::ALL {
            let convention = Convention { gain: Gain::Linear, ..Convention::default() };
            let metric = Metric::new(measure, Some(20), convention).unwrap();
            let mut deltas = metric.swap_delta(&query.labels).unwrap();
            let mut again = deltas.clone();
            deltas.prepare(&query.scores, &query.labels).unwrap();
            again.prepare(&reversed.scores, &reversed.labels).unwrap();
            for a in 0..50 {
                for b in 0..50 {
                    let (one, two) = (deltas.delta(a, b), again.delta(49 - a, 49 - b));
                    assert_eq!(one.to_bits(), two.to_bits(), "{metric} {a} {b}");
                    assert_eq!(one.to_bits(), deltas.delta(b, a).to_bits(), "{metric} {a} {b}");
                }
            }
        }
    }
}

#[test]
fn thousands_of_tied_docs_are_prepared_cheaply() {
    let query = query(1, 5000, 1, 5);
    let start = Instant::now();
    for measure in Measure::ALL {
        let metric = Metric::new(measure, None, Convention::default()).unwrap();
        let mut deltas = metric.swap_delta(&query.labels).unwrap();
        deltas.prepare(&query.scores, &query.labels).unwrap();
    }
    // Ample: a step quadratic in the block for each doc would take minutes.
    assert!(start.elapsed().as_secs_f64() < 5.0, "{:?}", start.elapsed());
}
