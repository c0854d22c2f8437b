//! McRank: classes as a model, and the training that makes them.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;
mod rows;

use models::{Kind as Shape, Random, native, rich, tree};
use rows::{FEATURES, Rows};
use rustrank::boosting::{
    BaseModel, BoostingParams, BoostingTrainer, Dropout, DropoutNormaliser, EarlyStopping,
    EvaluationMetric, EvaluationSet, TrainingLoss, TrainingPlan,
};
use rustrank::boosting::{binning_of, score_dataset};
use rustrank::data::Dataset;
use rustrank::model::{
    CellType, Class, Classes, Component, Link, Model, Normalisation, Part, Scorer,
};
use rustrank::objective::{ClassLink, ClassLoss, ObjectiveKind, ObjectiveOptions, Target};
use rustrank::simd::Level;
use rustrank::tree::GrowOptions;
use rustrank::{Convention, Gain, Gradient, Interrupt, Metric, Queries};
use std::sync::Arc;

/// Random classes with some rounds.
fn classes(seed: u64, link: Link, count: usize, rounds: usize) -> Classes {
    let mut random = Random::new(seed);
    let class = |k: usize| Class { label: k as f64 * 0.5, gain: f64::from((1u32 << k) - 1) };
    let all: Vec<Class> = (0..count).map(class).collect();
    let margins = link.num_margins(count);
    let starts = (0..margins).map(|_| random.unit() - 0.7).collect();
    let mut made = Classes::new(5, link, &all, starts).unwrap();
    let shape = Shape { features: 5, thresholds: 40, cells: CellType::F32 };
    for _ in 0..rounds {
        let leaves: Vec<usize> = (0..margins).map(|_| 1 + random.below(12)).collect();
        let trees = leaves.into_iter().map(|leaves| tree(&mut random, leaves, shape)).collect();
        made.push(trees).unwrap();
    }
    made
}

/// Classes alone, weighted and inside a model beside others.
fn mixed(seed: u64) -> Model {
    let mut model = rich(seed);
    let part = |seed, link| Part::Classes(classes(seed, link, 4, 6));
    model.add(Component::new(part(seed + 1, Link::Softmax))).unwrap();
    let normalisation = Normalisation::Fixed { mean: 0.7, scale: 1.25 };
    let part = part(seed + 2, Link::Ordinal);
    model.add(Component { weight: -2.5, normalisation, part }).unwrap();
    let mut inner = native(seed + 3, 5, &[3, 3]);
    inner.add(Component::new(Part::Classes(classes(seed, Link::Ordinal, 3, 2)))).unwrap();
    model.add(Component::new(Part::Model(Box::new(inner)))).unwrap();
    model
}

/// What the golden file holds.
fn golden() -> Model {
    let mut model = Model::new(5);
    let part = |seed, link| Part::Classes(classes(seed, link, 3, 2));
    model.add(Component::new(part(1, Link::Softmax))).unwrap();
    model.add(Component { weight: 0.5, ..Component::new(part(2, Link::Ordinal)) }).unwrap();
    model
}

fn rows(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let kind = Shape { features: 5, thresholds: 60, cells: CellType::F32 };
    (0..count * 5).map(|_| kind.value(&mut random) as f32).collect()
}

/// The probabilities of a row as the papers have them, in the plainest way.
fn plain(classes: &Classes, row: &[f32]) -> Vec<f64> {
    let margins: Vec<f64> = classes
        .forests()
        .iter()
        .zip(classes.starts())
        .map(|(forest, start)| {
            let leaf = |tree: &rustrank::model::Tree| {
                tree.leaves()[tree.leaf_of(|feature| f64::from(row[feature as usize]))].value
            };
            forest.trees().iter().fold(*start, |sum, tree| sum + leaf(tree))
        })
        .collect();
    if classes.expectation().link() == Link::Softmax {
        let sum: f64 = margins.iter().map(|margin| margin.exp()).sum();
        return margins.iter().map(|margin| margin.exp() / sum).collect();
    }
    let at_least: Vec<f64> = margins.iter().map(|margin| 1.0 / (1.0 + (-margin).exp())).collect();
    let falling = |k: usize| {
        let least = at_least[..=k].iter().copied().fold(1.0, f64::min);
        let largest = at_least[k..].iter().copied().fold(0.0, f64::max);
        f64::midpoint(least, largest)
    };
    let mut falling: Vec<f64> = (0..at_least.len()).map(falling).collect();
    falling.insert(0, 1.0);
    falling.push(0.0);
    falling.windows(2).map(|pair| pair[0] - pair[1]).collect()
}

#[test]
fn probabilities_and_expected_gains_are_the_reference() {
    for (seed, link) in [(1, Link::Softmax), (2, Link::Ordinal)] {
        let classes = classes(seed, link, 5, 20);
        let mut model = Model::new(5);
        model.add(Component::new(Part::Classes(classes.clone()))).unwrap();
        let rows = rows(3, 500);
        let mut scores = vec![0.0; 500];
        model.scorer().score(&rows, &mut scores).unwrap();
        let mut probabilities = vec![0.0; 500 * 5];
        model.class_scorer().unwrap().probabilities(&rows, &mut probabilities).unwrap();
        for ((row, score), p) in rows.chunks(5).zip(scores).zip(probabilities.chunks(5)) {
            let wanted = plain(&classes, row);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!(p.iter().all(|p| *p >= 0.0));
            assert!(p.iter().zip(&wanted).all(|(p, w)| (p - w).abs() < 1e-12), "{p:?} {wanted:?}");
            let gain = classes.classes().zip(p).fold(0.0, |sum, (class, p)| sum + class.gain * p);
            assert_eq!(score, gain);
        }
    }
}

#[test]
fn every_path_level_batch_and_thread_gives_the_same_bits() {
    for seed in 0..3 {
        let model = mixed(seed);
        let rows = rows(seed, 3000);
        let mut wanted = vec![0.0; 3000];
        Scorer::at_level(&model, Level::Portable).score(&rows, &mut wanted).unwrap();
        // Sums of infinities of both signs are whatever they are.
        let bits = |score: &f64| if score.is_nan() { 0 } else { score.to_bits() };
        let wanted: Vec<u64> = wanted.iter().map(bits).collect();
        for level in Level::available() {
            let scorer = Scorer::at_level(&model, level);
            for (threads, batch) in [(1, 1), (1, 7), (1, 64), (2, 300), (3, 3000)] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut scores = vec![0.0; 3000];
                pool.install(|| {
                    for (rows, scores) in rows.chunks(5 * batch).zip(scores.chunks_mut(batch)) {
                        scorer.score(rows, scores).unwrap();
                    }
                });
                assert!(scores.iter().map(bits).eq(wanted.iter().copied()), "{level:?} {batch}");
            }
        }
    }
}

#[test]
fn the_text_of_classes_reads_back() {
    for seed in 0..8 {
        let model = mixed(seed);
        let text = model.to_text();
        assert_eq!(Model::from_text(text.as_bytes()).unwrap(), model);
    }
    let golden = include_str!("golden/model-1-classes.rrk");
    let model = Model::from_text(golden.as_bytes()).unwrap();
    assert_eq!(model, self::golden());
    assert_eq!(model.to_text(), golden);
}

#[test]
#[ignore = "writes the golden file"]
fn write_the_golden_file() {
    std::fs::write("tests/golden/model-1-classes.rrk", golden().to_text()).unwrap();
}

#[test]
fn faults_in_the_text_of_classes_are_told() {
    let mut model = Model::new(5);
    let made = classes(1, Link::Softmax, 3, 1);
    model.add(Component::new(Part::Classes(made.clone()))).unwrap();
    let text = model.to_text();
    let starts = text.lines().find(|line| line.starts_with("starts")).unwrap();
    let told = |from: &str, to: &str, words: &str| {
        assert!(text.contains(from), "{from}");
        let body = text.replacen(from, to, 1);
        let body = body.splitn(3, '\n').nth(2).unwrap();
        let body = &body[..body.rfind("checksum").unwrap()];
        let whole = format!("rustrank model 1\nbytes {}\n{body}", body.len() + 31);
        let checksum = xxhash_rust::xxh3::xxh3_64(whole.as_bytes());
        let whole = format!("{whole}checksum xxh3 {checksum:016x}\n");
        let said = Model::from_text(whole.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    told("classes softmax", "classes hardmax", "expected softmax or ordinal");
    told("classes softmax 3", "classes ordinal 3", "the number of starts: got 3, expected 2");
    told("classes softmax 3", "classes softmax 99999", "declares 99999 things");
    told("0.5 1.0\n", "1.5 1.0\n", "must rise");
    told("0.5 1.0\n", "0.5 inf\n", "a gain is not finite");
    told(starts, "starts 1 0.5", "the number of starts: got 1, expected 3");
    told("forest f32 1", "forest f64 1", "a forest a margin");
    told("forest f32 1", "forest f32 0", "");
}

#[test]
fn rounds_are_cut_and_counted_class_by_class() {
    let made = classes(5, Link::Softmax, 4, 6);
    let mut model = native(3, 5, &[4, 4, 4]);
    model.add(Component::new(Part::Classes(made))).unwrap();
    assert_eq!((model.num_rounds(), model.num_trees()), (9, 3 + 6 * 4));
    model.truncate(5);
    assert_eq!((model.num_rounds(), model.num_trees()), (5, 3 + 2 * 4));
    assert_eq!(model.trees().count(), 11);
    let tail = model.slice(1..5);
    assert_eq!((tail.num_rounds(), tail.components().len()), (2, 1));
    let mut none = model.clone();
    none.truncate(0);
    assert_eq!((none.num_rounds(), none.components().len()), (0, 1));
    assert!(none.scorer().score_row(&[0f32; 5]).unwrap().is_finite());
}

#[test]
fn models_of_classes_are_told_apart_where_they_cannot_go() {
    let mut model = Model::new(5);
    model.add(Component::new(Part::Classes(classes(1, Link::Ordinal, 3, 2)))).unwrap();
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        let said = model.to_foreign(library).unwrap_err().to_string();
        assert!(said.contains("cannot hold classes"), "{said}");
    }
    let said = model.explainer().unwrap_err().to_string();
    assert!(said.contains("is not explained"), "{said}");
    let said = native(1, 5, &[3]).class_scorer().unwrap_err().to_string();
    assert!(said.contains("only a model of classes has probabilities"), "{said}");
    let two = Class { label: 0.0, gain: 1.0 };
    for (classes, starts) in [(vec![two], vec![0.0]), (vec![two; 2], vec![0.0; 2])] {
        assert!(Classes::new(5, Link::Softmax, &classes, starts).is_err());
    }
}

// Training.

const KINDS: [ObjectiveKind; 2] = [ObjectiveKind::McRank, ObjectiveKind::OrdinalMcRank];

fn loss(kind: ObjectiveKind) -> TrainingLoss {
    TrainingLoss::new(&ObjectiveOptions::new(kind, "ndcg".parse().unwrap())).unwrap()
}

/// Everything random at once.
fn plan(kind: ObjectiveKind, num_trees: usize) -> TrainingPlan {
    let grow = GrowOptions {
        num_leaves: 6,
        min_leaf_docs: 3,
        features_per_tree: 0.8,
        features_per_node: 0.7,
        seed: 3,
        ..GrowOptions::default()
    };
    let shares =
        BoostingParams { queries_per_tree: 0.7, docs_per_tree: 0.8, ..BoostingParams::default() };
    TrainingPlan {
        params: BoostingParams { num_trees, grow, ..shares },
        loss: loss(kind),
        evaluation_sets: Vec::new(),
        metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
        patience: None,
        base: None,
    }
}

fn evaluation_set(name: &str, dataset: &Arc<Dataset>) -> EvaluationSet {
    EvaluationSet { name: name.to_owned(), dataset: dataset.clone() }
}

fn trainer(dataset: &Arc<Dataset>, plan: TrainingPlan) -> rustrank::Result<BoostingTrainer> {
    BoostingTrainer::new(dataset.clone(), plan, &Interrupt::new())
}

fn run(trainer: &mut BoostingTrainer) -> String {
    while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
    trainer.model().to_text()
}

fn trained(dataset: &Arc<Dataset>, plan: TrainingPlan) -> Model {
    Model::from_text(run(&mut trainer(dataset, plan).unwrap()).as_bytes()).unwrap()
}

fn refused(outcome: rustrank::Result<BoostingTrainer>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn threads_and_the_order_of_rows_do_not_matter() {
    let (rows, valid) = (Rows::new(80, 1), Rows::new(40, 2));
    for kind in KINDS {
        let mut seen = Vec::new();
        for (threads, rows) in [(1, rows.clone()), (2, rows.clone()), (4, rows.shuffled(5))] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            seen.push(pool.install(|| {
                let train = rows.dataset();
                let evaluation_sets =
                    vec![evaluation_set("valid", &valid.like(&train)), evaluation_set("t", &train)];
                let mut trainer =
                    trainer(&train, TrainingPlan { evaluation_sets, ..plan(kind, 10) }).unwrap();
                (run(&mut trainer), trainer.history().to_vec())
            }));
        }
        assert!(seen[0] == seen[1] && seen[0] == seen[2]);
    }
}

#[test]
fn what_training_sees_is_what_the_model_scores() {
    let (rows, valid_rows) = (Rows::new(60, 9), Rows::new(30, 10));
    let train = rows.dataset();
    let metric: Metric = "ndcg@5".parse().unwrap();
    for kind in KINDS {
        let evaluation_sets = vec![
            evaluation_set("valid", &valid_rows.like(&train)),
            evaluation_set("train", &train),
        ];
        let mut trainer =
            trainer(&train, TrainingPlan { evaluation_sets, ..plan(kind, 8) }).unwrap();
        let model = Model::from_text(run(&mut trainer).as_bytes()).unwrap();
        assert_eq!(trainer.num_rounds(), 8);
        for number in 1..=8 {
            let mut model = model.clone();
            model.truncate(number);
            let scorer = model.scorer();
            for (at, rows) in [&valid_rows, &rows].into_iter().enumerate() {
                let mut scores = vec![0.0; rows.labels.len()];
                scorer.score(&rows.cells, &mut scores).unwrap();
                let set = rows.like(&train);
                let binned = score_dataset(&model, &set, &Interrupt::new()).unwrap();
                assert_eq!(set.by_row(&binned), scores);
                let never = Interrupt::new();
                let values = metric.per_query(&binned, set.labels(), set.queries(), &never);
                let value = rustrank::Mean::of(&values.unwrap(), None).unwrap().value;
                assert_eq!(trainer.history()[number - 1][at], value);
            }
        }
        assert!(trainer.history()[7][0] > trainer.history()[0][0], "it learns");
    }
}

#[test]
fn resumed_and_continued_trainings_are_the_uninterrupted_one() {
    let train = Rows::new(60, 5).dataset();
    let valid = Rows::new(20, 6).like(&train);
    for (kind, drops) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let watching = |n| {
            let mut plan = plan(kind, n);
            let normaliser = DropoutNormaliser::Tree;
            let dropout = Dropout { rate: 0.4, skip: 0.1, most: Some(3), normaliser };
            plan.params.dropout = drops.then_some(dropout);
            TrainingPlan { evaluation_sets: vec![evaluation_set("valid", &valid)], ..plan }
        };
        let mut whole = trainer(&train, watching(9)).unwrap();
        let expected = run(&mut whole);
        let mut begun = trainer(&train, watching(9)).unwrap();
        let never = Interrupt::new();
        for _ in 0..=9 {
            let checkpoint = Model::from_text(begun.checkpoint().to_text().as_bytes()).unwrap();
            let resumed = BoostingTrainer::resume(train.clone(), watching(9), checkpoint, &never);
            let mut resumed = resumed.unwrap();
            assert_eq!(run(&mut resumed), expected);
            assert_eq!(resumed.history(), whole.history());
            // A round that is taken back was never there.
            if begun.next_round(&never).unwrap().is_some() {
                begun.take_back().unwrap();
                begun.next_round(&never).unwrap();
            }
        }
        let base = trained(&train, watching(4));
        let more = TrainingPlan { base: Some(BaseModel::from(base)), ..watching(5) };
        let mut more = trainer(&train, more).unwrap();
        assert_eq!((more.num_rounds(), more.num_before()), (4, 4));
        assert_eq!(run(&mut more), expected);
    }
}

#[test]
fn patience_counts_rounds() {
    let train = Rows::new(60, 13).dataset();
    let valid = Rows::new(20, 14).like(&train);
    for kind in KINDS {
        let patience = Some(EarlyStopping::after(3));
        let evaluation_sets = vec![evaluation_set("valid", &valid)];
        let mut stopped =
            trainer(&train, TrainingPlan { evaluation_sets, patience, ..plan(kind, 300) }).unwrap();
        run(&mut stopped);
        let best = stopped.best_round().unwrap();
        assert_eq!(stopped.num_rounds(), best + 3);
        let values: Vec<f64> = stopped.history().iter().map(|values| values[0]).collect();
        assert!(values.iter().all(|&value| value <= values[best - 1]));
    }
}

#[test]
fn a_first_round_takes_friedmans_steps_from_the_shares_of_classes() {
    let rows = Rows::new(60, 21);
    let train = rows.dataset();
    let grow = GrowOptions { num_leaves: 4, min_leaf_docs: 5, ..GrowOptions::default() };
    let params =
        BoostingParams { num_trees: 1, learning_rate: 1.0, grow, ..BoostingParams::default() };
    let model = trained(&train, TrainingPlan { params, ..plan(ObjectiveKind::McRank, 1) });
    let made = model.classes().unwrap();
    let labels = [0.0f32, 1.0, 2.0];
    let classes = made.classes().map(|class| (class.label, class.gain));
    assert_eq!(classes.collect::<Vec<_>>(), [(0.0, 0.0), (1.0, 1.0), (2.0, 3.0)]);
    let count = |label: f32| rows.labels.iter().filter(|&&other| other == label).count() as f64;
    let shares = labels.map(|label| count(label) / rows.labels.len() as f64);
    for (k, forest) in made.forests().iter().enumerate() {
        assert!((made.starts()[k] - shares[k].ln()).abs() < 1e-12);
        let tree = &forest.trees()[0];
        let mut sums = vec![[0.0; 2]; tree.leaves().len()];
        for (row, &label) in rows.cells.chunks(FEATURES).zip(&rows.labels) {
            let leaf = tree.leaf_of(|feature| f64::from(row[feature as usize]));
            let rest = f64::from(u8::from(label == labels[k])) - shares[k];
            sums[leaf][0] += rest;
            sums[leaf][1] += rest.abs() * (1.0 - rest.abs());
        }
        for (leaf, [rest, weight]) in tree.leaves().iter().zip(sums) {
            let step = 2.0 / 3.0 * rest / weight;
            assert!((leaf.value - step).abs() < 1e-3 * (1.0 + step.abs()), "{leaf:?} {step}");
        }
    }
}

#[test]
fn gradients_are_differences_of_the_cross_entropy() {
    let labels = [0.0f32, 2.0, 1.0, 1.0, 3.5, 0.0];
    let queries = Queries::from_sizes(&[2, 4], 6).unwrap();
    let (query_weight, row_weight) = ([1.0, 0.5], [1.0, 2.0, 1.0, 0.25, 3.0, 1.0]);
    let target = Target {
        labels: &labels,
        queries: &queries,
        query_weight: Some(&query_weight),
        row_weight: Some(&row_weight),
        doc_hash: &[0; 6],
    };
    let class = |doc: usize| [0.0, 1.0, 2.0, 3.5].iter().position(|l| *l == labels[doc]).unwrap();
    for link in [ClassLink::Softmax, ClassLink::Ordinal] {
        let loss = ClassLoss::new(link, &target).unwrap();
        assert_eq!(loss.labels(), [0.0, 1.0, 2.0, 3.5]);
        let count = loss.num_margins();
        let margins: Vec<Vec<f64>> = (0..count)
            .map(|k| (0..6).map(|doc| (k * doc % 5) as f64 / 2.0 - 1.0).collect())
            .collect();
        let mut gradients = vec![vec![Gradient::default(); 6]; count];
        loss.gradients(&margins, &mut gradients, &Interrupt::new()).unwrap();
        let cost = |margins: &[Vec<f64>], doc: usize| {
            let weight = query_weight[usize::from(doc > 1)] * row_weight[doc];
            let own: Vec<f64> = margins.iter().map(|margin| margin[doc]).collect();
            let entropy: f64 = match link {
                ClassLink::Softmax => {
                    own.iter().map(|m| m.exp()).sum::<f64>().ln() - own[class(doc)]
                }
                _ => own
                    .iter()
                    .enumerate()
                    .map(|(k, m)| if class(doc) > k { (-m).exp() } else { m.exp() }.ln_1p())
                    .sum(),
            };
            weight * entropy
        };
        for (k, doc) in (0..count).flat_map(|k| (0..6).map(move |doc| (k, doc))) {
            let at = |step: f64| {
                let mut moved = margins.clone();
                moved[k][doc] += step;
                cost(&moved, doc)
            };
            let step = 1e-4;
            let grad = (at(step) - at(-step)) / (2.0 * step);
            let hess = (at(step) - 2.0 * at(0.0) + at(-step)) / (step * step);
            let factor = if link == ClassLink::Softmax { 4.0 / 3.0 } else { 1.0 };
            let got = gradients[k][doc];
            assert!((f64::from(got.grad) - grad).abs() < 1e-6, "{link:?} {got:?} {grad}");
            assert!((f64::from(got.hess) - factor * hess).abs() < 1e-5, "{link:?} {got:?} {hess}");
        }
    }
}

#[test]
fn any_gain_is_expected_and_can_be_changed_afterwards() {
    let rows = Rows::new(60, 30);
    let train = rows.dataset();
    let convention = Convention { gain: Gain::Linear, ..Convention::default() };
    let metric = "ndcg".parse::<Metric>().unwrap().with_convention(&convention).unwrap();
    let linear = TrainingLoss::new(&ObjectiveOptions::new(ObjectiveKind::McRank, metric)).unwrap();
    let linear = trained(&train, TrainingPlan { loss: linear, ..plan(ObjectiveKind::McRank, 4) });
    let made = trained(&train, plan(ObjectiveKind::McRank, 4));
    let gains: Vec<f64> = linear.classes().unwrap().classes().map(|class| class.label).collect();
    let changed = made.with_gains(&gains).unwrap();
    assert_eq!(changed.classes(), linear.classes());
    assert!(made.with_gains(&[0.0, 1.0]).is_err());
}

#[test]
fn what_cannot_be_learned_as_classes_is_told() {
    let rows = Rows::new(30, 40);
    let one = Rows { labels: vec![1.0; rows.labels.len()], ..rows.clone() }.dataset();
    let said = refused(trainer(&one, plan(ObjectiveKind::McRank, 3)));
    assert!(said.contains("one class: nothing can be learned: got all labels are 1"), "{said}");
    let many = Rows::new(120, 40);
    let labels = (0..many.labels.len()).map(|row| row as f32 / 8.0).collect();
    let said = refused(trainer(&Rows { labels, ..many }.dataset(), plan(ObjectiveKind::McRank, 3)));
    assert!(said.contains("has no") || said.contains("too many different labels"), "{said}");

    let mut data = rows.data();
    data.base_score = Some(vec![0.0; rows.labels.len()]);
    let said = refused(trainer(&rows.dataset_of(data), plan(ObjectiveKind::McRank, 3)));
    assert!(said.contains("classes have no base scores"), "{said}");

    let train = rows.dataset();
    let with =
        |base: Model| TrainingPlan { base: Some(base.into()), ..plan(ObjectiveKind::McRank, 3) };
    let ordinal = trained(&train, plan(ObjectiveKind::OrdinalMcRank, 2));
    let said = refused(trainer(&train, with(ordinal)));
    assert!(said.contains("only from a model of the same classes, gains and link"), "{said}");
    let said = refused(trainer(&train, with(native(1, 6, &[3]))));
    assert!(said.contains("the base has another number of features"), "{said}");
}

#[test]
fn trees_go_on_from_classes_and_the_whole_is_one_file() {
    let rows = Rows::new(60, 50);
    let train = rows.dataset();
    let valid_rows = Rows::new(20, 51);
    for kind in KINDS {
        let base = trained(&train, plan(kind, 3));
        let evaluation_sets = vec![evaluation_set("valid", &valid_rows.like(&train))];
        let plan = TrainingPlan {
            base: Some(base.clone().into()),
            evaluation_sets,
            ..plan(ObjectiveKind::LambdaRank, 4)
        };
        let mut smart = trainer(&train, plan).unwrap();
        let text = run(&mut smart);
        let model = Model::from_text(text.as_bytes()).unwrap();
        assert_eq!((model.num_rounds(), model.components().len()), (7, 2));
        assert_eq!(model.components()[0], base.components()[0]);
        let mut scores = vec![0.0; rows.labels.len()];
        model.scorer().score(&rows.cells, &mut scores).unwrap();
        let binned = score_dataset(&model, &train, &Interrupt::new()).unwrap();
        assert_eq!(train.by_row(&binned), scores);
        // Bins made from the model alone score the same.
        let own = Arc::new(binning_of(&model).unwrap());
        let never = Interrupt::new();
        let set = Dataset::like(&rows.table(), rows.data(), own, &never).unwrap();
        let binned = score_dataset(&model, &set, &never).unwrap();
        assert_eq!(set.by_row(&binned), scores);
    }
}
