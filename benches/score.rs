//! The scorer on one core: nanoseconds a doc and tree, and a value, with the gates beside them.
//!
//! Each time is the least of many short runs. The cost of a tree is what 500 more of them add to a
//! model, since they bring no new thresholds; the rest is the cost of turning values into codes.
//! Rows can be asked for: `cargo bench --bench score -- "Avx512 31 256"`, `explain`
//! or `ensembles`.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use rustrank::model::{
    Child, Component, Derived, Explainer, Leaf, Model, Normalisation, Part, Ranker, Scorer, Split,
    Stack, Statistic, Tree,
};
use rustrank::random::{below, draw};
use rustrank::simd::Level;
use std::hint::black_box;
use std::time::{Duration, Instant};

const FEATURES: usize = 136;
const TREES: usize = 500;

/// A tree as boosting grows them: a random leaf is split, again and again.
fn tree(seed: u64, leaves: usize) -> Tree {
    let random =
        |what: u64, at: usize, n: usize| below(draw(seed, what, at as u64), n as u64) as usize;
    let mut open: Vec<Option<(usize, bool)>> = vec![None];
    let mut splits: Vec<Split> = Vec::new();
    let hang = |splits: &mut Vec<Split>, place: Option<(usize, bool)>, child| match place {
        Some((parent, true)) => splits[parent].right = child,
        Some((parent, false)) => splits[parent].left = child,
        None => {}
    };
    for at in 0..leaves - 1 {
        let place = open.swap_remove(random(0, at, open.len()));
        hang(&mut splits, place, Child::Split(at as u32));
        splits.push(Split {
            feature: random(1, at, FEATURES) as u32,
            threshold: random(2, at, 254) as f64 / 254.0,
            missing_left: random(3, at, 10) == 0,
            left: Child::Leaf(0),
            right: Child::Leaf(0),
            reduction: 0.0,
            cover: 0.0,
            docs: 1,
        });
        open.extend([Some((at, false)), Some((at, true))]);
    }
    for (leaf, place) in open.into_iter().enumerate() {
        hang(&mut splits, place, Child::Leaf(leaf as u32));
    }
    let value = |leaf| f64::from(random(4, leaf, 1000) as f32 / 1000.0);
    let leaf = |leaf| Leaf { value: value(leaf), cover: 0.0, docs: 1 };
    Tree::new(splits, (0..leaves).map(leaf).collect())
}

fn model(trees: usize, leaves: usize) -> Model {
    let mut model = Model::new(FEATURES);
    for i in 0..trees {
        model.push(tree((i % TREES) as u64, leaves)).expect("a tree");
    }
    model
}

/// The least time of a call.
fn least(mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_millis(400) {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
    }
    best
}

/// What an explanation costs, by instructions.
fn explanations(values: &[f32]) {
    const DOCS: usize = 64;
    let mut found = vec![0.0; DOCS * (FEATURES + 1)];
    println!("level     leaves  us/explained doc (500 trees)");
    for level in Level::available() {
        for leaves in [31, 255] {
            let explainer = Explainer::at_level(&model(TREES, leaves), level).expect("docs");
            let rows = &values[..DOCS * FEATURES];
            let time = least(|| explainer.explain(black_box(rows), &mut found).expect("values"));
            let each = time.as_nanos() as f64 / 1000.0 / DOCS as f64;
            println!("{:9} {leaves:6} {each:28.1}", format!("{level:?}"));
        }
    }
}

/// Trees of their own: a seed for each.
fn forest(first: usize, trees: usize, features: usize) -> Model {
    let mut model = Model::new(features);
    for i in 0..trees {
        model.push(tree((first + i) as u64, 31)).expect("a tree");
    }
    model
}

/// A member that stands on what another says of the query.
fn stacked(first: usize, ranker: &Model) -> Model {
    let ranker = Ranker { normalisation: Normalisation::AsIs, model: ranker.clone() };
    let derived: Vec<Derived> = [Statistic::Max, Statistic::Mean, Statistic::Top(3)]
        .map(|statistic| Derived { ranker: 0, statistic })
        .to_vec();
    let outer = forest(first, TREES, FEATURES + derived.len());
    let stack = Stack::new(FEATURES, vec![ranker], derived, true, outer).expect("a stack");
    let mut model = Model::new(FEATURES);
    model.add(Component::new(Part::Stack(Box::new(stack)))).expect("a stack");
    model
}

/// What twelve members cost in one model, beside what they cost one by one.
fn ensembles(values: &[f32]) {
    const DOCS: usize = 1000;
    let bounds: Vec<usize> = (0..=DOCS).step_by(20).collect();
    let rows = &values[..DOCS * FEATURES];
    let mut scores = vec![0.0; DOCS];
    let mut time = |model: &Model| {
        let scorer = model.scorer();
        let mut call = || scorer.score_queries(black_box(rows), &bounds, &mut scores);
        least(|| call().expect("scores")).as_nanos() as f64 / 1000.0
    };
    let mart = forest(0, TREES, FEATURES);
    let plain: Vec<Model> = (0..10).map(|i| forest(i * TREES, TREES, FEATURES)).collect();
    let mut members: Vec<(Model, Normalisation)> = Vec::new();
    let fixed = Normalisation::Fixed { mean: 0.1, scale: 2.0 };
    members.extend(plain[..8].iter().map(|model| (model.clone(), fixed)));
    members.extend([20, 21].map(|i| (stacked(i * TREES, &mart), fixed)));
    members.extend([(mart.clone(), fixed), (mart, Normalisation::QueryTop)]);
    let of = |members: &[(Model, Normalisation)]| {
        let mut sum = Model::new(FEATURES);
        for (model, normalisation) in members {
            let part = Part::Model(Box::new(model.clone()));
            let member = Component { weight: 0.125, normalisation: *normalisation, part };
            sum.add(member).expect("a member");
        }
        sum
    };
    println!("members                                    us one by one  us in one  ratio");
    for (name, some) in
        [("8 forests", &members[..8]), ("and 2 stacks, 2 of their ranker", &members[..])]
    {
        let alone: f64 = some.iter().map(|(model, _)| time(model)).sum();
        let together = time(&of(some));
        let ratio = together / alone;
        println!("{name:42} {alone:13.0} {together:10.0} {ratio:6.3}");
    }
}

fn main() {
    let docs = 1024;
    let values: Vec<f32> = (0..docs * FEATURES)
        .map(|i| below(draw(7, 0, i as u64), 1 << 20) as f32 / (1u64 << 20) as f32)
        .collect();
    let mut scores = vec![0.0; docs];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if wanted.is_empty() || wanted == ["explain"] {
        pool.install(|| explanations(&values));
    }
    if wanted.is_empty() || wanted == ["ensembles"] {
        pool.install(|| ensembles(&values));
    }
    println!("level     leaves  docs  us/call  ns/doc/tree (mux alone)  ns/value (quantise)");
    for level in Level::available() {
        for leaves in [31, 64, 255] {
            let (one, two) = (model(TREES, leaves), model(2 * TREES, leaves));
            let (one, two) = (Scorer::at_level(&one, level), Scorer::at_level(&two, level));
            for docs in [1, 8, 16, 64, 100, 256, 1024] {
                let row = format!("{level:?} {leaves} {docs}");
                if !wanted.is_empty() && !wanted.contains(&row) {
                    continue;
                }
                let values = &values[..docs * FEATURES];
                let scores = &mut scores[..docs];
                let mut time = |scorer: &Scorer| {
                    pool.install(|| {
                        least(|| scorer.score(black_box(values), scores).expect("scores"))
                    })
                };
                let (one, two) = (time(&one).as_nanos() as f64, time(&two).as_nanos() as f64);
                let tree = (two - one) / (docs * TREES) as f64;
                let value = (2.0 * one - two) / (docs * FEATURES) as f64;
                println!(
                    "{:9} {leaves:6} {docs:5} {:8.1} {:23.3} {value:20.3}",
                    format!("{level:?}"),
                    one / 1000.0,
                    tree
                );
            }
        }
    }
    println!("gates: quantise <= 1.1 ns/value, mux <= 0.45 ns/doc/tree (31 leaves, 256 docs)");
}
