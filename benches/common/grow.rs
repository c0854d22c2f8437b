//! Tables with gradients, from which the benches grow trees.

use rustrank::binning::{BinOptions, BinnedMatrix, Binning};
use rustrank::data::{Policy, Strided};
use rustrank::random::draw;
use rustrank::tree::{GrowOptions, Grower, TrainingTable, TreeJob, TreeShape};
use rustrank::{Gradient, Interrupt};

/// A binned table with a gradient for each doc.
pub(crate) struct World {
    binning: Binning,
    matrix: BinnedMatrix,
    gradients: Vec<Gradient>,
    docs: Vec<u32>,
    doc_hash: Vec<u64>,
}

fn unit(stream: u64, id: u64) -> f32 {
    (draw(3, stream, id) >> 40) as f32 / (1u64 << 24) as f32
}

/// Continuous features, a part of them mostly zero, as search data have them.
pub(crate) fn cell(row: usize, feature: usize) -> f32 {
    let unit = unit(feature as u64, row as u64);
    if feature % 5 < 2 && unit < 0.6 { 0.0 } else { (10.0 * unit).exp() }
}

/// Features of five fields, all zero where a doc lacks the field: a half of all docs lack the first, a
/// third the second, few the others.
pub(crate) fn cell_of_field(row: usize, feature: usize) -> f32 {
    let lacked = [0.49, 0.33, 0.06, 0.1, 0.05][feature % 5];
    let lacks = unit(2000 + (feature % 5) as u64, row as u64) < lacked;
    if lacks { 0.0 } else { (10.0 * unit(feature as u64, row as u64)).exp() }
}

/// Leaf by leaf, up to this many leaves.
pub(crate) fn leaves(num_leaves: usize) -> GrowOptions {
    GrowOptions { num_leaves, ..GrowOptions::default() }
}

/// The same, symmetric.
pub(crate) fn symmetric(num_leaves: usize) -> GrowOptions {
    GrowOptions { tree_shape: TreeShape::Symmetric, ..leaves(num_leaves) }
}

impl World {
    pub(crate) fn new(
        (num_docs, num_features): (usize, usize),
        cell: impl Fn(usize, usize) -> f32,
        bins: &BinOptions,
    ) -> Self {
        let cells: Vec<f32> = (0..num_docs * num_features)
            .map(|i| cell(i / num_features, i % num_features))
            .collect();
        let never = Interrupt::new();
        let source = Strided::by_row(&cells, num_features, Policy::default());
        let binning = Binning::of(&source, bins, &never).expect("bins");
        let docs: Vec<u32> = (0..num_docs as u32).collect();
        let matrix = binning.encode_in_order(&source, &docs, &never).expect("a matrix");
        // Heavy tails, as lambdas have, and something to find.
        let gradient = |row: usize| {
            let tail = unit(1000, row as u64).powi(8);
            let of = |f: usize| cells[row * num_features + 2 + 5 * f].ln_1p();
            let pull: f32 = (0..8).map(of).sum();
            let hess = 0.01 + tail;
            Gradient { grad: (pull / 80.0 - 0.5 + unit(1001, row as u64)) * hess, hess }
        };
        let gradients = (0..num_docs).map(gradient).collect();
        let doc_hash = (0..num_docs as u64).collect();
        Self { binning, matrix, gradients, docs, doc_hash }
    }

    fn table(&self) -> TrainingTable<'_> {
        TrainingTable { matrix: &self.matrix, binning: &self.binning, doc_hash: &self.doc_hash }
    }

    pub(crate) fn grower(&self, options: GrowOptions) -> Grower {
        Grower::new(self.table(), options).expect("a grower")
    }

    /// Grows a tree from all docs.
    pub(crate) fn grow(&self, grower: &mut Grower) {
        let job = TreeJob { gradients: &self.gradients, docs: &self.docs, rest: &[], round: 0 };
        grower.grow(self.table(), job, &Interrupt::new()).expect("a tree");
    }
}
