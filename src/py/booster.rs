//! Models for Python.

use super::arrays::{ReadArgs, TableArg};
use super::dataset::{PyBinning, PyDataset, QueryArg};
use super::errors::to_python;
use super::gil::{attached, detached, detached_inline};
use super::metrics::MetricArgs;
use super::params::parsed;
use super::scoring::{RawTable, RowContrast};
use super::stack::{NormalisationArg, StackArgs};
use crate::Interrupt;
use crate::boosting::{
    ReweighOptions, TrainingLoss, binning_of, merged, permutation_importance, refit, reweigh,
    score_above, score_dataset,
};
use crate::error::Error;
use crate::model::{Child, Explainer, Model, Part, Scorer, Split, write_whole};
use crate::settings::RefitTrainOptions;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
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
/// Fewer documents than this are scored by query on the calling thread.
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

    fn explainer(&self) -> Result<&Explainer, Error> {
        if let Some(made) = self.explainer.get() {
            return Ok(made);
        }
        let made = self.inner.explainer()?;
        Ok(self.explainer.get_or_init(|| made))
    }

    pub(super) fn model(&self) -> &Model {
        &self.inner
    }
}

#[pymethods]
impl PyBooster {
    #[staticmethod]
    fn from_text(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, Some(1), |_| Model::from_any(text.as_bytes())).map(Self::of)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detached(py, Some(1), |_| Model::load_any(&path)).map(Self::of)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, Some(1), |_| self.inner.save(&path))
    }

    fn to_text(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, Some(1), |_| Ok(self.inner.to_text()))
    }

    /// The model as a file of another library, written to `path` too if there is one.
    fn export<'py>(
        &self,
        py: Python<'py>,
        library: &str,
        path: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, Some(1), |_| {
            let bytes = self.inner.to_foreign(library)?;
            path.map_or(Ok(()), |path| write_whole(path, &bytes))?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
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

    /// The label of each class.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let labels = self.inner.classes()?.classes().map(|class| class.label);
        Some(labels.collect::<Vec<_>>().to_pyarray(py))
    }

    /// The probability of each class for each row.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        block: TableArg<'_>,
        reading: ReadArgs,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let policy = reading.policy(py)?;
        let raw = RawTable::of(&block)?;
        let (values, width) = detached(py, reading.num_threads, |interrupt| {
            let scorer = self.inner.class_scorer()?;
            Ok((raw.work(&scorer, policy, interrupt)?, scorer.classes().len()))
        })?;
        values.to_pyarray(py).reshape([raw.num_rows(), width])
    }

    /// The same classes with other gains.
    fn with_gains(&self, py: Python<'_>, gains: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let gains = gains.as_slice()?;
        Model::with_gains(&self.inner, gains).map(Self::of).map_err(|error| to_python(py, &error))
    }

    #[getter]
    fn num_features(&self) -> usize {
        self.inner.num_features()
    }

    /// The number of values in a row: without ranks within queries.
    #[getter]
    fn num_raw_features(&self) -> usize {
        self.inner.num_raw_features()
    }

    #[getter]
    fn query_ranks(&self) -> bool {
        self.inner.ranks_features()
    }

    #[getter]
    fn intercept(&self) -> f64 {
        self.inner.intercept()
    }

    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.inner.feature_names().map(<[String]>::to_vec)
    }

    /// The names of the categories of each feature whose categories have names.
    fn category_names(&self) -> std::collections::BTreeMap<u32, Vec<String>> {
        self.inner.category_names()
    }

    /// The attributes that training has recorded.
    fn attributes(&self) -> std::collections::BTreeMap<String, String> {
        self.inner.attributes().clone()
    }

    /// The same model with names for its features, or without.
    fn named(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Self> {
        let mut model = Model::clone(&self.inner);
        model.set_feature_names(names).map_err(|error| to_python(py, &error))?;
        Ok(Self::of(model))
    }

    /// The weighted sum of models, each with a normalisation of its scores.
    #[staticmethod]
    fn sum(
        py: Python<'_>,
        boosters: Vec<PyRef<'_, Self>>,
        weights: Vec<f64>,
        normalisations: Vec<NormalisationArg>,
    ) -> PyResult<Self> {
        let parts = boosters.iter().zip(weights).zip(normalisations);
        let part =
            |((booster, weight), normalising): ((&PyRef<'_, Self>, f64), NormalisationArg)| {
                Ok((weight, Model::clone(&booster.inner), normalising.normalisation()?))
            };
        let parts = parts.map(part).collect::<Result<_, Error>>();
        parts.and_then(merged).map(Self::of).map_err(|error| to_python(py, &error))
    }

    /// A stack of models.
    #[staticmethod]
    fn stack(
        py: Python<'_>,
        rankers: Vec<PyRef<'_, Self>>,
        stacking: StackArgs<'_>,
    ) -> PyResult<Self> {
        let models = rankers.iter().map(|booster| booster.model());
        stacking.model(models).map(Self::of).map_err(|error| to_python(py, &error))
    }

    /// The model of the first trees.
    fn truncated(&self, num_trees: usize) -> Self {
        Self::of(self.inner.slice(0..num_trees))
    }

    /// The score of each row.
    fn score<'py>(
        &self,
        py: Python<'py>,
        block: TableArg<'_>,
        reading: ReadArgs,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let policy = reading.policy(py)?;
        let raw = RawTable::of(&block)?;
        let scores =
            if raw.num_rows().saturating_mul(self.num_splits.max(100)) <= MAX_ATTACHED_SPLITS {
                attached(py, || raw.work(self.scorer(), policy, &Interrupt::new()))?
            } else if raw.is_one_task() && self.scorer().is_short(raw.num_rows()) {
                detached_inline(py, || raw.work(self.scorer(), policy, &Interrupt::new()))?
            } else {
                detached(py, reading.num_threads, |interrupt| {
                    raw.work(self.scorer(), policy, interrupt)
                })?
            };
        Ok(scores.to_pyarray(py))
    }

    /// The score of each row of queries.
    fn score_queries<'py>(
        &self,
        py: Python<'py>,
        block: TableArg<'_>,
        reading: ReadArgs,
        queries: QueryArg<'_>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let policy = reading.policy(py)?;
        let raw = RawTable::of(&block)?;
        let grouping = queries.grouping(raw.num_rows()).map_err(|error| to_python(py, &error))?;
        let score =
            |interrupt: &Interrupt| raw.work_queries(self.scorer(), policy, &grouping, interrupt);
        let scores = if raw.num_rows() < MAX_INLINE_DOCS && self.scorer().is_short(raw.num_rows()) {
            detached_inline(py, || score(&Interrupt::new()))?
        } else {
            detached(py, reading.num_threads, score)?
        };
        Ok(scores.to_pyarray(py))
    }

    /// The contribution of each feature to the score of each row; the last column is the base value.
    #[pyo3(signature = (block, reading, queries))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        block: TableArg<'_>,
        reading: ReadArgs,
        queries: Option<QueryArg<'_>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let policy = reading.policy(py)?;
        let raw = RawTable::of(&block)?;
        let grouping = queries.map(|queries| queries.grouping(raw.num_rows())).transpose();
        let grouping = grouping.map_err(|error| to_python(py, &error))?;
        let values = detached(py, reading.num_threads, |interrupt| match &grouping {
            Some(grouping) => raw.work_queries(self.explainer()?, policy, grouping, interrupt),
            None => raw.work(self.explainer()?, policy, interrupt),
        })?;
        values.to_pyarray(py).reshape([raw.num_rows(), self.inner.num_features() + 1])
    }

    /// The contribution of each feature to the difference of the scores of two rows.
    fn contrast<'py>(
        &self,
        py: Python<'py>,
        block: TableArg<'_>,
        reading: ReadArgs,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let policy = reading.policy(py)?;
        let raw = RawTable::of(&block)?;
        let values = detached(py, Some(1), |interrupt| {
            raw.work(&RowContrast(self.explainer()?), policy, interrupt)
        })?;
        Ok(values[..self.inner.num_raw_features()].to_pyarray(py))
    }

    /// The score of each of the caller's rows of a dataset.
    fn score_dataset<'py>(
        &self,
        py: Python<'py>,
        dataset: &PyDataset,
        num_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let dataset = &*dataset.inner;
        let scores = detached(py, num_threads, |interrupt| {
            Ok(dataset.by_row(&score_dataset(&self.inner, dataset, interrupt)?))
        })?;
        Ok(scores.to_pyarray(py))
    }

    /// The same for a dataset whose base scores are the scores of the model `base`.
    fn score_above<'py>(
        &self,
        py: Python<'py>,
        base: &Self,
        dataset: &PyDataset,
        num_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let dataset = &*dataset.inner;
        let scores = detached(py, num_threads, |interrupt| {
            Ok(dataset.by_row(&score_above(&self.inner, &base.inner, dataset, interrupt)?))
        })?;
        Ok(scores.to_pyarray(py))
    }

    /// The features and weights of the model's linear parts that have no normalisation.
    fn terms<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>) {
        let plain = self.inner.components().iter().filter(|component| component.is_plain());
        let terms = plain.flat_map(|component| match &component.part {
            Part::Linear(linear) => linear.terms(),
            _ => &[],
        });
        let (features, weights): (Vec<u32>, Vec<f64>) = terms.copied().unzip();
        (features.to_pyarray(py), weights.to_pyarray(py))
    }

    /// The bins defined by the thresholds of the model.
    fn binning(&self, py: Python<'_>) -> PyResult<PyBinning> {
        let binning = detached(py, Some(1), |_| binning_of(&self.inner))?;
        Ok(PyBinning { inner: Arc::new(binning) })
    }

    /// The model with the best weight of each tree, and the metric before and after each pass on the
    /// dataset and on the held-out set.
    fn reweigh(
        &self,
        py: Python<'_>,
        sets: (PyRef<'_, PyDataset>, Option<PyRef<'_, PyDataset>>),
        judging: MetricArgs,
        bounds: (f64, f64, usize),
    ) -> PyResult<(Self, Vec<f64>, Vec<f64>)> {
        let metric = judging.first().map_err(|error| to_python(py, &error))?;
        let (from, to, most_passes) = bounds;
        let options = ReweighOptions { metric, from, to, most_passes };
        let (dataset, valid) = (sets.0.inner.clone(), sets.1.map(|valid| valid.inner.clone()));
        let found = detached(py, judging.num_threads, |interrupt| {
            reweigh(&self.inner, &dataset, valid.as_deref(), &options, interrupt)
        })?;
        Ok((Self::of(found.model), found.history, found.held_out))
    }

    /// The model with leaf values fitted anew.
    fn refit(
        &self,
        py: Python<'_>,
        dataset: &PyDataset,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let RefitTrainOptions { leaves, loss, labels, run } = parsed(params)?;
        let loss = loss.options(&labels, Some(&run.metric), run.seed);
        let loss = loss.and_then(|options| TrainingLoss::new(&options));
        let loss = loss.map_err(|error| to_python(py, &error))?;
        let dataset = dataset.inner.clone();
        detached(py, run.num_threads, |interrupt| {
            refit(&self.inner, &dataset, &loss, &leaves, interrupt)
        })
        .map(Self::of)
    }

    /// The loss of the metric on a dataset when each feature is shuffled.
    fn permutation_importance<'py>(
        &self,
        py: Python<'py>,
        dataset: &PyDataset,
        judging: MetricArgs,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let metric = judging.first().map_err(|error| to_python(py, &error))?;
        let losses = detached(py, judging.num_threads, |interrupt| {
            permutation_importance(&self.inner, &dataset.inner, &metric, seed, interrupt)
        })?;
        Ok(losses.to_pyarray(py))
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
        fields.set_item("leaf_value", leaves.iter().map(|l| l.value).collect::<Vec<_>>())?;
        fields.set_item("leaf_docs", leaves.iter().map(|l| l.docs).collect::<Vec<_>>())?;
        Ok(Some(fields))
    }

    /// The loss reduction of all splits on each feature, and their number.
    fn splits<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let num_features = self.inner.num_features();
        let (mut reduction, mut count) = (vec![0.0; num_features], vec![0.0; num_features]);
        for (tree, sets) in self.inner.trees_with_sets() {
            for split in tree.splits() {
                // Splits on categories count for the feature that holds them.
                let set = (split.feature as usize).checked_sub(num_features);
                let feature = set.map_or(split.feature, |set| sets[set].feature) as usize;
                reduction[feature] += split.reduction;
                count[feature] += 1.0;
            }
        }
        (reduction.to_pyarray(py), count.to_pyarray(py))
    }
}
