//! LambdaBoost: each round against brute force, on any base.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{native, nets};
use rustrank::boosting::{
    EarlyStopping, LambdaBoostPlan, LambdaBoostTrainer, StopReason, TrainingLoss,
};
use rustrank::data::{MissingPolicy, RawDataset, RowData, StridedTable};
use rustrank::model::{Class, Classes, Component, Link, Model, Part};
use rustrank::objective::{LambdaOptions, ObjectiveKind, ObjectiveOptions, State, Target};
use rustrank::random::draw;
use rustrank::rounds::RawEvaluationSet;
use rustrank::{Gradient, Grouping, Interrupt, Mean, Metric, Queries, Result};

const FEATURES: usize = 5;

/// Queries of six docs whose labels two features tell; some cells are missing.
struct Rows {
    cells: Vec<f32>,
    labels: Vec<f32>,
    queries: usize,
}

impl Rows {
    fn new(queries: usize, seed: u64) -> Self {
        let mut rows = Self { cells: Vec::new(), labels: Vec::new(), queries };
        for id in 0..6 * queries as u64 {
            let cell = |f: usize| (draw(seed, f as u64, id) % 41) as f32 / 20.0 - 1.0;
            let cells: Vec<f32> = (0..FEATURES).map(cell).collect();
            rows.labels.push((1.0 + cells[1] - 0.5 * cells[3]).round().clamp(0.0, 2.0));
            let scaled =
                cells.iter().enumerate().map(|(f, x)| x * [0.01, 0.1, 1.0, 10.0, 100.0][f]);
            rows.cells.extend(scaled.map(|x| if x == 0.0 { f32::NAN } else { x }));
        }
        rows
    }

    fn raw(&self, order: &[usize]) -> RawDataset {
        let row = |&at: &usize| self.cells[at * FEATURES..][..FEATURES].to_vec();
        let cells: Vec<f32> = order.iter().flat_map(row).collect();
        let labels = order.iter().map(|&at| self.labels[at]).collect();
        let table = StridedTable::by_row(&cells, FEATURES, MissingPolicy::default());
        let sizes = vec![6; self.queries];
        let queries = Queries::from_sizes(&sizes, order.len()).unwrap();
        let mut data = RowData::new(labels, Grouping::in_row_order(queries));
        data.row_weight = Some(order.iter().map(|&at| [1.0, 2.0, 0.5][at % 3]).collect());
        RawDataset::new(&table, data, &Interrupt::new()).unwrap()
    }

    fn data(&self) -> RawDataset {
        self.raw(&(0..self.labels.len()).collect::<Vec<_>>())
    }

    /// Docs the other way round within their queries, and queries too.
    fn reversed(&self) -> RawDataset {
        self.raw(&(0..self.labels.len()).rev().collect::<Vec<_>>())
    }
}

fn options(kind: ObjectiveKind) -> ObjectiveOptions {
    let metric: Metric = "ndcg".parse().unwrap();
    ObjectiveOptions {
        lambda: LambdaOptions::new(metric.clone()),
        ..ObjectiveOptions::new(kind, metric)
    }
}

fn plan(kind: ObjectiveKind, num_rounds: usize) -> LambdaBoostPlan {
    LambdaBoostPlan {
        num_rounds,
        learning_rate: 0.5,
        loss: TrainingLoss::new(&options(kind)).unwrap(),
        evaluation_sets: Vec::new(),
        metrics: vec!["ndcg@3".parse().unwrap()],
        patience: None,
        base: None,
    }
}

fn trainer(data: RawDataset, plan: LambdaBoostPlan) -> Result<LambdaBoostTrainer> {
    LambdaBoostTrainer::new(data, plan, &Interrupt::new())
}

fn run(trainer: &mut LambdaBoostTrainer) -> Model {
    while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
    trainer.model_at(usize::MAX).unwrap()
}

/// The scores of docs in the order of a dataset.
fn scores(model: &Model, data: &RawDataset) -> Vec<f64> {
    let rows = data.cells().chunks(data.stride());
    let rows: Vec<f32> = rows.flat_map(|row| row[..FEATURES].to_vec()).collect();
    let mut scores = vec![0.0; data.num_docs()];
    model.scorer().score(&rows, &mut scores).unwrap();
    scores
}

/// A model of classes.
fn classes() -> Model {
    let class = |k: usize| Class { label: k as f64, gain: k as f64 };
    let mut made = Classes::new(FEATURES, Link::Ordinal, &[class(0), class(1)], vec![0.3]).unwrap();
    made.push(native(4, FEATURES, &[6]).trees().cloned().collect()).unwrap();
    let mut model = Model::new(FEATURES);
    model.add(Component::new(Part::Classes(made))).unwrap();
    model
}

#[test]
fn every_round_takes_the_feature_and_coefficient_of_brute_force() {
    let rows = Rows::new(60, 1);
    for (kind, base) in [
        (ObjectiveKind::LambdaRank, None),
        (ObjectiveKind::LambdaRank, Some(classes())),
        (ObjectiveKind::RankNet, Some(native(2, FEATURES, &[4, 5]))),
        (ObjectiveKind::Regression, None),
    ] {
        let data = rows.data();
        let mut trainer = trainer(rows.data(), LambdaBoostPlan { base, ..plan(kind, 12) }).unwrap();
        let objective = options(kind).build().unwrap();
        for round in 0..12 {
            let before = scores(&trainer.model_at(round).unwrap(), &data);
            let target = Target {
                labels: data.labels(),
                queries: data.queries(),
                query_weight: None,
                row_weight: data.row_weight(),
                doc_hash: data.doc_hash(),
            };
            let state = State { round: round as u64, scores: &before };
            let mut gradients = vec![Gradient::default(); data.num_docs()];
            objective.gradients(&target, state, &mut gradients, &Interrupt::new()).unwrap();
            // The loss of every feature with its own best coefficient, written out.
            let weight = |doc: usize| data.row_weight().unwrap()[doc];
            let fit = |feature: usize| {
                let x = |doc: usize| {
                    let cell = f64::from(data.cells()[doc * data.stride() + feature]);
                    if cell.is_nan() { 0.0 } else { cell }
                };
                let docs = 0..data.num_docs();
                let y = |doc: usize| -f64::from(gradients[doc].grad) / weight(doc);
                let over: f64 = docs.clone().map(|d| weight(d) * y(d) * x(d)).sum();
                let under: f64 = docs.clone().map(|d| weight(d) * x(d) * x(d)).sum();
                let beta = over / under;
                let loss = docs.map(|d| weight(d) * (y(d) - beta * x(d)).powi(2)).sum::<f64>();
                (loss, feature, beta)
            };
            let best = (0..FEATURES).map(fit).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            assert!(trainer.next_round(&Interrupt::new()).unwrap().is_some());
            let (feature, weight) = trainer.path()[round];
            assert_eq!(feature as usize, best.1, "round {round}");
            assert!((weight / (0.5 * best.2) - 1.0).abs() < 1e-9, "{weight}, not half of {best:?}");
        }
    }
}

#[test]
fn order_threads_and_breaks_do_not_matter() {
    let rows = Rows::new(60, 2);
    let bases = [None, Some(nets(1, FEATURES)), Some(classes())];
    for base in bases {
        let with = |base, n| LambdaBoostPlan { base, ..plan(ObjectiveKind::LambdaRank, n) };
        let twenty = run(&mut trainer(rows.data(), with(base.clone(), 20)).unwrap());
        let text = twenty.to_text();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let other =
            pool.install(|| run(&mut trainer(rows.reversed(), with(base.clone(), 20)).unwrap()));
        assert_eq!(other.to_text(), text);
        let ten = run(&mut trainer(rows.data(), with(base, 10)).unwrap());
        let ten = Model::from_text(ten.to_text().as_bytes()).unwrap();
        let more = run(&mut trainer(rows.data(), with(Some(ten), 10)).unwrap());
        assert_eq!(more.to_text(), text);
    }
}

#[test]
fn the_history_is_of_the_model_as_it_scores_and_patience_ends_it() {
    let (rows, held) = (Rows::new(60, 3), Rows::new(30, 4));
    let metric: Metric = "ndcg@3".parse().unwrap();
    let patience = Some(EarlyStopping::after(5));
    let evaluation_sets = [("valid", &held), ("train", &rows)]
        .map(|(name, rows)| RawEvaluationSet { name: name.to_owned(), data: rows.data() })
        .into();
    let base = Some(classes());
    let plan =
        LambdaBoostPlan { evaluation_sets, patience, base, ..plan(ObjectiveKind::LambdaRank, 400) };
    let mut trainer = trainer(rows.data(), plan).unwrap();
    run(&mut trainer);
    assert_eq!(trainer.end(), Some(StopReason::EarlyStopping));
    assert_eq!(trainer.history().len(), trainer.best_round().unwrap() + 5);
    let names: Vec<_> = trainer.names().map(|(set, _)| set.to_owned()).collect();
    assert_eq!(names, ["valid", "train"]);
    for (round, values) in trainer.history().iter().enumerate() {
        let model = trainer.model_at(round + 1).unwrap();
        for (data, &value) in [held.data(), rows.data()].iter().zip(values) {
            let scores = scores(&model, data);
            let per_query =
                metric.per_query(&scores, data.labels(), data.queries(), &Interrupt::new());
            assert_eq!(Mean::of(&per_query.unwrap(), None).unwrap().value, value);
        }
    }
}

#[test]
fn rounds_that_are_taken_back_leave_no_trace() {
    let (rows, held) = (Rows::new(60, 3), Rows::new(30, 4));
    let fresh = || {
        let set = RawEvaluationSet { name: "valid".to_owned(), data: held.data() };
        let base = Some(classes());
        let evaluation_sets = vec![set];
        let plan = plan(ObjectiveKind::LambdaRank, 20);
        trainer(rows.data(), LambdaBoostPlan { evaluation_sets, base, ..plan }).unwrap()
    };
    let (mut trainer, mut other) = (fresh(), fresh());
    for _ in 0..8 {
        trainer.next_round(&Interrupt::new()).unwrap();
    }
    for _ in 0..3 {
        trainer.take_back().unwrap();
    }
    assert_eq!((trainer.num_rounds(), trainer.path().len()), (5, 5));
    assert_eq!(run(&mut trainer).to_text(), run(&mut other).to_text());
    assert_eq!(trainer.history(), other.history());
}

#[test]
fn what_cannot_be_learned_is_told() {
    let refused = |data, plan| trainer(data, plan).unwrap_err().to_string();
    let rows = Rows::new(10, 5);
    let wide =
        LambdaBoostPlan { base: Some(native(1, 7, &[3])), ..plan(ObjectiveKind::LambdaRank, 3) };
    let said = refused(rows.data(), wide);
    assert!(said.contains("another number of features than the model"), "{said}");
    let said = refused(rows.data(), plan(ObjectiveKind::McRank, 3));
    assert!(said.contains("classes have a gradient each"), "{said}");
    let fast = LambdaBoostPlan { learning_rate: f64::NAN, ..plan(ObjectiveKind::LambdaRank, 3) };
    assert!(refused(rows.data(), fast).contains("learning_rate is out of range"));
    let flat = Rows { labels: vec![1.0; 60], ..Rows::new(10, 5) };
    let said = refused(flat.data(), plan(ObjectiveKind::LambdaRank, 3));
    assert!(said.contains("no pairs to learn from"), "{said}");
    let zero = Rows { cells: vec![f32::NAN; 60 * FEATURES], ..Rows::new(10, 5) };
    let outcome = trainer(zero.data(), plan(ObjectiveKind::LambdaRank, 3)).unwrap();
    let said = { outcome }.next_round(&Interrupt::new()).unwrap_err().to_string();
    assert!(said.contains("no feature has anything to do with the labels"), "{said}");
}
