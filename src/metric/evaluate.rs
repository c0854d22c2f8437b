//! Evaluates metrics over all queries in parallel. Metrics with the same tie rule share one sort a query.

use crate::error::{Error, Result, check_length, room_for};
use crate::interrupt::Interrupt;
use crate::metric::gains::LabelFacts;
use crate::metric::prepared::{MetricScratch, PreparedMetric};
use crate::metric::ranking::Ranking;
use crate::metric::{Metric, Ties};
use crate::queries::{Grouping, Queries};
use rayon::prelude::*;

/// The number of queries of a parallel task; the interrupt is checked once a task.
const QUERIES_A_TASK: usize = 64;

/// The values of several metrics: `evaluate(..)?[metric][query]`, NaN where a query is skipped.
///
/// Runs on the current rayon pool. Scores may be infinite: -inf means not retrieved.
pub fn evaluate(
    metrics: &[Metric],
    scores: &[f64],
    labels: &[f32],
    queries: &Queries,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<f64>>> {
    check_lengths(scores, labels, queries)?;
    let prepared = prepared(metrics, scores, labels, |row| queries.of_doc(row))?;
    values(&prepared, scores, labels, queries, interrupt)
}

/// As [`evaluate`], for scores and labels in the caller's row order; errors name the caller's rows.
pub fn evaluate_rows(
    metrics: &[Metric],
    scores: &[f64],
    labels: &[f32],
    grouping: &Grouping,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<f64>>> {
    let queries = &grouping.queries;
    check_lengths(scores, labels, queries)?;
    let bytes = 24 * scores.len() + 16 * queries.len() * metrics.len();
    room_for("the evaluation", bytes as u64)?;
    let query_of = |row: usize| {
        let doc = grouping.rows.iter().position(|&other| other as usize == row);
        queries.of_doc(doc.unwrap_or_default())
    };
    let prepared = prepared(metrics, scores, labels, query_of)?;
    values(&prepared, &grouping.gather(scores), &grouping.gather(labels), queries, interrupt)
}

fn values(
    prepared: &[PreparedMetric],
    scores: &[f64],
    labels: &[f32],
    queries: &Queries,
    interrupt: &Interrupt,
) -> Result<Vec<Vec<f64>>> {
    let sorts = shared_sorts(prepared);
    let width = prepared.len().max(1);
    let mut values = vec![f64::NAN; queries.len() * width];
    values.par_chunks_mut(QUERIES_A_TASK * width).enumerate().try_for_each_init(
        || (Ranking::default(), MetricScratch::default()),
        |(ranking, scratch), (task, values)| {
            interrupt.check()?;
            for (at, values) in values.chunks_mut(width).enumerate() {
                let docs = queries.range(task * QUERIES_A_TASK + at);
                let (scores, labels) = (&scores[docs.clone()], &labels[docs]);
                for sort in &sorts {
                    ranking.rank(scores, labels, sort.ties, sort.depth);
                    for &metric in &sort.metrics {
                        values[metric] = prepared[metric].value(ranking, scratch);
                    }
                }
            }
            Ok(())
        },
    )?;
    let column = |metric| values.iter().skip(metric).step_by(width).copied().collect();
    Ok((0..prepared.len()).map(column).collect())
}

/// Metrics that share a sort.
struct SharedSort {
    ties: Ties,
    /// The number of ranks that the deepest of them reads.
    depth: usize,
    /// Their places among all metrics.
    metrics: Vec<usize>,
}

fn shared_sorts(prepared: &[PreparedMetric]) -> Vec<SharedSort> {
    let mut sorts: Vec<SharedSort> = Vec::new();
    for (number, one) in prepared.iter().enumerate() {
        let (ties, depth) = (one.metric.convention().ties, one.cut());
        if let Some(sort) = sorts.iter_mut().find(|sort| sort.ties == ties) {
            sort.depth = sort.depth.max(depth);
            sort.metrics.push(number);
        } else {
            sorts.push(SharedSort { ties, depth, metrics: vec![number] });
        }
    }
    sorts
}

/// Prepares the metrics, if all labels and scores are valid.
fn prepared(
    metrics: &[Metric],
    scores: &[f64],
    labels: &[f32],
    query_of: impl Fn(usize) -> usize,
) -> Result<Vec<PreparedMetric>> {
    let prepare = |facts| {
        let prepared = metrics.iter().map(|metric| PreparedMetric::new(metric, labels, facts));
        let prepared = prepared.collect::<Result<_>>()?;
        let refused = scores.iter().position(|score| score.is_nan());
        refused.map_or(Ok(prepared), |row| Err(nan_score(row)))
    };
    LabelFacts::scan(labels).and_then(prepare).map_err(|error| place_in_query(error, query_of))
}

/// Adds the query to an error at a row.
pub(crate) fn place_in_query(error: Error, query_of: impl Fn(usize) -> usize) -> Error {
    match error.fault().and_then(|fault| fault.place.row) {
        Some(row) => error.query(query_of(row)),
        None => error,
    }
}

fn check_lengths(scores: &[f64], labels: &[f32], queries: &Queries) -> Result<()> {
    check_length("score", scores.len(), queries.num_docs(), "docs")?;
    check_length("label", labels.len(), queries.num_docs(), "docs")
}

/// The error for a score that is NaN.
pub(super) fn nan_score(row: usize) -> Error {
    Error::data("score.nan", "is NaN")
        .element("score", row)
        .expected("a number; -inf for a doc that is not retrieved")
}
