//! Two rankers to mix, and the sweep over their mixtures.

use rustrank::combine::{Judged, Range, SweepOptions, sweep};
use rustrank::{Interrupt, Queries, random};

pub(crate) struct Synthetic {
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
    pub(crate) labels: Vec<f32>,
    pub(crate) queries: Queries,
}

/// Two rankers, normal and alike by `rho`, exact in single precision; labels 0 to 4 with shares
/// 1/2, 1/4, 1/8, 1/16, 1/16 that both know something of.
pub(crate) fn synthetic(num_queries: usize, num_docs: usize, rho: f64) -> Synthetic {
    let rows = 0..(num_queries * num_docs) as u64;
    let label = |row| (random::draw(1, 0, row) | 1 << 60).leading_zeros().min(4) as f32;
    let labels: Vec<f32> = rows.clone().map(label).collect();
    let uniform = |stream, row| random::draw(3, stream, row) as f64 / 2f64.powi(64);
    let normal =
        |stream: u64, row| (0..12).map(|i| uniform(12 * stream + i, row)).sum::<f64>() - 6.0;
    let own = (1.0 - rho * rho).sqrt();
    let score = |row: u64, stream| {
        let shared = normal(0, row) + f64::from(labels[row as usize]) * 0.5;
        f64::from((rho * shared + own * normal(stream, row)) as f32)
    };
    let first = rows.clone().map(|row| score(row, 1)).collect();
    let second = rows.map(|row| score(row, 2)).collect();
    let sizes = vec![num_docs.cast_signed() as i64; num_queries];
    let queries = Queries::from_sizes(&sizes, num_queries * num_docs).unwrap();
    Synthetic { first, second, labels, queries }
}

pub(crate) fn sweep_of(data: &Synthetic, name: &str, range: Range) -> u64 {
    let Synthetic { first, second, labels, queries } = data;
    let judged = Judged { labels, queries, query_weight: None };
    let options = SweepOptions::new(name.parse().unwrap(), range);
    sweep(first, second, &judged, &options, &Interrupt::new()).unwrap().num_events
}
