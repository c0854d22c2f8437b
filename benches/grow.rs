//! Growing trees, one core: prints CPU time, the least of some runs, for machines are shared.
//!
//! `root`: a tree of two leaves, whose time is the root's histogram but for a tenth; the bound is
//! 0.33 ns a cell. `tree`: whole trees of 31 and 255 leaves.

#![expect(clippy::print_stdout, reason = "a bench: prints its figures")]

use cpu_time::ThreadTime;
use rustrank::bins::{BinOptions, Binning, Matrix};
use rustrank::data::{Policy, Strided};
use rustrank::grow::{GrowOptions, Grower, Job, Table};
use rustrank::hash::draw;
use rustrank::{Gradient, Interrupt};

const ROWS: usize = 200_000;
const FEATURES: usize = 136;

fn unit(stream: u64, id: u64) -> f32 {
    (draw(3, stream, id) >> 40) as f32 / (1u64 << 24) as f32
}

/// Continuous features, a part of them mostly zero, as search data have them.
fn table() -> Vec<f32> {
    let value = |row: usize, feature: usize| {
        let unit = unit(feature as u64, row as u64);
        if feature % 5 < 2 && unit < 0.6 { 0.0 } else { (10.0 * unit).exp() }
    };
    (0..ROWS * FEATURES).map(|i| value(i / FEATURES, i % FEATURES)).collect()
}

fn main() {
    let never = Interrupt::new();
    let values = table();
    let source = Strided::by_row(&values, FEATURES, Policy::default());
    let binning = Binning::of(&source, &BinOptions::default(), &never).expect("bins");
    let order: Vec<u32> = (0..ROWS as u32).collect();
    let matrix: Matrix = binning.encode_in_order(&source, &order, &never).expect("a matrix");
    let doc_hash: Vec<u64> = (0..ROWS as u64).collect();
    let table = Table { matrix: &matrix, binning: &binning, doc_hash: &doc_hash };
    // Heavy tails, as lambdas have, and something to find.
    let gradients: Vec<Gradient> = (0..ROWS)
        .map(|row| {
            let tail = unit(1000, row as u64).powi(8);
            let pull: f32 = (0..8).map(|f| values[row * FEATURES + 2 + 5 * f].ln_1p()).sum();
            let hess = 0.01 + tail;
            Gradient { grad: (pull / 80.0 - 0.5 + unit(1001, row as u64)) * hess, hess }
        })
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for (name, num_leaves, runs) in
        [("root", 2, 40), ("31 leaves", 31, 20), ("255 leaves", 255, 10)]
    {
        let options = GrowOptions { num_leaves, ..GrowOptions::default() };
        let mut grower = Grower::new(table, options).expect("a grower");
        let mut one = || {
            let job = Job { gradients: &gradients, docs: &order, rest: &[], round: 0 };
            let start = ThreadTime::now();
            grower.grow(table, job, &never).expect("a tree");
            start.elapsed()
        };
        let least = (0..runs).map(|_| pool.install(&mut one)).min().expect("runs").as_secs_f64();
        let cells = (ROWS * FEATURES) as f64;
        println!(
            "grow/{name}: {:.2} ms, {:.3} ns a cell of the table",
            1e3 * least,
            1e9 * least / cells
        );
    }
}
