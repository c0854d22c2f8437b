//! Scored queries, and the objectives whose gradients the benches compute.

use rustrank::objective::{
    LambdaOptions, LambdaRank, Objective, ObjectiveKind, ObjectiveOptions, PairNormaliser,
    QueryNormaliser, ScoreNoise, State, Target,
};
use rustrank::random::draw;
use rustrank::simd::Level;
use rustrank::{Gradient, Interrupt, Queries};

pub(crate) struct Data {
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<f32>,
    pub(crate) doc_hash: Vec<u64>,
    pub(crate) queries: Queries,
}

/// Labels 0 to 4 with shares 1/2, 1/4, 1/8, 1/16, 1/16; scores that know something of them.
pub(crate) fn data(docs: usize, per_query: usize) -> Data {
    let docs = docs / per_query * per_query;
    let doc_hash: Vec<u64> = (0..docs as u64).map(|doc| draw(0, 0, doc)).collect();
    let label = |id: &u64| (draw(1, 0, *id) | 1 << 60).leading_zeros().min(4) as f32;
    let labels: Vec<f32> = doc_hash.iter().map(label).collect();
    let noise = |id: &u64| draw(2, 0, *id) as f64 / u64::MAX as f64;
    let score = |(id, label): (&u64, &f32)| noise(id) * 4.0 + f64::from(*label);
    let scores = doc_hash.iter().zip(&labels).map(score).collect();
    let sizes = vec![per_query.cast_signed() as i64; docs / per_query];
    Data { scores, labels, doc_hash, queries: Queries::from_sizes(&sizes, docs).unwrap() }
}

impl Data {
    /// The gradients of all docs.
    pub(crate) fn gradients(&self, objective: &dyn Objective, gradients: &mut [Gradient]) {
        let Self { scores, labels, doc_hash, queries } = self;
        let target = Target { labels, queries, query_weight: None, row_weight: None, doc_hash };
        let state = State { round: 1, scores };
        objective.gradients(&target, state, gradients, &Interrupt::new()).expect("gradients");
    }
}

/// An objective with the data that it is measured on.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Docs a query.
    pub(crate) per_query: usize,
    /// Whether all scores are equal.
    pub(crate) tied: bool,
    pub(crate) objective: Box<dyn Objective>,
}

fn case(name: String, per_query: usize, objective: Box<dyn Objective>) -> Case {
    Case { name, per_query, tied: false, objective }
}

fn lambdarank(options: LambdaOptions) -> LambdaRank {
    LambdaRank::new(options).expect("options")
}

/// All objectives, `LambdaRank` with NDCG at each of the levels.
pub(crate) fn cases(levels: &[Level]) -> Vec<Case> {
    let ndcg = LambdaOptions::new("ndcg".parse().expect("a metric"));
    let mut cases = Vec::new();
    for per_query in [24, 50, 120, 1000] {
        cases.extend(levels.iter().map(|&level| {
            let objective = lambdarank(ndcg.clone()).at_level(level);
            case(format!("ndcg/{per_query}/{level:?}"), per_query, Box::new(objective))
        }));
    }
    let mut add = |name: &str, options: LambdaOptions| {
        cases.push(case(name.to_owned(), 120, Box::new(lambdarank(options))));
    };
    let normalised = LambdaOptions {
        pair_normaliser: PairNormaliser::ScoreGap,
        gap_offset: 0.01,
        query_normaliser: QueryNormaliser::LogSum,
        ..ndcg.clone()
    };
    add("normalised/120", normalised);
    for copies in [1, 5] {
        let noise = Some(ScoreNoise { scale: 1.0, copies });
        add(&format!("noise/120/{copies}"), LambdaOptions { noise, ..ndcg.clone() });
    }
    add("tuned/120", LambdaOptions::tuned("ndcg".parse().expect("a metric")));
    for name in ["ndcg@10", "precision@10", "err", "map", "mrr", "pairwise"] {
        let metric = name.parse().expect("a metric");
        add(&format!("metric/120/{name}"), LambdaOptions { metric, ..ndcg.clone() });
    }
    for kind in [ObjectiveKind::RankNet, ObjectiveKind::XeNdcg, ObjectiveKind::Regression] {
        let options = ObjectiveOptions::new(kind, "ndcg".parse().expect("a metric"));
        let objective = options.build().expect("an objective");
        cases.push(case(format!("objective/120/{kind}"), 120, objective));
    }
    let tied = case("tied/120".to_owned(), 120, Box::new(lambdarank(ndcg)));
    cases.push(Case { tied: true, ..tied });
    cases
}
