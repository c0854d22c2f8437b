//! Scores binned documents.
//!
//! The sums are those of the scorer, in its order. A model whose thresholds are all among those of
//! the bins scores a data set to the same bits as the raw rows.

use super::initial_model::{
    ScoreOrigin, bins_mismatch, check_features, compute_scores, is_native_forest, is_plain,
};
use super::score_cache::ScoreCache;
use crate::Interrupt;
use crate::binning::{BinnedMatrix, Binning};
use crate::data::Dataset;
use crate::error::{Error, Result, check_finite, room_for};
use crate::model::binned::{no_bins, some_rank};
use crate::model::{Component, Forest, Model, Part, Set, Tree};
use crate::tree::BinnedTree;
use std::collections::{BTreeMap, BTreeSet};

/// Scores the documents of a data set by trees whose thresholds are those of its bins.
pub(super) struct BinnedScorer<'a> {
    pub(super) dataset: &'a Dataset,
    /// The codes of its documents, or others.
    pub(super) matrix: &'a BinnedMatrix,
    pub(super) interrupt: &'a Interrupt,
}

impl<'a> BinnedScorer<'a> {
    pub(super) fn new(dataset: &'a Dataset, interrupt: &'a Interrupt) -> Self {
        Self { dataset, matrix: dataset.matrix(), interrupt }
    }

    /// Adds the leaf values of a tree to the sum of each document.
    pub(super) fn add_tree(&self, tree: &Tree, sets: &[Set], sums: &mut [f64]) -> Result<()> {
        self.interrupt.check()?;
        let binned = BinnedTree::new(tree, sets, self.dataset.binning());
        binned.ok_or_else(bins_mismatch)?.add_to(self.matrix, sums, self.interrupt)
    }

    /// The leaf values of a tree, by document.
    pub(super) fn outputs(&self, tree: &Tree, sets: &[Set]) -> Result<Vec<f64>> {
        room_for("a list of scores", 8 * self.dataset.num_docs() as u64)?;
        let mut outputs = vec![0.0; self.dataset.num_docs()];
        self.add_tree(tree, sets, &mut outputs)?;
        Ok(outputs)
    }

    /// Adds the leaf values of all trees of a forest.
    pub(super) fn add_forest(&self, forest: &Forest, sums: &mut [f64]) -> Result<()> {
        forest.trees().iter().try_for_each(|tree| self.add_tree(tree, forest.sets(), sums))
    }
}

/// Whether a model, with all models inside it, can score documents with these bins.
pub(super) fn can_score(model: &Model, binning: &Binning) -> bool {
    native_forests(model).is_ok_and(|forests| {
        forests.iter().all(|forest| {
            let mut trees = forest.trees().iter();
            trees.all(|tree| BinnedTree::new(tree, forest.sets(), binning).is_some())
        })
    })
}

/// The error of a model that other bins than the data set's would be enough for.
fn other_bins() -> Error {
    Error::data("bins", "the model cannot score binned docs: its thresholds are not the dataset's")
        .hint("score the raw features, or make the dataset with like=, from the model or its training set")
}

/// Whether training on data sets with these bins and without base scores can go on from a model.
pub fn scores_bins(model: &Model, binning: &Binning) -> bool {
    model.num_features() == binning.num_features()
        && model.ranks_features() == binning.query_ranks()
        && can_score(model, binning)
}

/// The score of each document of a data set, including its base score.
///
/// Models other than sums of trees need data sets without base scores, because it is unknown which
/// part of the model these would stand for.
pub fn score_dataset(model: &Model, dataset: &Dataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
    if model.looks_at_ranks() != model.ranks_features() {
        return Err(some_rank());
    }
    check_features(model, dataset)?;
    if !can_score(model, dataset.binning()) {
        native_forests(model)?;
        return Err(other_bins());
    }
    if dataset.base_score().is_some() && !is_plain(model) {
        let what = "a sum of models cannot score docs that have base scores";
        return Err(Error::data("base", what).hint("score the raw features"));
    }
    finite_scores(compute_scores(model, ScoreOrigin::Model, dataset, interrupt)?)
}

fn finite_scores(computed: ScoreCache) -> Result<Vec<f64>> {
    let scores = computed.into_scores();
    check_finite(&scores)?;
    Ok(scores)
}

/// The score of each document of a data set whose base scores are those of `base`, by a model that
/// was trained on that base. Any base will do, because only the later trees are evaluated.
pub fn score_above(
    model: &Model,
    base: &Model,
    dataset: &Dataset,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    check_features(model, dataset)?;
    if dataset.base_score().is_none() || !goes_on_from(model, base) {
        let what = "the dataset was made for the trees of another base";
        return Err(Error::data("base", what).hint("score the raw features"));
    }
    let origin = ScoreOrigin::Trees(base.num_trees());
    finite_scores(compute_scores(model, origin, dataset, interrupt)?)
}

/// Whether a model is another model plus trees.
fn goes_on_from(model: &Model, base: &Model) -> bool {
    let same = model.num_features() == base.num_features()
        && model.ranks_features() == base.ranks_features()
        && model.intercept() == base.intercept()
        && model.components().len() >= base.components().len();
    let pairs = model.components().iter().zip(base.components());
    let (last, rest) = (base.components().len(), model.components());
    let grown =
        |(at, (more, less)): (usize, (&Component, &Component))| match (&more.part, &less.part) {
            _ if more == less => true,
            (Part::Forest(more_trees), Part::Forest(less_trees)) => {
                at + 1 == last
                    && more.is_plain()
                    && less.is_plain()
                    && more_trees.is_native()
                    && more_trees.trees().starts_with(less_trees.trees())
                    && more_trees.sets().starts_with(less_trees.sets())
            }
            _ => false,
        };
    same && pairs.enumerate().all(grown) && rest.iter().skip(last).all(is_native_forest)
}

/// The forests of a model and of models inside it, in the order in which they are scored; an error if
/// binned docs are not enough to score with it.
pub(super) fn native_forests(model: &Model) -> Result<Vec<&Forest>> {
    let mut forests = Vec::new();
    let mut gather = |forest, _: &mut [f64]| {
        forests.push(forest);
        if Forest::is_native(forest) { Ok(()) } else { Err(no_bins()) }
    };
    model.add_binned(&mut gather, &mut [])?;
    Ok(forests)
}

/// The bins between the thresholds of a model, for data that it should score.
pub fn binning_of(model: &Model) -> Result<Binning> {
    let forests = native_forests(model)?;
    let mut thresholds: Vec<Option<Vec<f32>>> = vec![None; model.num_features()];
    let mut categories: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let splits = forests.iter().flat_map(|forest| {
        forest.trees().iter().flat_map(Tree::splits).map(move |split| (forest, split))
    });
    for (forest, split) in splits {
        if let Some(set) = (split.feature as usize).checked_sub(model.num_features()) {
            let set = &forest.sets()[set];
            categories.entry(set.feature).or_default().extend(&set.categories);
            continue;
        }
        let of_feature = thresholds[split.feature as usize].get_or_insert_default();
        // This threshold separates only missing values from all others.
        if split.threshold < f64::from(f32::MAX) {
            of_feature.push(split.threshold as f32);
        }
    }
    for list in thresholds.iter_mut().flatten() {
        list.sort_unstable_by(f32::total_cmp);
        list.dedup();
    }
    let binning = Binning::of_lists(thresholds, &categories)?;
    let binning = binning.with_category_lists(model.category_lists());
    Ok(if model.ranks_features() { binning.with_query_ranks() } else { binning })
}
