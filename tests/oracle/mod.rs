//! The metrics as one would explain them on a blackboard: every order of the tied docs is written
//! down, each is valued by the definition, and the values are averaged. Shares no code with the crate.

use rustrank::{Convention, Gain, Measure, Metric};

/// One query.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<f32>,
}

impl Query {
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }
}

/// Every order of the retrieved docs that falls by score.
pub(crate) fn orders(query: &Query) -> Vec<Vec<usize>> {
    fn extend(query: &Query, order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        let left = (0..query.len())
            .filter(|doc| !order.contains(doc) && query.scores[*doc] != f64::NEG_INFINITY);
        let left: Vec<usize> = left.collect();
        let Some(best) = left.iter().map(|&doc| query.scores[doc]).reduce(f64::max) else {
            all.push(order.clone());
            return;
        };
        for doc in left {
            if query.scores[doc] == best {
                order.push(doc);
                extend(query, order, all);
                order.pop();
            }
        }
    }
    let mut all = Vec::new();
    extend(query, &mut Vec::new(), &mut all);
    all
}

/// The expected value of a query; `None` if nothing can be found in it.
pub(crate) fn expected(metric: &Metric, query: &Query, max_label: f32) -> Option<f64> {
    let orders = orders(query);
    let mut sum = 0.0;
    for order in &orders {
        sum += value(metric, query, order, max_label)?;
    }
    Some(sum / orders.len() as f64)
}

fn gain(convention: &Convention, label: f32) -> f64 {
    match &convention.gain {
        Gain::Exp2 => 2f64.powf(f64::from(label)) - 1.0,
        Gain::Linear => f64::from(label),
        Gain::Table(table) => table[label as usize],
        _ => unreachable!(),
    }
}

/// The value of one order.
pub(crate) fn value(
    metric: &Metric,
    query: &Query,
    order: &[usize],
    max_label: f32,
) -> Option<f64> {
    let convention = metric.convention();
    let cut = metric.cut().unwrap_or(usize::MAX);
    let labels = &query.labels;
    let shown = &order[..order.len().min(cut)];
    let mut ideal: Vec<usize> = (0..query.len()).collect();
    ideal.sort_by(|a, b| labels[*b].total_cmp(&labels[*a]));
    let relevant = |doc: &usize| labels[*doc] >= convention.relevant_from;
    let num_relevant = ideal.iter().filter(|doc| relevant(doc)).count() as f64;
    let hits = |docs: &[usize]| docs.iter().filter(|doc| relevant(doc)).count() as f64;
    let dcg = |order: &[usize]| -> f64 {
        let ranked = order.iter().take(cut).enumerate();
        ranked.map(|(at, doc)| gain(convention, labels[*doc]) / (at as f64 + 2.0).log2()).sum()
    };
    let (found, value) = match metric.measure() {
        Measure::Ndcg => (dcg(&ideal), dcg(order) / dcg(&ideal)),
        Measure::Dcg => (dcg(&ideal), dcg(order)),
        Measure::Err => {
            let top = gain(convention, convention.max_label.unwrap_or(max_label));
            let stops = |doc: usize| gain(convention, labels[doc]) / (top + 1.0);
            let (mut reach, mut sum) = (1.0, 0.0);
            for (at, &doc) in shown.iter().enumerate() {
                sum += reach * stops(doc) / (at as f64 + 1.0);
                reach *= 1.0 - stops(doc);
            }
            (ideal.iter().map(|doc| stops(*doc)).sum(), sum)
        }
        Measure::Map => {
            let at_hit = |at: usize| hits(&shown[..=at]) / (at as f64 + 1.0);
            let at = (0..shown.len()).filter(|at| relevant(&shown[*at]));
            (num_relevant, at.map(at_hit).sum::<f64>() / num_relevant)
        }
        Measure::Mrr => {
            let first = shown.iter().position(relevant);
            (num_relevant, first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)))
        }
        Measure::Precision => {
            let ranks = metric.cut().unwrap_or(order.len()).max(1) as f64;
            (num_relevant, hits(shown) / ranks)
        }
        Measure::Recall => (num_relevant, hits(shown) / num_relevant),
        Measure::Rbp(rbp) => {
            let p = rbp.persistence();
            let at = (0..shown.len()).filter(|at| relevant(&shown[*at]));
            (num_relevant, at.map(|at| (1.0 - p) * p.powf(at as f64)).sum())
        }
        Measure::Pairwise => {
            let pairs = |order: &[usize]| {
                let mut right = 0.0;
                for (at, better) in order.iter().take(cut).enumerate() {
                    let below = (0..query.len()).filter(|doc| !order[..=at].contains(doc));
                    right += below.filter(|d| labels[*d] < labels[*better]).count() as f64;
                }
                right
            };
            (pairs(&ideal), pairs(order) / pairs(&ideal))
        }
        _ => unreachable!(),
    };
    (found > 0.0).then_some(value)
}
