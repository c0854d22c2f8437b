//! Reads text files for Python: LETOR text, scores, TREC runs and qrels.

use super::gil::detached;
use crate::Queries;
use crate::data::inspect::{self, Summary};
use crate::data::labels;
use crate::data::letor::LetorOptions;
use crate::data::letor_table;
use crate::data::line_source::{LineOptions, LineSource};
use crate::data::trec::{self, TrecOptions};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

type ValueMatrix<'py> = Bound<'py, PyArray2<f32>>;
type LabelArray<'py> = Bound<'py, PyArray1<f32>>;
type ScoreArray<'py> = Bound<'py, PyArray1<f64>>;
type SizeArray<'py> = Bound<'py, PyArray1<i64>>;

/// How a run and its qrels are joined: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct TrecArgs {
    all_queries: bool,
    single_precision: bool,
    num_threads: Option<usize>,
}

/// How a LETOR file is read: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct LetorArgs {
    max_features: u32,
    zero_based: bool,
    num_threads: Option<usize>,
}

/// Labels, sizes of queries and ids of queries of a LETOR file.
#[pyfunction]
pub(super) fn read_labels(
    py: Python<'_>,
    path: PathBuf,
    num_threads: Option<usize>,
) -> PyResult<(LabelArray<'_>, SizeArray<'_>, Vec<String>)> {
    let labelled = detached(py, num_threads, |interrupt| labels::read_labels(&path, interrupt))?;
    let sizes = sizes(&labelled.queries).into_pyarray(py);
    Ok((labelled.labels.into_pyarray(py), sizes, owned(labelled.ids)))
}

/// Values, labels, sizes of queries and ids of queries of a LETOR file.
#[pyfunction]
pub(super) fn read_table(
    py: Python<'_>,
    path: PathBuf,
    looking: LetorArgs,
) -> PyResult<(ValueMatrix<'_>, LabelArray<'_>, SizeArray<'_>, Vec<String>)> {
    let LetorArgs { max_features, zero_based, num_threads } = looking;
    let letor = LetorOptions { max_features, zero_based, ..LetorOptions::default() };
    let read = detached(py, num_threads, |interrupt| {
        letor_table::read_letor_table(&path, &letor, interrupt)
    })?;
    let labelled = read.labels;
    let shape = [labelled.labels.len(), read.num_features];
    let values = read.values.into_pyarray(py).reshape(shape)?;
    let sizes = sizes(&labelled.queries).into_pyarray(py);
    Ok((values, labelled.labels.into_pyarray(py), sizes, owned(labelled.ids)))
}

/// The scores of a file with one number a line.
#[pyfunction]
pub(super) fn read_scores(
    py: Python<'_>,
    path: PathBuf,
    num_threads: Option<usize>,
) -> PyResult<ScoreArray<'_>> {
    let scores = detached(py, num_threads, |interrupt| labels::read_scores(&path, interrupt))?;
    Ok(scores.into_pyarray(py))
}

/// A run joined with its qrels: a dictionary of the fields of `Judgements`.
#[pyfunction]
pub(super) fn read_trec(
    py: Python<'_>,
    run: PathBuf,
    qrels: PathBuf,
    joining: TrecArgs,
) -> PyResult<Bound<'_, PyDict>> {
    let TrecArgs { all_queries, single_precision, num_threads } = joining;
    let options = TrecOptions { all_queries, single_precision };
    let joined = detached(py, num_threads, |interrupt| {
        let open = |path| LineSource::open(path, &LineOptions::default());
        trec::join(&mut open(&run)?, &mut open(&qrels)?, &options, interrupt)
    })?;
    let fields = PyDict::new(py);
    fields.set_item("sizes", sizes(&joined.queries).into_pyarray(py))?;
    fields.set_item("scores", joined.scores.into_pyarray(py))?;
    fields.set_item("labels", joined.labels.into_pyarray(py))?;
    fields.set_item("ids", owned(joined.ids))?;
    fields.set_item("queries_not_judged", joined.queries_not_judged)?;
    fields.set_item("queries_not_retrieved", joined.queries_not_retrieved)?;
    Ok(fields)
}

/// The summary of a LETOR file: a dictionary of the fields of `Summary`.
#[pyfunction]
pub(super) fn inspect_letor(
    py: Python<'_>,
    path: PathBuf,
    looking: LetorArgs,
) -> PyResult<Bound<'_, PyDict>> {
    let LetorArgs { max_features, zero_based, num_threads } = looking;
    let options = LetorOptions { max_features, zero_based, ..LetorOptions::default() };
    let summary =
        detached(py, num_threads, |interrupt| inspect::inspect(&path, &options, interrupt))?;
    let fields = counts(py, &summary)?;
    let features = summary.features.iter().map(|feature| {
        let fields = PyDict::new(py);
        fields.set_item("index", feature.index)?;
        fields.set_item("rows", feature.rows)?;
        fields.set_item("missing", feature.missing)?;
        fields.set_item("min", feature.min)?;
        fields.set_item("max", feature.max)?;
        fields.set_item("constant", feature.is_constant(summary.rows))?;
        Ok(fields)
    });
    fields.set_item("features", features.collect::<PyResult<Vec<_>>>()?)?;
    let findings = summary.findings.iter().map(|finding| {
        let fields = PyDict::new(py);
        fields.set_item("line", finding.line)?;
        fields.set_item("column", finding.column)?;
        fields.set_item("code", finding.code)?;
        fields.set_item("message", &finding.message)?;
        Ok(fields)
    });
    fields.set_item("findings", findings.collect::<PyResult<Vec<_>>>()?)?;
    Ok(fields)
}

/// The fields of a summary, without its lists.
fn counts<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("bytes", summary.bytes)?;
    fields.set_item("rows", summary.rows)?;
    fields.set_item("queries", summary.queries)?;
    fields.set_item("min_docs", summary.min_docs)?;
    fields.set_item("median_docs", summary.median_docs)?;
    fields.set_item("max_docs", summary.max_docs)?;
    let labels = summary.labels.iter().map(|count| (count.label, count.docs));
    fields.set_item("labels", labels.collect::<Vec<_>>())?;
    fields.set_item("queries_without_relevant", summary.queries_without_relevant)?;
    fields.set_item("queries_with_one_label", summary.queries_with_one_label)?;
    fields.set_item("repeated_rows", summary.repeated_rows)?;
    fields.set_item("sorted_by_qid", summary.sorted_by_qid)?;
    fields.set_item("bad_lines", summary.bad_lines)?;
    Ok(fields)
}

fn sizes(queries: &Queries) -> Vec<i64> {
    queries.ranges().map(|docs| docs.len().cast_signed() as i64).collect()
}

fn owned(ids: Vec<Box<str>>) -> Vec<String> {
    ids.into_iter().map(String::from).collect()
}
