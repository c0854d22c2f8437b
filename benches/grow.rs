//! Growing trees: prints CPU time of one thread, the least of some runs, for machines are shared.
//!
//! `root`: a tree of two leaves, whose time is the root's histogram but for a tenth; the bound is
//! 0.33 ns a cell. Then whole trees, on a large table and on a small one. An argument chooses the
//! lines that contain it: `cargo bench --bench grow -- small`.

#![expect(clippy::print_stdout, reason = "a bench: prints its figures")]

mod common {
    pub(crate) mod grow;
}

use common::grow::{World, cell, cell_of_field, leaves, symmetric};
use cpu_time::ThreadTime;
use rustrank::binning::BinOptions;
use rustrank::tree::GrowOptions;

/// A table with the name that its lines begin with.
struct Lines {
    table: &'static str,
    num_cells: usize,
    world: World,
}

impl Lines {
    fn new(table: &'static str, shape: (usize, usize), cell: fn(usize, usize) -> f32) -> Self {
        let world = World::new(shape, cell, &BinOptions::default());
        Self { table, num_cells: shape.0 * shape.1, world }
    }

    fn run(&self, what: &str, options: GrowOptions, runs: usize) {
        let name = format!("{}/{what}", self.table);
        let only = std::env::args().nth(1).filter(|only| !only.starts_with('-'));
        if only.is_some_and(|only| !name.contains(&only)) {
            return;
        }
        let mut grower = self.world.grower(options);
        let mut one = || {
            let start = ThreadTime::now();
            self.world.grow(&mut grower);
            start.elapsed()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let least = (0..runs).map(|_| pool.install(&mut one)).min().expect("runs").as_secs_f64();
        let per_cell = 1e9 * least / self.num_cells as f64;
        println!("{name:<32} {:8.3} ms {per_cell:8.3} ns a cell of the table", 1e3 * least);
    }
}

fn main() {
    let large = Lines::new("200k x 136", (200_000, 136), cell);
    large.run("root", leaves(2), 40);
    large.run("31 leaves", leaves(31), 20);
    large.run("255 leaves", leaves(255), 10);
    large.run("32 leaves, symmetric", symmetric(32), 20);
    large.run("64 leaves, symmetric", symmetric(64), 20);
    large.run("64 leaves", leaves(64), 20);
    large.run("256 leaves, symmetric", symmetric(256), 10);
    let random_strength = 1.0;
    large.run("31 leaves, noise", GrowOptions { random_strength, ..leaves(31) }, 20);
    let some = GrowOptions { features_per_tree: 0.7, ..leaves(31) };
    large.run("31 leaves, 0.7 a tree", some, 20);
    let fields = Lines::new("130k x 700 of fields", (130_000, 700), cell_of_field);
    fields.run("root", leaves(2), 20);
    fields.run("31 leaves", leaves(31), 10);
    fields.run("255 leaves", leaves(255), 10);
    let small = Lines::new("10k x 46", (10_000, 46), cell);
    small.run("31 leaves", leaves(31), 200);
    small.run("7 leaves", leaves(7), 200);
    small.run("32 leaves, symmetric", symmetric(32), 200);
}
