//! The scorer on one core: nanoseconds a doc and tree, and a value, with the gates beside them.
//!
//! Each time is the least of many short runs. The cost of a tree is what 500 more of them add to a
//! model, since they bring no new thresholds; the rest is the cost of turning values into codes.
//! Rows can be asked for: `cargo bench --bench score -- "Avx512 31 256"`, `explain`
//! or `ensembles`.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod common {
    pub(crate) mod score;
}

use common::score::{FEATURES, TREES, members, model, sum_of, values};
use rustrank::model::{Explainer, Model, Scorer};
use rustrank::simd::Level;
use std::hint::black_box;
use std::time::{Duration, Instant};

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
    let members = members();
    println!("members                                    us one by one  us in one  ratio");
    for (name, some) in
        [("8 forests", &members[..8]), ("and 2 stacks, 2 of their ranker", &members[..])]
    {
        let alone: f64 = some.iter().map(|(model, _)| time(model)).sum();
        let together = time(&sum_of(some));
        let ratio = together / alone;
        println!("{name:42} {alone:13.0} {together:10.0} {ratio:6.3}");
    }
}

fn main() {
    let docs = 1024;
    let values = values(docs);
    let mut scores = vec![0.0; docs];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if wanted.is_empty() || wanted == ["explain"] {
        pool.install(|| explanations(&values));
    }
    if wanted.is_empty() || wanted == ["ensembles"] {
        pool.install(|| ensembles(&values));
    }
    println!("level     leaves  docs  us/call  ns/doc/tree (circuits alone)  ns/value (quantise)");
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
    println!("gates: quantise <= 1.1 ns/value, circuits <= 0.45 ns/doc/tree (31 leaves, 256 docs)");
}
