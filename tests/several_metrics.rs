//! Training for several metrics at once, against sums of gradients that the tests make themselves.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "evaluation sets here have extra labels")]
mod rows;

use rows::Rows;
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, EvaluationMetric, EvaluationSet, Guard, SeveralMetrics,
    TrainingLoss, TrainingPlan,
};
use rustrank::data::{Dataset, ExtraLabels, RowData};
use rustrank::model::Model;
use rustrank::objective::{GradientCall, LambdaOptions, LambdaRank, Objective, State, Target};
use rustrank::schema::{ParamValue, Parameters};
use rustrank::settings::{NamedMetric, TrainOptions};
use rustrank::tree::GrowOptions;
use rustrank::{Convention, Gain, Gradient, Interrupt, Metric, Result};
use std::sync::Arc;

/// The gradients of NDCG of the relevance, and of NDCG of the revenue with linear gains.
#[derive(Debug)]
struct Sum {
    weights: [f64; 2],
    dataset: Arc<Dataset>,
}

impl Objective for Sum {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let linear = Convention { gain: Gain::Linear, ..Convention::default() };
        let relevance = LambdaOptions::tuned("ndcg".parse()?);
        let revenue = "ndcg".parse::<Metric>()?.with_convention(&linear)?;
        let revenue = LambdaOptions { metric: revenue, ..relevance.clone() };
        let extra = self.dataset.extra_labels("revenue")?;
        let columns = [call.target.labels, extra];
        gradients.fill(Gradient::default());
        for ((options, labels), weight) in
            [relevance, revenue].into_iter().zip(columns).zip(self.weights)
        {
            let target = Target { labels, ..*call.target };
            let mut own = vec![Gradient::default(); gradients.len()];
            let state = State { round: call.state.round, scores: call.state.scores };
            LambdaRank::new(options)?.gradients(&target, state, &mut own, call.interrupt)?;
            for (sum, own) in gradients.iter_mut().zip(own) {
                sum.grad += weight as f32 * own.grad;
                sum.hess += weight as f32 * own.hess;
            }
        }
        Ok(())
    }
}

/// Rows with a revenue that has little to do with the relevance.
fn data(rows: &Rows) -> RowData {
    let revenue = |cells: &[f32]| if cells[3].is_nan() { 0.0 } else { cells[3] * 2.5 };
    let values = rows.cells.chunks_exact(rows::FEATURES).map(revenue).collect();
    let extra_labels = vec![ExtraLabels { name: "revenue".to_owned(), values }];
    RowData { extra_labels, ..rows.data() }
}

fn dataset(rows: &Rows) -> Arc<Dataset> {
    rows.dataset_of(data(rows))
}

fn like(rows: &Rows, train: &Dataset) -> Arc<Dataset> {
    let binning = train.binning().clone();
    Arc::new(Dataset::like(&rows.table(), data(rows), binning, &Interrupt::new()).unwrap())
}

fn params() -> BoostingParams {
    let grow = GrowOptions { num_leaves: 6, min_leaf_docs: 3, ..GrowOptions::default() };
    BoostingParams { num_trees: 20, grow, ..BoostingParams::default() }
}

fn metrics() -> [NamedMetric; 2] {
    ["ndcg@5", "revenue@5"].map(|name| NamedMetric::read(name, &["revenue"]))
}

fn evaluated() -> Vec<EvaluationMetric> {
    let options = TrainOptions::default();
    metrics().iter().map(|metric| metric.evaluated(&options.labels).unwrap()).collect()
}

fn plan(weights: [f64; 2], guards: Vec<Guard>, sets: &[(&str, &Arc<Dataset>)]) -> TrainingPlan {
    let several = SeveralMetrics { weights: weights.to_vec(), guards };
    let set = |&(name, dataset): &(&str, &Arc<Dataset>)| EvaluationSet {
        name: name.to_owned(),
        dataset: dataset.clone(),
    };
    TrainingPlan {
        params: params(),
        loss: TrainOptions::default().weighted_loss(&metrics(), several, true).unwrap(),
        evaluation_sets: sets.iter().map(set).collect(),
        metrics: evaluated(),
        patience: None,
        base: None,
    }
}

fn trainer(dataset: &Arc<Dataset>, plan: TrainingPlan) -> Result<BoostingTrainer> {
    BoostingTrainer::new(dataset.clone(), plan, &Interrupt::new())
}

fn run(trainer: &mut BoostingTrainer) -> Model {
    while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
    trainer.model().clone()
}

/// The trees of a model as text, without the notes on its training.
fn trees(model: &Model) -> Vec<String> {
    model.trees().map(|tree| format!("{tree:?}")).collect()
}

#[test]
fn gradients_are_the_weighted_sum_of_those_of_each_metric() {
    let train = dataset(&Rows::new(80, 1));
    for weights in [[1.0, 0.3], [0.0, 1.0], [2.5, 0.0]] {
        let ours = run(&mut trainer(&train, plan(weights, Vec::new(), &[])).unwrap());
        let sum = Box::new(Sum { weights, dataset: train.clone() });
        let loss = TrainingLoss::other("sum", sum);
        let plan = TrainingPlan { loss, ..plan(weights, Vec::new(), &[]) };
        assert_eq!(trees(&ours), trees(&run(&mut trainer(&train, plan).unwrap())), "{weights:?}");
    }
}

#[test]
fn extra_labels_change_what_is_learned() {
    let train = dataset(&Rows::new(80, 1));
    let of = |weights| trees(&run(&mut trainer(&train, plan(weights, Vec::new(), &[])).unwrap()));
    assert_ne!(of([1.0, 0.0]), of([1.0, 0.5]));
}

/// A guard on the relevance while the revenue rises, from a base that was trained for the relevance.
fn guarded(train: &Arc<Dataset>, valid: &Arc<Dataset>, fall: f64) -> TrainingPlan {
    let base = run(&mut trainer(train, plan([1.0, 0.0], Vec::new(), &[])).unwrap());
    let guards = vec![Guard { metric: 0, fall }];
    let sets = [("valid", valid), ("train", train)];
    TrainingPlan { base: Some(base.into()), ..plan([0.0, 1.0], guards, &sets) }
}

#[test]
fn the_best_round_keeps_the_guard_on_every_set() {
    let train = dataset(&Rows::new(120, 1));
    let valid = like(&Rows::new(60, 2), &train);
    for fall in [0.0, 0.01, 0.1] {
        let mut made = trainer(&train, guarded(&train, &valid, fall)).unwrap();
        run(&mut made);
        let names: Vec<_> = made.names().collect();
        assert_eq!(names[2], ("valid", "weighted"));
        // The values before the first round, from a training whose first round is not taken.
        let before = reference(&train, &valid);
        let holds =
            |values: &Vec<f64>| values[0] >= before[0] - fall && values[3] >= before[1] - fall;
        let mut best: Option<(usize, f64)> = None;
        for (round, values) in made.history().iter().enumerate() {
            assert_eq!(holds(values), !values[2].is_nan(), "round {round}: {values:?}");
            assert_eq!(holds(values), !values[5].is_nan());
            if holds(values) {
                // All the weight is on the revenue.
                assert!((values[2] - values[1]).abs() < 1e-15);
                if best.is_none_or(|(_, value)| values[1] > value) {
                    best = Some((round, values[1]));
                }
            }
        }
        let before = made.num_before();
        let expected = best.map_or(before, |(round, _)| before + round + 1);
        assert_eq!(made.best_round(), Some(expected));
    }
}

/// The NDCG@5 of the base on both sets, measured on its own.
fn reference(train: &Arc<Dataset>, valid: &Arc<Dataset>) -> [f64; 2] {
    let sets = [("valid", valid), ("train", train)];
    let mut made = trainer(train, plan([1.0, 0.0], Vec::new(), &sets)).unwrap();
    run(&mut made);
    let last = made.history().last().unwrap();
    [last[0], last[3]]
}

#[test]
fn the_weight_of_a_guarded_metric_makes_it_rise_again() {
    let train = dataset(&Rows::new(120, 1));
    let valid = like(&Rows::new(60, 2), &train);
    let lowest = |plan: TrainingPlan| {
        let mut made = trainer(&train, plan).unwrap();
        run(&mut made);
        made.history().iter().map(|values| values[3]).fold(f64::INFINITY, f64::min)
    };
    let guarded_plan = guarded(&train, &valid, 0.01);
    let free = TrainingPlan {
        base: guarded_plan.base.clone(),
        ..plan([0.0, 1.0], Vec::new(), &[("valid", &valid), ("train", &train)])
    };
    assert!(lowest(guarded_plan) > lowest(free) + 0.01);
}

#[test]
fn threads_and_the_order_of_rows_change_nothing() {
    let (rows, others) = (Rows::new(60, 4), Rows::new(30, 5));
    let of = |rows: &Rows, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let train = dataset(rows);
            let valid = like(&others, &train);
            let mut made = trainer(&train, guarded(&train, &valid, 0.02)).unwrap();
            (run(&mut made).to_text(), format!("{:?}", made.history()))
        })
    };
    let first = of(&rows, 1);
    assert!(first == of(&rows, 2));
    assert!(first == of(&rows.shuffled(3), 2));
}

#[test]
fn documents_that_differ_in_extra_labels_alone_are_told_apart() {
    let mut rows = Rows::new(20, 7);
    for row in (0..rows.labels.len() - 1).step_by(2) {
        let (a, b) = (row * rows::FEATURES, (row + 1) * rows::FEATURES);
        rows.cells.copy_within(a..b, b);
        rows.labels[row + 1] = rows.labels[row];
        rows.codes[row + 1] = rows.codes[row];
    }
    let with = |offset: usize| {
        let mut data = rows.data();
        // A last row without a copy has no revenue.
        let paired = rows.labels.len() / 2 * 2;
        let revenue = |row: usize| if row < paired { ((row + offset) % 2) as f32 } else { 0.0 };
        let values = (0..rows.labels.len()).map(revenue).collect();
        data.extra_labels = vec![ExtraLabels { name: "revenue".to_owned(), values }];
        rows.dataset_of(data)
    };
    // Which of two copies has which label makes no difference; that they differ does.
    assert_eq!(with(0).fingerprint(), with(1).fingerprint());
    assert_ne!(with(0).fingerprint(), rows.dataset().fingerprint());
}

#[test]
fn resuming_and_taking_back_give_the_same_bytes() {
    let train = dataset(&Rows::new(60, 5));
    let valid = like(&Rows::new(40, 6), &train);
    let begin = || trainer(&train, guarded(&train, &valid, 0.01)).unwrap();
    let never = Interrupt::new();
    let mut whole = begin();
    let expected = (run(&mut whole).to_text(), format!("{:?}", whole.history()));
    for stop in [1, 7, 19] {
        let mut first = begin();
        for _ in 0..stop {
            first.next_round(&never).unwrap();
        }
        first.take_back().unwrap();
        let checkpoint = first.checkpoint();
        let plan = guarded(&train, &valid, 0.01);
        let second = BoostingTrainer::resume(train.clone(), plan, checkpoint, &never).unwrap();
        for mut made in [first, second] {
            let text = run(&mut made).to_text();
            assert!((text, format!("{:?}", made.history())) == expected, "stopped at {stop}");
        }
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let train = dataset(&Rows::new(20, 1));
    let refused = |plan| trainer(&train, plan).unwrap_err().to_string();
    assert!(refused(plan([0.0, 0.0], Vec::new(), &[])).contains("all weights are 0"));
    assert!(refused(plan([1.0, -1.0], Vec::new(), &[])).contains("finite number from 0"));
    let guard = |fall| vec![Guard { metric: 0, fall }];
    assert!(refused(plan([1.0, 0.0], guard(0.1), &[])).contains("no set is evaluated"));
    let sets = [("train", &train)];
    assert!(refused(plan([1.0, 0.0], guard(-0.1), &sets)).contains("finite number from 0"));
    let plain = Rows::new(20, 1).dataset();
    let error = trainer(&plain, plan([1.0, 1.0], Vec::new(), &[("train", &plain)])).unwrap_err();
    assert!(error.to_string().contains("no labels called revenue"), "{error}");
    let mut options = TrainOptions::default();
    options.set("objective", &ParamValue::Text("ranknet".to_owned())).unwrap();
    let several = SeveralMetrics { weights: vec![1.0, 1.0], guards: Vec::new() };
    let error = options.weighted_loss(&metrics(), several, true).unwrap_err();
    assert!(error.to_string().contains("lambdamart"), "{error}");
}
