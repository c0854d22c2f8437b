//! Metrics over 10,000 queries of 120 docs on one thread, the preparation and use of
//! deltas, and resampling.

#![expect(clippy::unwrap_used, reason = "a bench")]

mod common {
    pub(crate) mod metric;
}

use common::metric::{DOCS, Synthetic, synthetic};
use criterion::{Criterion, criterion_group, criterion_main};
use rustrank::metric::evaluate;
use rustrank::metric::significance::{Resampling, bootstrap, randomisation_test};
use rustrank::{Interrupt, Metric, Queries, random};
use std::hint::black_box;

const QUERIES: usize = 10_000;

fn evaluations(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let interrupt = Interrupt::new();
    for (width, exact) in [("f32", true), ("f64", false)] {
        let data = synthetic(QUERIES, exact);
        let mut run = |title: &str, names: &[&str]| {
            let metrics: Vec<Metric> = names.iter().map(|name| name.parse().unwrap()).collect();
            c.bench_function(&format!("evaluate/{title}/{width}"), |b| {
                b.iter(|| {
                    pool.install(|| {
                        let Synthetic { scores, labels, queries } = black_box(&data);
                        evaluate(&metrics, scores, labels, queries, &interrupt).unwrap()
                    })
                });
            });
        };
        run("ndcg@10", &["ndcg@10"]);
        run("ndcg", &["ndcg"]);
        run(
            "eight",
            &["ndcg", "dcg@5", "err", "map", "mrr", "precision@5", "recall@9", "pairwise"],
        );
    }
}

fn deltas(c: &mut Criterion) {
    let data = synthetic(QUERIES, true);
    let query = data.queries.range(7);
    let (scores, labels) = (&data.scores[query.clone()], &data.labels[query]);
    for name in ["ndcg@10", "err", "map", "mrr", "pairwise"] {
        let metric: Metric = name.parse().unwrap();
        let mut deltas = metric.swap_delta(&data.labels).unwrap();
        c.bench_function(&format!("prepare/{name}"), |b| {
            b.iter(|| deltas.prepare(black_box(scores), black_box(labels)).unwrap());
        });
        let mut row = Vec::new();
        c.bench_function(&format!("pairs/{name}"), |b| {
            b.iter(|| {
                (0..DOCS).fold(0.0, |sum, a| {
                    deltas.fill(a, 0..DOCS, &mut row);
                    sum + row.iter().sum::<f64>()
                })
            });
        });
    }
}

fn tied_block(c: &mut Criterion) {
    const TIED: usize = 5000;
    let data = synthetic(QUERIES, true);
    let labels = &data.labels[..TIED];
    let queries = Queries::from_sizes(&[TIED.cast_signed() as i64], TIED).unwrap();
    let (scores, interrupt) = (vec![1.0; TIED], Interrupt::new());
    for name in ["err", "map", "pairwise"] {
        let metric: Metric = name.parse().unwrap();
        c.bench_function(&format!("tied/5000/{name}"), |b| {
            b.iter(|| metric.per_query(black_box(&scores), labels, &queries, &interrupt).unwrap());
        });
    }
}

fn resampling(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let values = |seed| (0..QUERIES as u64).map(move |q| random::draw(seed, 0, q) as f64 / 2e19);
    let (a, b): (Vec<f64>, Vec<f64>) = (values(1).collect(), values(2).collect());
    let resampling = Resampling { resamples: 1000, seed: 0 };
    let interrupt = Interrupt::new();
    c.bench_function("bootstrap/1000", |bench| {
        bench.iter(|| pool.install(|| bootstrap(&a, None, 0.95, resampling, &interrupt).unwrap()));
    });
    c.bench_function("randomisation/1000", |bench| {
        bench.iter(|| pool.install(|| randomisation_test(&a, &b, resampling, &interrupt).unwrap()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = evaluations, tied_block, deltas, resampling
}
criterion_main!(benches);
