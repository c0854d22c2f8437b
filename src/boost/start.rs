//! Where training starts: from nothing, from scores, or from a model.

use super::trainer::Plan;
use super::watch::Watched;
use crate::Interrupt;
use crate::bins::Binning;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::grow::CodedTree;
use crate::model::{Forest, Model, Normalisation, Part, Tree};
use crate::objective::Target;

/// The model before the first round.
pub(super) struct Start {
    pub(super) model: Model,
    /// The first of its trees that is not part of the datasets' base scores.
    pub(super) first: usize,
    /// What is added to the base scores, or to 0.
    pub(super) offset: f64,
}

impl Start {
    pub(super) fn new<'a>(
        plan: &Plan,
        dataset: &Dataset,
        sets: impl Iterator<Item = &'a Watched>,
    ) -> Result<Self> {
        let Some(base) = &plan.base else {
            let mut model = Model::new(dataset.num_features());
            if dataset.base_score().is_none() {
                model.set_intercept(plan.loss.objective.start(&target(dataset)))?;
            }
            return Ok(Self { offset: model.intercept(), model, first: 0 });
        };
        if base.num_features() != dataset.num_features() {
            return Err(Error::data("features", "the base has another number of features")
                .got(base.num_features())
                .expected(dataset.num_features()));
        }
        let model = base.clone();
        if can_be_replayed(base, dataset) {
            return Ok(Self { offset: model.intercept(), model, first: 0 });
        }
        let mut all = std::iter::once(dataset).chain(sets.map(|set| &*set.dataset));
        if all.any(|dataset| dataset.base_score().is_none()) {
            return Err(other_bins());
        }
        Ok(Self { first: model.num_trees(), model, offset: 0.0 })
    }
}

/// Whether a model is a sum of trees of our own.
pub(super) fn is_plain(model: &Model) -> bool {
    model.components().iter().all(|component| {
        component.is_plain() && matches!(&component.part, Part::Forest(f) if f.is_native())
    })
}

/// Whether binned docs are enough to score with the model.
fn can_be_replayed(model: &Model, dataset: &Dataset) -> bool {
    is_plain(model) && model.trees().all(|tree| CodedTree::new(tree, dataset.binning()).is_some())
}

/// The score of each doc of a dataset, its base score included: the sums that the scorer makes.
///
/// A sum of models scores docs without base scores only: nothing says whose part those would be.
pub fn score_dataset(model: &Model, dataset: &Dataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
    if model.num_features() != dataset.num_features() {
        let what = "the dataset has another number of features than the model";
        return Err(Error::data("features", what)
            .got(dataset.num_features())
            .expected(model.num_features()));
    }
    let forests = native_forests(model).ok_or_else(cannot_score)?;
    if dataset.base_score().is_some() && !is_plain(model) {
        let what = "a sum of models cannot score docs that have base scores";
        return Err(Error::data("base", what).hint("score the raw features"));
    }
    let mut coded = Vec::new();
    for tree in forests.iter().flat_map(|forest| forest.trees()) {
        coded.push(CodedTree::new(tree, dataset.binning()).ok_or_else(cannot_score)?);
    }
    let mut scores = start_scores(dataset, 0.0);
    let mut trees = coded.iter();
    let mut adding = Adding { dataset, trees: &mut trees, interrupt };
    adding.model(model, &mut scores)?;
    Ok(scores)
}

/// A model being added to scores.
struct Adding<'a, 'b> {
    dataset: &'a Dataset,
    /// All trees that are left, in order.
    trees: &'a mut std::slice::Iter<'b, CodedTree>,
    interrupt: &'a Interrupt,
}

impl Adding<'_, '_> {
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
            let (mean, scale) = match component.normalisation {
                Normalisation::Fixed { mean, scale } => (mean, scale),
                Normalisation::AsIs | Normalisation::Query => (0.0, 1.0),
            };
            let weight = component.weight;
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += weight * ((own - mean) / scale));
        }
        Ok(())
    }

    fn part(&mut self, part: &Part, sums: &mut [f64]) -> Result<()> {
        if let Part::Model(model) = part {
            return self.model(model, sums);
        }
        let Part::Forest(forest) = part else { return Err(cannot_score()) };
        for tree in self.trees.take(forest.trees().len()) {
            self.interrupt.check()?;
            tree.add_to(self.dataset.matrix(), sums, self.interrupt)?;
        }
        Ok(())
    }
}

/// The forests of a model and of models inside it, if binned docs may be enough to score with it.
fn native_forests(model: &Model) -> Option<Vec<&Forest>> {
    let mut forests = Vec::new();
    for component in model.components() {
        match &component.part {
            _ if component.normalisation == Normalisation::Query => return None,
            Part::Forest(forest) if forest.is_native() => forests.push(forest),
            Part::Model(model) => forests.extend(native_forests(model)?),
            _ => return None,
        }
    }
    Some(forests)
}

/// The bins between the thresholds of a model: what data are binned with to be scored by it.
pub fn binning_of(model: &Model) -> Result<Binning> {
    let forests = native_forests(model).ok_or_else(cannot_score)?;
    let mut thresholds: Vec<Option<Vec<f32>>> = vec![None; model.num_features()];
    let trees = forests.iter().flat_map(|forest| forest.trees());
    for split in trees.flat_map(Tree::splits) {
        let of_feature = thresholds[split.feature as usize].get_or_insert_default();
        // At the largest number only missing cells are told from others.
        if split.threshold < f64::from(f32::MAX) {
            of_feature.push(split.threshold as f32);
        }
    }
    for list in thresholds.iter_mut().flatten() {
        list.sort_unstable_by(f32::total_cmp);
        list.dedup();
    }
    Binning::between(thresholds)
}

fn cannot_score() -> Error {
    Error::data("bins", "the model cannot score binned docs: its thresholds are not the dataset's")
        .hint("score the raw features, or make the dataset with like=, from the model or its training set")
}

/// What an objective may know of a dataset.
pub(super) fn target(dataset: &Dataset) -> Target<'_> {
    Target {
        labels: dataset.labels(),
        queries: dataset.queries(),
        query_weight: dataset.query_weight(),
        row_weight: dataset.row_weight(),
        doc_hash: dataset.doc_hash(),
    }
}

/// The scores that trees are added to.
pub(super) fn start_scores(dataset: &Dataset, offset: f64) -> Vec<f64> {
    match dataset.base_score() {
        Some(base) => base.iter().map(|score| score + offset).collect(),
        None => vec![offset; dataset.num_docs()],
    }
}

pub(super) fn other_bins() -> Error {
    Error::data("base", "the base cannot score binned docs: its thresholds are not the dataset's")
        .hint("train on the bins it was trained on, or give every Dataset the base's scores of its rows as base_score")
}
