//! Every allocation of a small run of each entry point fails once: the work ends with an error of the resource, or
//! has the result that it has anyway, and no process is ended.
// The Python extension has an allocator of its own.
#![cfg(all(feature = "train", feature = "interop", not(feature = "python")))]
#![expect(unsafe_code, reason = "an allocator that fails")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of training")]
mod rows;

use rows::{FEATURES, Rows};
use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, EvaluationMetric, EvaluationSet, TrainingLoss, TrainingPlan,
};
use rustrank::combine::{AlphaRange, JudgedQueries, SweepOptions, sweep};
use rustrank::data::Dataset;
use rustrank::metric::evaluate;
use rustrank::model::Model;
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::{ErrorKind, Interrupt, MemoryReserve, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Debug;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// So many allocations succeed before one fails; below 0, none fails.
static LEFT: AtomicI64 = AtomicI64::new(-1);

/// The system's allocator, of which one allocation fails.
struct Failing;

impl Failing {
    fn fails() -> bool {
        LEFT.load(Ordering::Relaxed) >= 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

// SAFETY: every call is passed on to the system's allocator as it came, or has no effect and returns null.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        if Self::fails() { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        if Self::fails() { ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        if Self::fails() { ptr::null_mut() } else { unsafe { System.realloc(old, layout, size) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: MemoryReserve<Failing> = MemoryReserve::new(Failing);

/// Runs `work` with each of its allocations failing in turn, and compares what it returns with what it returns where
/// none fails.
fn fails_everywhere<T: Debug + PartialEq>(name: &str, work: impl Fn(&Interrupt) -> Result<T>) {
    MemoryReserve::fill().unwrap();
    let expected = work(&Interrupt::new()).unwrap();
    let mut ended = 0;
    for left in 0.. {
        LEFT.store(left, Ordering::Relaxed);
        let made = work(&Interrupt::new());
        let was_reached = LEFT.swap(-1, Ordering::Relaxed) < 0;
        match made {
            Ok(made) => assert_eq!(made, expected, "{name}, allocation {left}"),
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::Resource(_)),
                    "{name}, allocation {left}: {error}"
                );
                ended += 1;
            }
        }
        MemoryReserve::fill().unwrap();
        if !was_reached {
            println!("{name}: {left} allocations, {ended} of them ended it");
            return;
        }
    }
}

fn plan(dataset: &Arc<Dataset>) -> TrainingPlan {
    let mut params = BoostingParams::default();
    params.grow.num_leaves = 4;
    let loss = ObjectiveOptions::new(ObjectiveKind::LambdaRank, "ndcg".parse().unwrap());
    TrainingPlan {
        params,
        loss: TrainingLoss::new(&loss).unwrap(),
        evaluation_sets: vec![EvaluationSet { name: "train".to_owned(), dataset: dataset.clone() }],
        metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
        patience: None,
        base: None,
    }
}

fn trained(dataset: &Arc<Dataset>, interrupt: &Interrupt) -> Result<Model> {
    let mut trainer = BoostingTrainer::new(dataset.clone(), plan(dataset), interrupt)?;
    for _ in 0..2 {
        trainer.next_round(interrupt)?;
    }
    Ok(trainer.model().clone())
}

fn all(rows: &Rows) {
    let never = Interrupt::new();
    let dataset = rows.dataset();
    fails_everywhere("dataset", |interrupt| {
        Ok(Dataset::new(&rows.table(), rows.data(), &BinOptions::default(), interrupt)?
            .fingerprint())
    });
    fails_everywhere("training", |interrupt| Ok(trained(&dataset, interrupt)?.to_text()));
    let model = trained(&dataset, &never).unwrap();
    let text = model.to_text();
    fails_everywhere("writing", |_| Ok(model.to_text()));
    fails_everywhere("reading", |_| Model::from_text(text.as_bytes()));
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        fails_everywhere(library, |_| model.to_foreign(library));
        if let "lightgbm" | "xgboost" = library {
            let file = model.to_foreign(library).unwrap();
            fails_everywhere(&format!("reading {library}"), |_| Model::from_any(&file));
        }
    }
    let count = rows.labels.len();
    let score = |_: &Interrupt| {
        let mut scores = vec![0.0; count];
        model.scorer().score(&rows.cells, &mut scores)?;
        Ok(scores)
    };
    fails_everywhere("scoring", score);
    let scores = score(&never).unwrap();
    fails_everywhere("explaining", |_| {
        let mut values = vec![0.0; 10 * (FEATURES + 1)];
        model.explainer()?.explain(&rows.cells[..10 * FEATURES], &mut values)?;
        Ok(values)
    });
    let metrics = ["ndcg@5", "map", "err"].map(|name| name.parse().unwrap());
    fails_everywhere("evaluation", |interrupt| {
        evaluate(&metrics, &scores, dataset.labels(), dataset.queries(), interrupt)
    });
    let judged =
        JudgedQueries { labels: dataset.labels(), queries: dataset.queries(), query_weight: None };
    let other: Vec<f64> =
        rows.cells.iter().step_by(FEATURES).map(|&cell| f64::from(cell)).collect();
    let other: Vec<f64> =
        other.iter().map(|cell| if cell.is_nan() { 0.0 } else { *cell }).collect();
    let options = SweepOptions::new(metrics[0].clone(), AlphaRange::Along { from: 0.0, to: 10.0 });
    fails_everywhere("combination", |interrupt| {
        Ok(sweep(&scores, &other, &judged, &options, interrupt)?.value)
    });
}

#[test]
fn no_failed_allocation_ends_the_process() {
    // One thread, so that allocations have an order.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let rows = Rows::new(12, 0);
    pool.install(|| all(&rows));
}
