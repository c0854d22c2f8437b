//! Datasets for Python: the sampler, the bins, the builder and the dataset.

use super::arrays::{ReadArgs, TableArg, copied};
use super::comm::{PyTeam, empty, team_of};
use super::errors::to_python;
use super::gil::{detached, detached_watching};
use crate::binning::{self, BinOptions, RowSample};
use crate::data::letor::LetorOptions;
use crate::data::{self, LoadOptions, MissingPolicy, RowData};
use crate::distributed;
use crate::error::{Error, Result};
use crate::objective::Augment;
use crate::{Grouping, Queries};
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Labels, queries and weights: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RowArgs<'py> {
    labels: PyReadonlyArray1<'py, f32>,
    queries: QueryArg<'py>,
    row_weight: Option<PyReadonlyArray1<'py, f64>>,
    query_weight: Option<PyReadonlyArray1<'py, f64>>,
    base_score: Option<PyReadonlyArray1<'py, f64>>,
    position: Option<PyReadonlyArray1<'py, u32>>,
}

impl RowArgs<'_> {
    /// A copy for the core.
    pub(super) fn copied(&self) -> Result<RowData> {
        let labels = self.labels.as_array().to_vec();
        let grouping = self.queries.grouping(labels.len())?;
        Ok(RowData {
            labels,
            grouping,
            row_weight: copied(self.row_weight.as_ref()),
            query_weight: copied(self.query_weight.as_ref()),
            base_score: copied(self.base_score.as_ref()),
            position: copied(self.position.as_ref()),
        })
    }
}

/// The names of the categories of features, where they have names.
type CategoryNames = BTreeMap<u32, Vec<String>>;

/// Bins that exist, or how to choose them: `max_bins`, `sample_rows`, whether ranks within queries are
/// features too, the features that hold categories, and what those are called.
#[derive(FromPyObject)]
pub(super) enum BinsArg<'py> {
    Like(PyRef<'py, PyBinning>),
    Choose(usize, usize, bool, Vec<u32>, CategoryNames),
}

/// The bins of a dataset.
struct BinSource {
    /// Bins that exist; the other fields then do not matter.
    like: Option<Arc<binning::Binning>>,
    options: BinOptions,
    /// Whether ranks within queries are additional features.
    query_ranks: bool,
}

impl BinsArg<'_> {
    fn source(self) -> BinSource {
        match self {
            Self::Like(binning) => BinSource {
                like: Some(binning.inner.clone()),
                options: BinOptions::default(),
                query_ranks: false,
            },
            Self::Choose(max_bins, sample_rows, query_ranks, categorical, category_names) => {
                let options = BinOptions { max_bins, sample_rows, categorical, category_names };
                BinSource { like: None, options, query_ranks }
            }
        }
    }
}

/// How LETOR text is read: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct LetorTextArgs {
    max_features: u32,
    zero_based: bool,
    buffer_bytes: usize,
    /// Called with the number of bytes parsed so far.
    progress: Option<Py<PyAny>>,
}

/// How all batches of a table are read.
#[derive(Debug, Clone, Copy)]
struct BatchReader {
    policy: MissingPolicy,
    num_threads: Option<usize>,
}

impl BatchReader {
    fn new(py: Python<'_>, reading: &ReadArgs) -> PyResult<Self> {
        Ok(Self { policy: reading.policy(py)?, num_threads: reading.num_threads })
    }
}

/// The first pass: sees all rows and chooses the bins.
#[pyclass(frozen, name = "Sampler")]
pub(super) struct PySampler {
    sample: Mutex<Option<RowSample>>,
    options: BinOptions,
    batches: BatchReader,
}

#[pymethods]
impl PySampler {
    #[new]
    fn new(
        py: Python<'_>,
        num_features: usize,
        bins: (usize, usize),
        categories: (Vec<u32>, CategoryNames),
        reading: ReadArgs,
    ) -> PyResult<Self> {
        let ((max_bins, sample_rows), (categorical, category_names)) = (bins, categories);
        let options = BinOptions { max_bins, sample_rows, categorical, category_names };
        options.check().map_err(|error| to_python(py, &error))?;
        let sample = Mutex::new(Some(RowSample::new(sample_rows, num_features)));
        Ok(Self { sample, options, batches: BatchReader::new(py, &reading)? })
    }

    fn push(&self, py: Python<'_>, block: TableArg<'_>) -> PyResult<()> {
        let cells = block.cells(py, self.batches.policy)?;
        detached(py, self.batches.num_threads, |interrupt| {
            let mut sample = lock(&self.sample);
            sample.as_mut().ok_or_else(used_up)?.push(&*cells, interrupt)
        })
    }

    /// A checksum of all rows seen; equal to that of a builder with the same rows.
    #[getter]
    fn content(&self) -> u64 {
        lock(&self.sample).as_ref().map_or(0, RowSample::content)
    }

    /// The bins of all rows seen, by all workers of the team if there is one.
    #[pyo3(signature = (team=None))]
    fn choose(&self, py: Python<'_>, team: Option<&Bound<'_, PyTeam>>) -> PyResult<PyBinning> {
        let team = team_of(team);
        let binning = detached(py, self.batches.num_threads, |interrupt| {
            let sample = lock(&self.sample).take().ok_or_else(used_up);
            distributed::choose_global_bins(&team, sample, &self.options, interrupt)
        })?;
        Ok(PyBinning { inner: Arc::new(binning) })
    }
}

/// The bins of all features.
#[pyclass(frozen, name = "Binning")]
pub(super) struct PyBinning {
    pub(super) inner: Arc<binning::Binning>,
}

#[pymethods]
impl PyBinning {
    #[getter]
    fn num_features(&self) -> usize {
        self.inner.num_features()
    }

    /// Whether the second half of the features are ranks of the first within queries.
    #[getter]
    fn query_ranks(&self) -> bool {
        self.inner.query_ranks()
    }

    /// The bytes of a binned row.
    #[getter]
    fn width(&self) -> usize {
        self.inner.layout().width()
    }

    fn thresholds<'py>(
        &self,
        py: Python<'py>,
        feature: usize,
    ) -> Option<Bound<'py, PyArray1<f32>>> {
        self.inner.mappers().get(feature).map(|mapper| mapper.thresholds().to_pyarray(py))
    }

    /// The categories of a feature that have bins, if it holds categories.
    fn categories(&self, feature: usize) -> Option<Vec<u32>> {
        let categories = self.inner.mappers().get(feature)?.categories()?;
        Some(categories.by_bin().to_vec())
    }

    /// The features that hold categories.
    fn categorical(&self) -> Vec<usize> {
        self.inner.categorical().to_vec()
    }

    /// The names of the categories of each feature whose categories have names.
    fn category_names(&self) -> CategoryNames {
        self.inner.category_names().clone()
    }

    fn unused_features(&self) -> Vec<usize> {
        let mappers = self.inner.mappers().iter().enumerate();
        mappers.filter(|(_, m)| !m.is_used()).map(|(feature, _)| feature).collect()
    }
}

/// The second pass: bins all rows.
#[pyclass(frozen, name = "Builder")]
pub(super) struct PyDatasetBuilder {
    builder: Mutex<Option<data::DatasetBuilder>>,
    batches: BatchReader,
}

#[pymethods]
impl PyDatasetBuilder {
    #[new]
    fn new(
        py: Python<'_>,
        binning: &PyBinning,
        num_rows: usize,
        reading: ReadArgs,
    ) -> PyResult<Self> {
        let builder = data::DatasetBuilder::new(binning.inner.clone(), num_rows);
        let builder = Mutex::new(Some(builder.map_err(|error| to_python(py, &error))?));
        Ok(Self { builder, batches: BatchReader::new(py, &reading)? })
    }

    fn push(&self, py: Python<'_>, block: TableArg<'_>) -> PyResult<()> {
        let cells = block.cells(py, self.batches.policy)?;
        detached(py, self.batches.num_threads, |interrupt| {
            let mut builder = lock(&self.builder);
            builder.as_mut().ok_or_else(used_up)?.push(&*cells, interrupt)
        })
    }

    /// A checksum of all rows so far.
    #[getter]
    fn content(&self) -> u64 {
        lock(&self.builder).as_ref().map_or(0, data::DatasetBuilder::content)
    }

    fn finish(&self, py: Python<'_>, rows: RowArgs<'_>) -> PyResult<PyDataset> {
        let rows = rows.copied().map_err(|error| to_python(py, &error))?;
        let inner = detached(py, self.batches.num_threads, |_| {
            lock(&self.builder).take().ok_or_else(used_up)?.finish(rows)
        })?;
        Ok(PyDataset { inner: Arc::new(inner) })
    }
}

/// Queries as Python gives them: a code and the number of codes, or sizes.
#[derive(FromPyObject)]
pub(super) enum QueryArg<'py> {
    Codes(PyReadonlyArray1<'py, u32>, usize),
    Sizes(PyReadonlyArray1<'py, i64>),
}

impl QueryArg<'_> {
    /// The rows of each query.
    pub(super) fn grouping(&self, num_rows: usize) -> Result<Grouping> {
        match self {
            Self::Codes(codes, num_queries) => {
                Grouping::from_codes(&codes.as_array().to_vec(), *num_queries)
            }
            Self::Sizes(sizes) => {
                let queries = Queries::from_sizes(&sizes.as_array().to_vec(), num_rows)?;
                Ok(Grouping::in_row_order(queries))
            }
        }
    }
}

/// The arrays of `augmented`.
type AugmentedRows<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// A binned dataset.
#[pyclass(frozen, name = "Dataset")]
pub(super) struct PyDataset {
    pub(super) inner: Arc<data::Dataset>,
}

#[pymethods]
impl PyDataset {
    /// A dataset from one block that holds all rows.
    #[staticmethod]
    fn of_block(
        py: Python<'_>,
        block: TableArg<'_>,
        rows: RowArgs<'_>,
        bins: BinsArg<'_>,
        reading: ReadArgs,
    ) -> PyResult<Self> {
        let batches = BatchReader::new(py, &reading)?;
        let cells = block.cells(py, batches.policy)?;
        let rows = rows.copied().map_err(|error| to_python(py, &error))?;
        let BinSource { like, options, query_ranks } = bins.source();
        let inner = detached(py, batches.num_threads, |interrupt| match like {
            Some(binning) => data::Dataset::like(&*cells, rows, binning, interrupt),
            None if query_ranks => data::Dataset::with_ranks(&*cells, rows, &options, interrupt),
            None => data::Dataset::new(&*cells, rows, &options, interrupt),
        })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The shard of a worker without documents.
    #[staticmethod]
    #[pyo3(name = "empty")]
    fn of_nothing(py: Python<'_>, binning: &PyBinning) -> PyResult<Self> {
        empty(py, binning.inner.clone())
    }

    /// A dataset from LETOR text, and the ids of its queries; with a team, the shard of this worker.
    #[staticmethod]
    #[pyo3(signature = (paths, text, bins, reading, team=None))]
    #[expect(clippy::too_many_arguments, reason = "the interpreter is one")]
    fn from_letor(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        text: LetorTextArgs,
        bins: BinsArg<'_>,
        reading: ReadArgs,
        team: Option<&Bound<'_, PyTeam>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let batches = BatchReader::new(py, &reading)?;
        let BinSource { like, options: bins, query_ranks } = bins.source();
        let MissingPolicy { missing, infinite } = batches.policy;
        let LetorTextArgs { max_features, zero_based, buffer_bytes, .. } = text;
        let letor = LetorOptions { max_features, zero_based, infinite };
        let options = LoadOptions { bins, letor, missing, query_ranks, ..LoadOptions::default() };
        let options = LoadOptions { buffer_bytes, ..options };
        let count = options.progress.clone();
        let watch = |py: Python<'_>| match &text.progress {
            Some(callback) => callback.call1(py, (count.done(),)).map(|_| ()),
            None => Ok(()),
        };
        let team = team.map(|team| team.get().inner.clone());
        let loaded =
            detached_watching(py, batches.num_threads, watch, |interrupt| match (team, like) {
                (Some(team), None) => distributed::load_shard(&paths, &team, &options, interrupt),
                (_, like) => data::load_files(&paths, like, &options, interrupt),
            })?;
        let ids = loaded.query_ids.into_iter().map(String::from).collect();
        Ok((Self { inner: Arc::new(loaded.dataset) }, ids))
    }

    #[getter]
    fn num_docs(&self) -> usize {
        self.inner.num_docs()
    }

    #[getter]
    fn num_queries(&self) -> usize {
        self.inner.queries().len()
    }

    #[getter]
    fn num_features(&self) -> usize {
        self.inner.num_features()
    }

    /// The bytes of memory.
    #[getter]
    fn memory(&self) -> usize {
        self.inner.memory()
    }

    #[getter]
    fn binning(&self) -> PyBinning {
        PyBinning { inner: self.inner.binning().clone() }
    }

    /// The label of each of the caller's rows.
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.inner.by_row(self.inner.labels()).to_pyarray(py)
    }

    /// The number of documents of each of the caller's queries.
    fn query_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let mut sizes = vec![0i64; self.inner.queries().len()];
        for (docs, &q) in self.inner.queries().ranges().zip(self.inner.query_of()) {
            sizes[q as usize] = docs.len().cast_signed() as i64;
        }
        sizes.to_pyarray(py)
    }

    /// The number of the query of each of the caller's rows.
    fn query_codes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let mut codes = vec![0u32; self.inner.num_docs()];
        for (docs, &q) in self.inner.queries().ranges().zip(self.inner.query_of()) {
            codes[docs].fill(q);
        }
        self.inner.by_row(&codes).to_pyarray(py)
    }

    /// The weight of each of the caller's queries, where given.
    fn query_weight<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let weight = self.inner.query_weight()?;
        let mut by_query = vec![0.0; weight.len()];
        for (&q, &weight) in self.inner.query_of().iter().zip(weight) {
            by_query[q as usize] = weight;
        }
        Some(by_query.to_pyarray(py))
    }

    /// A hash of everything that training uses; equal for any order of the rows.
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// The queries and their augmented copies: the caller's row of each document, the number of the query
    /// or copy that it is in, and for each of these the caller's number of the query.
    fn augmented<'py>(
        &self,
        py: Python<'py>,
        augment: (f64, usize),
        seed: u64,
    ) -> PyResult<AugmentedRows<'py>> {
        let (fraction, copies) = augment;
        let augment = Augment { fraction, copies };
        let dataset = &*self.inner;
        let (rows, codes, of) = detached(py, Some(1), |_| {
            augment.check()?;
            let (labels, queries) = (dataset.labels(), dataset.queries());
            let all = augment.copies_of(seed, (labels, queries, dataset.doc_hash()));
            let (mut rows, mut codes, mut of) = (Vec::new(), Vec::new(), Vec::new());
            for (code, (query, docs)) in all.into_iter().enumerate() {
                of.push(dataset.query_of()[query]);
                codes.extend(std::iter::repeat_n(code as u32, docs.len()));
                rows.extend(docs.iter().map(|&doc| dataset.rows()[doc as usize]));
            }
            Ok((rows, codes, of))
        })?;
        Ok((rows.to_pyarray(py), codes.to_pyarray(py), of.to_pyarray(py)))
    }

    fn require_pairs(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.require_pairs().map_err(|error| to_python(py, &error))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn used_up() -> Error {
    Error::internal("a sampler or builder was used after its end")
}
