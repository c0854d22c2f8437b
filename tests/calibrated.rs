//! Calibrated models: the fit is that of a slow search, and scores are the same on every path.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{Random, native};
use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BaseModel, BoostingParams, BoostingTrainer, EvaluationMetric, TrainingLoss, TrainingPlan,
    score_dataset,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::{Calibrated, Component, Knot, Model, Normalisation, Part, Scorer};
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::simd::Level;
use rustrank::{Grouping, Interrupt};
use std::sync::Arc;

/// Scores with many ties, and labels that tend to rise with them.
fn judged(seed: u64, docs: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let scores: Vec<f64> = (0..docs).map(|_| random.below(40) as f64 / 8.0 - 2.5).collect();
    let noise = |score: f64, random: &mut Random| f64::from(score + 6.0 * random.unit() > 3.0);
    let labels = scores.iter().map(|&score| noise(score, &mut random)).collect();
    (scores, labels)
}

fn fitted(scores: &[f64], labels: &[f64]) -> Calibrated {
    Calibrated::fit(Model::new(1), scores, labels, 1.0).unwrap()
}

/// The isotonic regression at each of `scores`: the largest over all starts at or below, of the least over
/// all ends at or above, of the share of relevant docs between.
fn slow(scores: &[f64], labels: &[f64]) -> Vec<f64> {
    let share = |from: f64, to: f64| {
        let inside = scores.iter().zip(labels).filter(|(s, _)| (from..=to).contains(*s));
        let (docs, relevant) =
            inside.fold((0.0, 0.0), |(n, sum), (_, label)| (n + 1.0, sum + label));
        relevant / docs
    };
    let ends = |from: f64, score: f64| {
        let above = scores.iter().filter(|&&to| to >= score);
        above.map(|&to| share(from, to)).fold(f64::INFINITY, f64::min)
    };
    let at = |&score: &f64| {
        let below = scores.iter().filter(|&&from| from <= score);
        below.map(|&from| ends(from, score)).fold(f64::NEG_INFINITY, f64::max)
    };
    scores.iter().map(at).collect()
}

#[test]
fn the_fit_is_that_of_a_search_of_all_intervals() {
    for seed in 0..20 {
        let (scores, labels) = judged(seed, 1 + 3 * seed as usize);
        let fitted = fitted(&scores, &labels);
        let found: Vec<f64> = scores.iter().map(|&score| fitted.value(score)).collect();
        assert_eq!(found, slow(&scores, &labels), "{seed}");
        // The mean probability is the share of relevant docs.
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean(&found) - mean(&labels)).abs() < 1e-12);
    }
}

#[test]
fn the_order_of_docs_does_not_matter() {
    let (mut scores, mut labels) = judged(7, 500);
    let knots = fitted(&scores, &labels).knots().to_vec();
    scores.reverse();
    labels.reverse();
    scores.rotate_left(123);
    labels.rotate_left(123);
    assert_eq!(fitted(&scores, &labels).knots(), knots);
}

#[test]
fn values_never_fall_and_are_constant_beyond_the_ends() {
    let (scores, labels) = judged(3, 300);
    let fitted = fitted(&scores, &labels);
    let (first, last) = (fitted.knots()[0], fitted.knots()[fitted.knots().len() - 1]);
    assert_eq!((fitted.value(-1e300), fitted.value(f64::INFINITY)), (first.value, last.value));
    let all: Vec<f64> = (0..10_000).map(|i| fitted.value(f64::from(i) / 1700.0 - 3.0)).collect();
    assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(fitted.value(f64::NAN).is_nan());
    let knot = |score, value| Knot { score, value };
    let line = Calibrated::new(Model::new(1), vec![knot(1.0, 0.25), knot(3.0, 0.75)]).unwrap();
    assert_eq!([0.0, 1.0, 2.0, 3.0, 4.0].map(|x| line.value(x)), [0.25, 0.25, 0.5, 0.75, 0.75]);
}

fn calibrated(model: Model) -> Model {
    let knots = [(-2.0, 0.05), (-0.5, 0.1), (0.0, 0.4), (0.25, 0.4), (1.5, 0.9)];
    let knots = knots.map(|(score, value)| Knot { score, value }).to_vec();
    Calibrated::new(model, knots).unwrap().into_model().unwrap()
}

fn cells(count: usize, features: usize) -> Vec<f32> {
    let mut random = Random::new(4);
    let cell = |random: &mut Random| {
        if random.below(20) == 0 { f32::NAN } else { (8.0 * random.unit()) as f32 - 4.0 }
    };
    (0..count * features).map(|_| cell(&mut random)).collect()
}

fn wanted(outer: &Model, scores: &[f64]) -> Vec<f64> {
    let Part::Calibrated(part) = &outer.components()[0].part else { unreachable!("made so") };
    scores.iter().map(|&score| part.value(score)).collect()
}

#[test]
fn every_path_of_the_scorer_gives_the_value_of_the_models_score() {
    let mut model = native(1, 5, &[7, 12, 2, 300]);
    model.set_intercept(-0.125).unwrap();
    let outer = calibrated(model.clone());
    for level in Level::available() {
        for count in [1, 2, 9, 64, 65, 513] {
            let cells = cells(count, 5);
            let (mut inner, mut scores) = (vec![0.0; count], vec![0.0; count]);
            Scorer::at_level(&model, level).score(&cells, &mut inner).unwrap();
            Scorer::at_level(&outer, level).score(&cells, &mut scores).unwrap();
            assert_eq!(scores, wanted(&outer, &inner), "{level:?}, {count} docs");
        }
    }
}

#[test]
fn a_model_that_looks_at_queries_can_be_calibrated() {
    let mut ranks = Model::new(4);
    ranks.set_ranks_features().unwrap();
    native(2, 4, &[5, 9]).trees().for_each(|tree| ranks.push(tree.clone()).unwrap());
    let part = Part::Model(Box::new(native(3, 2, &[6, 4])));
    let mut normal = Model::new(2);
    normal.add(Component { weight: 0.5, normalisation: Normalisation::Query, part }).unwrap();
    let (cells, bounds) = (cells(90, 2), [0, 40, 41, 90]);
    for model in [ranks, normal] {
        let outer = calibrated(model.clone());
        assert!(outer.needs_queries());
        let scores = |model: &Model| {
            let mut scores = vec![0.0; 90];
            model.scorer().score_queries(&cells, &bounds, &mut scores).unwrap();
            scores
        };
        assert_eq!(scores(&outer), wanted(&outer, &scores(&model)));
        // As a part of a sum that another ranker is in, too.
        let sum = Model::sum(vec![(2.0, outer.clone()), (-1.0, native(9, 2, &[3]))]).unwrap();
        let both = scores(&outer).into_iter().zip(scores(&native(9, 2, &[3])));
        assert_eq!(scores(&sum), both.map(|(a, b)| 2.0 * a - b).collect::<Vec<f64>>());
    }
}

fn dataset(cells: &[f32], base: Option<Vec<f64>>) -> Dataset {
    let codes: Vec<u32> = (0..cells.len() as u32 / 5).map(|doc| doc / 9).collect();
    let labels = cells.chunks(5).map(|row| row[2].max(0.0).floor()).collect();
    let grouping = Grouping::from_codes(&codes, codes.len().div_ceil(9)).unwrap();
    let mut data = RowData::new(labels, grouping);
    data.base_score = base;
    let table = StridedTable::by_row(cells, 5, MissingPolicy::default());
    Dataset::new(&table, data, &BinOptions::default(), &Interrupt::new()).unwrap()
}

fn plan(base: Option<BaseModel>) -> TrainingPlan {
    let options = ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg@5".parse().unwrap());
    TrainingPlan {
        params: BoostingParams { num_trees: 5, ..BoostingParams::default() },
        loss: TrainingLoss::new(&options).unwrap(),
        evaluation_sets: Vec::new(),
        metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
        patience: None,
        base,
    }
}

#[test]
fn binned_docs_score_to_the_same_bits_as_raw_ones() {
    let (cells, never) = (cells(400, 5), Interrupt::new());
    let dataset = Arc::new(dataset(&cells, None));
    let mut trainer = BoostingTrainer::new(Arc::clone(&dataset), plan(None), &never).unwrap();
    while trainer.next_round(&never).unwrap().is_some() {}
    let model = calibrated(trainer.model().clone());
    let mut raw = vec![0.0; 400];
    model.scorer().score(&cells, &mut raw).unwrap();
    assert!(raw.iter().any(|&score| score != raw[0]));
    let binned = score_dataset(&model, &dataset, &never).unwrap();
    assert_eq!(dataset.by_row(&binned), raw);
}

#[test]
fn training_cannot_go_on_from_a_calibrated_model() {
    let base = calibrated(native(1, 5, &[7, 12]));
    let (cells, never) = (cells(400, 5), Interrupt::new());
    let dataset = Arc::new(dataset(&cells, Some(vec![0.5; 400])));
    let mut around = Model::new(5);
    around.add(Component::new(Part::Model(Box::new(base.clone())))).unwrap();
    for model in [base, around] {
        let plan = plan(Some(BaseModel { model, is_scored: true }));
        let error =
            BoostingTrainer::new(Arc::clone(&dataset), plan, &never).unwrap_err().to_string();
        assert!(error.contains("cannot go on from a calibrated model"), "{error}");
    }
}

#[test]
fn a_file_holds_the_knots_and_then_the_model() {
    let model = calibrated(native(1, 3, &[4, 2]));
    let text = model.to_text();
    let head = "component 1.0 as-is\ncalibrated 5\n-2.0 0.05\n-0.5 0.1\n0.0 0.4\n0.25 0.4\n1.5 0.9\nfeatures 3\n";
    assert!(text.contains(head), "{text}");
    let read = Model::from_text(text.as_bytes()).unwrap();
    assert_eq!((&read, read.to_text()), (&model, text));
    assert_eq!(model.num_trees_inside(), 2);
    assert_eq!(model.components()[0].part.forests().len(), 0);
}

#[test]
fn what_is_no_calibration_is_refused() {
    let knots = |knots: &[(f64, f64)]| {
        knots.iter().map(|&(score, value)| Knot { score, value }).collect::<Vec<_>>()
    };
    let new = |list: &[(f64, f64)]| Calibrated::new(Model::new(1), knots(list));
    for bad in [
        &[][..],
        &[(0.0, 0.5), (0.0, 0.6)],
        &[(1.0, 0.5), (0.0, 0.6)],
        &[(0.0, 0.5), (1.0, 0.4)],
        &[(f64::NAN, 0.5)],
        &[(0.0, f64::INFINITY)],
        &[(f64::MIN, 0.0), (f64::MAX, 1.0)],
    ] {
        assert!(new(bad).is_err(), "{bad:?}");
    }
    let fit = |scores: &[f64], labels: &[f64], from| {
        Calibrated::fit(Model::new(1), scores, labels, from).unwrap_err().to_string()
    };
    assert!(fit(&[], &[], 1.0).contains("at least one"));
    assert!(fit(&[1.0], &[1.0, 0.0], 1.0).contains("2 labels of 1 scores"));
    assert!(fit(&[1.0, f64::NAN], &[1.0, 0.0], 1.0).contains("score[1] is NaN"));
    assert!(fit(&[1.0, 2.0], &[1.0, f64::NAN], 1.0).contains("label[1] is NaN"));
    assert!(fit(&[1.0], &[1.0], f64::NAN).contains("relevant_from"));
    let mut ranks = Model::new(4);
    ranks.set_ranks_features().unwrap();
    let part =
        |model| Part::Calibrated(Box::new(Calibrated::new(model, knots(&[(0.0, 0.5)])).unwrap()));
    assert!(Model::new(4).add(Component::new(part(ranks.clone()))).is_err());
    assert!(ranks.add(Component::new(part(Model::new(4)))).is_err());
    assert!(Model::new(3).add(Component::new(part(Model::new(4)))).is_err());
}

#[test]
fn other_libraries_and_explanations_refuse_it_by_name() {
    let model = calibrated(native(1, 3, &[4, 2]));
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        let error = model.to_foreign(library).unwrap_err().to_string();
        assert!(error.contains("cannot hold a calibrated model"), "{error}");
    }
    let error = model.explainer().unwrap_err().to_string();
    assert!(error.contains("a calibrated model is not explained"), "{error}");
}
