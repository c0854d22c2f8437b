//! Refitted leaves: the slow formula, and the same for any order.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, RefitOptions, TrainingLoss, TrainingPlan, refit,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::{Component, Linear, Model, Part};
use rustrank::objective::{ObjectiveKind, ObjectiveOptions, State, Target};
use rustrank::random::draw;
use rustrank::tree::GrowOptions;
use rustrank::{Gradient, Grouping, Interrupt};
use std::sync::Arc;

const FEATURES: usize = 5;
const DOCS: u64 = 9;

/// Rows of a market: which features tell labels is a matter of the market.
struct Rows {
    cells: Vec<f32>,
    labels: Vec<f32>,
    codes: Vec<u32>,
}

fn rows(market: u64, queries: u64, shuffle: u64) -> Rows {
    let mut rows: Vec<u64> = (0..queries * DOCS).collect();
    if shuffle > 0 {
        rows.sort_by_key(|&row| draw(shuffle, 0, row));
    }
    let cell = |row: u64, feature: u64| (draw(market, feature, row) >> 40) as f32 / 2f32.powi(24);
    let label = |&row: &u64| (2.4 * cell(row, market % 3) + 0.5 * cell(row, 4)).floor();
    Rows {
        cells: rows
            .iter()
            .flat_map(|&row| (0..FEATURES as u64).map(move |f| cell(row, f)))
            .collect(),
        labels: rows.iter().map(label).collect(),
        codes: rows.iter().map(|&row| (row / DOCS) as u32).collect(),
    }
}

fn dataset(rows: &Rows, like: Option<&Dataset>) -> Dataset {
    let queries = *rows.codes.iter().max().unwrap() as usize + 1;
    let grouping = Grouping::from_codes(&rows.codes, queries).unwrap();
    let never = Interrupt::new();
    let table = StridedTable::by_row(&rows.cells, FEATURES, MissingPolicy::default());
    let data = RowData::new(rows.labels.clone(), grouping);
    match like {
        Some(like) => Dataset::like(&table, data, like.binning().clone(), &never).unwrap(),
        None => Dataset::new(&table, data, &BinOptions::default(), &never).unwrap(),
    }
}

fn options_of_loss() -> ObjectiveOptions {
    ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg".parse().unwrap())
}

fn loss() -> TrainingLoss {
    TrainingLoss::new(&options_of_loss()).unwrap()
}

fn trained(data: &Arc<Dataset>) -> Model {
    let grow = GrowOptions { num_leaves: 6, min_leaf_docs: 5, ..GrowOptions::default() };
    let plan = TrainingPlan {
        params: BoostingParams { num_trees: 7, grow, ..BoostingParams::default() },
        loss: loss(),
        evaluation_sets: Vec::new(),
        metrics: Vec::new(),
        patience: None,
        base: None,
    };
    let never = Interrupt::new();
    let mut trainer = BoostingTrainer::new(data.clone(), plan, &never).unwrap();
    while trainer.next_round(&never).unwrap().is_some() {}
    trainer.model().clone()
}

fn refitted(model: &Model, data: &Dataset, options: &RefitOptions) -> Model {
    refit(model, data, &loss(), options, &Interrupt::new()).unwrap()
}

/// Each tree's leaf values, doc by doc and leaf by leaf.
fn slowly(model: &Model, rows: &Rows, data: &Dataset, options: &RefitOptions) -> Vec<Vec<f64>> {
    let objective = options_of_loss().build().unwrap();
    let target = Target {
        labels: data.labels(),
        queries: data.queries(),
        query_weight: None,
        row_weight: None,
        doc_hash: data.doc_hash(),
    };
    let mut scores = vec![model.intercept(); data.num_docs()];
    let mut all = Vec::new();
    for (round, tree) in model.trees().enumerate() {
        let mut gradients = vec![Gradient::default(); data.num_docs()];
        let state = State { round: round as u64, scores: &scores };
        objective.gradients(&target, state, &mut gradients, &Interrupt::new()).unwrap();
        let leaf = |doc: usize| {
            let row = data.rows()[doc] as usize;
            tree.leaf_of(|feature| f64::from(rows.cells[row * FEATURES + feature as usize]))
        };
        let leaf_of: Vec<usize> = (0..data.num_docs()).map(leaf).collect();
        let values: Vec<f64> = (0..tree.leaves().len())
            .map(|leaf| {
                let docs: Vec<usize> = (0..leaf_of.len()).filter(|&d| leaf_of[d] == leaf).collect();
                let grad: f64 = docs.iter().map(|&doc| f64::from(gradients[doc].grad)).sum();
                let hess: f64 = docs.iter().map(|&doc| f64::from(gradients[doc].hess)).sum();
                let before = tree.leaves()[leaf].value;
                if docs.is_empty() || hess + options.l2 <= 0.0 {
                    return before;
                }
                let prior = options.prior_docs / (options.prior_docs + docs.len() as f64);
                let kept = options.decay + (1.0 - options.decay) * prior;
                kept * before - (1.0 - kept) * options.learning_rate * grad / (hess + options.l2)
            })
            .collect();
        for (score, &leaf) in scores.iter_mut().zip(&leaf_of) {
            *score += f64::from(values[leaf] as f32);
        }
        all.push(values);
    }
    all
}

#[test]
fn leaf_values_are_those_of_the_slow_formula() {
    let model = trained(&Arc::new(dataset(&rows(3, 60, 0), None)));
    let here = rows(4, 12, 0);
    let there = Arc::new(dataset(&rows(3, 60, 0), None));
    let data = dataset(&here, Some(&there));
    for (decay, prior_docs, l2) in
        [(0.0, 0.0, 0.0), (0.3, 0.0, 0.5), (0.0, 20.0, 0.0), (0.7, 5.0, 2.0)]
    {
        let options = RefitOptions { decay, prior_docs, l2, learning_rate: 0.3 };
        let made = refitted(&model, &data, &options);
        let truth = slowly(&model, &here, &data, &options);
        for ((tree, old), values) in made.trees().zip(model.trees()).zip(truth) {
            assert_eq!(tree.splits(), old.splits());
            for (leaf, value) in tree.leaves().iter().zip(values) {
                assert!((leaf.value - value).abs() < 1e-6, "{} {value}", leaf.value);
            }
        }
        assert!(made.attributes()["refitted"].contains("objective lambdarank"));
    }
}

#[test]
fn a_decay_of_one_changes_no_leaf() {
    let data = Arc::new(dataset(&rows(3, 40, 0), None));
    let model = trained(&data);
    let options = RefitOptions { decay: 1.0, ..RefitOptions::default() };
    let other = dataset(&rows(4, 20, 0), Some(&data));
    let made = refitted(&model, &other, &options);
    assert!(made.trees().eq(model.trees()));
}

#[test]
fn what_trees_were_grown_from_gives_their_leaves_again() {
    let data = Arc::new(dataset(&rows(3, 40, 0), None));
    let model = trained(&data);
    let options = RefitOptions { decay: 0.0, ..RefitOptions::default() };
    let made = refitted(&model, &data, &options);
    for (leaf, old) in
        made.trees().zip(model.trees()).flat_map(|(a, b)| a.leaves().iter().zip(b.leaves()))
    {
        // Growing sums integers.
        assert!((leaf.value - old.value).abs() < 1e-5, "{} {}", leaf.value, old.value);
    }
}

#[test]
fn a_leaf_without_docs_stays_as_it_was() {
    let data = Arc::new(dataset(&rows(3, 40, 0), None));
    let model = trained(&data);
    let mut few = rows(4, 1, 0);
    // Docs that are alike in all features, so that they share a leaf.
    few.cells.fill(0.5);
    few.labels = (0..DOCS).map(|doc| (doc % 3) as f32).collect();
    let made = refitted(&model, &dataset(&few, Some(&data)), &RefitOptions::default());
    for (tree, old) in made.trees().zip(model.trees()) {
        let changed = tree.leaves().iter().zip(old.leaves()).filter(|(a, b)| a.value != b.value);
        assert!(changed.count() <= 1);
    }
}

#[test]
fn neither_order_nor_threads_change_a_byte() {
    let there = Arc::new(dataset(&rows(3, 40, 0), None));
    let model = trained(&there);
    let text = |shuffle| {
        let data = dataset(&rows(4, 1000, shuffle), Some(&there));
        refitted(&model, &data, &RefitOptions::default()).to_text()
    };
    let truth = text(0);
    assert_eq!(text(1), truth);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| text(2)), truth);
    }
}

#[test]
fn what_cannot_be_refitted_is_refused() {
    let data = Arc::new(dataset(&rows(3, 40, 0), None));
    let model = trained(&data);
    let never = Interrupt::new();
    let said = |model: &Model, data: &Dataset, options: &RefitOptions| {
        refit(model, data, &loss(), options, &never).unwrap_err().to_string()
    };
    let good = RefitOptions::default();
    for (options, what) in [
        (RefitOptions { decay: 1.5, ..good.clone() }, "decay"),
        (RefitOptions { learning_rate: 0.0, ..good.clone() }, "learning_rate"),
        (RefitOptions { prior_docs: f64::NAN, ..good.clone() }, "prior_docs"),
        (RefitOptions { l2: -1.0, ..good.clone() }, "l2"),
    ] {
        assert!(said(&model, &data, &options).contains(what));
    }
    let mut mixed = model.clone();
    let linear = Linear::new(vec![(0, 1.0)]);
    mixed.add(Component::new(Part::Linear(linear))).unwrap();
    assert!(said(&mixed, &data, &good).contains("trees alone"));
    let mut other = rows(3, 40, 1);
    other.cells.iter_mut().for_each(|cell| *cell += 0.0371);
    let other = dataset(&other, None);
    assert!(said(&model, &other, &good).contains("thresholds"));
    assert!(said(&Model::new(FEATURES + 1), &data, &good).contains("number of features"));
}
