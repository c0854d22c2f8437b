//! Models for Python.

use super::arrays::{ArrayArg, NewArray, NewMatrix, ReadArgs, TableArg};
use super::dataset::{CategoryLists, PyBinning, PyDataset, QueryArg, category_lists};
use super::gil::{attached, detached, detached_inline, detached_owned};
use super::metrics::MetricArgs;
use super::params::parsed;
use super::scoring::{ROWS_OF_TASK, RawTable, RowTask};
use super::stack::{NormalisationArg, StackArgs};
use crate::Interrupt;
use crate::boosting::{
    ReweighOptions, Shuffles, TrainingLoss, binning_of, merged, permutation_importance, refit,
    reweigh, score_above, score_dataset, scores_bins,
};
use crate::error::{Error, Result};
use crate::model::{Child, Explainer, Leaf, Model, Part, Scorer, Split, write_whole};
use crate::settings::RefitTrainOptions;
use crate::simd::Level;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A model; immutable, so that any number of threads can use it.
#[pyclass(frozen, name = "Booster")]
pub(super) struct PyBooster {
    inner: Arc<Model>,
    /// Made on first use.
    scorer: OnceLock<Scorer>,
    explainer: OnceLock<Explainer>,
    num_splits: usize,
}

/// Up to so many rows times splits are scored without releasing the GIL.
const MAX_ATTACHED_SPLITS: usize = 200_000;
/// Up to so many documents are scored by query on the calling thread.
const MAX_INLINE_DOCS: usize = 512;

impl PyBooster {
    pub(super) fn of(model: Model) -> Self {
        let num_splits = model.trees().map(|tree| tree.splits().len()).sum();
        let (scorer, explainer) = (OnceLock::new(), OnceLock::new());
        Self { inner: Arc::new(model), scorer, explainer, num_splits }
    }

    fn scorer(&self) -> &Scorer {
        self.scorer.get_or_init(|| self.inner.scorer())
    }

    fn explainer(&self, interrupt: &Interrupt) -> Result<&Explainer> {
        if let Some(made) = self.explainer.get() {
            return Ok(made);
        }
        let made = Explainer::new(&self.inner, Level::best(), &|| interrupt.check())?;
        Ok(self.explainer.get_or_init(|| made))
    }

    pub(super) fn model(&self) -> &Model {
        &self.inner
    }

    /// The model, shared.
    pub(super) fn shared(&self) -> Arc<Model> {
        self.inner.clone()
    }

    fn text(&self) -> PyResult<String> {
        let model = self.shared();
        detached_owned(move || Ok(model.to_text()))
    }
}

#[pymethods]
impl PyBooster {
    #[staticmethod]
    fn from_text(text: &str) -> PyResult<Self> {
        let mut own = Vec::new();
        let bytes = text.len() as u64;
        own.try_reserve_exact(text.len()).map_err(|_| Error::resource("the text", bytes))?;
        own.extend_from_slice(text.as_bytes());
        detached_owned(move || Model::from_any(&own)).map(Self::of)
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        detached_owned(move || Model::load_any(&path)).map(Self::of)
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        let text = self.text()?;
        detached(Some(1), |_| write_whole(&path, text.as_bytes()))
    }

    fn to_text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = self.text()?;
        // A `String` as the result panics where there is no memory.
        PyString::from_bytes(py, text.as_bytes())
    }

    /// The model as a file of another library, written to `path` too if there is one.
    fn export<'py>(
        &self,
        py: Python<'py>,
        library: &str,
        path: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (model, library) = (self.shared(), library.to_owned());
        let bytes = detached_owned(move || model.to_foreign(&library))?;
        if let Some(path) = path {
            detached(Some(1), |_| write_whole(path, &bytes))?;
        }
        // `PyBytes::new` panics where there is no memory.
        PyBytes::new_with(py, bytes.len(), |made| {
            made.copy_from_slice(&bytes);
            Ok(())
        })
    }

    #[getter]
    fn num_trees(&self) -> usize {
        self.inner.num_trees()
    }

    #[getter]
    fn num_trees_inside(&self) -> usize {
        self.inner.num_trees_inside()
    }

    #[getter]
    fn num_rounds(&self) -> usize {
        self.inner.num_rounds()
    }

    #[getter]
    fn num_mixed_rounds(&self) -> usize {
        self.inner.num_mixed_rounds()
    }

    /// The label of each class.
    #[getter]
    fn classes(&self) -> Option<NewArray<f64>> {
        Some(NewArray(self.inner.classes()?.classes().map(|class| class.label).collect()))
    }

    /// The probability of each class for each row.
    fn probabilities(&self, block: TableArg<'_>, reading: ReadArgs) -> PyResult<NewMatrix<f64>> {
        let raw = RawTable::of(&block, &reading)?;
        let (values, width) = detached(reading.num_threads, |interrupt| {
            let scorer = self.inner.class_scorer()?;
            Ok((raw.work(RowTask::Classes(&scorer), None, interrupt)?, scorer.classes().len()))
        })?;
        Ok(NewMatrix(values, [raw.num_rows(), width]))
    }

    /// The same classes with other gains.
    fn with_gains(&self, gains: ArrayArg<f64>) -> PyResult<Self> {
        Ok(Self::of(Model::with_gains(&self.inner, &gains.0)?))
    }

    /// The number of features, with ranks within queries that it or a model in its sum looks at.
    #[getter]
    fn num_features(&self) -> usize {
        self.inner.num_explained_features()
    }

    /// The number of values in a row: without ranks within queries.
    #[getter]
    fn num_raw_features(&self) -> usize {
        self.inner.num_raw_features()
    }

    #[getter]
    fn query_ranks(&self) -> bool {
        self.inner.looks_at_ranks()
    }

    /// Whether all of it ranks features within queries, and not only some of the models in a sum.
    #[getter]
    fn ranks_features(&self) -> bool {
        self.inner.ranks_features()
    }

    /// Whether scores depend on the other documents of the query.
    #[getter]
    fn needs_queries(&self) -> bool {
        self.scorer().needs_queries()
    }

    /// Whether training on datasets with these bins and without base scores can go on from the model.
    fn scores_bins(&self, binning: &PyBinning) -> bool {
        scores_bins(&self.inner, &binning.inner)
    }

    #[getter]
    fn intercept(&self) -> f64 {
        self.inner.constant()
    }

    /// The names of its own features: in a sum, without ranks that only models in it look at.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.inner.feature_names().map(<[String]>::to_vec)
    }

    /// The features that hold categories, but for those of other libraries' trees.
    fn categorical(&self) -> Vec<u32> {
        self.inner.categorical().into_iter().collect()
    }

    /// The list of categories of each feature that has one.
    fn category_lists(&self) -> CategoryLists {
        category_lists(self.inner.category_lists())
    }

    /// The attributes that training has recorded.
    fn attributes(&self) -> BTreeMap<String, String> {
        self.inner.attributes().clone()
    }

    /// The same model with names for its features, or without.
    fn named(&self, names: Option<Vec<String>>) -> PyResult<Self> {
        let mut model = Model::clone(&self.inner);
        model.set_feature_names(names)?;
        Ok(Self::of(model))
    }

    /// The same model with one more attribute, or without it.
    fn with_attribute(&self, name: &str, value: Option<String>) -> Self {
        let mut model = Model::clone(&self.inner);
        match value {
            Some(value) => model.set_attribute(name, value),
            None => drop(model.remove_attribute(name)),
        }
        Self::of(model)
    }

    /// The weighted sum of models, each with a normalisation of its scores.
    #[staticmethod]
    fn sum(
        boosters: Vec<PyRef<'_, Self>>,
        weights: Vec<f64>,
        normalisations: Vec<NormalisationArg>,
    ) -> PyResult<Self> {
        let models = boosters.iter().map(|booster| Model::clone(&booster.inner));
        let parts =
            models.zip(weights).zip(normalisations).map(|((model, weight), normalising)| {
                Ok((weight, model, normalising.normalisation()?))
            });
        Ok(Self::of(merged(parts.collect::<Result<_>>()?)?))
    }

    /// A stack of models.
    #[staticmethod]
    fn stack(rankers: Vec<PyRef<'_, Self>>, stacking: StackArgs<'_>) -> PyResult<Self> {
        Ok(Self::of(stacking.model(rankers.iter().map(|booster| booster.model()))?))
    }

    /// The model of the first trees.
    fn truncated(&self, num_trees: usize) -> Self {
        Self::of(self.inner.slice(0..num_trees))
    }

    /// The score of each row, or of each row of queries.
    #[pyo3(signature = (block, reading, queries=None))]
    fn score(
        &self,
        block: TableArg<'_>,
        reading: ReadArgs,
        queries: Option<QueryArg>,
    ) -> PyResult<NewArray<f64>> {
        let raw = RawTable::of(&block, &reading)?;
        let grouping = raw.grouping(queries)?;
        let task = RowTask::Score(self.scorer());
        let score = |interrupt: &Interrupt| raw.work(task, grouping.as_ref(), interrupt);
        let splits = raw.num_rows().saturating_mul(self.num_splits.max(100));
        let most = if grouping.is_some() { MAX_INLINE_DOCS } else { ROWS_OF_TASK };
        Ok(NewArray(if grouping.is_none() && splits <= MAX_ATTACHED_SPLITS {
            attached(|| score(&Interrupt::new()))?
        } else if raw.num_rows() <= most && self.scorer().is_short(raw.num_rows()) {
            detached_inline(|| score(&Interrupt::new()))?
        } else {
            detached(reading.num_threads, score)?
        }))
    }

    /// The contribution of each feature to the score of each row; the last column is the base value.
    #[pyo3(signature = (block, reading, queries=None))]
    fn explain(
        &self,
        block: TableArg<'_>,
        reading: ReadArgs,
        queries: Option<QueryArg>,
    ) -> PyResult<NewMatrix<f64>> {
        let raw = RawTable::of(&block, &reading)?;
        let grouping = raw.grouping(queries)?;
        let values = detached(reading.num_threads, |interrupt| {
            raw.work(RowTask::Explain(self.explainer(interrupt)?), grouping.as_ref(), interrupt)
        })?;
        Ok(NewMatrix(values, [raw.num_rows(), self.inner.num_explained_features() + 1]))
    }

    /// The contribution of each feature to the difference of the scores of two rows.
    fn contrast(&self, block: TableArg<'_>, reading: ReadArgs) -> PyResult<NewArray<f64>> {
        let raw = RawTable::of(&block, &reading)?;
        let mut values = detached(Some(1), |interrupt| {
            raw.work(RowTask::Contrast(self.explainer(interrupt)?), None, interrupt)
        })?;
        values.truncate(self.inner.num_raw_features());
        Ok(NewArray(values))
    }

    /// The score of each of the caller's rows of a dataset, whose base scores may be the scores of the
    /// model `base`.
    fn score_dataset(
        &self,
        dataset: &PyDataset,
        base: Option<PyRef<'_, Self>>,
        num_threads: Option<usize>,
    ) -> PyResult<NewArray<f64>> {
        let (dataset, base) = (&*dataset.inner, base.map(|base| base.inner.clone()));
        let scores = detached(num_threads, |interrupt| {
            let scores = match &base {
                Some(base) => score_above(&self.inner, base, dataset, interrupt)?,
                None => score_dataset(&self.inner, dataset, interrupt)?,
            };
            Ok(dataset.by_row(&scores))
        });
        scores.map(NewArray)
    }

    /// The features and weights of the model's linear parts that have no normalisation.
    fn terms(&self) -> (NewArray<u32>, NewArray<f64>) {
        let plain = self.inner.components().iter().filter(|component| component.is_plain());
        let terms = plain.flat_map(|component| match &component.part {
            Part::Linear(linear) => linear.terms(),
            _ => &[],
        });
        let (features, weights) = terms.copied().unzip();
        (NewArray(features), NewArray(weights))
    }

    /// The bins defined by the thresholds of the model.
    fn binning(&self) -> PyResult<PyBinning> {
        let binning = detached(Some(1), |_| binning_of(&self.inner))?;
        Ok(PyBinning { inner: Arc::new(binning) })
    }

    /// The model with the best weight of each tree, and the metric before and after each pass on the
    /// dataset and on the held-out set.
    fn reweigh(
        &self,
        sets: (PyRef<'_, PyDataset>, Option<PyRef<'_, PyDataset>>),
        judging: MetricArgs,
        bounds: (f64, f64, usize),
    ) -> PyResult<(Self, Vec<f64>, Vec<f64>)> {
        let metric = judging.first()?;
        let (from, to, most_passes) = bounds;
        let options = ReweighOptions { metric, from, to, most_passes };
        let (dataset, valid) = (sets.0.inner.clone(), sets.1.map(|valid| valid.inner.clone()));
        let found = detached(judging.num_threads, |interrupt| {
            reweigh(&self.inner, &dataset, valid.as_deref(), &options, interrupt)
        })?;
        Ok((Self::of(found.model), found.history, found.held_out))
    }

    /// The model with leaf values fitted anew.
    fn refit(&self, dataset: &PyDataset, params: &Bound<'_, PyDict>) -> PyResult<Self> {
        let RefitTrainOptions { leaves, loss, labels, run } = parsed(params)?;
        let loss = TrainingLoss::new(&loss.options(&labels, Some(&run.metric), run.seed)?)?;
        let refitted = detached(run.num_threads, |interrupt| {
            refit(&self.inner, &dataset.inner, &loss, &leaves, interrupt)
        });
        refitted.map(Self::of)
    }

    /// The loss of the metric on a dataset when each feature is shuffled: the mean over repeats.
    fn permutation_importance(
        &self,
        dataset: &PyDataset,
        judging: MetricArgs,
        seed: u64,
        repeats: u32,
    ) -> PyResult<NewArray<f64>> {
        let (metric, shuffles) = (judging.first()?, Shuffles { seed, repeats });
        let losses = detached(judging.num_threads, |interrupt| {
            permutation_importance(&self.inner, &dataset.inner, &metric, shuffles, interrupt)
        });
        losses.map(NewArray)
    }

    /// The splits and leaves of a tree: lists by the names of their fields.
    fn tree<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyDict>>> {
        let found = self.inner.trees_with_sets().nth(number);
        let Some((tree, sets)) = found else { return Ok(None) };
        let num_features = self.inner.num_features();
        let set = |split: &Split| sets.get((split.feature as usize).checked_sub(num_features)?);
        // Leaves are negative: leaf 0 is -1.
        let child = |child: Child| match child {
            Child::Split(at) => i64::from(at),
            Child::Leaf(at) => -1 - i64::from(at),
        };
        let (splits, leaves) = (tree.splits(), tree.leaves());
        let weight = self.inner.tree_weight(number);
        let value = |leaf: &Leaf| weight * leaf.value;
        let fields = PyDict::new(py);
        let feature = |split: &Split| set(split).map_or(split.feature, |set| set.feature);
        let categories = |split: &Split| set(split).map(|set| set.categories.clone());
        fields.set_item("feature", splits.iter().map(feature).collect::<Vec<_>>())?;
        fields.set_item("categories", splits.iter().map(categories).collect::<Vec<_>>())?;
        fields.set_item("threshold", splits.iter().map(|s| s.threshold).collect::<Vec<_>>())?;
        fields
            .set_item("missing_left", splits.iter().map(|s| s.missing_left).collect::<Vec<_>>())?;
        fields.set_item("left", splits.iter().map(|s| child(s.left)).collect::<Vec<_>>())?;
        fields.set_item("right", splits.iter().map(|s| child(s.right)).collect::<Vec<_>>())?;
        fields.set_item("reduction", splits.iter().map(|s| s.reduction).collect::<Vec<_>>())?;
        fields.set_item("docs", splits.iter().map(|s| s.docs).collect::<Vec<_>>())?;
        fields.set_item("leaf_value", leaves.iter().map(value).collect::<Vec<_>>())?;
        fields.set_item("leaf_docs", leaves.iter().map(|l| l.docs).collect::<Vec<_>>())?;
        Ok(Some(fields))
    }

    /// The loss reduction of all splits on each feature, their number, and what has none in the model.
    fn splits(&self) -> (NewArray<f64>, NewArray<f64>, Vec<&'static str>) {
        let found = self.inner.split_importance();
        (NewArray(found.reduction), NewArray(found.count), found.left_out)
    }
}
