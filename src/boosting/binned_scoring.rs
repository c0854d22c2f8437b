//! Scores binned documents.
//!
//! The sums are those of the scorer, in its order. A model whose thresholds are all among those of
//! the bins scores a data set to the same bits as the raw rows.

use super::initial_model::{
    ScoreOrigin, check_features, compute_scores, is_native_forest, is_plain, start_scores,
};
use super::score_cache::{ScoreCache, settle};
use crate::Interrupt;
use crate::binning::Binning;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Classes, Component, Forest, Model, Part, Tree};
use crate::tree::BinnedTree;
use std::collections::{BTreeMap, BTreeSet};

/// All trees of a model, including nested models, as binned trees, forest by forest.
#[derive(Debug)]
pub(super) struct BinnedForests(Vec<BinnedTree>);

impl BinnedForests {
    /// `None` if the model cannot score binned documents.
    pub(super) fn of(model: &Model, binning: &Binning) -> Option<Self> {
        let forests = native_forests(model)?;
        let trees = forests.iter().flat_map(|forest| {
            forest.trees().iter().map(|tree| BinnedTree::new(tree, forest.sets(), binning))
        });
        trees.collect::<Option<_>>().map(Self)
    }

    /// Adds the scores of the model, the one that was given to [`of`](Self::of), to `sums`.
    pub(super) fn add(
        &self,
        model: &Model,
        dataset: &Dataset,
        sums: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        ScoreAdder { dataset, trees: &mut self.0.iter(), interrupt }.model(model, sums)
    }

    /// The margins and scores by a model of classes.
    pub(super) fn classes(
        &self,
        classes: &Classes,
        dataset: &Dataset,
        interrupt: &Interrupt,
    ) -> Result<ScoreCache> {
        let mut adding = ScoreAdder { dataset, trees: &mut self.0.iter(), interrupt };
        let margins = adding.margins(classes)?;
        Ok(ScoreCache::of_classes(margins, classes.expectation()))
    }
}

/// The score of each document of a data set, including its base score.
///
/// Models other than sums of trees need data sets without base scores, because it is unknown which
/// part of the model these would stand for.
pub fn score_dataset(model: &Model, dataset: &Dataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
    check_features(model, dataset)?;
    let coded = BinnedForests::of(model, dataset.binning()).ok_or_else(cannot_score)?;
    if dataset.base_score().is_some() && !is_plain(model) {
        let what = "a sum of models cannot score docs that have base scores";
        return Err(Error::data("base", what).hint("score the raw features"));
    }
    let mut scores = start_scores(dataset, 0.0);
    coded.add(model, dataset, &mut scores, interrupt)?;
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
    let score_cache =
        compute_scores(model, ScoreOrigin::Trees(base.num_trees()), dataset, interrupt)?;
    Ok(score_cache.scores().to_vec())
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

/// Adds a model to scores.
struct ScoreAdder<'a, 'b> {
    dataset: &'a Dataset,
    /// The remaining trees, in order.
    trees: &'a mut std::slice::Iter<'b, BinnedTree>,
    interrupt: &'a Interrupt,
}

impl ScoreAdder<'_, '_> {
    fn model(&mut self, model: &Model, sums: &mut [f64]) -> Result<()> {
        let intercept = model.intercept();
        for sum in sums.iter_mut() {
            *sum += intercept;
        }
        for component in model.components() {
            if component.is_plain() {
                self.part(&component.part, sums)?;
                continue;
            }
            let mut own = vec![0.0; sums.len()];
            self.part(&component.part, &mut own)?;
            let (weight, normalisation) = (component.weight, component.normalisation);
            let sums = sums.iter_mut().zip(own);
            sums.for_each(|(sum, own)| *sum += weight * normalisation.of_doc(own));
        }
        Ok(())
    }

    fn part(&mut self, part: &Part, sums: &mut [f64]) -> Result<()> {
        match part {
            Part::Model(model) => self.model(model, sums),
            Part::Forest(forest) => self.forest(forest, sums),
            Part::Classes(classes) => {
                let margins = self.margins(classes)?;
                settle(&margins, classes.expectation(), sums);
                Ok(())
            }
            _ => Err(cannot_score()),
        }
    }

    fn forest(&mut self, forest: &Forest, sums: &mut [f64]) -> Result<()> {
        for tree in self.trees.take(forest.trees().len()) {
            self.interrupt.check()?;
            tree.add_to(self.dataset.matrix(), sums, self.interrupt)?;
        }
        Ok(())
    }

    fn margins(&mut self, classes: &Classes) -> Result<Vec<Vec<f64>>> {
        let forests = classes.forests().iter().zip(classes.starts());
        let margin = |(forest, &start): (&Forest, &f64)| {
            let mut margin = vec![start; self.dataset.num_docs()];
            self.forest(forest, &mut margin)?;
            Ok(margin)
        };
        forests.map(margin).collect()
    }
}

/// The forests of a model and of nested models; `None` if the model cannot score binned documents.
fn native_forests(model: &Model) -> Option<Vec<&Forest>> {
    let mut forests = Vec::new();
    for component in model.components() {
        match &component.part {
            _ if component.normalisation.needs_queries() => return None,
            Part::Model(inner) if inner.ranks_features() != model.ranks_features() => return None,
            Part::Model(model) => forests.extend(native_forests(model)?),
            part @ (Part::Forest(_) | Part::Classes(_))
                if part.forests().iter().all(Forest::is_native) =>
            {
                forests.extend(part.forests());
            }
            _ => return None,
        }
    }
    Some(forests)
}

/// The bins between the thresholds of a model, for data that it should score.
pub fn binning_of(model: &Model) -> Result<Binning> {
    let forests = native_forests(model).ok_or_else(cannot_score)?;
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
    let binning = binning.with_category_names(model.category_names());
    Ok(if model.ranks_features() { binning.with_query_ranks() } else { binning })
}

fn cannot_score() -> Error {
    Error::data("bins", "the model cannot score binned docs: its thresholds are not the dataset's")
        .hint("score the raw features, or make the dataset with like=, from the model or its training set")
}
