//! Queries with weights, and their gradients by the formulas, pair by pair.

use crate::oracle::{Query, orders, value};
use rustrank::objective::{
    LambdaOptions, LambdaRank, Objective, PairNormaliser, QueryNormaliser, RankNet, State, Target,
};
use rustrank::{Error, Gradient, Interrupt, Measure, Metric, Queries, hash, random};

/// Queries one after the other, with weights.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<f32>,
    pub(crate) queries: Queries,
    pub(crate) query_weight: Vec<f64>,
    pub(crate) row_weight: Vec<f64>,
    pub(crate) doc_hash: Vec<u64>,
}

impl Data {
    pub(crate) fn of(all: &[Query]) -> Self {
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

    pub(crate) fn gradients(
        &self,
        objective: &dyn Objective,
        round: u64,
    ) -> Result<Vec<Gradient>, Error> {
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

    pub(crate) fn weight(&self, doc: usize) -> f64 {
        self.query_weight[self.queries.of_doc(doc)] * self.row_weight[doc]
    }

    pub(crate) fn query(&self, number: usize) -> Query {
        let docs = self.queries.range(number);
        Query { scores: self.scores[docs.clone()].to_vec(), labels: self.labels[docs].to_vec() }
    }
}

/// Lambdas of one query if its docs lie in `order`: what the formulas say, pair by pair.
/// `metric` is absent for `RankNet`. Returns the sum of |lambda| too.
pub(crate) fn of_order(
    options: &LambdaOptions,
    metric: Option<&Metric>,
    query: &Query,
    order: &[usize],
    max_label: f32,
) -> (Vec<[f64; 2]>, f64) {
    let mut sums = vec![[0.0; 2]; query.len()];
    let mut total = 0.0;
    let ideal_scale = metric.map_or(1.0, |metric| ideal_scale(options, metric, query, max_label));
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
                    (of(&swapped).unwrap_or(0.0) - of(order).unwrap_or(0.0)) * ideal_scale
                }
            };
            let gap = query.scores[i] - query.scores[j];
            if options.pair_normaliser == PairNormaliser::ScoreGap && !all_tied {
                delta /= options.gap_offset + gap.abs();
            }
            let sigma = options.sigma;
            // Not as 1 - rho, of which few digits are left where rho is near 1.
            let [rho, other] = [1.0, -1.0].map(|sign| 1.0 / (1.0 + (sign * sigma * gap).exp()));
            let lambda = sigma * delta.abs() * rho;
            let hess = sigma * sigma * delta.abs() * rho * other;
            sums[i] = [sums[i][0] - lambda, sums[i][1] + hess];
            sums[j] = [sums[j][0] + lambda, sums[j][1] + hess];
            total += 2.0 * lambda;
        }
    }
    (sums, total)
}

/// The DCG of the best order down to the metric's cut, over that down to `ideal_to`; 1 without it.
fn ideal_scale(options: &LambdaOptions, metric: &Metric, query: &Query, max_label: f32) -> f64 {
    let Some(to) = options.ideal_to else { return 1.0 };
    let mut best: Vec<usize> = (0..query.len()).collect();
    best.sort_by(|&a, &b| query.labels[b].total_cmp(&query.labels[a]));
    let dcg = |cut: Option<usize>| {
        let dcg = Metric::new(Measure::Dcg, cut, metric.convention().clone()).unwrap();
        value(&dcg, query, &best, max_label).unwrap_or(0.0)
    };
    let cut = metric.cut().map_or(to, |cut| cut.min(to));
    if dcg(Some(cut)) > 0.0 { dcg(metric.cut()) / dcg(Some(cut)) } else { 1.0 }
}

/// The mean over orders, with the query's normaliser.
pub(crate) fn mean_of(options: &LambdaOptions, all: &[(Vec<[f64; 2]>, f64)]) -> Vec<[f64; 2]> {
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
pub(crate) fn miss(data: &Data, number: usize, expected: &[[f64; 2]], got: &[Gradient]) -> f64 {
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
pub(crate) fn expectation_miss(options: &LambdaOptions, with_metric: bool, data: &Data) -> f64 {
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
pub(crate) fn query(seed: u64, len: usize, levels: u64, labels: u64) -> Query {
    let draw = |stream, doc: usize, n| random::below(random::draw(seed, stream, doc as u64), n);
    Query {
        scores: (0..len).map(|doc| draw(0, doc, levels) as f64 / 4.0 - 1.0).collect(),
        labels: (0..len).map(|doc| draw(1, doc, labels) as f32).collect(),
    }
}

/// Distinct scores in a random order, spread over `spread`.
pub(crate) fn untied(seed: u64, len: usize, labels: u64, spread: f64) -> Query {
    let mut query = query(seed, len, 1 << 40, labels);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| query.scores[*a].total_cmp(&query.scores[*b]));
    for (rank, doc) in order.into_iter().enumerate() {
        query.scores[doc] = spread * rank as f64 / len as f64;
    }
    query
}

pub(crate) fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

pub(crate) fn normalisers(number: u8, options: &mut LambdaOptions) {
    if number & 1 != 0 {
        options.pair_normaliser = PairNormaliser::ScoreGap;
        options.gap_offset = if number & 4 == 0 { 1.0 } else { 0.01 };
    }
    if number & 2 != 0 {
        options.query_normaliser = QueryNormaliser::LogSum;
    }
}
