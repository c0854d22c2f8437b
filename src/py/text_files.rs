//! Reads text files for Python: LETOR text, scores, TREC runs and qrels.

use super::arrays::{NewArray, NewMatrix, fields_of};
use super::booster::PyBooster;
use super::gil::detached;
use crate::Queries;
use crate::boosting::scores_bins;
use crate::data::TextBase;
use crate::data::inspect;
use crate::data::labels::{self, QueryLabels};
use crate::data::letor::LetorOptions;
use crate::data::line_source::{LineOptions, LineSource};
use crate::data::load;
use crate::data::trec::{self, TrecOptions};
use crate::error::Result;
use crate::model::write_whole;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

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
    pub(super) buffer_bytes: usize,
    /// Called with the number of bytes parsed so far.
    pub(super) progress: Option<Py<PyAny>>,
    /// The model whose scores become the base scores of a dataset.
    base: Option<Py<PyBooster>>,
    /// Whether there are base scores only if the bins are not enough to score the base.
    base_if_needed: bool,
}

impl LetorArgs {
    pub(super) fn options(&self) -> LetorOptions {
        let Self { max_features, zero_based, .. } = *self;
        LetorOptions { max_features, zero_based, ..LetorOptions::default() }
    }

    /// The base of a dataset.
    pub(super) fn base(&self) -> Option<TextBase> {
        let base = TextBase::new(self.base.as_ref()?.get().shared());
        Some(if self.base_if_needed { base.if_needed(scores_bins) } else { base })
    }
}

/// Labels, sizes of queries and ids of queries.
type FileLabels = (NewArray<f32>, NewArray<i64>, Vec<String>);
/// The same, after the values.
type FileTable = (NewMatrix<f32>, NewArray<f32>, NewArray<i64>, Vec<String>);

/// Labels, sizes of queries and ids of queries of a LETOR file.
#[pyfunction]
pub(super) fn read_labels(path: PathBuf, num_threads: Option<usize>) -> PyResult<FileLabels> {
    detached(num_threads, |interrupt| labels::read_labels(&mut open(&path)?, interrupt))
        .map(label_facts)
}

/// Values, labels, sizes of queries and ids of queries of a LETOR file.
#[pyfunction]
pub(super) fn read_table(path: PathBuf, looking: LetorArgs) -> PyResult<FileTable> {
    let read = detached(looking.num_threads, |interrupt| {
        load::read_letor_table(open(&path)?, looking.options(), interrupt)
    })?;
    let shape = [read.labels.labels.len(), read.num_features];
    let (labels, sizes, ids) = label_facts(read.labels);
    Ok((NewMatrix(read.values, shape), labels, sizes, ids))
}

/// The scores of a file with one number a line.
#[pyfunction]
pub(super) fn read_scores(path: PathBuf, num_threads: Option<usize>) -> PyResult<NewArray<f64>> {
    detached(num_threads, |interrupt| labels::read_scores(&mut open(&path)?, interrupt))
        .map(NewArray)
}

/// Replaces a file atomically.
#[pyfunction]
pub(super) fn replace_file(path: PathBuf, content: Vec<u8>) -> PyResult<()> {
    detached(Some(1), |_| write_whole(&path, &content))
}

/// A run joined with its qrels: a dictionary of the fields of `JudgedRun`.
#[pyfunction]
pub(super) fn read_trec(
    py: Python<'_>,
    run: PathBuf,
    qrels: PathBuf,
    joining: TrecArgs,
) -> PyResult<Bound<'_, PyDict>> {
    let TrecArgs { all_queries, single_precision, num_threads } = joining;
    let options = TrecOptions { all_queries, single_precision };
    let joined = detached(num_threads, |interrupt| {
        trec::join(&mut open(&run)?, &mut open(&qrels)?, &options, interrupt)
    })?;
    let fields = fields_of!(py, joined, queries_not_judged queries_not_retrieved);
    fields.set_item("ids", owned(joined.ids))?;
    fields.set_item("sizes", sizes(&joined.queries))?;
    fields.set_item("scores", NewArray(joined.scores))?;
    fields.set_item("labels", NewArray(joined.labels))?;
    Ok(fields)
}

/// The summary of a LETOR file: a dictionary of the fields of `Summary`.
#[pyfunction]
pub(super) fn inspect_letor(
    py: Python<'_>,
    path: PathBuf,
    looking: LetorArgs,
) -> PyResult<Bound<'_, PyDict>> {
    let summary = detached(looking.num_threads, |interrupt| {
        inspect::inspect(&mut open(&path)?, &looking.options(), interrupt)
    })?;
    let fields = fields_of!(
        py, summary, bytes rows queries min_docs median_docs max_docs queries_without_relevant
        queries_with_one_label repeated_rows sorted_by_qid bad_lines
    );
    let labels = summary.labels.iter().map(|count| (count.label, count.docs));
    fields.set_item("labels", labels.collect::<Vec<_>>())?;
    let features = summary.features.iter().map(|feature| {
        let fields = fields_of!(py, feature, index rows missing min max);
        fields.set_item("constant", feature.is_constant(summary.rows))?;
        Ok(fields)
    });
    fields.set_item("features", features.collect::<PyResult<Vec<_>>>()?)?;
    let findings = summary.findings.into_iter();
    let findings = findings.map(|finding| Ok(fields_of!(py, finding, line column code message)));
    fields.set_item("findings", findings.collect::<PyResult<Vec<_>>>()?)?;
    Ok(fields)
}

fn open(path: &Path) -> Result<LineSource> {
    LineSource::open(path, &LineOptions::default())
}

fn sizes(queries: &Queries) -> NewArray<i64> {
    NewArray(queries.ranges().map(|docs| docs.len().cast_signed() as i64).collect())
}

fn label_facts(QueryLabels { labels, queries, ids }: QueryLabels) -> FileLabels {
    (NewArray(labels), sizes(&queries), owned(ids))
}

/// Ids as Python takes them.
pub(super) fn owned(ids: Vec<Box<str>>) -> Vec<String> {
    ids.into_iter().map(String::from).collect()
}
