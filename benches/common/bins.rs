//! The table that the benches of bins read.

use rustrank::random::draw;

pub(crate) const FEATURES: usize = 136;

/// Counts, flags, sparse and continuous features, as search data have them.
pub(crate) fn table(rows: usize) -> Vec<f32> {
    let value = |row: usize, feature: usize| {
        let bits = draw(1, feature as u64, row as u64);
        let unit = (bits >> 11) as f32 / (1u64 << 53) as f32;
        match feature % 8 {
            0 => f32::from(unit < 0.2),
            1 => (unit * unit * 12.0).floor(),
            2 | 3 if unit < 0.6 => 0.0,
            _ => (10.0 * unit).exp(),
        }
    };
    (0..rows * FEATURES).map(|i| value(i / FEATURES, i % FEATURES)).collect()
}
