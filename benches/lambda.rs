//! Gradients of all objectives on one core. Prints time a doc.

#![expect(clippy::unwrap_used, reason = "a bench")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rustrank::hash::draw;
use rustrank::objective::{
    LambdaOptions, LambdaRank, Objective, ObjectiveKind, ObjectiveOptions, PairNormaliser,
    QueryNormaliser, ScoreNoise, State, Target,
};
use rustrank::simd::Level;
use rustrank::{Gradient, Interrupt, Queries};

const DOCS: usize = 60_000;

struct Data {
    scores: Vec<f64>,
    labels: Vec<f32>,
    doc_hash: Vec<u64>,
    queries: Queries,
}

/// Labels 0 to 4 with shares 1/2, 1/4, 1/8, 1/16, 1/16; scores that know something of them.
fn data(per_query: usize) -> Data {
    let docs = DOCS / per_query * per_query;
    let doc_hash: Vec<u64> = (0..docs as u64).map(|doc| draw(0, 0, doc)).collect();
    let label = |id: &u64| (draw(1, 0, *id) | 1 << 60).leading_zeros().min(4) as f32;
    let labels: Vec<f32> = doc_hash.iter().map(label).collect();
    let noise = |id: &u64| draw(2, 0, *id) as f64 / u64::MAX as f64;
    let score = |(id, label): (&u64, &f32)| noise(id) * 4.0 + f64::from(*label);
    let scores = doc_hash.iter().zip(&labels).map(score).collect();
    let sizes = vec![per_query.cast_signed() as i64; docs / per_query];
    Data { scores, labels, doc_hash, queries: Queries::from_sizes(&sizes, docs).unwrap() }
}

fn run(c: &mut Criterion, name: &str, data: &Data, objective: &dyn Objective) {
    let Data { scores, labels, doc_hash, queries } = data;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let target = Target { labels, queries, query_weight: None, row_weight: None, doc_hash };
    let mut gradients = vec![Gradient::default(); scores.len()];
    let mut group = c.benchmark_group("lambda");
    group.throughput(Throughput::Elements(scores.len() as u64)).sample_size(20);
    group.bench_function(name, |b| {
        b.iter(|| {
            let state = State { round: 1, scores };
            pool.install(|| {
                objective.gradients(&target, state, &mut gradients, &Interrupt::new()).unwrap();
            });
        });
    });
    group.finish();
}

fn lambdarank(options: LambdaOptions) -> LambdaRank {
    LambdaRank::new(options).unwrap()
}

fn lambdas(c: &mut Criterion) {
    let ndcg = LambdaOptions::new("ndcg".parse().unwrap());
    for per_query in [24, 50, 120, 1000] {
        let data = data(per_query);
        for level in Level::available() {
            let objective = lambdarank(ndcg.clone()).at_level(level);
            run(c, &format!("ndcg/{per_query}/{level:?}"), &data, &objective);
        }
    }
    let mut data = data(120);
    let normalised = LambdaOptions {
        pair_normaliser: PairNormaliser::ScoreGap,
        gap_offset: 0.01,
        query_normaliser: QueryNormaliser::LogSum,
        ..ndcg.clone()
    };
    run(c, "normalised/120", &data, &lambdarank(normalised));
    for copies in [1, 5] {
        let noise = Some(ScoreNoise { scale: 1.0, copies });
        let objective = lambdarank(LambdaOptions { noise, ..ndcg.clone() });
        run(c, &format!("noise/120/{copies}"), &data, &objective);
    }
    run(c, "tuned/120", &data, &lambdarank(LambdaOptions::tuned("ndcg".parse().unwrap())));
    for name in ["ndcg@10", "precision@10", "err", "map", "mrr", "pairwise"] {
        let options = LambdaOptions { metric: name.parse().unwrap(), ..ndcg.clone() };
        run(c, &format!("metric/120/{name}"), &data, &lambdarank(options));
    }
    for kind in [ObjectiveKind::RankNet, ObjectiveKind::XeNdcg, ObjectiveKind::Regression] {
        let options = ObjectiveOptions::new(kind, "ndcg".parse().unwrap());
        run(c, &format!("objective/120/{kind}"), &data, &*options.build().unwrap());
    }
    data.scores.fill(0.0);
    run(c, "tied/120", &data, &lambdarank(ndcg));
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = lambdas
}
criterion_main!(benches);
