//! Metrics for Python: values of queries, their means, and significance tests of differences.
//!
//! Values come and go in the order in which the caller's queries first appear; NaN is a skipped one.

use super::arrays::{ArrayArg, NewArray};
use super::dataset::QueryArg;
use super::gil::detached;
use crate::error::Result;
use crate::metric::significance::{self, Resampling};
use crate::metric::{self, Convention, Gain, Mean, Measure, Metric};
use crate::objective::ObjectiveKind;
use crate::settings::NamedMetric;
use pyo3::prelude::*;

/// Scores and labels of rows, and the query of each: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RankingArgs {
    scores: ArrayArg<f64>,
    labels: ArrayArg<f32>,
    queries: QueryArg,
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
    fn metric(&self, name: &str) -> Result<Metric> {
        let metric = name.parse::<Metric>()?;
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
        metric.with_convention(&convention)
    }
}

impl ResamplingArgs {
    fn resampling(&self) -> Resampling {
        Resampling { resamples: self.resamples, seed: self.seed }
    }
}

/// Each metric's name, and its value for each query.
#[pyfunction]
pub(super) fn evaluate(
    ranked: RankingArgs,
    judging: MetricArgs,
) -> PyResult<Vec<(String, NewArray<f64>)>> {
    let metrics = judging.metrics()?;
    let RankingArgs { scores: ArrayArg(scores), labels: ArrayArg(labels), queries } = ranked;
    let grouping = queries.grouping(labels.len())?;
    let values = detached(judging.num_threads, |interrupt| {
        metric::evaluate_rows(&metrics, &scores, &labels, &grouping, interrupt)
    })?;
    let names = metrics.iter().map(ToString::to_string);
    Ok(names.zip(values.into_iter().map(NewArray)).collect())
}

/// The mean, the number of queries and how many of them are skipped.
#[pyfunction]
pub(super) fn mean(
    values: ArrayArg<f64>,
    weights: Option<ArrayArg<f64>>,
    num_threads: Option<usize>,
) -> PyResult<(f64, usize, usize)> {
    let weights = weights.map(|weights| weights.0);
    let mean = detached(num_threads, |_| Mean::of(&values.0, weights.as_deref()))?;
    Ok((mean.value, mean.num_queries, mean.num_skipped))
}

/// The ends of the bootstrap interval of the mean.
#[pyfunction]
pub(super) fn bootstrap(
    values: ArrayArg<f64>,
    weights: Option<ArrayArg<f64>>,
    level: f64,
    drawing: ResamplingArgs,
) -> PyResult<(f64, f64)> {
    let weights = weights.map(|weights| weights.0);
    let interval = detached(drawing.num_threads, |interrupt| {
        let weights = weights.as_deref();
        significance::bootstrap(&values.0, weights, level, drawing.resampling(), interrupt)
    })?;
    Ok((interval.low, interval.high))
}

/// The p-values and whether the second is exact; how many differences are above, at and below 0.
type TestFacts = ((f64, f64, bool), (usize, usize, usize));

/// The two-sided p-values of paired differences by Student's t and under random signs, and the tally of
/// their signs; `tested` are the differences times their weights.
#[pyfunction]
pub(super) fn significance_tests(
    differences: ArrayArg<f64>,
    tested: ArrayArg<f64>,
    drawing: ResamplingArgs,
) -> PyResult<TestFacts> {
    let (differences, tested) = (differences.0, tested.0);
    let zeros = vec![0.0; tested.len()];
    detached(drawing.num_threads, |interrupt| {
        let t = significance::t_test(&tested, &zeros)?;
        let resampling = drawing.resampling();
        let signs = significance::randomisation_test(&tested, &zeros, resampling, interrupt)?;
        let tally = significance::tally(&differences, &zeros)?;
        let tally = (tally.wins, tally.ties, tally.losses);
        Ok(((t.p_value, signs.p_value, signs.exact), tally))
    })
}

/// The names that a metric's name can begin with.
#[pyfunction]
pub(super) fn measures() -> Vec<String> {
    Measure::ALL.iter().map(ToString::to_string).collect()
}

/// What a name means of the metric of a data set: the extra labels that it is of, if any, and the metric.
#[pyfunction]
pub(super) fn named_metric(name: &str, extra_labels: Vec<String>) -> (Option<String>, String) {
    let known: Vec<&str> = extra_labels.iter().map(String::as_str).collect();
    NamedMetric::read(name, &known).into_parts()
}

/// The losses: the name of each, the estimator that learns by it, and what other tools call it.
#[pyfunction]
pub(super) fn objectives() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let row =
        |kind: ObjectiveKind| (kind.user_name(), kind.estimator(), kind.other_names().to_vec());
    ObjectiveKind::ALL.into_iter().map(row).collect()
}
