//! Queries of 120 docs with labels and scores, for the benches of metrics.

use rustrank::{Queries, random};

pub(crate) const DOCS: usize = 120;

pub(crate) struct Synthetic {
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<f32>,
    pub(crate) queries: Queries,
}

/// Labels 0 to 4 with shares 1/2, 1/4, 1/8, 1/16, 1/16; scores that know something of them and are
/// exact in 32 bits, as a model's are, or not.
pub(crate) fn synthetic(num_queries: usize, exact: bool) -> Synthetic {
    let rows = 0..(num_queries * DOCS) as u64;
    let label = |row| (random::draw(1, 0, row) | 1 << 60).leading_zeros().min(4) as f32;
    let labels: Vec<f32> = rows.clone().map(label).collect();
    let noise = |row| random::draw(2, 0, row) as f64 / u64::MAX as f64;
    let score = |row: u64| noise(row) * 4.0 + f64::from(labels[row as usize]);
    let short = |score: f64| if exact { f64::from(score as f32) } else { score };
    let scores = rows.map(|row| short(score(row))).collect();
    let queries =
        Queries::from_sizes(&vec![DOCS.cast_signed() as i64; num_queries], num_queries * DOCS)
            .unwrap();
    Synthetic { scores, labels, queries }
}
