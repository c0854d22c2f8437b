//! Bins: from a table in memory to bytes, one core. Prints time a cell.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rustrank::binning::{BinOptions, BinnedMatrix, Binning};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::simd::Level;
use rustrank::{Grouping, Interrupt, Queries};

mod common {
    pub(crate) mod bins;
}

use common::bins::{FEATURES, table};

const ROWS: usize = 60_000;

fn bins(c: &mut Criterion) {
    let values = table(ROWS);
    let table = StridedTable::by_row(&values, FEATURES, MissingPolicy::default());
    let options = BinOptions::default();
    let never = Interrupt::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let mut group = c.benchmark_group("bins");
    group.throughput(Throughput::Elements((ROWS * FEATURES) as u64)).sample_size(10);
    let binning = Binning::of(&table, &options, &never).expect("bins");
    for level in Level::available() {
        let mut matrix = vec![vec![0; 240]; binning.layout().width()];
        let mut columns: Vec<_> = matrix.iter_mut().map(|column| &mut column[..]).collect();
        group.bench_function(format!("encode/{level:?}"), |b| {
            b.iter(|| {
                for tile in values.chunks(240 * FEATURES) {
                    binning.encode_at(level, tile, &mut columns);
                }
            });
        });
    }
    group.bench_function("choose", |b| {
        b.iter(|| pool.install(|| Binning::of(&table, &options, &never)).expect("bins"));
    });
    group.bench_function("append", |b| {
        b.iter(|| {
            let mut matrix =
                BinnedMatrix::with_capacity(binning.layout().width(), 0).expect("room");
            pool.install(|| binning.append(&table, &mut matrix, &mut Vec::new(), &never))
                .expect("rows");
            matrix
        });
    });
    group.bench_function("dataset", |b| {
        b.iter(|| {
            let queries = Queries::from_sizes(&[120; ROWS / 120], ROWS).expect("sizes");
            let rows = RowData::new(vec![0.0; ROWS], Grouping::in_row_order(queries));
            pool.install(|| Dataset::new(&table, rows, &options, &never)).expect("a dataset")
        });
    });
    group.finish();
}

criterion_group!(benches, bins);
criterion_main!(benches);
