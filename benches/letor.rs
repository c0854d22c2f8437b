//! How fast LETOR text is read, in bytes of text a second on one thread.
//!
//! `web` imitates the MSLR-WEB sets: 136 features, counts and decimals mixed, two in five cells 0,
//! about 8 bytes a cell. `scaled` imitates LETOR 4.0: 46 features of the form `0.123456`. `sparse`
//! leaves out two of three features. `lines` is the parser alone, on text in memory; `file` reads a
//! file, counts its lines and keeps the cells; the levels are the short way alone. `packed` holds
//! rows in fewer bytes and reads them back, in cells a second.

#![expect(clippy::unwrap_used, reason = "a bench")]

mod common {
    pub(crate) mod letor;
}

use common::letor::{file, lines, packed, packed_rows, scaled, sparse, text_of, usual, web};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rustrank::simd::Level;
use std::fs;
use std::hint::black_box;
use std::path::Path;

fn bench_packed(c: &mut Criterion) {
    let rows = packed_rows(2000);
    let mut group = c.benchmark_group("packed");
    group.throughput(Throughput::Elements(2000 * 136)).sample_size(10);
    let mut to = [0.0; 136];
    for level in Level::available() {
        let name = format!("{level:?}");
        group.bench_function(name, |b| b.iter(|| packed(level, black_box(&rows), &mut to)));
    }
    group.finish();
}

fn bench(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let texts = [
        ("web", text_of(20_000, 136, |feature, row, bits| Some(web(feature, row, bits)))),
        ("scaled", text_of(40_000, 46, |_, _, bits| Some(scaled(bits)))),
        ("sparse", text_of(20_000, 300, |_, _, bits| sparse(bits))),
    ];
    for (name, text) in texts {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("letor-{name}.txt"));
        fs::write(&path, &text).unwrap();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::BytesDecimal(text.len() as u64)).sample_size(10);
        for level in Level::available() {
            let name = format!("{level:?}");
            group.bench_function(name, |b| b.iter(|| usual(level, black_box(&text))));
        }
        group.bench_function("lines", |b| b.iter(|| lines(black_box(&text))));
        group.bench_function("file", |b| b.iter(|| pool.install(|| file(&path))));
        group.finish();
        fs::remove_file(&path).unwrap();
    }
}

criterion_group!(benches, bench, bench_packed);
criterion_main!(benches);
