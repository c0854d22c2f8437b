//! Evaluation sets: the data sets and metrics that are evaluated after each round.

use super::reducer::RoundReducer;
use super::score_cache::ScoreCache;
use super::{EarlyStopping, ExtraMetric, SeveralMetrics, TrainingPlan};
use crate::data::Dataset;
use crate::error::{Error, Result, check_features};
use crate::metric::{Mean, Metric, evaluate, evaluate_rows, largest};
use crate::model::Expectation;
use crate::rounds::RoundPlan;
use crate::tree::BinnedTree;
use crate::{Grouping, Interrupt};
use std::fmt;
use std::sync::Arc;

/// A metric of the caller. Larger values are better.
pub trait CustomMetric: Send + Sync + fmt::Debug {
    /// Its name in the history.
    fn name(&self) -> &str;

    /// The value of each query. NaN leaves a query out of the mean.
    fn per_query(
        &self,
        dataset: &Dataset,
        scores: &[f64],
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>>;
}

/// A metric of this library or of the caller.
#[derive(Debug, Clone)]
pub enum EvaluationMetric {
    /// A metric of this library.
    Metric(Metric),
    /// A metric of labels other than the relevance.
    Extra(ExtraMetric),
    /// A metric of the caller.
    Other(Arc<dyn CustomMetric>),
}

impl EvaluationMetric {
    /// The same metric for labels up to `max`: a worker may not have the largest label.
    fn up_to(&self, max: f32) -> Result<Self> {
        match self {
            Self::Metric(metric) if max > 0.0 => metric.with_largest_label(max).map(Self::Metric),
            other => Ok(other.clone()),
        }
    }
}

impl fmt::Display for EvaluationMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric(metric) => metric.fmt(f),
            Self::Extra(extra) => f.write_str(&extra.name),
            Self::Other(other) => f.write_str(other.name()),
        }
    }
}

/// A data set to evaluate on. The training set may be one.
#[derive(Debug, Clone)]
pub struct EvaluationSet {
    /// Its name in the history.
    pub name: String,
    /// Its documents, binned like the training set.
    pub dataset: Arc<Dataset>,
}

/// The training set and the evaluation sets with their scores, and the metrics.
#[derive(Debug)]
pub(crate) struct EvaluationSets {
    train: ScoredSet,
    /// The scores of the training set.
    pub(super) train_cache: ScoreCache,
    sets: Vec<ScoredSet>,
    metrics: Vec<EvaluationMetric>,
}

#[derive(Debug)]
struct ScoredSet {
    set: EvaluationSet,
    /// The metrics, which may depend on the labels of other workers.
    metrics: Vec<EvaluationMetric>,
    /// The largest query weight over all workers.
    largest: f64,
    /// `None` for the training set, which has a cache of its own.
    score_cache: Option<ScoreCache>,
}

impl EvaluationSets {
    /// Returns an error for sets with other bins than the training set.
    pub(super) fn new(
        sets: Vec<EvaluationSet>,
        metrics: Vec<EvaluationMetric>,
        train: &Arc<Dataset>,
    ) -> Result<Self> {
        sets.iter().try_for_each(|set| check_bins(set, train))?;
        let scored = |set: EvaluationSet| ScoredSet {
            metrics: metrics.clone(),
            largest: set.dataset.query_weight().map_or(1.0, largest),
            score_cache: (!Arc::ptr_eq(&set.dataset, train)).then(ScoreCache::default),
            set,
        };
        let train = EvaluationSet { name: String::new(), dataset: train.clone() };
        Ok(Self {
            train: scored(train),
            train_cache: ScoreCache::default(),
            sets: sets.into_iter().map(scored).collect(),
            metrics,
        })
    }

    /// When training ends, and the names of its values.
    pub(super) fn round_plan(&self, plan: &TrainingPlan) -> RoundPlan {
        let mut metrics: Vec<String> = self.metrics.iter().map(ToString::to_string).collect();
        let mut patience = plan.patience;
        let several = plan.loss.several();
        let is_guarded = several.is_some_and(|several| !several.guards.is_empty());
        if several.is_some() {
            metrics.push(SeveralMetrics::name().to_owned());
        }
        if is_guarded && patience.is_none() {
            // No waiting ends the training; but the best round keeps the guards.
            patience = Some(EarlyStopping {
                metric: metrics.len() - 1,
                ..EarlyStopping::after(usize::MAX)
            });
        }
        let sets = self.sets().map(|set| set.name.clone()).collect();
        RoundPlan { max_rounds: plan.params.num_trees, patience, sets, metrics, is_guarded }
    }

    /// The number of metrics that are evaluated on each set.
    pub(super) fn num_metrics(&self) -> usize {
        self.metrics.len()
    }

    /// The number of values of a round.
    fn num_values(&self) -> usize {
        self.sets.len() * self.metrics.len()
    }

    /// The name and convention of each metric.
    pub(crate) fn described(&self) -> impl Iterator<Item = String> {
        self.metrics.iter().map(|metric| match metric {
            EvaluationMetric::Metric(metric) => format!("{metric} {:?}", metric.convention()),
            EvaluationMetric::Extra(extra) => {
                format!("{} {:?}", extra.name, extra.metric.convention())
            }
            EvaluationMetric::Other(other) => other.name().to_owned(),
        })
    }

    /// A set other than the training set, with its scores.
    pub(super) fn scored(&self, set: usize) -> Option<(&Dataset, &[f64])> {
        let ScoredSet { set, score_cache, .. } = &self.sets[set];
        Some((&set.dataset, score_cache.as_ref()?.scores()))
    }

    /// The training set.
    pub(crate) fn train(&self) -> &Dataset {
        &self.train.set.dataset
    }

    /// The training set, and the data of each evaluation set.
    pub(crate) fn datasets(&self) -> Vec<&Dataset> {
        let sets = self.sets().map(|set| &*set.dataset);
        std::iter::once(self.train()).chain(sets).collect()
    }

    /// The evaluation sets.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &EvaluationSet> {
        self.sets.iter().map(|set| &set.set)
    }

    /// Whether the training set is evaluated, which needs the scores of all its documents.
    pub(super) fn sees_train(&self) -> bool {
        self.sets.iter().any(|set| set.score_cache.is_none())
    }

    /// The training set, and all others, with their scores.
    fn caches(&mut self) -> impl Iterator<Item = (&Dataset, &mut ScoreCache)> {
        let others = self.sets.iter_mut();
        let others = others.filter_map(|set| Some((&*set.set.dataset, set.score_cache.as_mut()?)));
        std::iter::once((&*self.train.set.dataset, &mut self.train_cache)).chain(others)
    }

    /// Computes all scores.
    pub(super) fn start(&mut self, of: impl Fn(&Dataset) -> Result<ScoreCache>) -> Result<()> {
        for (dataset, cache) in self.caches() {
            *cache = of(dataset)?;
        }
        Ok(())
    }

    /// Adds tree `at` of a round to all scores, or to all but those of the training set.
    pub(super) fn add(
        &mut self,
        at: usize,
        tree: &BinnedTree,
        with_train: bool,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.caches().skip(usize::from(!with_train)).try_for_each(|(dataset, cache)| {
            tree.add_to(dataset.matrix(), cache.sums(at), interrupt)
        })
    }

    /// Computes scores from the margins of classes.
    pub(super) fn settle(&mut self, expectation: &Expectation) {
        self.caches().for_each(|(_, cache)| cache.settle(expectation));
    }

    /// The mean of each metric on each set, set by set, over the documents of all workers.
    pub(super) fn values(
        &self,
        reducer: &dyn RoundReducer,
        round: u64,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let mut words = Vec::with_capacity(self.num_values() * Mean::WORDS);
        let outcome =
            self.sets.iter().try_for_each(|ScoredSet { set, metrics, largest, score_cache }| {
                let scores = score_cache.as_ref().unwrap_or(&self.train_cache).scores();
                words.extend(metric_words(&set.dataset, metrics, *largest, scores, interrupt)?);
                Ok(())
            });
        words.resize(self.num_values() * Mean::WORDS, 0);
        reducer.fail_later(outcome)?;
        reducer.sum_metrics(round, &mut words)?;
        Ok(words.chunks_exact(Mean::WORDS).map(|words| Mean::of_words(words).value).collect())
    }

    /// The first metric on the training set with these scores, as words to be summed over workers.
    pub(super) fn words_of(&self, scores: &[f64], interrupt: &Interrupt) -> Result<Vec<u64>> {
        let ScoredSet { set, metrics, largest, .. } = &self.train;
        let Some(first) = metrics.get(..1) else {
            return Err(Error::internal("trees are selected without a metric"));
        };
        metric_words(&set.dataset, first, *largest, scores, interrupt)
    }

    /// Takes the largest label and query weight of the training set and of each set over all
    /// workers.
    pub(crate) fn settle_scales(&mut self, max_labels: &[f32], largest: &[f64]) -> Result<()> {
        let sets = std::iter::once(&mut self.train).chain(&mut self.sets);
        for (set, (&max, &largest)) in sets.zip(max_labels.iter().zip(largest)) {
            set.metrics =
                self.metrics.iter().map(|metric| metric.up_to(max)).collect::<Result<_>>()?;
            set.largest = largest;
        }
        Ok(())
    }
}

/// The parts of the mean of each metric, as words to be summed over workers; `largest` is the largest
/// query weight of all.
fn metric_words(
    dataset: &Dataset,
    metrics: &[EvaluationMetric],
    largest: f64,
    scores: &[f64],
    interrupt: &Interrupt,
) -> Result<Vec<u64>> {
    let ours = metrics.iter().filter_map(|metric| match metric {
        EvaluationMetric::Metric(metric) => Some(metric.clone()),
        _ => None,
    });
    let ours: Vec<Metric> = ours.collect();
    let measured = |metrics: &[Metric], labels: &[f32]| {
        evaluate(metrics, scores, labels, dataset.queries(), interrupt)
            .or_else(|_| by_rows(dataset, metrics, (scores, labels), interrupt))
    };
    let mut ours = measured(&ours, dataset.labels())?.into_iter();
    let mut words = Vec::with_capacity(metrics.len() * Mean::WORDS);
    for metric in metrics {
        let per_query = match metric {
            EvaluationMetric::Metric(_) => ours.next().unwrap_or_default(),
            EvaluationMetric::Extra(extra) => {
                let metric = std::slice::from_ref(&extra.metric);
                measured(metric, dataset.extra_labels(&extra.labels)?)?.swap_remove(0)
            }
            EvaluationMetric::Other(other) => {
                let values = other.per_query(dataset, scores, interrupt)?;
                let (got, expected, name) = (values.len(), dataset.queries().len(), other.name());
                if got != expected {
                    let what = format!(
                        "the metric {name} has another number of values than there are queries"
                    );
                    return Err(Error::data("metric.values", what).got(got).expected(expected));
                }
                values
            }
        };
        words.extend(Mean::words(&per_query, dataset.query_weight(), largest));
    }
    Ok(words)
}

/// Evaluates in the caller's order of rows, so that an error names the caller's row and query.
fn by_rows(
    dataset: &Dataset,
    metrics: &[Metric],
    (scores, labels): (&[f64], &[f32]),
    interrupt: &Interrupt,
) -> Result<Vec<Vec<f64>>> {
    let grouping = Grouping::of_caller(dataset.queries(), dataset.rows(), dataset.query_of())?;
    let (scores, labels) = (dataset.by_row(scores), dataset.by_row(labels));
    evaluate_rows(metrics, &scores, &labels, &grouping, interrupt)
}

/// Returns an error if a set has other bins than the training set.
fn check_bins(set: &EvaluationSet, train: &Arc<Dataset>) -> Result<()> {
    let (ours, theirs) = (train.binning(), set.dataset.binning());
    let name = &set.name;
    let what = format!("`{name}` has another number of features than the training set");
    check_features(&what, theirs.num_features(), ours.num_features())?;
    let same = Arc::ptr_eq(ours, theirs)
        || (ours.mappers() == theirs.mappers()
            && ours.layout() == theirs.layout()
            && ours.category_lists() == theirs.category_lists()
            && ours.query_ranks() == theirs.query_ranks());
    if same {
        return Ok(());
    }
    let what = format!("`{name}` has other bins than the training set");
    Err(Error::data("bins", what).hint("make it with like=, from the training set"))
}
