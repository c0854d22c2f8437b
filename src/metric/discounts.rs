//! Tables of what a rank is worth, grown on demand and kept by a thread from query to query.

use super::Measure;

/// The tables, as long as the deepest rank asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discounts {
    by_measure: Vec<(Measure, Vec<f64>)>,
    reciprocal: Vec<f64>,
}

impl Discounts {
    /// A metric's own discounts of the first `ranks` ranks; 0 for a metric that has none.
    pub(crate) fn of(&mut self, measure: Measure, ranks: usize) -> &[f64] {
        let found = self.by_measure.iter().position(|(other, _)| *other == measure);
        let at = found.unwrap_or_else(|| {
            self.by_measure.push((measure, Vec::new()));
            self.by_measure.len() - 1
        });
        let table = &mut self.by_measure[at].1;
        if table.len() < ranks {
            let definition = measure.definition();
            let known = table.len();
            table.extend((known..ranks).map(|rank| definition.discount(rank).unwrap_or_default()));
        }
        &table[..ranks]
    }

    /// `1/rank` for the first `ranks` ranks, counted from 1.
    pub(crate) fn reciprocal(&mut self, ranks: usize) -> &[f64] {
        let known = self.reciprocal.len();
        self.reciprocal.extend((known..ranks).map(|at| ((at + 1) as f64).recip()));
        &self.reciprocal[..ranks]
    }
}
