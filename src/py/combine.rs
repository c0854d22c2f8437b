//! Combinations of rankers for Python: sweeps of two, weights of many.

use super::arrays::{ArrayArg, NewArray};
use super::dataset::QueryArg;
use super::gil::detached;
use super::metrics::MetricArgs;
use crate::combine::{
    self, AlphaRange, Combination, CoordinateOptions, CurveStep, JudgedQueries, MergeOrder,
    SearchDirections, Sweep, SweepOptions, TieBreak,
};
use crate::error::{Error, Result, check_length, room_for};
use crate::interrupt::Interrupt;
use crate::queries::Grouping;
use pyo3::prelude::*;

/// The scores of rankers, with labels and queries: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RankerArgs {
    scores: Vec<ArrayArg<f64>>,
    labels: ArrayArg<f32>,
    queries: QueryArg,
    query_weight: Option<ArrayArg<f64>>,
}

/// How weights are searched: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct CombineArgs {
    judging: MetricArgs,
    method: String,
    /// Both ends of the range of alpha; else it is between two rankers.
    alphas: Option<(f64, f64)>,
    negative: bool,
    reach: f64,
    most_passes: usize,
    restarts: usize,
    seed: u64,
    /// The joins of a given tree.
    tree: Option<Vec<(usize, usize)>>,
    curve_steps: usize,
}

/// The scores of rankers, labels and weights in the order of queries.
struct RankerData {
    scores: Vec<Vec<f64>>,
    labels: Vec<f32>,
    grouping: Grouping,
    query_weight: Option<Vec<f64>>,
}

impl RankerArgs {
    fn data(self) -> Result<RankerData> {
        let num_docs = self.labels.0.len();
        let grouping = self.queries.grouping(num_docs)?;
        // The scores by query, and what the search keeps of each document: crossings, ranks, orders.
        let bytes = (40 + 32 * self.scores.len() as u64) * num_docs as u64;
        room_for("the combination", bytes)?;
        let gathered = |(number, scores): (usize, &ArrayArg<f64>)| {
            in_queries(&grouping, &format!("scores[{number}]"), scores)
        };
        Ok(RankerData {
            scores: self.scores.iter().enumerate().map(gathered).collect::<Result<_>>()?,
            labels: grouping.gather(&self.labels.0),
            query_weight: self.query_weight.map(|weight| weight.0),
            grouping,
        })
    }
}

/// Scores in the order of queries.
fn in_queries(grouping: &Grouping, name: &str, scores: &ArrayArg<f64>) -> Result<Vec<f64>> {
    check_length(name, scores.0.len(), grouping.rows.len(), "rows")?;
    Ok(grouping.gather(&scores.0))
}

impl RankerData {
    fn scores(&self) -> Vec<&[f64]> {
        self.scores.iter().map(Vec::as_slice).collect()
    }

    fn judged(&self) -> JudgedQueries<'_> {
        let query_weight = self.query_weight.as_deref();
        JudgedQueries { labels: &self.labels, queries: &self.grouping.queries, query_weight }
    }
}

impl CombineArgs {
    fn found(&self, data: &RankerData, interrupt: &Interrupt) -> Result<Combination> {
        let (scores, judged, metric) = (&data.scores(), &data.judged(), self.judging.first()?);
        let ascent = |directions| {
            let Self { reach, negative, most_passes, restarts, seed, .. } = *self;
            let options = CoordinateOptions {
                reach,
                negative,
                most_passes,
                directions,
                restarts,
                seed,
                ..CoordinateOptions::new(metric.clone())
            };
            combine::coordinate_ascent(scores, judged, &options, interrupt)
        };
        let order = match &*self.method {
            "auto" | "coordinate" => return ascent(SearchDirections::Rankers),
            "powell" => return ascent(SearchDirections::Powell),
            "average" => return combine::average(scores, judged, &metric, interrupt),
            "tree" => MergeOrder::Given(self.tree.clone().unwrap_or_default()),
            "best_first" => MergeOrder::BestFirst,
            "most_different_first" => MergeOrder::MostDifferentFirst,
            other => {
                return Err(Error::param("combine.method", "method is not known")
                    .got(format!("\"{other}\""))
                    .expected(METHODS));
            }
        };
        combine::merge_pairwise(scores, judged, &metric, &order, interrupt)
    }
}

const METHODS: &str =
    "\"coordinate\", \"powell\", \"best_first\", \"most_different_first\" or \"average\"";

/// Alpha, the value and the interval; then the curve: where its intervals begin and end, their
/// values, and whether they are all.
type SweepFacts = ((f64, f64, (f64, f64)), (NewArray<f64>, NewArray<f64>, NewArray<f64>, bool));

/// The best combination of two rankers.
#[pyfunction]
pub(super) fn sweep(rankers: RankerArgs, combining: CombineArgs) -> PyResult<SweepFacts> {
    let metric = combining.judging.first()?;
    let range =
        combining.alphas.map_or(AlphaRange::Between, |(from, to)| AlphaRange::Along { from, to });
    let mut options = SweepOptions::new(metric, range);
    options.curve_steps = combining.curve_steps;
    let data = rankers.data()?;
    let found: Sweep =
        detached(combining.judging.num_threads, |interrupt| match &data.scores[..] {
            [first, second] => combine::sweep(first, second, &data.judged(), &options, interrupt),
            scores => Err(Error::param("combine.rankers", "a sweep is of two rankers")
                .got(scores.len())
                .expected("2")),
        })?;
    let curve =
        |take: fn(&CurveStep) -> f64| NewArray(found.curve.steps.iter().map(take).collect());
    Ok((
        (found.alpha, found.value, (found.interval.from, found.interval.to)),
        (curve(|s| s.from), curve(|s| s.to), curve(|s| s.value), found.curve.is_whole),
    ))
}

/// The weights after each improvement, and the value of each.
#[pyfunction]
pub(super) fn combine_rankers(
    rankers: RankerArgs,
    combining: CombineArgs,
) -> PyResult<(Vec<Vec<f64>>, Vec<f64>)> {
    let data = rankers.data()?;
    let found =
        detached(combining.judging.num_threads, |interrupt| combining.found(&data, interrupt))?;
    Ok((found.path, found.history))
}

/// The mean of the metric for each of several lists of weights.
#[pyfunction]
pub(super) fn values_of_weights(
    rankers: RankerArgs,
    judging: MetricArgs,
    weights: Vec<Vec<f64>>,
) -> PyResult<Vec<f64>> {
    let (metric, data) = (judging.first()?, rankers.data()?);
    detached(judging.num_threads, |interrupt| {
        combine::values(&data.scores(), &data.judged(), &metric, &weights, interrupt)
    })
}

/// The scores of all rankers without ties: by a score, or by the jitter of a seed.
#[pyfunction]
pub(super) fn untied(
    rankers: RankerArgs,
    by: Option<ArrayArg<f64>>,
    seed: u64,
) -> PyResult<Vec<NewArray<f64>>> {
    let data = rankers.data()?;
    let by = by.map(|by| in_queries(&data.grouping, "tie_break", &by)).transpose()?;
    let shifted = detached(None, |_| {
        let tie_break = by.as_deref().map_or(TieBreak::Jitter(seed), TieBreak::Score);
        combine::break_ties(&data.scores(), &data.judged(), tie_break)
    })?;
    Ok(shifted.iter().map(|scores| NewArray(data.grouping.scatter(scores))).collect())
}

/// The sum of all rankers' scores, each times its weight.
#[pyfunction]
pub(super) fn mix(rankers: Vec<ArrayArg<f64>>, weights: Vec<f64>) -> PyResult<NewArray<f64>> {
    let scores: Vec<&[f64]> = rankers.iter().map(|scores| &*scores.0).collect();
    detached(Some(1), |_| {
        room_for("the sum of scores", 8 * scores.first().map_or(0, |scores| scores.len()) as u64)?;
        Ok(combine::mix(&scores, &weights))
    })
    .map(NewArray)
}
