//! Growing trees: prints CPU time of one thread, the least of some runs, for machines are shared.
//!
//! `root`: a tree of two leaves, whose time is the root's histogram but for a tenth; the bound is
//! 0.33 ns a cell. Then whole trees, on a large table and on a small one. An argument chooses the
//! lines that contain it: `cargo bench --bench grow -- small`.

#![expect(clippy::print_stdout, reason = "a bench: prints its figures")]

use cpu_time::ThreadTime;
use rustrank::bins::{BinOptions, Binning, Matrix};
use rustrank::data::{MissingPolicy, StridedTable};
use rustrank::grow::{GrowOptions, Grower, Job, Table, TreeShape};
use rustrank::hash::draw;
use rustrank::{Gradient, Interrupt};

struct World {
    name: &'static str,
    num_docs: usize,
    num_features: usize,
    binning: Binning,
    matrix: Matrix,
    gradients: Vec<Gradient>,
}

fn unit(stream: u64, id: u64) -> f32 {
    (draw(3, stream, id) >> 40) as f32 / (1u64 << 24) as f32
}

/// Continuous features, a part of them mostly zero, as search data have them.
fn cell(row: usize, feature: usize) -> f32 {
    let unit = unit(feature as u64, row as u64);
    if feature % 5 < 2 && unit < 0.6 { 0.0 } else { (10.0 * unit).exp() }
}

/// Features of five fields, all zero where a doc lacks the field: a half of all docs lack the first, a
/// third the second, few the others.
fn cell_of_field(row: usize, feature: usize) -> f32 {
    let lacked = [0.49, 0.33, 0.06, 0.1, 0.05][feature % 5];
    let lacks = unit(2000 + (feature % 5) as u64, row as u64) < lacked;
    if lacks { 0.0 } else { (10.0 * unit(feature as u64, row as u64)).exp() }
}

impl World {
    fn new(
        name: &'static str,
        (num_docs, num_features): (usize, usize),
        cell: fn(usize, usize) -> f32,
    ) -> Self {
        let cells: Vec<f32> = (0..num_docs * num_features)
            .map(|i| cell(i / num_features, i % num_features))
            .collect();
        let never = Interrupt::new();
        let source = StridedTable::by_row(&cells, num_features, MissingPolicy::default());
        let binning = Binning::of(&source, &BinOptions::default(), &never).expect("bins");
        let order: Vec<u32> = (0..num_docs as u32).collect();
        let matrix = binning.encode_in_order(&source, &order, &never).expect("a matrix");
        // Heavy tails, as lambdas have, and something to find.
        let gradient = |row: usize| {
            let tail = unit(1000, row as u64).powi(8);
            let of = |f: usize| cells[row * num_features + 2 + 5 * f].ln_1p();
            let pull: f32 = (0..8).map(of).sum();
            let hess = 0.01 + tail;
            Gradient { grad: (pull / 80.0 - 0.5 + unit(1001, row as u64)) * hess, hess }
        };
        let gradients = (0..num_docs).map(gradient).collect();
        Self { name, num_docs, num_features, binning, matrix, gradients }
    }

    fn run(&self, what: &str, options: GrowOptions, runs: usize) {
        let name = format!("{}/{what}", self.name);
        let only = std::env::args().nth(1).filter(|only| !only.starts_with('-'));
        if only.is_some_and(|only| !name.contains(&only)) {
            return;
        }
        let never = Interrupt::new();
        let docs: Vec<u32> = (0..self.num_docs as u32).collect();
        let doc_hash: Vec<u64> = (0..self.num_docs as u64).collect();
        let table = Table { matrix: &self.matrix, binning: &self.binning, doc_hash: &doc_hash };
        let mut grower = Grower::new(table, options).expect("a grower");
        let mut one = || {
            let job = Job { gradients: &self.gradients, docs: &docs, rest: &[], round: 0 };
            let start = ThreadTime::now();
            grower.grow(table, job, &never).expect("a tree");
            start.elapsed()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let least = (0..runs).map(|_| pool.install(&mut one)).min().expect("runs").as_secs_f64();
        let cells = (self.num_docs * self.num_features) as f64;
        let per_cell = 1e9 * least / cells;
        println!("{name:<32} {:8.3} ms {per_cell:8.3} ns a cell of the table", 1e3 * least);
    }
}

fn main() {
    let leaves = |num_leaves| GrowOptions { num_leaves, ..GrowOptions::default() };
    let large = World::new("200k x 136", (200_000, 136), cell);
    large.run("root", leaves(2), 40);
    large.run("31 leaves", leaves(31), 20);
    large.run("255 leaves", leaves(255), 10);
    let symmetric =
        |num_leaves| GrowOptions { tree_shape: TreeShape::Symmetric, ..leaves(num_leaves) };
    large.run("32 leaves, symmetric", symmetric(32), 20);
    large.run("64 leaves, symmetric", symmetric(64), 20);
    large.run("64 leaves", leaves(64), 20);
    large.run("256 leaves, symmetric", symmetric(256), 10);
    let random_strength = 1.0;
    large.run("31 leaves, noise", GrowOptions { random_strength, ..leaves(31) }, 20);
    let some = GrowOptions { features_per_tree: 0.7, ..leaves(31) };
    large.run("31 leaves, 0.7 a tree", some, 20);
    let fields = World::new("130k x 700 of fields", (130_000, 700), cell_of_field);
    fields.run("root", leaves(2), 20);
    fields.run("31 leaves", leaves(31), 10);
    fields.run("255 leaves", leaves(255), 10);
    let small = World::new("10k x 46", (10_000, 46), cell);
    small.run("31 leaves", leaves(31), 200);
    small.run("7 leaves", leaves(7), 200);
    small.run("32 leaves, symmetric", symmetric(32), 200);
}
