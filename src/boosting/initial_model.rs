//! The model that training starts from: an empty one, or a base model.

use super::BaseModel;
use super::binned_scoring::{BinnedScorer, can_score};
use super::evaluation::EvaluationSets;
use super::loss::ClassTarget;
use super::score_cache::ScoreCache;
use super::trainer::TrainingPlan;
use crate::Interrupt;
use crate::data::{Dataset, Documents};
use crate::error::{self, Error, Result};
use crate::model::{Component, Forest, Model, Part};
use crate::objective::Target;

/// The model before the first round.
pub(super) struct InitialModel {
    pub(super) model: Model,
    pub(super) origin: ScoreOrigin,
}

/// How the scores of documents follow from the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScoreOrigin {
    /// The base scores of the documents (or 0) plus the whole model.
    Model,
    /// The whole model, which has classes only.
    Classes,
    /// The base scores of the documents, which are those of the base model, plus the trees after
    /// this many.
    Trees(usize),
}

impl InitialModel {
    pub(super) fn new(
        plan: &TrainingPlan,
        class_target: Option<&ClassTarget>,
        evaluation: &EvaluationSets,
    ) -> Result<Self> {
        let (dataset, all) = (evaluation.train(), evaluation.datasets());
        let is_scored = all.iter().all(|dataset| dataset.base_score().is_some());
        let any_scored = all.iter().any(|dataset| dataset.base_score().is_some());
        let origin = ScoreOrigin::Model;
        if let Some(BaseModel { model, .. }) = &plan.base {
            let what = "the base has another number of features";
            error::check_features(what, model.num_features(), dataset.num_features())?;
            model.check_base()?;
            check_categories(model, dataset)?;
            check_ranks(model, dataset)?;
        }
        if let Some(class_target) = class_target {
            if any_scored {
                let what = "classes have no base scores: a score cannot be told from margins";
                return Err(Error::data("base", what).hint("make the datasets without base scores"));
            }
            let model = start_of_classes(plan, class_target, dataset)?;
            return Ok(Self { model, origin: ScoreOrigin::Classes });
        }
        let Some(base) = &plan.base else {
            let mut model = empty(dataset)?;
            if dataset.base_score().is_none() {
                model.set_intercept(plan.loss.start_score(dataset)?)?;
            }
            return Ok(Self { model, origin });
        };
        let model = base.model.clone();
        // Base scores that accompany a sum of trees are those it was trained on; with any other
        // model they are its own scores.
        let can_follow = !base.is_scored && (is_plain(&model) || !any_scored);
        if can_follow && can_score(&model, dataset.binning()) {
            return Ok(Self { model, origin });
        }
        if !is_scored {
            return Err(bins_mismatch());
        }
        Ok(Self { origin: ScoreOrigin::Trees(model.num_trees()), model })
    }
}

/// An empty model for the documents of a data set.
fn empty(dataset: &Dataset) -> Result<Model> {
    let mut model = Model::new(dataset.num_features());
    if dataset.query_ranks() {
        model.set_ranks_features()?;
    }
    Ok(model)
}

/// A model of classes without trees, or the base model if it has the same classes.
fn start_of_classes(
    plan: &TrainingPlan,
    class_target: &ClassTarget,
    dataset: &Dataset,
) -> Result<Model> {
    let mut model = empty(dataset)?;
    let Some(base) = &plan.base else {
        model.add(Component::new(Part::Classes(
            class_target.start(dataset.num_features(), plan.params.dropout.is_some())?,
        )))?;
        return Ok(model);
    };
    let (model, components) = (&base.model, base.model.components());
    let is_alone = model.intercept() == 0.0 && components.iter().all(Component::is_plain);
    if !is_alone || !model.classes().is_some_and(|classes| class_target.is_of(classes)) {
        let what = "classes can go on only from a model of the same classes, gains and link";
        return Err(Error::param("base", what)
            .hint("other losses, lambdamart among them, take any model as their base"));
    }
    if !can_score(&base.model, dataset.binning()) {
        return Err(bins_mismatch());
    }
    Ok(base.model.clone())
}

/// The scores of a data set by a model: the same sums in the same order as in training.
pub(super) fn compute_scores(
    model: &Model,
    origin: ScoreOrigin,
    dataset: &Dataset,
    interrupt: &Interrupt,
) -> Result<ScoreCache> {
    let scorer = BinnedScorer { dataset, interrupt };
    let mut add = |forest: &Forest, sums: &mut [f64]| scorer.add_forest(forest, sums);
    if origin == ScoreOrigin::Classes
        && let Some(classes) = model.classes()
    {
        let margins = classes.binned_margins(&mut add, dataset.num_docs())?;
        return Ok(ScoreCache::of_classes(margins, classes.expectation()));
    }
    let mut scores = start_scores(dataset, 0.0);
    if let ScoreOrigin::Trees(first) = origin {
        let mut trees = model.trees_with_sets().skip(first);
        trees.try_for_each(|(tree, sets)| scorer.add_tree(tree, sets, &mut scores))?;
    } else {
        model.add_binned(&mut add, &mut scores)?;
    }
    Ok(ScoreCache::of_scores(scores))
}

/// Whether a model is a sum of native trees only.
pub(super) fn is_plain(model: &Model) -> bool {
    model.components().iter().all(is_native_forest)
}

/// Whether a component is a native forest that is added without weight or normalisation.
pub(super) fn is_native_forest(component: &Component) -> bool {
    component.is_plain() && matches!(&component.part, Part::Forest(f) if f.is_native())
}

/// Returns an error if a data set has other features than a model.
pub(super) fn check_features(model: &Model, dataset: &Dataset) -> Result<()> {
    let what = "the dataset has another number of features than the model";
    error::check_features(what, dataset.num_features(), model.num_features())?;
    check_ranks(model, dataset)
}

/// Returns an error if a data set numbers the categories of a feature differently than a model.
fn check_categories(model: &Model, dataset: &Dataset) -> Result<()> {
    let (theirs, own) = (model.category_names(), dataset.binning().category_names());
    let other = theirs.iter().find(|(feature, names)| own.get(feature) != Some(names));
    let Some((&feature, names)) = other else { return Ok(()) };
    let what = "the base numbers the categories of a feature in another way";
    Err(Error::data("categories", what)
        .feature(feature as usize)
        .got(format!("{} categories", own.get(&feature).map_or(0, Vec::len)))
        .expected(format!("the {} of the base", names.len()))
        .hint("make the dataset with like=, from the base or its training set"))
}

/// Returns an error if only one of model and data set has ranks within queries.
fn check_ranks(model: &Model, dataset: &Dataset) -> Result<()> {
    if model.ranks_features() == dataset.query_ranks() {
        return Ok(());
    }
    let of = |ranks| if ranks { "ranks within queries" } else { "raw features alone" };
    Err(Error::data("features.ranks", "the dataset has other features than the model")
        .got(of(dataset.query_ranks()))
        .expected(of(model.ranks_features()))
        .hint("make the dataset with like=, from the model or its training set"))
}

/// The view of a data set that objectives get.
pub(super) fn target(documents: &Documents) -> Target<'_> {
    Target {
        labels: documents.labels(),
        queries: documents.queries(),
        query_weight: documents.query_weight(),
        row_weight: documents.row_weight(),
        doc_hash: documents.doc_hash(),
    }
}

/// The scores before any tree.
pub(super) fn start_scores(dataset: &Dataset, offset: f64) -> Vec<f64> {
    match dataset.base_score() {
        Some(base) => base.iter().map(|score| score + offset).collect(),
        None => vec![offset; dataset.num_docs()],
    }
}

pub(super) fn bins_mismatch() -> Error {
    Error::data("base", "the base cannot score binned docs: its thresholds are not the dataset's")
        .hint("make every Dataset with base=, which scores its features while they are there, or with the base's scores as base_score; or train on the bins it was trained on")
}
