//! The model that training starts from: an empty one, or a base model.

use super::BaseModel;
use super::binned_scoring::{BinnedScorer, can_score};
use super::evaluation::EvaluationSets;
use super::loss::ClassTarget;
use super::score_cache::ScoreCache;
use super::trainer::TrainingPlan;
use crate::data::{Dataset, Documents};
use crate::error::{self, Error, Result};
use crate::model::{Component, Forest, Model, Part};
use crate::objective::Target;
use crate::{CategoryList, Interrupt};

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
        let base = plan.base.as_ref().map(|base| base_for(&base.model, dataset)).transpose()?;
        if let Some(class_target) = class_target {
            if any_scored {
                let what = "classes have no base scores: a score cannot be told from margins";
                return Err(Error::data("base", what).hint("make the datasets without base scores"));
            }
            let model = start_of_classes(base, class_target, plan, dataset)?;
            return Ok(Self { model, origin: ScoreOrigin::Classes });
        }
        let (Some(model), Some(BaseModel { is_scored: keeps, .. })) = (base, &plan.base) else {
            let mut model = empty(dataset)?;
            if dataset.base_score().is_none() {
                model.set_intercept(plan.loss.start_score(dataset)?)?;
            }
            return Ok(Self { model, origin });
        };
        // Base scores that accompany a sum of trees are those it was trained on; with any other
        // model they are its own scores.
        let can_follow = !keeps && (is_plain(&model) || !any_scored);
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
    base: Option<Model>,
    class_target: &ClassTarget,
    plan: &TrainingPlan,
    dataset: &Dataset,
) -> Result<Model> {
    let mut model = empty(dataset)?;
    let Some(base) = base else {
        model.add(Component::new(Part::Classes(
            class_target.start(dataset.num_features(), plan.params.dropout.is_some())?,
        )))?;
        return Ok(model);
    };
    let is_alone = base.intercept() == 0.0 && base.components().iter().all(Component::is_plain);
    if !is_alone || !base.classes().is_some_and(|classes| class_target.is_of(classes)) {
        let what = "classes can go on only from a model of the same classes, gains and link";
        return Err(Error::param("base", what)
            .hint("other losses, lambdamart among them, take any model as their base"));
    }
    if !can_score(&base, dataset.binning()) {
        return Err(bins_mismatch());
    }
    Ok(base)
}

/// The scores of a data set by a model: the same sums in the same order as in training.
pub(super) fn compute_scores(
    model: &Model,
    origin: ScoreOrigin,
    dataset: &Dataset,
    interrupt: &Interrupt,
) -> Result<ScoreCache> {
    let scorer = BinnedScorer::new(dataset, interrupt);
    scores_by(&scorer, model, origin)
}

/// The same of a scorer, whose documents may have other codes than in their data set.
pub(super) fn scores_by(
    scorer: &BinnedScorer<'_>,
    model: &Model,
    origin: ScoreOrigin,
) -> Result<ScoreCache> {
    let dataset = scorer.dataset;
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

/// A model that training on a data set goes on from, with the numbers that the data set gives to categories.
fn base_for(model: &Model, dataset: &Dataset) -> Result<Model> {
    check_ranks_of_base(model, dataset)?;
    let what = "the base has another number of features";
    error::check_features(what, model.num_features(), dataset.num_features())?;
    model.check_base()?;
    check_ranks(model, dataset)?;
    let lists = dataset.binning().category_lists();
    let mut first = Model::new(dataset.num_features());
    for (&feature, list) in lists {
        first.set_category_list(feature, Some(list));
    }
    let mut theirs = model.category_lists();
    theirs.retain(|feature, _| !lists.contains_key(feature));
    let mut base = model.clone();
    Model::share_categories(&mut [&mut first, &mut base], &theirs.into_keys().collect())?;
    Ok(base)
}

/// Returns an error if a data set has other features than a model, or other categories.
pub(super) fn check_features(model: &Model, dataset: &Dataset) -> Result<()> {
    let what = "the dataset has another number of features than the model";
    error::check_features(what, dataset.num_features(), model.num_features())?;
    check_categories(model, dataset)?;
    check_ranks(model, dataset)
}

/// Returns an error if a data set numbers the categories of a feature differently than a model.
fn check_categories(model: &Model, dataset: &Dataset) -> Result<()> {
    let (theirs, own) = (model.category_lists(), dataset.binning().category_lists());
    // The list of a model that was trained on a base may be longer.
    let is_same = |feature: &&u32| match (own.get(feature), theirs.get(feature)) {
        (Some(own), Some(theirs)) => own.begins(theirs),
        (own, theirs) => own.is_none() && theirs.is_none(),
    };
    let Some(&feature) = own.keys().chain(theirs.keys()).find(|feature| !is_same(feature)) else {
        return Ok(());
    };
    let count = |list: Option<&CategoryList>| match list {
        None => "none, but whole numbers".to_owned(),
        Some(CategoryList::Texts(texts)) => format!("{} texts", texts.len()),
        Some(list) => format!("{} numbers", list.len()),
    };
    Err(Error::data("categories", "the dataset has another list of categories than the model")
        .feature(feature as usize)
        .got(count(own.get(&feature)))
        .expected(count(theirs.get(&feature)))
        .hint("make the dataset with like=, from the model or its training set"))
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

/// Returns an error if only one of a base and a data set of the same raw features has ranks within queries.
fn check_ranks_of_base(base: &Model, dataset: &Dataset) -> Result<()> {
    let ranks = dataset.query_ranks();
    let num_raw = dataset.num_features() / if ranks { 2 } else { 1 };
    if base.ranks_features() == ranks || base.num_raw_features() != num_raw {
        return Ok(());
    }
    let (of_base, of_dataset, hint) = match (ranks, base.looks_at_ranks()) {
        (false, _) => ("ranks within queries", "raw features alone", "with query_ranks"),
        (true, false) => ("raw features alone", "ranks within queries", "without query_ranks"),
        (true, true) => ("ranks in some of its models", "ranks in all", "without query_ranks"),
    };
    Err(Error::data("features.ranks", "the base has other features than the dataset")
        .got(of_base)
        .expected(of_dataset)
        .hint(format!("make the dataset {hint}")))
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
        .hint("make every Dataset with base=, which scores its features while they are there, or with the base's scores as base_score; or with like=, from the model or its training set")
}
