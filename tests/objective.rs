//! Gradients against plain references, which share no code with the crate.

#![expect(clippy::unwrap_used, reason = "a test")]

mod lambda_reference;
#[expect(dead_code, reason = "the oracle also has values")]
mod oracle;

use lambda_reference::*;
use oracle::{Query, orders};
use proptest::prelude::*;
use rustrank::metric::Rbp;
use rustrank::objective::{
    LambdaOptions, LambdaRank, Objective, RankNet, ScoreNoise, State, Target, TiedPairs,
};
use rustrank::simd::Level;
use rustrank::{Convention, Gain, Gradient, Interrupt, Measure, Metric, random};
use std::time::{Duration, Instant};

/// The metrics whose tied docs count with their expectation; others draw an order.
const EXACT_WITH_TIES: [Measure; 7] = [
    Measure::Ndcg,
    Measure::Dcg,
    Measure::Precision,
    Measure::Recall,
    Measure::Map,
    Measure::Mrr,
    Measure::Rbp(Rbp::DEFAULT),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tied_docs_count_with_the_mean_over_their_orders(
        seed: u64,
        len in 1..7usize,
        levels in 1..5u64,
        labels in 2..5u64,
        cut in prop::option::of(1..7usize),
        pairs_to in prop::option::of(1..7usize),
        how in 0..8u8,
        sigma in prop_oneof![Just(1.0), Just(0.3), Just(2.5)],
        relevant_from in prop_oneof![Just(1.0f32), Just(2.0)],
    ) {
        let data = Data::of(&[query(seed, len, levels, labels), query(!seed, 5, 3, 4)]);
        let convention = Convention { relevant_from, ..Convention::default() };
        for measure in EXACT_WITH_TIES {
            let metric = Metric::new(measure, cut, convention.clone()).unwrap();
            let mut options = LambdaOptions { pairs_to, sigma, ..LambdaOptions::new(metric) };
            normalisers(how, &mut options);
            let miss = expectation_miss(&options, true, &data);
            prop_assert!(miss < 2e-5, "{} {miss:e}", options.metric);
        }
        let mut options = LambdaOptions { pairs_to, sigma, ..LambdaOptions::new(metric("ndcg")) };
        normalisers(how, &mut options);
        let miss = expectation_miss(&options, false, &data);
        prop_assert!(miss < 2e-5, "ranknet {miss:e}");
    }

    #[test]
    fn every_metric_is_exact_without_ties(
        seed: u64,
        len in 1..50usize,
        labels in 2..6u64,
        cut in prop::option::of(1..60usize),
        pairs_to in prop::option::of(1..60usize),
        how in 0..8u8,
        spread in prop_oneof![Just(3.0), Just(0.01), Just(60.0), Just(300.0)],
        gain in prop_oneof![
            Just(Gain::Exp2),
            Just(Gain::Linear),
            Just(Gain::Table(vec![0.0, 0.5, 0.5, 3.0, 9.0]))
        ],
    ) {
        let data = Data::of(&[untied(seed, len, labels.min(5), spread)]);
        let convention = Convention { gain, ..Convention::default() };
        for measure in Measure::ALL {
            let metric = Metric::new(measure, cut, convention.clone()).unwrap();
            let mut options = LambdaOptions { pairs_to, ..LambdaOptions::new(metric) };
            normalisers(how, &mut options);
            options.ideal_to = pairs_to.filter(|_| measure == Measure::Ndcg);
            let miss = expectation_miss(&options, true, &data);
            prop_assert!(miss < 5e-5, "{} {miss:e}", options.metric);
        }
    }
}

/// The Gumbel draw of a doc, as `objective/kernel/math.rs` says, by the library's logarithm.
fn gumbel(options: &LambdaOptions, stream: u64, id: u64) -> f64 {
    let seed = options.seed ^ u64::from_le_bytes(*b"rrlambda");
    let u = ((random::draw(seed, stream, id) >> 41) as f64 + 0.5) / f64::from(1u32 << 23);
    -(-u.ln()).ln()
}

/// Lambdas by ranks from perturbed scores, averaged over the copies of a round.
fn with_noise(options: &LambdaOptions, data: &Data, number: usize, round: u64) -> Vec<[f64; 2]> {
    let noise = options.noise.unwrap();
    let query = data.query(number);
    let ids = &data.doc_hash[data.queries.range(number)];
    let max_label = data.labels.iter().copied().fold(0.0, f32::max);
    let all: Vec<_> = (0..noise.copies as u64)
        .map(|copy| {
            let draw = |doc: usize| gumbel(options, round << 8 | copy, ids[doc]);
            let perturbed: Vec<f64> =
                (0..query.len()).map(|doc| query.scores[doc] + noise.scale * draw(doc)).collect();
            let mut order: Vec<usize> = (0..query.len()).collect();
            order.sort_by(|a, b| perturbed[*b].total_cmp(&perturbed[*a]));
            of_order(options, Some(&options.metric), &query, &order, max_label)
        })
        .collect();
    mean_of(options, &all)
}

#[test]
fn noise_perturbs_ranks_and_not_the_sigmoid() {
    let all = [query(1, 40, 6, 5), query(2, 30, 20, 5), untied(3, 17, 3, 2.0)];
    let data = Data::of(&all);
    for name in ["ndcg@10", "err", "map", "mrr@5", "pairwise", "recall@7"] {
        for (scale, copies) in [(1.0, 1), (0.3, 3)] {
            let noise = Some(ScoreNoise { scale, copies });
            let options = LambdaOptions { noise, seed: 11, ..LambdaOptions::new(metric(name)) };
            let got = data.gradients(&LambdaRank::new(options.clone()).unwrap(), 5).unwrap();
            for number in 0..all.len() {
                let miss = miss(&data, number, &with_noise(&options, &data, number, 5), &got);
                assert!(miss < 5e-5, "{name} query {number}: {miss:e}");
            }
        }
    }
}

#[test]
fn queries_that_are_sorted_are_ranked_as_those_that_are_counted() {
    let data = Data::of(&[untied(1, 300, 5, 7.0), untied(2, 1000, 5, 3.0)]);
    let options = LambdaOptions { pairs_to: Some(3), ..LambdaOptions::new(metric("precision@5")) };
    assert!(expectation_miss(&options, true, &data) < 2e-5);
}

#[test]
fn orders_that_are_drawn_have_the_expectation_as_their_mean() {
    const ROUNDS: u64 = 6000;
    let data = Data::of(&[query(5, 6, 2, 4), query(6, 5, 1, 3), query(8, 6, 3, 2)]);
    let max_label = 3.0;
    for name in ["ndcg@3", "err", "map", "mrr", "pairwise@4"] {
        let ties = TiedPairs::Drawn;
        let options = LambdaOptions { ties, pairs_to: Some(3), ..LambdaOptions::new(metric(name)) };
        let objective = LambdaRank::new(options.clone()).unwrap();
        let mut sums = vec![[0.0; 2]; data.labels.len()];
        for round in 0..ROUNDS {
            for (sums, gradient) in sums.iter_mut().zip(data.gradients(&objective, round).unwrap())
            {
                sums[0] += f64::from(gradient.grad);
                sums[1] += f64::from(gradient.hess);
            }
        }
        let mean: Vec<Gradient> = sums
            .iter()
            .map(|sums| sums.map(|sum| (sum / ROUNDS as f64) as f32))
            .map(|[grad, hess]| Gradient { grad, hess })
            .collect();
        for number in 0..data.queries.len() {
            let query = data.query(number);
            let all: Vec<_> = orders(&query)
                .iter()
                .map(|order| of_order(&options, Some(&options.metric), &query, order, max_label))
                .collect();
            let miss = miss(&data, number, &mean_of(&options, &all), &mean);
            // Some per cent of the largest value: the error of a mean of so many draws.
            assert!(miss < 0.06, "{name} query {number}: {miss}");
        }
    }
}

/// Every way of weighing pairs, on queries of all kinds.
fn ways() -> Vec<LambdaOptions> {
    let mut ways = Vec::new();
    for measure in Measure::ALL {
        for (cut, pairs_to) in [(None, None), (Some(10), Some(30)), (Some(40), Some(5))] {
            for how in 0..8u8 {
                let metric = Metric::new(measure, cut, Convention::default()).unwrap();
                let mut options = LambdaOptions { pairs_to, ..LambdaOptions::new(metric) };
                normalisers(how, &mut options);
                if how & 1 != 0 {
                    options.noise = Some(ScoreNoise { scale: 0.5, copies: 2 });
                } else if how & 2 != 0 {
                    options.ties = TiedPairs::Drawn;
                }
                ways.push(options);
            }
        }
    }
    ways
}

fn mixed() -> Data {
    Data::of(&[
        query(1, 1, 3, 5),
        query(2, 2, 1, 5),
        query(3, 16, 4, 5),
        query(4, 17, 1, 5),
        query(5, 120, 12, 5),
        untied(6, 33, 5, 500.0),
        query(7, 256, 1, 3),
        query(8, 257, 40, 5),
        untied(9, 700, 5, 9.0),
        query(10, 48, 9, 1),
    ])
}

fn bits(gradients: &[Gradient]) -> Vec<[u32; 2]> {
    gradients.iter().map(|g| [g.grad.to_bits(), g.hess.to_bits()]).collect()
}

#[test]
fn every_level_gives_the_same_bits() {
    let data = mixed();
    for options in ways() {
        let lambda = LambdaRank::new(options.clone()).unwrap().at_level(Level::Portable);
        let net = RankNet::new(options.clone()).unwrap().at_level(Level::Portable);
        let expected = [data.gradients(&lambda, 2).unwrap(), data.gradients(&net, 2).unwrap()];
        for level in Level::available() {
            let lambda = data.gradients(&lambda.clone().at_level(level), 2).unwrap();
            assert_eq!(bits(&lambda), bits(&expected[0]), "{level:?} {options:?}");
            let net = data.gradients(&net.clone().at_level(level), 2).unwrap();
            assert_eq!(bits(&net), bits(&expected[1]), "{level:?} {options:?}");
        }
    }
}

/// The same docs in another order, copies of docs among them, and where each doc went.
fn permuted(data: &Data) -> (Data, Vec<usize>) {
    let mut from: Vec<usize> = (0..data.labels.len()).collect();
    for docs in data.queries.ranges() {
        from[docs].sort_by_key(|doc| random::draw(77, 0, *doc as u64));
    }
    let mut other = data.clone();
    for (to, &from) in from.iter().enumerate() {
        other.scores[to] = data.scores[from];
        other.labels[to] = data.labels[from];
        other.row_weight[to] = data.row_weight[from];
        other.doc_hash[to] = data.doc_hash[from];
    }
    (other, from)
}

#[test]
fn the_order_of_docs_changes_no_bit_and_copies_are_treated_alike() {
    let mut data = mixed();
    // Every seventh doc of a query is a copy of the one before it.
    for docs in data.queries.clone().ranges() {
        for doc in docs.clone().skip(1).step_by(7) {
            data.scores[doc] = data.scores[doc - 1];
            data.labels[doc] = data.labels[doc - 1];
            data.row_weight[doc] = data.row_weight[doc - 1];
            data.doc_hash[doc] = data.doc_hash[doc - 1];
        }
    }
    let (other, from) = permuted(&data);
    let mut objectives: Vec<Box<dyn Objective>> = Vec::new();
    for options in ways() {
        objectives.push(Box::new(LambdaRank::new(options.clone()).unwrap()));
        objectives.push(Box::new(RankNet::new(options).unwrap()));
    }
    for objective in objectives {
        let here = bits(&data.gradients(&*objective, 2).unwrap());
        let there = bits(&other.gradients(&*objective, 2).unwrap());
        for (to, &from) in from.iter().enumerate() {
            assert_eq!(there[to], here[from], "{objective:?} doc {from}");
        }
        for docs in data.queries.ranges() {
            for doc in docs.skip(1).step_by(7) {
                assert_eq!(here[doc], here[doc - 1], "{objective:?} doc {doc}");
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let all: Vec<Query> = (0..400).map(|q| query(q, 1 + (q as usize * 31) % 150, 30, 5)).collect();
    let data = Data::of(&all);
    let noise = Some(ScoreNoise { scale: 1.0, copies: 3 });
    let options = LambdaOptions { noise, ..LambdaOptions::new(metric("ndcg")) };
    let objective = LambdaRank::new(options).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        bits(&pool.install(|| data.gradients(&objective, 1)).unwrap())
    };
    assert_eq!(on(1), on(2));
    assert_eq!(on(1), on(5));
}

#[test]
fn queries_without_pairs_have_exact_zeros() {
    let same = Query { scores: vec![1.0, 2.0, 2.0, 0.0], labels: vec![2.0; 4] };
    let below = Query { scores: vec![1.0, 2.0, 0.5], labels: vec![0.0, 1.0, 0.0] };
    let data = Data::of(&[same, below]);
    let convention = Convention { relevant_from: 2.0, ..Convention::default() };
    for measure in Measure::ALL {
        let metric = Metric::new(measure, None, convention.clone()).unwrap();
        let objective = LambdaRank::new(LambdaOptions::new(metric)).unwrap();
        let gradients = data.gradients(&objective, 0).unwrap();
        assert!(bits(&gradients[..4]).iter().all(|bits| *bits == [0, 0]));
        // No doc of the second query is relevant by this convention.
        let by_relevance = matches!(
            measure,
            Measure::Map | Measure::Mrr | Measure::Precision | Measure::Recall | Measure::Rbp(_)
        );
        if by_relevance {
            assert!(bits(&gradients[4..]).iter().all(|bits| *bits == [0, 0]), "{measure}");
        } else {
            assert!(gradients[5].grad < 0.0 && gradients[5].hess > 0.0, "{measure}");
        }
    }
}

#[test]
fn the_first_tree_has_gradients() {
    let tied = Query { scores: vec![0.0; 30], labels: (0..30).map(|d| (d % 5) as f32).collect() };
    let data = Data::of(&[tied]);
    for measure in Measure::ALL {
        let metric = Metric::new(measure, Some(10), Convention::default()).unwrap();
        let objective = LambdaRank::new(LambdaOptions::new(metric)).unwrap();
        let gradients = data.gradients(&objective, 0).unwrap();
        assert!(gradients.iter().any(|gradient| gradient.grad < 0.0), "{measure}");
        assert!(gradients.iter().any(|gradient| gradient.hess > 0.0), "{measure}");
    }
}

#[test]
fn wide_scores_and_steep_sigmas_stay_finite() {
    let scores = vec![1e300, -1e300, 0.0, 1e-300, 5.0, 1e38];
    let extreme = Query { scores, labels: vec![0.0, 3.0, 1.0, 2.0, 0.0, 4.0] };
    let data = Data::of(&[extreme]);
    for sigma in [1e-6, 1.0, 1e6] {
        for how in 0..8 {
            let mut options = LambdaOptions { sigma, ..LambdaOptions::new(metric("ndcg")) };
            normalisers(how, &mut options);
            let gradients = data.gradients(&LambdaRank::new(options).unwrap(), 0).unwrap();
            assert!(gradients.iter().all(|g| g.grad.is_finite() && g.hess >= 0.0));
        }
    }
}

#[test]
fn faults_name_their_query() {
    let objective = LambdaRank::new(LambdaOptions::new(metric("ndcg"))).unwrap();
    let fault = |data: &Data| {
        let error = data.gradients(&objective, 0).unwrap_err();
        let fault = error.fault().unwrap();
        (fault.code, fault.place.query)
    };
    let good = Data::of(&[query(1, 5, 9, 4), query(2, 5, 9, 4)]);
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut data = good.clone();
        data.scores[7] = score;
        assert_eq!(fault(&data), ("score.not_finite", Some(1)));
    }
    let mut data = good.clone();
    data.labels[3] = f32::NAN;
    assert_eq!(fault(&data), ("label.nan", Some(0)));
    let mut data = good.clone();
    data.query_weight[1] = 1e300;
    assert_eq!(fault(&data), ("gradient.not_finite", Some(1)));
    let mut data = good;
    data.scores.pop();
    assert_eq!(fault(&data), ("length", None));
}

#[test]
fn an_interrupt_ends_the_work() {
    let data = Data::of(&[query(1, 5, 9, 4)]);
    let objective = LambdaRank::new(LambdaOptions::new(metric("ndcg"))).unwrap();
    let target = Target {
        labels: &data.labels,
        queries: &data.queries,
        query_weight: None,
        row_weight: None,
        doc_hash: &data.doc_hash,
    };
    let interrupt = Interrupt::new();
    interrupt.raise();
    let mut gradients = vec![Gradient::default(); 5];
    let state = State { round: 0, scores: &data.scores };
    let error = objective.gradients(&target, state, &mut gradients, &interrupt).unwrap_err();
    assert!(matches!(error.kind(), rustrank::ErrorKind::Interrupted));
}

#[test]
fn an_interrupt_ends_the_pairs_of_a_single_query() {
    let data = Data::of(&[query(1, 200_000, 1 << 40, 5)]);
    let options = LambdaOptions { pairs_to: None, ..LambdaOptions::new(metric("ndcg")) };
    let objective = RankNet::new(options).unwrap();
    let target = Target {
        labels: &data.labels,
        queries: &data.queries,
        query_weight: None,
        row_weight: None,
        doc_hash: &data.doc_hash,
    };
    let (interrupt, mut gradients) = (Interrupt::new(), vec![Gradient::default(); 200_000]);
    let state = State { round: 0, scores: &data.scores };
    let took = std::thread::scope(|scope| {
        let work = || {
            let outcome = objective.gradients(&target, state, &mut gradients, &interrupt);
            (outcome.is_err(), Instant::now())
        };
        let working = scope.spawn(work);
        std::thread::sleep(Duration::from_millis(200));
        let raised = Instant::now();
        interrupt.raise();
        let (is_interrupted, ended) = working.join().unwrap();
        assert!(is_interrupted);
        ended.saturating_duration_since(raised)
    });
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let good = LambdaOptions::new(metric("ndcg"));
    let code = |options: LambdaOptions| {
        let error = LambdaRank::new(options.clone()).unwrap_err();
        assert!(RankNet::new(options).is_err());
        error.fault().unwrap().code
    };
    let noise = |scale, copies| Some(ScoreNoise { scale, copies });
    let rows = Convention { ties: rustrank::Ties::RowOrder, ..Convention::default() };
    let rows = metric("ndcg").with_convention(&rows).unwrap();
    for (options, expected) in [
        (LambdaOptions { sigma: 0.0, ..good.clone() }, "sigma"),
        (LambdaOptions { sigma: f64::NAN, ..good.clone() }, "sigma"),
        (LambdaOptions { gap_offset: 0.0, ..good.clone() }, "gap_offset"),
        (LambdaOptions { pairs_to: Some(0), ..good.clone() }, "pairs_to"),
        (LambdaOptions { noise: noise(-1.0, 1), ..good.clone() }, "noise_scale"),
        (LambdaOptions { noise: noise(1.0, 0), ..good.clone() }, "noise_copies"),
        (LambdaOptions { noise: noise(1.0, 65), ..good.clone() }, "noise_copies"),
        (LambdaOptions { metric: rows, ..good.clone() }, "metric.ties"),
    ] {
        assert_eq!(code(options), expected);
    }
}
