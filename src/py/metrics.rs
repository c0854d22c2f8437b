//! Metrics for Python: values of queries, their means, and significance tests of differences.
//!
//! Values come and go in the order in which the caller's queries first appear; NaN is a skipped one.

use super::arrays::copied;
use super::dataset::QueryArg;
use super::errors::to_python;
use super::gil::detached;
use crate::error::Result;
use crate::metric::significance::{self, Resampling};
use crate::metric::{self, Convention, Gain, Mean, Measure, Metric};
use crate::objective::ObjectiveKind;
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;

/// Scores and labels of rows, and the query of each: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RankingArgs<'py> {
    scores: PyReadonlyArray1<'py, f64>,
    labels: PyReadonlyArray1<'py, f32>,
    queries: QueryArg<'py>,
}

/// Metrics and their conventions: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct MetricArgs {
    metrics: Vec<String>,
    gain: GainArg,
    ties: String,
    empty: String,
    relevant_from: f64,
    max_label: Option<f64>,
    pub(super) num_threads: Option<usize>,
}

/// The name of a gain, or its table.
#[derive(FromPyObject)]
pub(super) enum GainArg {
    Name(String),
    Table(Vec<f64>),
}

/// How replicates are drawn: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct ResamplingArgs {
    resamples: usize,
    seed: u64,
    num_threads: Option<usize>,
}

impl MetricArgs {
    fn metrics(&self) -> Result<Vec<Metric>> {
        self.metrics.iter().map(|name| self.metric(name)).collect()
    }

    /// The first metric.
    pub(super) fn first(&self) -> Result<Metric> {
        self.metric(self.metrics.first().map_or("", String::as_str))
    }

    /// The metric of that name under the convention.
    pub(super) fn metric(&self, name: &str) -> Result<Metric> {
        name.parse::<Metric>()?.with_convention(&self.convention()?)
    }

    fn convention(&self) -> Result<Convention> {
        let convention = Convention {
            gain: match &self.gain {
                GainArg::Name(name) => name.parse()?,
                GainArg::Table(table) => Gain::Table(table.clone()),
            },
            ties: self.ties.parse()?,
            empty: self.empty.parse()?,
            relevant_from: self.relevant_from as f32,
            max_label: self.max_label.map(|label| label as f32),
        };
        convention.check()?;
        Ok(convention)
    }
}

impl ResamplingArgs {
    fn resampling(&self) -> Resampling {
        Resampling { resamples: self.resamples, seed: self.seed }
    }
}

/// Each metric's name, and its value for each query.
#[pyfunction]
pub(super) fn evaluate<'py>(
    py: Python<'py>,
    ranked: RankingArgs<'_>,
    judging: MetricArgs,
) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>)>> {
    let metrics = judging.metrics().map_err(|error| to_python(py, &error))?;
    let scores = ranked.scores.as_array().to_vec();
    let labels = ranked.labels.as_array().to_vec();
    let grouping = ranked.queries.grouping(labels.len());
    let grouping = grouping.map_err(|error| to_python(py, &error))?;
    let values = detached(py, judging.num_threads, |interrupt| {
        metric::evaluate_rows(&metrics, &scores, &labels, &grouping, interrupt)
    })?;
    let named = metrics.iter().zip(values);
    Ok(named.map(|(metric, values)| (metric.to_string(), values.to_pyarray(py))).collect())
}

/// The mean, the number of queries and how many of them are skipped.
#[pyfunction]
pub(super) fn mean(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    num_threads: Option<usize>,
) -> PyResult<(f64, usize, usize)> {
    let (values, weights) = (values.as_array().to_vec(), copied(weights.as_ref()));
    let mean = detached(py, num_threads, |_| Mean::of(&values, weights.as_deref()))?;
    Ok((mean.value, mean.num_queries, mean.num_skipped))
}

/// The ends of the bootstrap interval of the mean.
#[pyfunction]
pub(super) fn bootstrap(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    level: f64,
    drawing: ResamplingArgs,
) -> PyResult<(f64, f64)> {
    let (values, weights) = (values.as_array().to_vec(), copied(weights.as_ref()));
    let interval = detached(py, drawing.num_threads, |interrupt| {
        let weights = weights.as_deref();
        significance::bootstrap(&values, weights, level, drawing.resampling(), interrupt)
    })?;
    Ok((interval.low, interval.high))
}

/// Student's t, the degrees of freedom and the two-sided p-value of paired differences.
#[pyfunction]
pub(super) fn t_test(
    py: Python<'_>,
    differences: PyReadonlyArray1<'_, f64>,
    num_threads: Option<usize>,
) -> PyResult<(f64, usize, f64)> {
    let differences = differences.as_array().to_vec();
    let test = detached(py, num_threads, |_| {
        significance::t_test(&differences, &zeros_like(&differences))
    })?;
    Ok((test.t, test.degrees, test.p_value))
}

/// The two-sided p-value of paired differences under random signs, and whether it is exact.
#[pyfunction]
pub(super) fn randomisation_test(
    py: Python<'_>,
    differences: PyReadonlyArray1<'_, f64>,
    drawing: ResamplingArgs,
) -> PyResult<(f64, bool)> {
    let differences = differences.as_array().to_vec();
    let test = detached(py, drawing.num_threads, |interrupt| {
        let zeros = zeros_like(&differences);
        significance::randomisation_test(&differences, &zeros, drawing.resampling(), interrupt)
    })?;
    Ok((test.p_value, test.exact))
}

/// How many differences are above, at and below 0.
#[pyfunction]
pub(super) fn tally(
    py: Python<'_>,
    differences: PyReadonlyArray1<'_, f64>,
    num_threads: Option<usize>,
) -> PyResult<(usize, usize, usize)> {
    let differences = differences.as_array().to_vec();
    let tally = detached(py, num_threads, |_| {
        significance::tally(&differences, &zeros_like(&differences))
    })?;
    Ok((tally.wins, tally.ties, tally.losses))
}

/// The names that a metric's name can begin with.
#[pyfunction]
pub(super) fn measures() -> Vec<String> {
    Measure::ALL.iter().map(ToString::to_string).collect()
}

/// The losses: the name of each, the estimator that learns by it, and what other tools call it.
#[pyfunction]
pub(super) fn objectives() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let row =
        |kind: ObjectiveKind| (kind.user_name(), kind.estimator(), kind.other_names().to_vec());
    ObjectiveKind::ALL.into_iter().map(row).collect()
}

/// The baseline of differences, which are given as such because they may be weighted.
fn zeros_like(differences: &[f64]) -> Vec<f64> {
    vec![0.0; differences.len()]
}
