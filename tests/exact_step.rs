//! Exact steps and the weights of trees: as good as brute force, and the same for any order.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BaseModel, BoostingParams, BoostingTrainer, EvaluationMetric, EvaluationSet, ExactStep,
    ReweighOptions, StepRule, StepTies, TrainingLoss, TrainingPlan, merged, reweigh, score_dataset,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::Model;
use rustrank::model::Normalisation::AsIs;
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::random::draw;
use rustrank::tree::GrowOptions;
use rustrank::{Grouping, Interrupt, Mean, Metric};
use std::sync::Arc;

const FEATURES: usize = 6;
const DOCS: u64 = 12;

/// Queries of twelve docs whose labels the features tell, with noise; rows in an order of `shuffle`.
fn dataset(queries: std::ops::Range<u64>, shuffle: u64, like: Option<&Dataset>) -> Dataset {
    let mut rows: Vec<u64> = (queries.start * DOCS..queries.end * DOCS).collect();
    if shuffle > 0 {
        rows.sort_by_key(|&row| draw(shuffle, 0, row));
    }
    let cell = |row, feature| draw(1, feature, row) as f64 / 2f64.powi(64);
    let features: Vec<f32> = rows
        .iter()
        .flat_map(|&row| (0..FEATURES as u64).map(move |feature| cell(row, feature) as f32))
        .collect();
    let label = |&row: &u64| {
        let signal = cell(row, 0) + cell(row, 1) * cell(row, 2) + 0.4 * cell(row, 9);
        (2.0 * signal).floor() as f32
    };
    let labels = rows.iter().map(label).collect();
    let codes: Vec<u32> = rows.iter().map(|&row| (row / DOCS - queries.start) as u32).collect();
    let grouping = Grouping::from_codes(&codes, (queries.end - queries.start) as usize).unwrap();
    let never = Interrupt::new();
    let table = StridedTable::by_row(&features, FEATURES, MissingPolicy::default());
    let data = RowData::new(labels, grouping);
    match like {
        Some(like) => Dataset::like(&table, data, like.binning().clone(), &never).unwrap(),
        None => Dataset::new(&table, data, &BinOptions::default(), &never).unwrap(),
    }
}

fn metric() -> Metric {
    "ndcg@5".parse().unwrap()
}

fn plan(step: StepRule, valid: Option<&Arc<Dataset>>) -> TrainingPlan {
    let grow = GrowOptions { num_leaves: 6, min_leaf_docs: 5, ..GrowOptions::default() };
    let evaluation_sets =
        |set: &Arc<Dataset>| EvaluationSet { name: "valid".to_owned(), dataset: set.clone() };
    TrainingPlan {
        params: BoostingParams { num_trees: 8, step, grow, ..BoostingParams::default() },
        loss: TrainingLoss::new(&ObjectiveOptions::new(
            ObjectiveKind::LambdaRank,
            "ndcg".parse().unwrap(),
        ))
        .unwrap(),
        evaluation_sets: valid.map(evaluation_sets).into_iter().collect(),
        metrics: vec![EvaluationMetric::Metric(metric())],
        patience: None,
        base: None,
    }
}

fn trained(data: &Arc<Dataset>, plan: TrainingPlan) -> BoostingTrainer {
    let never = Interrupt::new();
    let mut trainer = BoostingTrainer::new(data.clone(), plan, &never).unwrap();
    while trainer.next_round(&never).unwrap().is_some() {}
    trainer
}

fn value(model: &Model, data: &Dataset) -> f64 {
    let scores = score_dataset(model, data, &Interrupt::new()).unwrap();
    value_of(&scores, data)
}

fn value_of(scores: &[f64], data: &Dataset) -> f64 {
    let metric = metric();
    let values =
        metric.per_query(scores, data.labels(), data.queries(), &Interrupt::new()).unwrap();
    Mean::of(&values, data.query_weight()).unwrap().value
}

/// With a learning rate of 1 a tree must be worth at least what any multiple of it is.
///
/// Multiples are judged a little beside: what ties right at one may be worth more in expectation than
/// either order, and a step is chosen among open intervals. Docs do cross at twice the middle of an interval
/// that begins at 0.
fn no_multiple_is_better(
    set: Option<usize>,
    ties: StepTies,
    data: &Arc<Dataset>,
    judge: &Arc<Dataset>,
) {
    let step = StepRule::Exact(ExactStep { set, ties, from: 1e-9, ..ExactStep::new(metric()) });
    let mut plan = plan(step, set.map(|_| judge));
    plan.params.learning_rate = 1.0;
    let trainer = trained(data, plan);
    let mut moved = 0;
    for number in 1..=trainer.num_rounds() {
        let before = trainer.model().slice(0..number - 1);
        let tree = trainer.model().slice(number - 1..number);
        let never = Interrupt::new();
        let rest = score_dataset(&before, judge, &never).unwrap();
        let own = score_dataset(&tree, judge, &never).unwrap();
        let at = |factor: f64| {
            let scores = untied(ties, [&rest, &own], factor, judge);
            value_of(&scores, judge)
        };
        let taken = at(1.0);
        let beaten = (1..=400).map(|at| f64::from(at) / 100.0).filter(|&factor| {
            let beside = [-1e-7, 1e-7].map(|by| at(factor * (1.0 + by)));
            let value = beside[0].max(beside[1]);
            moved += usize::from(value < taken);
            value > taken + 1e-9
        });
        let beaten: Vec<f64> = beaten.collect();
        assert!(beaten.is_empty(), "tree {number}: {beaten:?} are better");
    }
    assert!(moved > 0, "some multiple is worse");
}

/// Scores that rank the docs of each query as `rest + factor * tree`, and those that tie in it as
/// `ties` says.
fn untied(ties: StepTies, parts: [&[f64]; 2], factor: f64, judge: &Dataset) -> Vec<f64> {
    let mixed: Vec<f64> = parts[0].iter().zip(parts[1]).map(|(r, t)| r + factor * t).collect();
    match ties {
        StepTies::Expected => mixed,
        StepTies::Jitter(_) => unreachable!("it depends on the bits of the outputs"),
        StepTies::Feature(feature) => {
            let location = judge.binning().layout().locations()[feature].unwrap();
            let bin = |doc: usize| judge.matrix().code(doc, location);
            let above = |doc: usize, other: usize| match mixed[doc] - mixed[other] {
                gap if gap.abs() < 1e-9 => bin(doc) > bin(other),
                gap => gap > 0.0,
            };
            let better = |doc: usize| {
                let docs = judge.queries().range(judge.queries().of_doc(doc));
                docs.filter(|&other| above(doc, other)).count() as f64
            };
            (0..mixed.len()).map(better).collect()
        }
    }
}

#[test]
fn exact_steps_rank_ties_by_jitter_or_by_a_feature() {
    let data = Arc::new(dataset(0..40, 0, None));
    let shuffled = Arc::new(dataset(0..40, 1, None));
    let mut texts = Vec::new();
    for ties in [StepTies::Expected, StepTies::Jitter(0), StepTies::Jitter(1), StepTies::Feature(1)]
    {
        if !matches!(ties, StepTies::Jitter(_)) {
            no_multiple_is_better(None, ties, &data, &data);
        }
        let step = StepRule::Exact(ExactStep { ties, ..ExactStep::new(metric()) });
        let text = trained(&data, plan(step.clone(), None)).model().to_text();
        assert_eq!(trained(&shuffled, plan(step, None)).model().to_text(), text, "{ties:?}");
        texts.push(text);
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 4, "each way chooses other steps");
}

#[test]
fn no_multiple_of_a_tree_is_better_than_an_exact_step() {
    let data = Arc::new(dataset(0..40, 0, None));
    no_multiple_is_better(None, StepTies::Expected, &data, &data);
    let valid = Arc::new(dataset(40..70, 0, Some(&data)));
    no_multiple_is_better(Some(0), StepTies::Expected, &data, &valid);
}

#[test]
fn neither_order_nor_threads_nor_a_break_change_a_byte() {
    let data = Arc::new(dataset(0..40, 0, None));
    for set in [None, Some(0)] {
        let step = StepRule::Exact(ExactStep { set, ..ExactStep::new(metric()) });
        let text = |shuffle: u64| {
            let data = Arc::new(dataset(0..40, shuffle, None));
            let valid = Arc::new(dataset(40..60, shuffle, Some(&data)));
            trained(&data, plan(step.clone(), Some(&valid))).model().to_text()
        };
        let truth = text(0);
        assert_eq!(text(1), truth);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| text(2)), truth);
        }
        let never = Interrupt::new();
        let valid = Arc::new(dataset(40..60, 0, Some(&data)));
        let plan = || plan(step.clone(), Some(&valid));
        let mut trainer = BoostingTrainer::new(data.clone(), plan(), &never).unwrap();
        for _ in 0..3 {
            trainer.next_round(&never).unwrap();
        }
        let checkpoint = trainer.checkpoint();
        let mut resumed =
            BoostingTrainer::resume(data.clone(), plan(), checkpoint.clone(), &never).unwrap();
        while resumed.next_round(&never).unwrap().is_some() {}
        assert_eq!(resumed.model().to_text(), truth);
        let mut other = plan();
        other.params.step = StepRule::Newton;
        let refused = BoostingTrainer::resume(data.clone(), other, checkpoint, &never).unwrap_err();
        assert!(refused.to_string().contains("another step"), "{refused}");
    }
}

#[test]
fn no_newton_step_is_better_than_an_exact_one() {
    let data = Arc::new(dataset(0..100, 0, None));
    let full = |step| {
        let mut plan = plan(step, None);
        plan.params.learning_rate = 1.0;
        plan
    };
    let exact = trained(&data, full(StepRule::Exact(ExactStep::new(metric()))));
    assert_eq!(exact.model().attributes()["step"], "exact ndcg@5 on train, 0.1 to 100");
    for number in 0..exact.num_rounds() {
        let base = Some(exact.model().slice(0..number)).filter(|_| number > 0);
        let never = Interrupt::new();
        let base = base.map(BaseModel::from);
        let plan = TrainingPlan { base, ..full(StepRule::Newton) };
        let mut newton = BoostingTrainer::new(data.clone(), plan, &never).unwrap();
        newton.next_round(&never).unwrap();
        let ours = value(&exact.model().slice(0..number + 1), &data);
        assert!(ours >= value(newton.model(), &data), "tree {number}");
        if number == 0 {
            // Any alpha orders docs alike that only the first tree tells.
            assert_eq!(exact.model().trees().next(), newton.model().trees().next());
        }
    }
}

#[test]
fn reweighing_never_lowers_the_metric_and_ends() {
    let data = Arc::new(dataset(0..60, 0, None));
    let valid = dataset(60..90, 0, Some(&data));
    let model = trained(&data, plan(StepRule::Newton, None)).model().clone();
    let never = Interrupt::new();
    let options = ReweighOptions::new(metric());
    let found = reweigh(&model, &data, None, &options, &never).unwrap();
    assert!(found.history.len() > 1 && found.history.len() <= options.most_passes);
    assert!(found.history.is_sorted_by(|x, y| x < y));
    assert_eq!(found.history[0], value(&model, &data));
    assert_eq!(*found.history.last().unwrap(), value(&found.model, &data));
    // No other weight of a tree is better.
    let again = reweigh(&found.model, &data, None, &options, &never).unwrap();
    assert_eq!((again.history.len(), again.model), (1, found.model.clone()));

    let stopped = reweigh(&model, &data, Some(&valid), &options, &never).unwrap();
    let best = stopped.held_out.iter().copied().fold(0.0, f64::max);
    assert_eq!(value(&stopped.model, &valid), best);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again =
            pool.install(|| reweigh(&model, &dataset(0..60, 7, None), None, &options, &never));
        assert_eq!(again.unwrap().model.to_text(), found.model.to_text());
    }
}

#[test]
fn a_sum_of_models_scores_a_dataset_as_its_parts_do() {
    let never = Interrupt::new();
    let data = Arc::new(dataset(0..40, 0, None));
    let model = trained(&data, plan(StepRule::Newton, None)).model().clone();
    let mut shifted = model.slice(0..3);
    shifted.set_intercept(0.25).unwrap();
    let sum = merged(vec![(0.7, model.clone(), AsIs), (-1.5, shifted.clone(), AsIs)]).unwrap();
    assert_eq!(sum.num_trees(), 8, "one with an intercept stays inside as a model");
    let parts = [&model, &shifted].map(|model| score_dataset(model, &data, &never).unwrap());
    let scores = score_dataset(&sum, &data, &never).unwrap();
    for ((score, a), b) in scores.iter().zip(&parts[0]).zip(&parts[1]) {
        assert_eq!(*score, 0.7 * a + -1.5 * b);
    }
    let flat = merged(vec![(2.0, model.clone(), AsIs), (3.0, model.slice(0..3), AsIs)]).unwrap();
    assert_eq!(flat.num_trees(), 11);
}

#[test]
fn bounds_that_cannot_be_are_refused() {
    let data = Arc::new(dataset(0..10, 0, None));
    let never = Interrupt::new();
    for (from, to) in [(1.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let step = StepRule::Exact(ExactStep { from, to, ..ExactStep::new(metric()) });
        let refused = BoostingTrainer::new(data.clone(), plan(step, None), &never).unwrap_err();
        assert!(refused.to_string().contains("the range of weights of a tree"), "{refused}");
    }
    let step = StepRule::Exact(ExactStep { set: Some(0), ..ExactStep::new(metric()) });
    let refused = BoostingTrainer::new(data, plan(step, None), &never).unwrap_err();
    assert!(refused.to_string().contains("no such set"), "{refused}");
}
