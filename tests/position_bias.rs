//! Position bias: the steps are Newton's, and the state goes wherever the model goes.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, Dropout, DropoutNormaliser, EarlyStopping, EvaluationMetric,
    EvaluationSet, ExactStep, StepRule, TrainingLoss, TrainingPlan, score_dataset,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::Model;
use rustrank::objective::{ObjectiveKind, ObjectiveOptions, State, Target};
use rustrank::random::draw;
use rustrank::tree::GrowOptions;
use rustrank::{Gradient, Grouping, Interrupt, Queries};
use std::sync::Arc;

const DOCS: u64 = 6;
const QUERIES: u64 = 80;
const RATE: f64 = 0.3;

/// Clicks on queries of six docs, shown at the places 1 to 7 but the third.
fn dataset(first: u64, position: bool, turn: usize) -> Arc<Dataset> {
    let (mut cells, mut labels, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for doc in 0..DOCS * QUERIES {
        let id = first * 1000 + (doc + turn as u64 * DOCS) % (DOCS * QUERIES);
        let cell = (draw(1, 0, id) % 11) as f32;
        let place = [1, 2, 4, 5, 6, 7][(id % DOCS) as usize];
        cells.extend([cell, (draw(1, 1, id) % 5) as f32]);
        let chance = f64::from(cell + 1.0) / 11.0 / f64::from(place);
        labels.push(f32::from(u8::from((draw(1, 2, id) >> 11) as f64 / 2f64.powi(53) < chance)));
        places.push(place);
    }
    let queries = Queries::from_sizes(&[6; QUERIES as usize], labels.len()).unwrap();
    let mut data = RowData::new(labels, Grouping::in_row_order(queries));
    data.position = position.then_some(places);
    let table = StridedTable::by_row(&cells, 2, MissingPolicy::default());
    Arc::new(Dataset::new(&table, data, &BinOptions::default(), &Interrupt::new()).unwrap())
}

fn options(kind: ObjectiveKind) -> ObjectiveOptions {
    let mut options = ObjectiveOptions::new(kind, "ndcg".parse().unwrap());
    options.relevant_from = Some(1.0);
    options
}

fn plan(kind: ObjectiveKind, num_trees: usize) -> TrainingPlan {
    let grow = GrowOptions { num_leaves: 4, min_leaf_docs: 5, ..GrowOptions::default() };
    TrainingPlan {
        params: BoostingParams {
            num_trees,
            learning_rate: RATE,
            grow,
            ..BoostingParams::default()
        },
        loss: TrainingLoss::new(&options(kind)).unwrap(),
        evaluation_sets: Vec::new(),
        metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
        patience: None,
        base: None,
    }
}

fn trainer(data: &Arc<Dataset>, plan: TrainingPlan) -> BoostingTrainer {
    BoostingTrainer::new(data.clone(), plan, &Interrupt::new()).unwrap()
}

fn run(trainer: &mut BoostingTrainer) -> String {
    while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
    trainer.model().to_text()
}

fn biases(model: &Model) -> Vec<f64> {
    let note = &model.attributes()["position_bias"];
    note.split(' ').map(|value| value.parse().unwrap()).collect()
}

#[test]
fn each_step_is_newtons_from_the_gradients_where_docs_were_shown() {
    let never = Interrupt::new();
    for kind in [
        ObjectiveKind::LambdaRank,
        ObjectiveKind::RankNet,
        ObjectiveKind::Logistic,
        ObjectiveKind::XeNdcg,
    ] {
        let data = dataset(0, true, 0);
        let objective = options(kind).build().unwrap();
        let target = Target {
            labels: data.labels(),
            queries: data.queries(),
            query_weight: None,
            row_weight: None,
            doc_hash: data.doc_hash(),
        };
        let mut trainer = trainer(&data, plan(kind, 8));
        let mut expected = vec![0.0; 7];
        for round in 0..8 {
            let mut scores = score_dataset(trainer.model(), &data, &never).unwrap();
            let places = data.position().unwrap();
            for (score, &place) in scores.iter_mut().zip(places) {
                *score += expected[place as usize - 1];
            }
            let mut gradients = vec![Gradient::default(); scores.len()];
            let state = State { round, scores: &scores };
            objective.gradients(&target, state, &mut gradients, &never).unwrap();
            for (at, bias) in expected.iter_mut().enumerate() {
                let of_place =
                    gradients.iter().zip(places).filter(|(_, place)| **place as usize == at + 1);
                let (grad, hess) = of_place.fold((0.0, 0.0), |(grad, hess), (gradient, _)| {
                    (grad + f64::from(gradient.grad), hess + f64::from(gradient.hess))
                });
                *bias -= RATE * (grad + *bias) / (hess + 1.0);
            }
            trainer.next_round(&never).unwrap();
            let got = biases(trainer.model());
            let near = got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near, "{kind:?}: {got:?} {expected:?}");
            expected = got;
        }
        assert_eq!(expected[2], 0.0, "nothing was shown there");
        assert!(expected[0] > expected[1] && expected[1] > expected[6], "{kind:?} {expected:?}");
    }
}

#[test]
fn neither_threads_nor_the_order_of_rows_nor_a_break_change_a_byte() {
    let never = Interrupt::new();
    let dropout = Dropout { rate: 0.3, skip: 0.0, most: None, normaliser: DropoutNormaliser::Tree };
    for dropout in [None, Some(dropout)] {
        let plan = |num_trees| {
            let mut plan = plan(ObjectiveKind::LambdaRank, num_trees);
            plan.params.dropout = dropout.clone();
            plan
        };
        let data = dataset(0, true, 0);
        let mut whole = trainer(&data, plan(10));
        let expected = run(&mut whole);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let turned = dataset(0, true, 5);
            assert_eq!(pool.install(|| run(&mut trainer(&turned, plan(10)))), expected);
        }
        let mut begun = trainer(&data, plan(10));
        for _ in 0..=10 {
            let checkpoint = Model::from_text(begun.checkpoint().to_text().as_bytes()).unwrap();
            let resumed = BoostingTrainer::resume(data.clone(), plan(10), checkpoint, &never);
            let mut resumed = resumed.unwrap();
            assert_eq!(run(&mut resumed), expected);
            let middle = resumed.model_at(4).unwrap();
            assert_eq!(middle, whole.model_at(4).unwrap());
            if begun.next_round(&never).unwrap().is_some() {
                begun.take_back().unwrap();
                begun.next_round(&never).unwrap();
            }
        }
        let mut four = trainer(&data, plan(4));
        let base = Model::from_text(run(&mut four).as_bytes()).unwrap();
        assert_eq!(base, whole.model_at(4).unwrap());
        let mut more = plan(6);
        more.base = Some(base.into());
        assert_eq!(run(&mut trainer(&data, more)), expected);
    }
}

#[test]
fn the_best_round_has_its_own_biases() {
    let data = dataset(0, true, 0);
    let judged = EvaluationSet { name: "valid".to_owned(), dataset: data.clone() };
    let mut plan = plan(ObjectiveKind::LambdaRank, 60);
    plan.evaluation_sets = vec![judged];
    plan.patience = Some(EarlyStopping::after(5));
    let mut stopped = trainer(&data, plan);
    let never = Interrupt::new();
    let mut all = Vec::new();
    while stopped.next_round(&never).unwrap().is_some() {
        all.push(biases(stopped.model()));
    }
    let best = stopped.best_round().unwrap();
    assert_eq!(biases(&stopped.model_at(best).unwrap()), all[best - 1]);
}

#[test]
fn what_positions_do_not_go_with_is_told() {
    let never = Interrupt::new();
    let data = dataset(0, true, 0);
    let refused = |plan| BoostingTrainer::new(data.clone(), plan, &never).unwrap_err().to_string();
    assert!(refused(plan(ObjectiveKind::McRank, 3)).contains("classes have no position bias"));
    let mut exact = plan(ObjectiveKind::LambdaRank, 3);
    exact.params.step = StepRule::Exact(ExactStep::new("ndcg".parse().unwrap()));
    assert!(refused(exact).contains("biased as they are"));
    let mut large = plan(ObjectiveKind::LambdaRank, 3);
    large.params.position_l2 = f64::NAN;
    assert!(refused(large).contains("position_l2 is out of range"));
    let mut rows =
        RowData::new(vec![0.0, 1.0], Grouping::in_row_order(Queries::from_sizes(&[2], 2).unwrap()));
    let cells = [0f32, 1.0];
    let table = StridedTable::by_row(&cells, 1, MissingPolicy::default());
    for (position, said) in [(vec![1, 0], "position[1] = 0"), (vec![1], "position has the wrong")] {
        rows.position = Some(position);
        let made = Dataset::new(&table, rows.clone(), &BinOptions::default(), &never);
        let error = made.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let plain = dataset(0, false, 0);
    let model = trainer(&plain, plan(ObjectiveKind::LambdaRank, 3));
    assert!(!model.model().attributes().contains_key("position_bias"));
    assert_ne!(plain.fingerprint(), data.fingerprint());
}
