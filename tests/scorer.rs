//! The scorer against a plain walker: every path, size, instruction set and number of threads.

#![expect(clippy::unwrap_used, reason = "a test")]

mod models;
mod plain_walk;

use models::{Kind, Random, mlp, native, nets, rich, tree};
use plain_walk::{bits, net_score, walk};
use rustrank::model::{
    CellType, Child, Component, Forest, Leaf, Linear, Model, Normalisation, Part, Scorer, Split,
    Tree,
};
use rustrank::simd::Level;

fn rows(seed: u64, count: usize, features: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    let kind = Kind { features, thresholds: 60, cells: CellType::F32 };
    (0..count * features).map(|_| kind.value(&mut random)).collect()
}

/// Scores by all paths equal the walker's.
fn check(model: &Model, values: &[f64], count: usize) {
    let width = model.num_features();
    let narrow: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let widened: Vec<f64> = narrow.iter().map(|&v| f64::from(v)).collect();
    let wanted =
        |values: &[f64]| -> Vec<f64> { values.chunks(width).map(|row| walk(model, row)).collect() };
    for level in Level::available() {
        let scorer = Scorer::at_level(model, level);
        let mut scores = vec![f64::NAN; count];
        scorer.score(values, &mut scores).unwrap();
        assert!(bits(&scores) == bits(&wanted(values)), "f64, {level:?}, {count} docs");
        scorer.score(&narrow, &mut scores).unwrap();
        assert!(bits(&scores) == bits(&wanted(&widened)), "f32, {level:?}, {count} docs");
    }
}

#[test]
fn scores_are_the_walkers_for_trees_of_all_sizes() {
    for leaves in [2, 3, 4, 31, 32, 33, 64, 65, 128, 129, 255, 256, 257, 300, 1024] {
        let model = native(leaves as u64, 7, &[leaves; 3]);
        for count in [1, 2, 8, 9, 64, 300] {
            check(&model, &rows(count as u64, count, 7), count);
        }
    }
}

#[test]
fn scores_are_the_walkers_for_models_with_everything() {
    for seed in 0..6 {
        let model = rich(seed);
        for count in [1, 7, 8, 9, 63, 64, 65, 128, 191, 255, 256, 257, 700] {
            check(&model, &rows(seed + count as u64, count, 5), count);
        }
    }
}

#[test]
fn batch_size_and_threads_do_not_matter() {
    let sizes: Vec<usize> = (0..400).map(|i| 2 + i % 40).collect();
    let model = native(9, 20, &sizes);
    let scorer = model.scorer();
    let values = rows(1, 5000, 20);
    let mut whole = vec![0.0; 5000];
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool(1).install(|| scorer.score(&values, &mut whole).unwrap());
    let oracle: Vec<f64> = values.chunks(20).map(|row| walk(&model, row)).collect();
    assert!(whole == oracle);
    for (threads, batch) in [(1, 1), (1, 3), (1, 100), (2, 5000), (4, 5000), (3, 2501), (2, 700)] {
        let mut scores = vec![0.0; 5000];
        pool(threads).install(|| {
            for (values, scores) in values.chunks(20 * batch).zip(scores.chunks_mut(batch)) {
                scorer.score(values, scores).unwrap();
            }
        });
        assert!(scores == whole, "{threads} threads, {batch} at a time");
    }
    assert_eq!(scorer.score_row(&values[60..80]).unwrap(), whole[3]);
}

#[test]
fn more_thresholds_than_fit_a_byte_are_searched_in_parts() {
    let mut random = Random::new(4);
    for cells in [CellType::F32, CellType::F64] {
        let kind = Kind { features: 2, thresholds: 1500, cells };
        let mut forest = Forest::foreign(2, cells, vec![], vec![], vec![]).unwrap();
        for _ in 0..40 {
            forest.push(tree(&mut random, 60, kind)).unwrap();
        }
        let mut model = Model::new(2);
        model.add(Component::new(Part::Forest(forest))).unwrap();
        let values: Vec<f64> = (0..2 * 3000).map(|_| kind.value(&mut random)).collect();
        check(&model, &values, 3000);
    }
}

#[test]
fn chains_and_full_trees_fit_the_slots() {
    let split = |feature, left, right| Split {
        feature,
        threshold: f64::from(feature),
        missing_left: feature % 2 == 0,
        left,
        right,
        reduction: 0.0,
        cover: 0.0,
        docs: 0,
    };
    let leaves = |count: u32| -> Vec<Leaf> {
        (0..count).map(|i| Leaf { value: f64::from(i), cover: 0.0, docs: 0 }).collect()
    };
    for leaves_wanted in [2u32, 31, 64, 256] {
        let last = leaves_wanted - 1;
        let next = |at: u32| if at == last { Child::Leaf(last) } else { Child::Split(at) };
        let right_chain =
            (0..last).map(|i| split(i % 9, Child::Leaf(i), next(i + 1))).collect::<Vec<_>>();
        let left_chain =
            (0..last).map(|i| split(i % 9, next(i + 1), Child::Leaf(i))).collect::<Vec<_>>();
        let heap = |at: u32| if at < last { Child::Split(at) } else { Child::Leaf(at - last) };
        let full =
            (0..last).map(|i| split(i % 9, heap(2 * i + 1), heap(2 * i + 2))).collect::<Vec<_>>();
        for splits in [right_chain, left_chain, full] {
            let mut model = Model::new(9);
            model.push(Tree::new(splits, leaves(leaves_wanted))).unwrap();
            let mut random = Random::new(1);
            let value = |random: &mut Random| match random.below(11) {
                10 => f64::NAN,
                value => value as f64,
            };
            let values: Vec<f64> = (0..9 * 500).map(|_| value(&mut random)).collect();
            check(&model, &values, 500);
        }
    }
}

#[test]
fn symmetric_trees_and_nearly_symmetric_ones_score_the_same() {
    let mut random = Random::new(8);
    let kind = Kind { features: 4, thresholds: 20, cells: CellType::F32 };
    let mut model = Model::new(4);
    for depth in [1, 2, 3, 5, 6, 7, 8, 9] {
        for odd in [false, true] {
            let mut levels = Vec::new();
            for _ in 0..depth {
                let threshold = kind.threshold(random.below(20));
                levels.push((random.below(4) as u32, threshold, random.flag()));
            }
            let last = (1u32 << depth) - 1;
            let child = |at: u32| if at < last { Child::Split(at) } else { Child::Leaf(at - last) };
            let split = |at: u32| {
                let (feature, threshold, missing_left) = levels[(at + 1).ilog2() as usize];
                let (left, right) = (child(2 * at + 1), child(2 * at + 2));
                let is_odd = odd && at + 1 == last;
                Split {
                    feature: if is_odd { 3 - feature } else { feature },
                    threshold,
                    missing_left,
                    left,
                    right,
                    reduction: 0.0,
                    cover: 0.0,
                    docs: 0,
                }
            };
            let leaf = |value| Leaf { value, cover: 0.0, docs: 0 };
            let leaves = (0..=last).map(|_| leaf(random.unit())).collect();
            model.push(Tree::new((0..last).map(split).collect(), leaves)).unwrap();
        }
    }
    for count in [1, 3, 64, 300] {
        check(&model, &rows(count as u64, count, 4), count);
    }
}

#[test]
fn a_table_of_another_width_is_refused() {
    let scorer = native(1, 5, &[4]).scorer();
    let mut scores = [0.0; 4];
    for (width, got) in [(3, "got 3 a row"), (10, "got 10 a row")] {
        let error = scorer.score(&vec![0.0f32; 4 * width], &mut scores).unwrap_err().to_string();
        assert_eq!(error, format!("the model has 5 features: {got}"));
    }
    assert!(scorer.score(&[0.0f32; 19], &mut scores).is_err());
    assert!(scorer.score_row::<f64>(&[]).is_err());
    scorer.score::<f64>(&[], &mut []).unwrap();
    let mut scores = [1.0; 3];
    Model::new(0).scorer().score::<f64>(&[], &mut scores).unwrap();
    assert_eq!(scores, [0.0; 3]);
}

#[test]
fn normalising_within_the_query_needs_the_queries() {
    let mut model = native(1, 2, &[8]);
    let part = Part::Linear(Linear::new(vec![(0, 1.0)]));
    model.add(Component { weight: 0.5, normalisation: Normalisation::Query, part }).unwrap();
    assert!(model.needs_queries());
    let scorer = model.scorer();
    let rows = [1.0, 0.0, 3.0, 0.0, 7.0, 7.0, 7.0, 9.0, -1.0, 0.0];
    let mut scores = [0.0; 5];
    assert!(scorer.score(&rows, &mut scores).is_err());
    assert!(scorer.score_queries(&rows, &[0, 2, 4], &mut scores).is_err());
    scorer.score_queries(&rows, &[0, 2, 4, 4, 5], &mut scores).unwrap();
    let forest = native(1, 2, &[8]);
    let alone: Vec<f64> = rows.chunks(2).map(|row| walk(&forest, row)).collect();
    let wanted = [-0.5, 0.5, 0.0, 0.0, 0.0];
    for i in 0..5 {
        assert_eq!(scores[i], alone[i] + wanted[i]);
    }
}

#[test]
fn nets_score_as_their_units_one_by_one_say() {
    for (features, count) in [(3, 1), (5, 7), (18, 64), (40, 300)] {
        let model = nets(features as u64, features);
        let mut values = rows(count as u64, count, features);
        // What is missing, and what is beyond all measure.
        values[0] = f64::NAN;
        values[features - 1] = f64::INFINITY;
        check(&model, &values, count);
        let scores: Vec<f64> = values.chunks(features).map(|row| walk(&model, row)).collect();
        assert!(scores.iter().all(|score| score.is_finite()));
    }
}

#[test]
fn a_missing_value_scores_as_the_mean() {
    let net = mlp(4, 3, &[8]);
    let inputs = net.inputs().to_vec();
    let at_mean = |input: &rustrank::model::NetInput| {
        let mean = f64::from(input.mean);
        if input.log { mean.abs().exp_m1().copysign(mean) } else { mean }
    };
    let mut row = [9.0; 3];
    for input in &inputs {
        row[input.feature as usize] = at_mean(input);
    }
    let missing = net_score(&net, &[f64::NAN, 9.0, f64::NAN]);
    assert!((net_score(&net, &row) - missing).abs() < 1e-5);
}
