//! Gradients of all objectives on one core. Prints time a doc.

#![expect(clippy::unwrap_used, reason = "a bench")]

mod common {
    pub(crate) mod lambda;
}

use common::lambda::{Case, Data, cases, data};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rustrank::Gradient;
use rustrank::objective::Objective;
use rustrank::simd::Level;

const DOCS: usize = 60_000;

fn run(c: &mut Criterion, name: &str, data: &Data, objective: &dyn Objective) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut gradients = vec![Gradient::default(); data.scores.len()];
    let mut group = c.benchmark_group("lambda");
    group.throughput(Throughput::Elements(data.scores.len() as u64)).sample_size(20);
    group.bench_function(name, |b| {
        b.iter(|| {
            pool.install(|| data.gradients(objective, &mut gradients));
        });
    });
    group.finish();
}

fn lambdas(c: &mut Criterion) {
    for Case { name, per_query, tied, objective } in cases(&Level::available()) {
        let mut data = data(DOCS, per_query);
        if tied {
            data.scores.fill(0.0);
        }
        run(c, &name, &data, &*objective);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = lambdas
}
criterion_main!(benches);
