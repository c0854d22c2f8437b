//! What holds for any bytes: checks of the readers and the scorer, which panic where one fails.
//!
//! `tests/fuzz.rs` runs them on the inputs in `fuzz/corpus` and on random changes of these; the crate in `fuzz/`
//! runs them under libFuzzer. Each returns whether the bytes were accepted: a check whose inputs are
//! all refused tests little.

mod change;
mod draws;
mod frames;
mod letor;
mod model_files;
mod scoring;
mod settings;
mod trec;

#[allow(dead_code, reason = "shared with the tests of the scorer, which use more of it")]
#[path = "../models/mod.rs"]
mod models;

#[path = "../plain_walk/mod.rs"]
mod plain_walk;

#[path = "../letor_text/mod.rs"]
mod letor_text;

pub(crate) use change::change;
pub(crate) use models::Random;

use rayon::ThreadPool;
use std::sync::LazyLock;

/// A check of some bytes: whether they were accepted.
pub(crate) type Check = fn(&[u8]) -> bool;

/// All checks, by the names of their targets and of their folders in `fuzz/corpus`.
pub(crate) const CHECKS: [(&str, Check); 7] = [
    ("model_text", model_files::model_text),
    ("importers", model_files::importers),
    ("letor", letor::letor),
    ("trec", trec::trec),
    ("settings", settings::settings),
    ("frames", frames::frames),
    ("scoring", scoring::scoring),
];

/// The pools on which a text is read: of one thread and of several.
static POOLS: LazyLock<[ThreadPool; 2]> = LazyLock::new(|| {
    [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap_or_else(|error| panic!("{error}"))
    })
});

/// Whether readers take these bytes for text: not for a compressed file, of one kind or another.
fn is_plain_text(bytes: &[u8]) -> bool {
    !is_gzip(bytes) && !is_unsupported(bytes)
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1f\x8b")
}

/// Whether they may start a file that no reader unpacks: not even a source is made of some of them.
fn is_unsupported(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [
        b"BZh",
        b"PK\x03\x04",
        b"\x28\xb5\x2f\xfd",
        b"\xfd7zXZ\0",
        b"7z\xbc\xaf\x27\x1c",
        b"\x04\x22\x4d\x18",
    ];
    starts.iter().any(|start| bytes.starts_with(start))
}
