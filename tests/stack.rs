//! Stacks, normalisations, and models that hold others of another kind: against their definitions.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{Random, native, nets};
use rustrank::model::{
    Component, Derived, Model, Normalisation, Part, Ranker, Scorer, Stack, Statistic, derive,
};
use rustrank::simd::Level;

const NORMALISATIONS: [Normalisation; 6] = [
    Normalisation::AsIs,
    Normalisation::Fixed { mean: 0.25, scale: 1.5 },
    Normalisation::Logistic,
    Normalisation::Query,
    Normalisation::QueryRange,
    Normalisation::QueryTop,
];
const BOUNDS: [usize; 9] = [0, 1, 4, 4, 150, 151, 700, 705, 1311];

fn rows(seed: u64, features: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let value = |_| match random.below(9) {
        0 => f32::NAN,
        1..=4 => random.below(40) as f32 / 7.0 - 2.5,
        _ => (random.unit() * 8.0 - 4.0) as f32,
    };
    (0..BOUNDS[8] * features).map(value).collect()
}

fn scores(model: &Model, rows: &[f32], bounds: &[usize]) -> Vec<f64> {
    let mut scores = vec![f64::NAN; *bounds.last().unwrap()];
    model.scorer().score_queries(rows, bounds, &mut scores).unwrap();
    scores
}

/// A stack of rankers of all kinds, one of them a stack, beside a normalised forest.
fn stacked(seed: u64) -> Model {
    let features = 5;
    let derived = |ranker, statistic| Derived { ranker, statistic };
    let first = Ranker { normalisation: Normalisation::QueryTop, model: nets(seed, features) };
    let of_first = vec![derived(0, Statistic::Mean), derived(0, Statistic::Top(3))];
    let inner = Stack::new(features, vec![first], of_first, false, native(seed, 2, &[4, 4]));
    let with_stack = only(Component::new(Part::Stack(Box::new(inner.unwrap()))), features);
    let normalisation = Normalisation::Fixed { mean: 0.125, scale: 0.5 };
    let rankers = vec![
        Ranker { normalisation, model: native(seed + 1, features, &[7, 3]) },
        Ranker { normalisation: Normalisation::Query, model: ranking(seed + 5, features) },
        Ranker { normalisation: Normalisation::AsIs, model: with_stack },
    ];
    let of_all = vec![
        derived(0, Statistic::Score),
        derived(2, Statistic::Score),
        derived(1, Statistic::Max),
        derived(0, Statistic::Mean),
        derived(1, Statistic::Top(1)),
        derived(2, Statistic::Top(1000)),
    ];
    let outer = native(seed + 2, features + of_all.len(), &[8, 20, 5]);
    let stack = Stack::new(features, rankers, of_all, true, outer).unwrap();
    let mut model = native(seed + 3, features, &[4]);
    let normalisation = Normalisation::QueryRange;
    let part = Part::Model(Box::new(native(seed + 4, features, &[6])));
    model.add(Component { weight: -0.5, normalisation, part }).unwrap();
    model.add(Component { weight: 0.75, ..Component::new(Part::Stack(Box::new(stack))) }).unwrap();
    model
}

/// Trees on features and on their ranks.
fn ranking(seed: u64, features: usize) -> Model {
    let mut ranking = Model::new(2 * features);
    ranking.set_ranks_features().unwrap();
    let trees = native(seed, 2 * features, &[6, 9]);
    trees.trees().for_each(|tree| ranking.push(tree.clone()).unwrap());
    ranking
}

/// What a normalisation does to a score among those of its query, by the words of its definition.
fn normal(normalisation: Normalisation, score: f64, query: &[f64]) -> f64 {
    let probability = |score: f64| 1.0 / (1.0 + (-score).exp());
    let largest = query.iter().copied().fold(f64::MIN, f64::max);
    let least = query.iter().copied().fold(f64::MAX, f64::min);
    let count = query.len() as f64;
    match normalisation {
        Normalisation::Fixed { mean, scale } => (score - mean) / scale,
        Normalisation::Logistic => probability(score),
        Normalisation::QueryTop => {
            let top = probability(largest);
            top * (1.0 + probability(score) - top)
        }
        Normalisation::QueryRange | Normalisation::Query if largest == least => 0.0,
        Normalisation::QueryRange => (score - least) / (largest - least),
        Normalisation::Query => {
            let mut sorted = query.to_vec();
            sorted.sort_by(f64::total_cmp);
            let mean = sorted.iter().sum::<f64>() / count;
            let variance = sorted.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / count;
            (score - mean) / variance.sqrt()
        }
        _ => score,
    }
}

fn normalised(normalisation: Normalisation, scores: &[f64], bounds: &[usize]) -> Vec<f64> {
    let mut all = Vec::new();
    for query in bounds.windows(2) {
        let query = &scores[query[0]..query[1]];
        all.extend(query.iter().map(|&score| normal(normalisation, score, query)));
    }
    all
}

/// A statistic by the words of its definition.
fn statistic(statistic: Statistic, score: f64, query: &[f64]) -> f32 {
    let mut sorted = query.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = |some: &[f64]| (some.iter().sum::<f64>() / some.len() as f64) as f32;
    match statistic {
        Statistic::Max => query.iter().copied().fold(f64::MIN, f64::max) as f32,
        Statistic::Mean => mean(&sorted),
        Statistic::Top(count) => mean(&sorted[sorted.len() - sorted.len().min(count as usize)..]),
        _ => score as f32,
    }
}

/// The table that the outer model of a stack sees.
fn table(stack: &Stack, rows: &[f32], bounds: &[usize]) -> Vec<f32> {
    let ranker = |ranker: &Ranker| {
        normalised(ranker.normalisation, &scores(&ranker.model, rows, bounds), bounds)
    };
    let of_rankers: Vec<Vec<f64>> = stack.rankers().iter().map(ranker).collect();
    let mut table = Vec::new();
    for query in bounds.windows(2) {
        for doc in query[0]..query[1] {
            if stack.own() {
                table
                    .extend_from_slice(&rows[doc * stack.num_features()..][..stack.num_features()]);
            }
            table.extend(stack.derived().iter().map(|derived| {
                let scores = &of_rankers[derived.ranker as usize];
                statistic(derived.statistic, scores[doc], &scores[query[0]..query[1]])
            }));
        }
    }
    table
}

fn stack_of(model: &Model) -> &Stack {
    let found = model.components().iter().find_map(|component| match &component.part {
        Part::Stack(stack) => Some(&**stack),
        _ => None,
    });
    found.unwrap()
}

fn only(component: Component, features: usize) -> Model {
    let mut model = Model::new(features);
    model.add(component).unwrap();
    model
}

#[test]
fn a_stack_scores_its_outer_model_on_its_own_and_derived_values() {
    for seed in 0..6 {
        let all = stacked(seed);
        let stack = stack_of(&all);
        let rows = rows(seed, 5);
        let wanted = scores(stack.outer(), &table(stack, &rows, &BOUNDS), &BOUNDS);
        let model = only(Component::new(Part::Stack(Box::new(stack.clone()))), 5);
        assert!(model.needs_queries());
        assert!(scores(&model, &rows, &BOUNDS) == wanted, "seed {seed}");
    }
}

#[test]
fn every_level_batch_precision_and_number_of_threads_scores_the_same_bits() {
    let model = stacked(3);
    let rows = rows(9, 5);
    let whole = scores(&model, &rows, &BOUNDS);
    let doubles: Vec<f64> = rows.iter().map(|&value| f64::from(value)).collect();
    for level in Level::available() {
        let scorer = Scorer::at_level(&model, level);
        let mut again = vec![0.0; whole.len()];
        scorer.score_queries(&doubles, &BOUNDS, &mut again).unwrap();
        assert!(again == whole, "{level:?}");
        for query in BOUNDS.windows(2) {
            let mut alone = vec![0.0; query[1] - query[0]];
            let rows = &rows[query[0] * 5..query[1] * 5];
            scorer.score_queries(rows, &[0, alone.len()], &mut alone).unwrap();
            assert!(alone == whole[query[0]..query[1]], "{level:?}");
        }
    }
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| scores(&model, &rows, &BOUNDS)) == whole);
    }
}

#[test]
fn scores_move_with_their_docs() {
    let model = stacked(4);
    let rows = rows(2, 5);
    let order: Vec<usize> = (0..600).map(|i| (i * 7 + 3) % 600).collect();
    let rows = &rows[..600 * 5];
    let moved: Vec<f32> = order.iter().flat_map(|&doc| rows[doc * 5..][..5].to_vec()).collect();
    let straight = scores(&model, rows, &[0, 600]);
    let wanted: Vec<f64> = order.iter().map(|&doc| straight[doc]).collect();
    assert!(scores(&model, &moved, &[0, 600]) == wanted);
}

#[test]
fn components_are_normalised_as_they_say() {
    let (rows, part) = (rows(5, 4), nets(1, 4));
    let raw = scores(&part, &rows, &BOUNDS);
    for normalisation in NORMALISATIONS {
        let part = Part::Model(Box::new(part.clone()));
        let mut model = only(Component { weight: -0.75, normalisation, part }, 4);
        let wanted = normalised(normalisation, &raw, &BOUNDS);
        let mut applied = raw.clone();
        normalisation.apply(&mut applied, &BOUNDS).unwrap();
        assert!(applied == wanted, "{normalisation:?}");
        model.set_intercept(0.125).unwrap();
        let wanted: Vec<f64> = wanted.iter().map(|score| 0.125 + -0.75 * score).collect();
        assert!(scores(&model, &rows, &BOUNDS) == wanted, "{normalisation:?}");
        assert_eq!(model.needs_queries(), normalisation.needs_queries());
        let back = Model::from_text(model.to_text().as_bytes()).unwrap();
        assert_eq!(back, model);
        let name = normalisation.name();
        assert!(name.is_none_or(|name| Normalisation::named(name).unwrap() == normalisation));
    }
    assert!(Normalisation::named("fixed").is_err());
}

/// Members of an ensemble that stand on one ranker, and that ranker as two members.
#[test]
fn members_that_share_a_ranker_score_as_each_alone() {
    let (features, rows) = (5, rows(12, 5));
    let mut mart = native(7, features, &[9, 12, 3]);
    mart.set_intercept(-0.75).unwrap();
    let stacked = |seed: u64, model: &Model, normalisation| {
        let ranker = Ranker { normalisation, model: model.clone() };
        let outer = native(seed, features + 1, &[6, 11]);
        let stack = Stack::new(features, vec![ranker], asked(0, Statistic::Top(3)), true, outer);
        only(Component::new(Part::Stack(Box::new(stack.unwrap()))), features)
    };
    let ranks = ranking(3, features);
    let bare = native(8, features, &[4, 4]);
    let fixed = Normalisation::Fixed { mean: 0.5, scale: 0.25 };
    let members = [
        (mart.clone(), fixed),
        (mart.clone(), Normalisation::QueryTop),
        (mart.clone(), Normalisation::Logistic),
        (stacked(1, &mart, Normalisation::AsIs), fixed),
        (stacked(2, &mart, Normalisation::Query), Normalisation::Query),
        (stacked(3, &ranks, Normalisation::AsIs), Normalisation::AsIs),
        (ranks, Normalisation::AsIs),
        (bare.clone(), Normalisation::QueryRange),
        (bare, Normalisation::AsIs),
    ];
    let mut sum = Model::new(features);
    let mut wanted = vec![0.0; BOUNDS[8]];
    for (at, (member, normalisation)) in members.into_iter().enumerate() {
        let weight = 0.5 + at as f64;
        let mut own = scores(&member, &rows, &BOUNDS);
        normalisation.apply(&mut own, &BOUNDS).unwrap();
        wanted.iter_mut().zip(&own).for_each(|(sum, own)| *sum += weight * own);
        // As a model, and as the part that it is.
        let part = match member.components() {
            [one] if member.intercept() == 0.0 && !member.ranks_features() => one.part.clone(),
            _ => Part::Model(Box::new(member.clone())),
        };
        sum.add(Component { weight, normalisation, part }).unwrap();
    }
    assert!(scores(&sum, &rows, &BOUNDS) == wanted);
    // Three marts of three trees, three stacks on them or on two trees, two of those, and bare ones.
    assert_eq!(sum.num_trees_inside(), 9 + (3 + 2) + (3 + 2) + (2 + 2) + 2 + 2 + 2);
}

#[test]
fn without_queries_a_stack_of_scores_alone_scores_any_rows() {
    let derived = vec![Derived { ranker: 0, statistic: Statistic::Score }];
    let ranker = Ranker { normalisation: Normalisation::Logistic, model: native(1, 3, &[9, 5]) };
    let stack = Stack::new(3, vec![ranker], derived, true, native(2, 4, &[7, 7])).unwrap();
    let wanted_table = table(&stack, &rows(4, 3), &BOUNDS);
    let wanted = scores(stack.outer(), &wanted_table, &BOUNDS);
    let model = only(Component::new(Part::Stack(Box::new(stack))), 3);
    assert!(!model.needs_queries());
    let scorer = model.scorer();
    let (rows, mut all) = (rows(4, 3), vec![0.0; BOUNDS[8]]);
    scorer.score(&rows, &mut all).unwrap();
    assert!(all == wanted);
    for doc in [0, 77, 1310] {
        assert_eq!(scorer.score_row(&rows[doc * 3..][..3]).unwrap(), wanted[doc]);
    }
}

#[test]
fn a_model_that_does_not_rank_features_holds_some_that_do() {
    let mut ranking = ranking(1, 3);
    let plain = native(2, 3, &[5, 6]);
    let rows = rows(6, 3);
    let sum = Model::sum(vec![(0.5, ranking.clone()), (2.0, plain.clone())]).unwrap();
    assert_eq!((sum.num_features(), sum.ranks_features()), (3, false));
    let (first, second) = (scores(&ranking, &rows, &BOUNDS), scores(&plain, &rows, &BOUNDS));
    let wanted: Vec<f64> = first.iter().zip(&second).map(|(a, b)| 0.5 * a + 2.0 * b).collect();
    assert!(sum.needs_queries());
    assert!(scores(&sum, &rows, &BOUNDS) == wanted);
    assert_eq!(Model::from_text(sum.to_text().as_bytes()).unwrap(), sum);
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        assert!(sum.to_foreign(library).is_err());
    }
    assert_eq!((sum.looks_at_ranks(), sum.num_explained_features()), (true, 6));
    // The other way round nothing says what the ranks are of.
    assert!(ranking.add(Component::new(Part::Model(Box::new(native(1, 6, &[3]))))).is_err());
}

#[test]
fn features_for_training_are_those_of_the_scorer() {
    let all = stacked(1);
    let stack = stack_of(&all);
    let rows = rows(8, 5);
    let ranker = |ranker: &Ranker| {
        let mut scores = scores(&ranker.model, &rows, &BOUNDS);
        ranker.normalisation.apply(&mut scores, &BOUNDS).unwrap();
        scores
    };
    let of_rankers: Vec<Vec<f64>> = stack.rankers().iter().map(ranker).collect();
    let columns = derive(stack.derived(), &of_rankers, &BOUNDS).unwrap();
    let (table, width) = (table(stack, &rows, &BOUNDS), stack.derived().len());
    for (row, columns) in table.chunks(5 + width).zip(columns.chunks(width)) {
        assert!(row[5..].iter().zip(columns).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

fn ranker(features: usize) -> Ranker {
    Ranker { normalisation: Normalisation::AsIs, model: native(1, features, &[3]) }
}

fn asked(ranker: u32, statistic: Statistic) -> Vec<Derived> {
    vec![Derived { ranker, statistic }]
}

#[test]
fn what_is_no_stack_is_refused() {
    let one = || vec![ranker(3)];
    let max = || asked(0, Statistic::Max);
    let top_of_none = asked(0, Statistic::Top(0));
    let cases = [
        (one(), max(), true, 4, true),
        (one(), max(), false, 1, true),
        (one(), max(), true, 5, false),
        (one(), max(), false, 4, false),
        (vec![ranker(4)], max(), true, 4, false),
        (vec![], max(), true, 4, false),
        (one(), vec![], true, 3, false),
        (one(), top_of_none, true, 4, false),
        (one(), asked(1, Statistic::Max), true, 4, false),
    ];
    for (at, (rankers, derived, own, outer, whole)) in cases.into_iter().enumerate() {
        let stack = Stack::new(3, rankers, derived, own, native(1, outer, &[3]));
        assert_eq!(stack.is_ok(), whole, "case {at}");
    }
}

#[test]
fn features_of_scores_that_do_not_fit_are_refused() {
    assert!(derive(&asked(1, Statistic::Max), &[vec![1.0]], &[0, 1]).is_err());
    let max = asked(0, Statistic::Max);
    assert!(derive(&max, &[vec![1.0], vec![1.0, 2.0]], &[0, 1]).is_err());
    assert!(derive(&max, &[vec![1.0]], &[0, 2]).is_err());
    for name in ["top", "top0", "top-1", "topx", "median", ""] {
        assert!(name.parse::<Statistic>().is_err(), "{name}");
    }
    for statistic in [Statistic::Score, Statistic::Max, Statistic::Mean, Statistic::Top(7)] {
        assert_eq!(statistic.to_string().parse::<Statistic>().unwrap(), statistic);
    }
}

#[test]
fn models_stand_at_most_eight_deep() {
    let (mut deep, mut count) = (native(1, 3, &[3]), 1);
    loop {
        let ranker = Ranker { normalisation: Normalisation::AsIs, model: deep };
        let (derived, outer) = (asked(0, Statistic::Max), native(1, 4, &[3]));
        let stack = Stack::new(3, vec![ranker], derived, true, outer).unwrap();
        let mut around = Model::new(3);
        if around.add(Component::new(Part::Stack(Box::new(stack)))).is_err() {
            break;
        }
        assert_eq!(Model::from_text(around.to_text().as_bytes()).unwrap(), around);
        (deep, count) = (around, count + 1);
    }
    assert_eq!(count, 8);
}

#[test]
fn the_golden_file_of_stacks_reads_and_writes() {
    let golden = include_str!("golden/model-1-stack.rrk");
    let model = Model::from_text(golden.as_bytes()).unwrap();
    assert_eq!(model, stacked(1));
    assert_eq!(model.to_text(), golden);
}

#[test]
#[ignore = "writes the golden file"]
fn write_the_golden_file() {
    std::fs::write("tests/golden/model-1-stack.rrk", stacked(1).to_text()).unwrap();
}
