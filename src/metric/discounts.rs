//! What a rank is worth: tables of 1/log2(1 + rank) and 1/rank, rank from 1, grown on demand.

/// The tables, as long as the deepest rank asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discounts {
    log: Vec<f64>,
    reciprocal: Vec<f64>,
}

impl Discounts {
    /// `1/log2(1 + rank)` for the first `ranks` ranks.
    pub(crate) fn log(&mut self, ranks: usize) -> &[f64] {
        let known = self.log.len();
        self.log.extend((known..ranks).map(|at| ((at + 2) as f64).log2().recip()));
        &self.log[..ranks]
    }

    /// `1/rank` for the first `ranks` ranks.
    pub(crate) fn reciprocal(&mut self, ranks: usize) -> &[f64] {
        let known = self.reciprocal.len();
        self.reciprocal.extend((known..ranks).map(|at| ((at + 1) as f64).recip()));
        &self.reciprocal[..ranks]
    }
}
