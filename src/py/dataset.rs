//! Datasets for Python: the sampler, the bins, the builder and the dataset.

use super::arrays::{ArrayArg, NewArray, ReadArgs, TableArg};
use super::comm::{PyTeam, number_of, team_of};
use super::gil::{detached, detached_for, detached_watching};
use super::text_files::{LetorArgs, owned};
use crate::binning::{self, BinOptions, RowSample};
use crate::data::letor::LetorOptions;
use crate::data::{self, ExtraLabels, LoadOptions, MissingPolicy, RowData};
use crate::distributed;
use crate::error::{Error, Result, lock};
use crate::objective::Augment;
use crate::{CategoryList, Grouping, Queries};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Labels, queries and weights: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct RowArgs {
    labels: ArrayArg<f32>,
    queries: QueryArg,
    row_weight: Option<ArrayArg<f64>>,
    query_weight: Option<ArrayArg<f64>>,
    base_score: Option<ArrayArg<f64>>,
    position: Option<ArrayArg<u32>>,
    extra_labels: Vec<(String, ArrayArg<f32>)>,
}

impl RowArgs {
    /// The rows as the core takes them.
    pub(super) fn data(self) -> Result<RowData> {
        let grouping = self.queries.grouping(self.labels.0.len())?;
        Ok(RowData {
            labels: self.labels.0,
            grouping,
            row_weight: self.row_weight.map(|weight| weight.0),
            query_weight: self.query_weight.map(|weight| weight.0),
            base_score: self.base_score.map(|scores| scores.0),
            position: self.position.map(|position| position.0),
            extra_labels: self
                .extra_labels
                .into_iter()
                .map(|(name, values)| ExtraLabels { name, values: values.0 })
                .collect(),
        })
    }
}

/// The lists of categories of features that have one.
pub(super) type CategoryLists = BTreeMap<u32, CategoryListArg>;

/// The categories of a feature: a list of `str`, of `bool`, or of `float`.
#[derive(FromPyObject, IntoPyObject)]
pub(super) enum CategoryListArg {
    Texts(Vec<String>),
    Truths(Vec<bool>),
    Numbers(Vec<f64>),
}

impl From<CategoryListArg> for CategoryList {
    fn from(list: CategoryListArg) -> Self {
        match list {
            CategoryListArg::Texts(texts) => Self::Texts(texts),
            CategoryListArg::Numbers(numbers) => Self::Numbers(numbers),
            CategoryListArg::Truths(truths) => Self::Truths(truths),
        }
    }
}

impl From<CategoryList> for CategoryListArg {
    fn from(list: CategoryList) -> Self {
        match list {
            CategoryList::Texts(texts) => Self::Texts(texts),
            CategoryList::Numbers(numbers) => Self::Numbers(numbers),
            CategoryList::Truths(truths) => Self::Truths(truths),
        }
    }
}

/// Lists as Python has them.
pub(super) fn category_lists(lists: BTreeMap<u32, CategoryList>) -> CategoryLists {
    lists.into_iter().map(|(feature, list)| (feature, list.into())).collect()
}

/// How bins are chosen: `max_bins`, `sample_rows`, whether ranks within queries are features too (`None`
/// if this may be decided when training begins), the
/// features that hold categories, and the lists of those.
#[derive(FromPyObject)]
pub(super) struct BinArgs(usize, usize, Option<bool>, Vec<u32>, CategoryLists);

impl BinArgs {
    fn options(self) -> BinOptions {
        let Self(max_bins, sample_rows, query_ranks, categorical, lists) = self;
        let category_lists =
            lists.into_iter().map(|(feature, list)| (feature, list.into())).collect();
        let keep_values = query_ranks.is_none();
        let query_ranks = query_ranks.unwrap_or(false);
        BinOptions { max_bins, sample_rows, categorical, category_lists, query_ranks, keep_values }
    }
}

/// Bins that exist, or how to choose them.
#[derive(FromPyObject)]
pub(super) enum BinsArg<'py> {
    Like(PyRef<'py, PyBinning>),
    Choose(BinArgs),
}

impl BinsArg<'_> {
    /// Bins that exist; else how to choose them.
    fn source(self) -> (Option<Arc<binning::Binning>>, BinOptions) {
        match self {
            Self::Like(binning) => (Some(binning.inner.clone()), BinOptions::default()),
            Self::Choose(args) => (None, args.options()),
        }
    }
}

/// The first pass: sees all rows and chooses the bins.
#[pyclass(frozen, name = "Sampler")]
pub(super) struct PySampler {
    sample: Mutex<Option<RowSample>>,
    options: BinOptions,
    reading: ReadArgs,
}

#[pymethods]
impl PySampler {
    #[new]
    fn new(num_features: usize, bins: BinArgs, reading: ReadArgs) -> PyResult<Self> {
        let options = bins.options();
        options.check()?;
        let sample = Mutex::new(Some(RowSample::new(options.sample_rows, num_features)));
        Ok(Self { sample, options, reading })
    }

    fn push(&self, block: TableArg<'_>) -> PyResult<()> {
        let cells = block.cells(self.reading.policy()?)?;
        detached(self.reading.num_threads, |interrupt| {
            lock(&self.sample).as_mut().ok_or_else(used_up)?.push(&*cells, interrupt)
        })
    }

    /// A checksum of all rows seen; equal to that of a builder with the same rows.
    #[getter]
    fn content(&self) -> u64 {
        lock(&self.sample).as_ref().map_or(0, RowSample::content)
    }

    /// The bins of all rows seen, by all workers of the team if there is one.
    #[pyo3(signature = (team=None))]
    fn choose(&self, team: Option<&Bound<'_, PyTeam>>) -> PyResult<PyBinning> {
        let (number, team) = (number_of(team), team_of(team));
        let binning = detached_for(number, self.reading.num_threads, |interrupt| {
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

    fn thresholds(&self, feature: usize) -> Option<NewArray<f32>> {
        self.inner.mappers().get(feature).map(|mapper| NewArray(mapper.thresholds().to_vec()))
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

    /// The list of categories of each feature that has one.
    fn category_lists(&self) -> CategoryLists {
        category_lists(self.inner.category_lists().clone())
    }

    fn unused_features(&self) -> Vec<usize> {
        self.inner.unused_features().collect()
    }
}

/// The second pass: bins all rows.
#[pyclass(frozen, name = "Builder")]
pub(super) struct PyDatasetBuilder {
    builder: Mutex<Option<data::DatasetBuilder>>,
    reading: ReadArgs,
}

#[pymethods]
impl PyDatasetBuilder {
    #[new]
    fn new(binning: &PyBinning, num_rows: usize, reading: ReadArgs) -> PyResult<Self> {
        let builder = data::DatasetBuilder::new(binning.inner.clone(), num_rows)?;
        Ok(Self { builder: Mutex::new(Some(builder)), reading })
    }

    fn push(&self, block: TableArg<'_>) -> PyResult<()> {
        let cells = block.cells(self.reading.policy()?)?;
        detached(self.reading.num_threads, |interrupt| {
            lock(&self.builder).as_mut().ok_or_else(used_up)?.push(&*cells, interrupt)
        })
    }

    /// A checksum of all rows so far.
    #[getter]
    fn content(&self) -> u64 {
        lock(&self.builder).as_ref().map_or(0, data::DatasetBuilder::content)
    }

    fn finish(&self, rows: RowArgs) -> PyResult<PyDataset> {
        let rows = rows.data()?;
        let inner = detached(self.reading.num_threads, |_| {
            lock(&self.builder).take().ok_or_else(used_up)?.finish(rows)
        })?;
        Ok(PyDataset { inner: Arc::new(inner) })
    }
}

/// Queries as Python gives them: a code and the number of codes, or sizes.
#[derive(FromPyObject)]
pub(super) enum QueryArg {
    Codes(ArrayArg<u32>, usize),
    Sizes(ArrayArg<i64>),
}

impl QueryArg {
    /// The rows of each query.
    pub(super) fn grouping(&self, num_rows: usize) -> Result<Grouping> {
        match self {
            Self::Codes(codes, num_queries) => Grouping::from_codes(&codes.0, *num_queries),
            Self::Sizes(sizes) => {
                Ok(Grouping::in_row_order(Queries::from_sizes(&sizes.0, num_rows)?))
            }
        }
    }
}

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
        block: TableArg<'_>,
        rows: RowArgs,
        bins: BinsArg<'_>,
        reading: ReadArgs,
    ) -> PyResult<Self> {
        let (cells, rows) = (block.cells(reading.policy()?)?, rows.data()?);
        let (like, options) = bins.source();
        let inner = detached(reading.num_threads, |interrupt| match like {
            Some(binning) => data::Dataset::like(&*cells, rows, binning, interrupt),
            None => data::Dataset::new(&*cells, rows, &options, interrupt),
        })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The shard of a worker without documents.
    #[staticmethod]
    fn empty(binning: &PyBinning, has_base_scores: bool) -> PyResult<Self> {
        let binning = binning.inner.clone();
        let empty = detached(Some(1), |_| data::Dataset::empty(binning, has_base_scores))?;
        Ok(Self { inner: Arc::new(empty) })
    }

    /// A dataset from LETOR text, and the ids of its queries; with a team, the shard of this worker.
    #[staticmethod]
    #[pyo3(signature = (paths, text, bins, reading, team=None))]
    fn from_letor(
        paths: Vec<PathBuf>,
        text: LetorArgs,
        bins: BinsArg<'_>,
        reading: ReadArgs,
        team: Option<&Bound<'_, PyTeam>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let MissingPolicy { missing, infinite } = reading.policy()?;
        let (like, bins) = bins.source();
        let letor = LetorOptions { infinite, ..text.options() };
        let (buffer_bytes, base) = (text.buffer_bytes, text.base());
        let options =
            LoadOptions { bins, letor, missing, buffer_bytes, base, ..LoadOptions::default() };
        let count = options.progress.clone();
        let watch = |py: Python<'_>| match &text.progress {
            Some(callback) => callback.call1(py, (count.done(),)).map(|_| ()),
            None => Ok(()),
        };
        let team = team.map(|team| team.get().inner.clone());
        let loaded =
            detached_watching(reading.num_threads, watch, |interrupt| match (team, like) {
                (Some(team), None) => distributed::load_shard(&paths, &team, &options, interrupt),
                (_, like) => data::load_files(&paths, like, &options, interrupt),
            })?;
        Ok((Self { inner: Arc::new(loaded.dataset) }, owned(loaded.query_ids)))
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

    #[getter]
    fn has_base_scores(&self) -> bool {
        self.inner.base_score().is_some()
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
    fn labels(&self) -> NewArray<f32> {
        NewArray(self.inner.by_row(self.inner.labels()))
    }

    /// The names of the further labels, and those of each of the caller's rows.
    fn extra_labels(&self) -> PyResult<Vec<(String, NewArray<f32>)>> {
        let of = |name: &str| {
            let labels = self.inner.by_row(self.inner.extra_labels(name)?);
            Ok((name.to_owned(), NewArray(labels)))
        };
        self.inner.extra_label_names().map(of).collect()
    }

    /// The number of documents of each of the caller's queries.
    fn query_sizes(&self) -> NewArray<i64> {
        let sizes = self.inner.queries().ranges().map(|docs| docs.len().cast_signed() as i64);
        NewArray(self.by_query(sizes))
    }

    /// The number of the query of each of the caller's rows.
    fn query_codes(&self) -> NewArray<u32> {
        let mut codes = vec![0u32; self.inner.num_docs()];
        for (docs, &q) in self.inner.queries().ranges().zip(self.inner.query_of()) {
            codes[docs].fill(q);
        }
        NewArray(self.inner.by_row(&codes))
    }

    /// The weight of each of the caller's queries, where given.
    fn query_weight(&self) -> Option<NewArray<f64>> {
        let weight = self.inner.query_weight()?;
        Some(NewArray(self.by_query(weight.iter().copied())))
    }

    /// A hash of everything that training uses; equal for any order of the rows.
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// How many queries have the content of a query of another dataset with the same bins, and how many
    /// queries were looked at.
    fn shared_queries(&self, other: &Self) -> (usize, usize) {
        self.inner.shared_queries(&other.inner)
    }

    /// Whether the queries are those of another dataset with the same bins, whatever their order.
    fn has_the_queries_of(&self, other: &Self) -> bool {
        self.inner.query_hash() == other.inner.query_hash()
    }

    /// Whether ranks within queries can be added to it.
    #[getter]
    fn keeps_values(&self) -> bool {
        self.inner.keeps_values()
    }

    /// The dataset with ranks within queries, with the bins of a training set that has them if given; None
    /// if its values were not kept.
    fn with_query_ranks(
        &self,
        like: Option<&PyBinning>,
        num_threads: Option<usize>,
    ) -> PyResult<Option<Self>> {
        let (dataset, like) = (self.inner.clone(), like.map(|like| like.inner.clone()));
        let ranked =
            detached(num_threads, |interrupt| dataset.with_query_ranks(like.as_ref(), interrupt))?;
        Ok(ranked.map(|inner| Self { inner: Arc::new(inner) }))
    }

    /// All but one fold and that fold, each with the numbers of its queries here; of larger data, a sample of
    /// queries.
    fn fold(
        &self,
        fold: usize,
        num_folds: usize,
        most_docs: usize,
    ) -> PyResult<[(Self, NewArray<u32>); 2]> {
        let dataset = self.inner.clone();
        let parts = detached(Some(1), |_| dataset.fold(fold, num_folds, most_docs))?;
        Ok(parts.map(|part| (Self { inner: Arc::new(part.dataset) }, NewArray(part.queries))))
    }

    /// The queries and their augmented copies: the caller's row of each document, the number of the query
    /// or copy that it is in, and for each of these the caller's number of the query.
    fn augmented(&self, augment: (f64, usize), seed: u64) -> PyResult<[NewArray<u32>; 3]> {
        let (fraction, copies) = augment;
        let augment = Augment { fraction, copies };
        let dataset = &*self.inner;
        let arrays = detached(Some(1), |_| {
            augment.check()?;
            let (labels, queries) = (dataset.labels(), dataset.queries());
            let all = augment.copies_of(seed, (labels, queries, dataset.doc_hash()));
            let (mut rows, mut codes, mut of) = (Vec::new(), Vec::new(), Vec::new());
            for (code, (query, docs)) in all.into_iter().enumerate() {
                of.push(dataset.query_of()[query]);
                codes.extend(std::iter::repeat_n(code as u32, docs.len()));
                rows.extend(docs.iter().map(|&doc| dataset.rows()[doc as usize]));
            }
            Ok([rows, codes, of])
        })?;
        Ok(arrays.map(NewArray))
    }

    fn require_pairs(&self) -> PyResult<()> {
        Ok(self.inner.require_pairs()?)
    }
}

impl PyDataset {
    /// Values of queries in the order of the caller's queries.
    fn by_query<T: Default + Clone>(&self, values: impl ExactSizeIterator<Item = T>) -> Vec<T> {
        let mut by_query = vec![T::default(); values.len()];
        for (&query, value) in self.inner.query_of().iter().zip(values) {
            by_query[query as usize] = value;
        }
        by_query
    }
}

fn used_up() -> Error {
    Error::internal("a sampler or builder was used after its end")
}
