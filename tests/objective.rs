//! Gradients against plain references, which share no code with the crate.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "the oracle also has values")]
mod oracle;

use oracle::{Query, orders, value};
use proptest::prelude::*;
use rustrank::objective::{
    LambdaOptions, LambdaRank, Objective, PairNormaliser, QueryNormaliser, RankNet, State, Target,
};
use rustrank::{Convention, Error, Gain, Gradient, Interrupt, Measure, Metric, Queries, hash};

/// Queries one after the other, with weights.
#[derive(Debug, Clone)]
struct Data {
    scores: Vec<f64>,
    labels: Vec<f32>,
    queries: Queries,
    query_weight: Vec<f64>,
    row_weight: Vec<f64>,
    doc_hash: Vec<u64>,
}

impl Data {
    fn of(all: &[Query]) -> Self {
        let sizes: Vec<i64> = all.iter().map(|q| i64::try_from(q.len()).unwrap()).collect();
        let docs = all.iter().map(Query::len).sum();
        Self {
            scores: all.iter().flat_map(|q| q.scores.clone()).collect(),
            labels: all.iter().flat_map(|q| q.labels.clone()).collect(),
            queries: Queries::from_sizes(&sizes, docs).unwrap(),
            query_weight: (0..all.len()).map(|q| 0.5 + q as f64).collect(),
            row_weight: (0..docs).map(|doc| 1.0 + (doc % 3) as f64).collect(),
            doc_hash: (0..docs as u64).map(|doc| hash::mix(doc + 1)).collect(),
        }
    }

    fn gradients(&self, objective: &dyn Objective, round: u64) -> Result<Vec<Gradient>, Error> {
        let target = Target {
            labels: &self.labels,
            queries: &self.queries,
            query_weight: Some(&self.query_weight),
            row_weight: Some(&self.row_weight),
            doc_hash: &self.doc_hash,
        };
        let mut gradients = vec![Gradient { grad: 7.0, hess: 7.0 }; self.labels.len()];
        let state = State { round, scores: &self.scores };
        objective.gradients(&target, state, &mut gradients, &Interrupt::new())?;
        Ok(gradients)
    }

    fn weight(&self, doc: usize) -> f64 {
        self.query_weight[self.queries.of_doc(doc)] * self.row_weight[doc]
    }

    fn query(&self, number: usize) -> Query {
        let docs = self.queries.range(number);
        Query { scores: self.scores[docs.clone()].to_vec(), labels: self.labels[docs].to_vec() }
    }
}

/// Lambdas of one query if its docs lie in `order`: what the formulas say, pair by pair.
/// `metric` is absent for `RankNet`. Returns the sum of |lambda| too.
fn of_order(
    options: &LambdaOptions,
    metric: Option<&Metric>,
    query: &Query,
    order: &[usize],
    max_label: f32,
) -> (Vec<[f64; 2]>, f64) {
    let mut sums = vec![[0.0; 2]; query.len()];
    let mut total = 0.0;
    let all_tied = query.scores.iter().all(|score| *score == query.scores[0]);
    for p in 0..order.len().min(options.pairs_to.unwrap_or(usize::MAX)) {
        for q in p + 1..order.len() {
            let (mut i, mut j) = (order[p], order[q]);
            if query.labels[i] == query.labels[j] {
                continue;
            }
            if query.labels[i] < query.labels[j] {
                (i, j) = (j, i);
            }
            let mut delta = match metric {
                None => 1.0,
                Some(metric) => {
                    let mut swapped = order.to_vec();
                    swapped.swap(p, q);
                    let of = |order: &[usize]| value(metric, query, order, max_label);
                    of(&swapped).unwrap_or(0.0) - of(order).unwrap_or(0.0)
                }
            };
            let gap = query.scores[i] - query.scores[j];
            if options.pair_normaliser == PairNormaliser::ScoreGap && !all_tied {
                delta /= 0.01 + gap.abs();
            }
            let sigma = options.sigma;
            let rho = 1.0 / (1.0 + (sigma * gap).exp());
            let lambda = sigma * delta.abs() * rho;
            let hess = sigma * sigma * delta.abs() * rho * (1.0 - rho);
            sums[i] = [sums[i][0] - lambda, sums[i][1] + hess];
            sums[j] = [sums[j][0] + lambda, sums[j][1] + hess];
            total += 2.0 * lambda;
        }
    }
    (sums, total)
}

/// The mean over orders, with the query's normaliser.
fn mean_of(options: &LambdaOptions, all: &[(Vec<[f64; 2]>, f64)]) -> Vec<[f64; 2]> {
    let n = all.len() as f64;
    let total: f64 = all.iter().map(|(_, total)| total).sum::<f64>() / n;
    let scale = match options.query_normaliser {
        QueryNormaliser::LogSum if total > 0.0 => (1.0 + total).log2() / total,
        _ => 1.0,
    };
    let part = |doc: usize, part: usize| {
        all.iter().map(|(sums, _)| sums[doc][part]).sum::<f64>() / n * scale
    };
    (0..all[0].0.len()).map(|doc| [part(doc, 0), part(doc, 1)]).collect()
}

/// The largest miss, over the largest of the query's values.
fn miss(data: &Data, number: usize, expected: &[[f64; 2]], got: &[Gradient]) -> f64 {
    let docs = data.queries.range(number);
    let mut misses = [0.0f64; 2];
    let mut scales = [1e-12f64; 2];
    for (doc, expected) in docs.zip(expected) {
        let got = [f64::from(got[doc].grad), f64::from(got[doc].hess)];
        for part in 0..2 {
            let expected = expected[part] * data.weight(doc);
            misses[part] = misses[part].max((got[part] - expected).abs());
            scales[part] = scales[part].max(expected.abs());
        }
    }
    (misses[0] / scales[0]).max(misses[1] / scales[1])
}

/// The miss of an objective whose expectation over tied docs is exact.
fn expectation_miss(options: &LambdaOptions, with_metric: bool, data: &Data) -> f64 {
    let objective: Box<dyn Objective> = if with_metric {
        Box::new(LambdaRank::new(options.clone()).unwrap())
    } else {
        Box::new(RankNet::new(options.clone()).unwrap())
    };
    let got = data.gradients(&*objective, 3).unwrap();
    let max_label = data.labels.iter().copied().fold(0.0, f32::max);
    let metric = with_metric.then_some(&options.metric);
    let mut largest = 0.0f64;
    for number in 0..data.queries.len() {
        let query = data.query(number);
        let all: Vec<_> = orders(&query)
            .iter()
            .map(|order| of_order(options, metric, &query, order, max_label))
            .collect();
        largest = largest.max(miss(data, number, &mean_of(options, &all), &got));
    }
    largest
}

/// `levels` scores: few, many ties.
fn query(seed: u64, len: usize, levels: u64, labels: u64) -> Query {
    let draw = |stream, doc: usize, n| hash::below(hash::draw(seed, stream, doc as u64), n);
    Query {
        scores: (0..len).map(|doc| draw(0, doc, levels) as f64 / 4.0 - 1.0).collect(),
        labels: (0..len).map(|doc| draw(1, doc, labels) as f32).collect(),
    }
}

/// Distinct scores in a random order, spread over `spread`.
fn untied(seed: u64, len: usize, labels: u64, spread: f64) -> Query {
    let mut query = query(seed, len, 1 << 40, labels);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| query.scores[*a].total_cmp(&query.scores[*b]));
    for (rank, doc) in order.into_iter().enumerate() {
        query.scores[doc] = spread * rank as f64 / len as f64;
    }
    query
}

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn normalisers(number: u8, options: &mut LambdaOptions) {
    if number & 1 != 0 {
        options.pair_normaliser = PairNormaliser::ScoreGap;
    }
    if number & 2 != 0 {
        options.query_normaliser = QueryNormaliser::LogSum;
    }
}

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
        how in 0..4u8,
        sigma in prop_oneof![Just(1.0), Just(0.3), Just(2.5)],
        relevant_from in prop_oneof![Just(1.0f32), Just(2.0)],
    ) {
        let data = Data::of(&[query(seed, len, levels, labels), query(!seed, 5, 3, 4)]);
        let convention = Convention { relevant_from, ..Convention::default() };
        for measure in [Measure::Ndcg, Measure::Dcg, Measure::Precision, Measure::Recall] {
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
        how in 0..4u8,
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
            let miss = expectation_miss(&options, true, &data);
            prop_assert!(miss < 5e-5, "{} {miss:e}", options.metric);
        }
    }
}
