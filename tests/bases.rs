//! Trees on a base of any kind: the whole is one file that scores to the same bits.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{Random, native};
use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BaseModel, BoostingParams, BoostingTrainer, EvaluationMetric, TrainingLoss, TrainingPlan,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::interop::lightgbm;
use rustrank::model::{Class, Classes, Component, Link, Model, Part};
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::tree::GrowOptions;
use rustrank::{Grouping, Interrupt};
use std::sync::Arc;

const FEATURES: usize = 5;
const QUERIES: u32 = 60;
const DOCS: usize = 9;

/// A model that another library has written.
fn foreign() -> Model {
    let text = lightgbm::write(&native(3, FEATURES, &[7, 12, 2])).unwrap();
    lightgbm::read(&text).unwrap()
}

/// Forests for three labels.
fn classes() -> Model {
    let label = |k: usize| Class { label: k as f64, gain: f64::from((1u32 << k) - 1) };
    let all: Vec<Class> = (0..3).map(label).collect();
    let mut made = Classes::new(FEATURES, Link::Softmax, &all, vec![0.1, -0.2, 0.3]).unwrap();
    for round in 0..3 {
        let trees = (0..3).map(|class| {
            let forest = native(10 * round + class, FEATURES, &[5]);
            forest.trees().next().unwrap().clone()
        });
        made.push(trees.collect()).unwrap();
    }
    let mut model = Model::new(FEATURES);
    model.add(Component::new(Part::Classes(made))).unwrap();
    model
}

/// The nets of the golden file.
fn net() -> Model {
    let golden = Model::from_text(include_bytes!("golden/model-1-nets.rrk")).unwrap();
    let nets = golden.components().iter().filter(|c| matches!(c.part, Part::Mlp(_)));
    let mut model = Model::new(FEATURES);
    nets.for_each(|net| model.add(net.clone()).unwrap());
    assert!(!model.components().is_empty());
    model
}

fn scores(model: &Model, cells: &[f32]) -> Vec<f64> {
    let mut scores = vec![0.0; cells.len() / FEATURES];
    model.scorer().score(cells, &mut scores).unwrap();
    scores
}

#[test]
fn a_base_of_any_kind_travels_in_the_file_and_scores_to_the_same_bits() {
    let mut random = Random::new(5);
    let docs = DOCS * QUERIES as usize;
    let cells: Vec<f32> = (0..docs * FEATURES)
        .map(|_| if random.below(20) == 0 { f32::NAN } else { (8.0 * random.unit()) as f32 - 4.0 })
        .collect();
    let labels: Vec<f32> = cells.chunks(FEATURES).map(|row| row[2].max(0.0).floor()).collect();
    let codes: Vec<u32> = (0..QUERIES).flat_map(|query| [query; DOCS]).collect();
    for base in [foreign(), classes(), net()] {
        let grouping = Grouping::from_codes(&codes, QUERIES as usize).unwrap();
        let mut data = RowData::new(labels.clone(), grouping);
        let before = scores(&base, &cells);
        data.base_score = Some(data.grouping.scatter(&before));
        let table = StridedTable::by_row(&cells, FEATURES, MissingPolicy::default());
        let never = Interrupt::new();
        let train = Dataset::new(&table, data, &BinOptions::default(), &never).unwrap();
        let grow = GrowOptions { num_leaves: 6, min_leaf_docs: 3, ..GrowOptions::default() };
        let options = ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg@5".parse().unwrap());
        let plan = TrainingPlan {
            params: BoostingParams { num_trees: 5, grow, ..BoostingParams::default() },
            loss: TrainingLoss::new(&options).unwrap(),
            evaluation_sets: Vec::new(),
            metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
            patience: None,
            base: Some(BaseModel { model: base.clone(), is_scored: true }),
        };
        let mut trainer = BoostingTrainer::new(Arc::new(train), plan, &never).unwrap();
        while trainer.next_round(&never).unwrap().is_some() {}
        let model = trainer.model();
        assert_eq!(model.components()[..base.components().len()], *base.components());
        let path = std::env::temp_dir().join(format!("rustrank-base-{}.rrk", std::process::id()));
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&loaded, model);
        let found = scores(model, &cells);
        assert_eq!(scores(&loaded, &cells), found);
        // One doc at a time, and all at once.
        let alone: Vec<f64> = cells.chunks(FEATURES).flat_map(|row| scores(&loaded, row)).collect();
        assert_eq!(alone, found);
        assert_ne!(found, before);
    }
}
