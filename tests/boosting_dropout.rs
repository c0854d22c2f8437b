//! Dropout: each round is what the paper says, and the best one can be had back.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, Dropout, DropoutNormaliser, EarlyStopping, EvaluationMetric,
    EvaluationSet, TrainingLoss, TrainingPlan, score_dataset,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::{Leaf, Model, Tree};
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::random::draw;
use rustrank::schema::{ParamValue, Parameters};
use rustrank::tree::GrowOptions;
use rustrank::{Grouping, Interrupt, Mean, Metric, Queries};
use std::sync::Arc;

const DOCS: u64 = 8;

/// Queries of eight docs, with scores that training starts from, or none.
fn dataset(
    queries: u64,
    seed: u64,
    base: Option<Vec<f64>>,
    like: Option<&Dataset>,
) -> Arc<Dataset> {
    let docs = queries * DOCS;
    let cell = |at: u64| (draw(seed, 1, at) % 29) as f32;
    let cells: Vec<f32> = (0..docs * 3).map(cell).collect();
    let label = |doc: u64| {
        let noise = (draw(seed, 2, doc) % 30) as f32;
        ((cells[3 * doc as usize] + cells[3 * doc as usize + 1] + noise) / 22.0).floor()
    };
    let sizes = vec![8; queries as usize];
    let grouping = Grouping::in_row_order(Queries::from_sizes(&sizes, docs as usize).unwrap());
    let mut data = RowData::new((0..docs).map(label).collect(), grouping);
    data.base_score = base;
    let (table, never) =
        (StridedTable::by_row(&cells, 3, MissingPolicy::default()), Interrupt::new());
    let made = match like {
        Some(train) => Dataset::like(&table, data, train.binning().clone(), &never),
        None => Dataset::new(&table, data, &BinOptions::default(), &never),
    };
    Arc::new(made.unwrap())
}

fn dropout(normaliser: DropoutNormaliser) -> Dropout {
    Dropout { rate: 0.5, skip: 0.2, most: Some(4), normaliser }
}

fn plan(dropout: Option<Dropout>, kind: ObjectiveKind) -> TrainingPlan {
    let grow = GrowOptions { num_leaves: 5, min_leaf_docs: 3, ..GrowOptions::default() };
    let mut options = ObjectiveOptions::new(kind, metric());
    options.lambda.noise = None;
    TrainingPlan {
        params: BoostingParams {
            num_trees: 15,
            learning_rate: 0.4,
            dropout,
            grow,
            ..BoostingParams::default()
        },
        loss: TrainingLoss::new(&options).unwrap(),
        evaluation_sets: Vec::new(),
        metrics: vec![EvaluationMetric::Metric(metric())],
        patience: None,
        base: None,
    }
}

fn metric() -> Metric {
    "ndcg@5".parse().unwrap()
}

fn values(tree: &Tree) -> Vec<f64> {
    tree.leaves().iter().map(|leaf| leaf.value).collect()
}

fn near(got: &[f64], expected: &[f64]) -> bool {
    // Leaf values are single floats.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 2e-6 * b.abs() + 1e-9;
    got.len() == expected.len() && got.iter().zip(expected).all(near)
}

/// A round is a tree grown from the scores without some trees, and all of them weighed down.
#[test]
fn a_round_fits_what_the_dropped_trees_leave_and_shares_their_work() {
    for normaliser in [DropoutNormaliser::Tree, DropoutNormaliser::Forest] {
        for kind in [ObjectiveKind::LambdaRank, ObjectiveKind::Regression] {
            is_as_in_the_paper(normaliser, kind);
        }
    }
}

fn is_as_in_the_paper(normaliser: DropoutNormaliser, kind: ObjectiveKind) {
    let never = Interrupt::new();
    let train = dataset(60, 1, None, None);
    let mut trainer =
        BoostingTrainer::new(train.clone(), plan(Some(dropout(normaliser)), kind), &never).unwrap();
    let mut counts = Vec::new();
    loop {
        let before = trainer.model().clone();
        if trainer.next_round(&never).unwrap().is_none() {
            break;
        }
        let after: Vec<&Tree> = trainer.model().trees().collect();
        let dropped: Vec<usize> = before
            .trees()
            .zip(&after)
            .enumerate()
            .filter(|(_, (a, b))| a != *b)
            .map(|x| x.0)
            .collect();
        let (count, rate) = (dropped.len() as f64, 0.4);
        let (new, old) = match normaliser {
            _ if dropped.is_empty() => (1.0, 1.0),
            DropoutNormaliser::Tree => (1.0 / (count + rate), count / (count + rate)),
            DropoutNormaliser::Forest => (1.0 / (1.0 + rate), 1.0 / (1.0 + rate)),
        };
        for (at, tree) in before.trees().enumerate() {
            let factor = if dropped.contains(&at) { old } else { 1.0 };
            let expected: Vec<f64> = values(tree).iter().map(|value| factor * value).collect();
            assert!(near(&values(after[at]), &expected), "{kind:?}: tree {at} {dropped:?}");
        }
        let tree = grown_without(&before, &dropped, &train, kind);
        let last = after[after.len() - 1];
        assert_eq!(last.splits(), tree.splits());
        let expected: Vec<f64> = values(&tree).iter().map(|value| new * value).collect();
        assert!(near(&values(last), &expected));
        counts.push(dropped.len());
    }
    assert_eq!(counts.len(), 15);
    assert!(counts.contains(&0) && counts.contains(&4) && counts.iter().all(|&count| count <= 4));
}

/// The tree of a plain round from what a model without some of its trees scores.
fn grown_without(model: &Model, dropped: &[usize], train: &Dataset, kind: ObjectiveKind) -> Tree {
    let never = Interrupt::new();
    let mut rest = Model::new(3);
    rest.set_intercept(model.intercept()).unwrap();
    for (at, tree) in model.trees().enumerate() {
        if !dropped.contains(&at) {
            rest.push(tree.clone()).unwrap();
        }
    }
    let scores = train.by_row(&score_dataset(&rest, train, &never).unwrap());
    let scored = dataset(60, 1, Some(scores), None);
    let mut trainer = BoostingTrainer::new(scored, plan(None, kind), &never).unwrap();
    trainer.next_round(&never).unwrap();
    trainer.model().trees().next().unwrap().clone()
}

fn value(model: &Model, data: &Dataset) -> f64 {
    let never = Interrupt::new();
    let scores = score_dataset(model, data, &never).unwrap();
    let values = metric().per_query(&scores, data.labels(), data.queries(), &never).unwrap();
    Mean::of(&values, None).unwrap().value
}

#[test]
fn any_round_can_be_had_back_though_later_ones_changed_its_trees() {
    let never = Interrupt::new();
    let train = dataset(40, 3, None, None);
    let valid = dataset(15, 4, None, Some(&train));
    for kind in [ObjectiveKind::LambdaRank, ObjectiveKind::McRank] {
        let set = EvaluationSet { name: "valid".to_owned(), dataset: valid.clone() };
        let mut plan = plan(Some(dropout(DropoutNormaliser::Tree)), kind);
        plan.evaluation_sets = vec![set];
        plan.patience = Some(EarlyStopping::after(6));
        (plan.params.num_trees, plan.params.learning_rate) = (200, 1.0);
        let mut trainer = BoostingTrainer::new(train.clone(), plan, &never).unwrap();
        let mut models = Vec::new();
        while trainer.next_round(&never).unwrap().is_some() {
            models.push(trainer.model().clone());
        }
        let best = trainer.best_round().unwrap();
        assert_eq!(models.len(), best + 6);
        for (at, model) in models.iter().enumerate() {
            assert_eq!(trainer.model_at(at + 1).unwrap(), *model);
            assert_eq!(value(model, &valid), trainer.history()[at][0]);
        }
        let mut first = trainer.model().clone();
        first.truncate(best);
        assert_ne!(first, models[best - 1], "later rounds changed its trees");
    }
}

#[test]
fn a_base_that_was_grown_without_dropout_goes_on_with_it() {
    let never = Interrupt::new();
    let train = dataset(40, 5, None, None);
    let mut begun =
        BoostingTrainer::new(train.clone(), plan(None, ObjectiveKind::LambdaRank), &never).unwrap();
    while begun.next_round(&never).unwrap().is_some() {}
    let base = begun.model().clone();
    let mut plan = plan(Some(dropout(DropoutNormaliser::Tree)), ObjectiveKind::LambdaRank);
    plan.base = Some(base.clone().into());
    let mut more = BoostingTrainer::new(train.clone(), plan, &never).unwrap();
    while more.next_round(&never).unwrap().is_some() {}
    assert_eq!((more.num_before(), more.num_rounds()), (15, 30));
    let of_base: Vec<&Tree> = more.model().trees().take(15).collect();
    assert!(of_base.iter().zip(base.trees()).all(|(a, b)| a.splits() == b.splits()));
    let size = |trees: &[&Tree]| -> f64 {
        trees.iter().flat_map(|tree| tree.leaves()).map(|leaf: &Leaf| leaf.value.abs()).sum()
    };
    assert!(size(&of_base) < 0.9 * size(&base.trees().collect::<Vec<_>>()));
    assert_eq!(more.model_at(15).unwrap().num_trees(), 15);
}

#[test]
fn what_is_out_of_range_is_named() {
    let train = dataset(10, 1, None, None);
    let normaliser = DropoutNormaliser::Tree;
    let refused = |rate, skip, most| {
        let dropout = Some(Dropout { rate, skip, most, normaliser });
        let plan = plan(dropout, ObjectiveKind::LambdaRank);
        BoostingTrainer::new(train.clone(), plan, &Interrupt::new()).unwrap_err().to_string()
    };
    assert!(refused(1.5, 0.0, None).starts_with("dropout is out of range: got 1.5"));
    assert!(refused(f64::NAN, 0.0, None).starts_with("dropout is out of range"));
    assert!(refused(0.1, -0.1, None).starts_with("dropout_skip is out of range: got -0.1"));
    assert!(refused(0.1, 0.0, Some(0)).starts_with("dropout_max is out of range: got 0"));
    let trees = ParamValue::Text("trees".to_owned());
    let said = Dropout::default().set("dropout_normaliser", &trees).unwrap_err().to_string();
    assert!(said.contains("dropout_normaliser is not known: got \"trees\""), "{said}");
}
