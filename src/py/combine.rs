//! Combinations of rankers for Python: sweeps of two, weights of many.

use super::arrays::copied;
use super::dataset::QueryArg;
use super::errors::to_python;
use super::gil::detached;
use super::metrics::MetricArgs;
use crate::Metric;
use crate::combine::{
    self, AlphaRange, Combination, CoordinateOptions, JudgedQueries, MergeOrder, SearchDirections,
    Sweep, SweepOptions, TieBreak,
};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::queries::Grouping;
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use std::str::FromStr;

/// The scores of rankers, with labels and queries: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RankerArgs<'py> {
    scores: Vec<PyReadonlyArray1<'py, f64>>,
    labels: PyReadonlyArray1<'py, f32>,
    queries: QueryArg<'py>,
    query_weight: Option<PyReadonlyArray1<'py, f64>>,
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

impl RankerArgs<'_> {
    fn data(&self) -> Result<RankerData> {
        let labels = self.labels.as_array().to_vec();
        let grouping = self.queries.grouping(labels.len())?;
        let query_weight = copied(self.query_weight.as_ref());
        let labels = grouping.gather(&labels);
        let mut data = RankerData { scores: Vec::new(), labels, grouping, query_weight };
        for (number, scores) in self.scores.iter().enumerate() {
            let scores = data.gathered(&format!("scores[{number}]"), scores)?;
            data.scores.push(scores);
        }
        Ok(data)
    }
}

impl RankerData {
    /// Scores in the order of queries.
    fn gathered(&self, name: &str, scores: &PyReadonlyArray1<'_, f64>) -> Result<Vec<f64>> {
        let scores = scores.as_array().to_vec();
        if scores.len() == self.labels.len() {
            return Ok(self.grouping.gather(&scores));
        }
        Err(Error::data("length", format!("{name} has the wrong length"))
            .got(scores.len())
            .expected(format!("{}, the number of rows", self.labels.len())))
    }

    fn run<T>(&self, work: impl FnOnce(&[&[f64]], &JudgedQueries<'_>) -> Result<T>) -> Result<T> {
        let scores: Vec<&[f64]> = self.scores.iter().map(Vec::as_slice).collect();
        let query_weight = self.query_weight.as_deref();
        let judged =
            JudgedQueries { labels: &self.labels, queries: &self.grouping.queries, query_weight };
        work(&scores, &judged)
    }
}

impl CombineArgs {
    fn found(
        &self,
        scores: &[&[f64]],
        judged: &JudgedQueries<'_>,
        interrupt: &Interrupt,
    ) -> Result<Combination> {
        let metric = self.judging.first()?;
        let order = match self.method.parse()? {
            CombineMethod::Ascent(directions) => {
                let options = self.coordinates(metric, directions);
                return combine::coordinate_ascent(scores, judged, &options, interrupt);
            }
            CombineMethod::Average => return combine::average(scores, judged, &metric, interrupt),
            CombineMethod::Tree => MergeOrder::Given(self.tree.clone().unwrap_or_default()),
            CombineMethod::BestFirst => MergeOrder::BestFirst,
            CombineMethod::MostDifferentFirst => MergeOrder::MostDifferentFirst,
        };
        combine::merge_pairwise(scores, judged, &metric, &order, interrupt)
    }

    fn coordinates(&self, metric: Metric, directions: SearchDirections) -> CoordinateOptions {
        let Self { reach, negative, most_passes, restarts, seed, .. } = *self;
        CoordinateOptions {
            reach,
            negative,
            most_passes,
            directions,
            restarts,
            seed,
            ..CoordinateOptions::new(metric)
        }
    }
}

/// How the weights of more than two rankers are found.
#[derive(Debug, Clone, Copy)]
enum CombineMethod {
    Ascent(SearchDirections),
    Average,
    Tree,
    BestFirst,
    MostDifferentFirst,
}

impl FromStr for CombineMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" | "coordinate" => Ok(Self::Ascent(SearchDirections::Rankers)),
            "powell" => Ok(Self::Ascent(SearchDirections::Powell)),
            "average" => Ok(Self::Average),
            "tree" => Ok(Self::Tree),
            "best_first" => Ok(Self::BestFirst),
            "most_different_first" => Ok(Self::MostDifferentFirst),
            other => Err(Error::param("combine.method", "method is not known")
                .got(format!("\"{other}\""))
                .expected(METHODS)),
        }
    }
}

const METHODS: &str =
    "\"sweep\", \"coordinate\", \"best_first\", \"most_different_first\" or \"average\"";

/// Alpha, the value and the interval; then the curve: where its intervals begin and end, their
/// values, and whether they are all.
type SweepFacts<'py> = (
    (f64, f64, (f64, f64)),
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, bool),
);

/// The best combination of two rankers.
#[pyfunction]
pub(super) fn sweep<'py>(
    py: Python<'py>,
    rankers: RankerArgs<'_>,
    combining: CombineArgs,
) -> PyResult<SweepFacts<'py>> {
    let metric = combining.judging.first().map_err(|error| to_python(py, &error))?;
    let range =
        combining.alphas.map_or(AlphaRange::Between, |(from, to)| AlphaRange::Along { from, to });
    let mut options = SweepOptions::new(metric, range);
    options.curve_steps = combining.curve_steps;
    let data = rankers.data().map_err(|error| to_python(py, &error))?;
    let found: Sweep = detached(py, combining.judging.num_threads, |interrupt| {
        data.run(|scores, judged| match scores {
            [first, second] => combine::sweep(first, second, judged, &options, interrupt),
            _ => Err(Error::param("combine.rankers", "a sweep is of two rankers")
                .got(scores.len())
                .expected("2")),
        })
    })?;
    let of_steps = |take: fn(&combine::CurveStep) -> f64| {
        found.curve.steps.iter().map(take).collect::<Vec<_>>().to_pyarray(py)
    };
    let curve = (of_steps(|step| step.from), of_steps(|step| step.to), of_steps(|step| step.value));
    Ok((
        (found.alpha, found.value, (found.interval.from, found.interval.to)),
        (curve.0, curve.1, curve.2, found.curve.is_whole),
    ))
}

/// The weights after each improvement, and the value of each.
#[pyfunction]
pub(super) fn combine_rankers(
    py: Python<'_>,
    rankers: RankerArgs<'_>,
    combining: CombineArgs,
) -> PyResult<(Vec<Vec<f64>>, Vec<f64>)> {
    let data = rankers.data().map_err(|error| to_python(py, &error))?;
    let found = detached(py, combining.judging.num_threads, |interrupt| {
        data.run(|scores, judged| combining.found(scores, judged, interrupt))
    })?;
    Ok((found.path, found.history))
}

/// The mean of the metric for each of several lists of weights.
#[pyfunction]
pub(super) fn values_of_weights(
    py: Python<'_>,
    rankers: RankerArgs<'_>,
    judging: MetricArgs,
    weights: Vec<Vec<f64>>,
) -> PyResult<Vec<f64>> {
    let metric = judging.first().map_err(|error| to_python(py, &error))?;
    let data = rankers.data().map_err(|error| to_python(py, &error))?;
    detached(py, judging.num_threads, |interrupt| {
        data.run(|scores, judged| combine::values(scores, judged, &metric, &weights, interrupt))
    })
}

/// The scores of all rankers without ties: by a score, or by the jitter of a seed.
#[pyfunction]
pub(super) fn untied<'py>(
    py: Python<'py>,
    rankers: RankerArgs<'_>,
    by: Option<PyReadonlyArray1<'_, f64>>,
    seed: u64,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let data = rankers.data().map_err(|error| to_python(py, &error))?;
    let by = by.map(|by| data.gathered("tie_break", &by)).transpose();
    let by = by.map_err(|error| to_python(py, &error))?;
    let shifted = detached(py, None, |_| {
        let tie_break = by.as_deref().map_or(TieBreak::Jitter(seed), TieBreak::Score);
        let shifted = data.run(|scores, judged| combine::break_ties(scores, judged, tie_break))?;
        Ok(shifted.iter().map(|scores| data.grouping.scatter(scores)).collect::<Vec<_>>())
    })?;
    Ok(shifted.iter().map(|scores| scores.to_pyarray(py)).collect())
}

/// The sum of all rankers' scores, each times its weight.
#[pyfunction]
pub(super) fn mix<'py>(
    py: Python<'py>,
    rankers: Vec<PyReadonlyArray1<'_, f64>>,
    weights: Vec<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let scores: Vec<Vec<f64>> = rankers.iter().map(|scores| scores.as_array().to_vec()).collect();
    let mixed = detached(py, Some(1), |_| {
        let scores: Vec<&[f64]> = scores.iter().map(Vec::as_slice).collect();
        Ok(combine::mix(&scores, &weights))
    })?;
    Ok(mixed.to_pyarray(py))
}
