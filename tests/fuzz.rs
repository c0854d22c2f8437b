//! Whatever the bytes of an input: a fault that is told, or a result that holds what it promises.
//!
//! The checks are those of the targets in `fuzz/`, which libFuzzer runs for as long as one likes (`make fuzz`).
//! Here each takes the inputs in `fuzz/corpus`, and for some seconds random changes of them.
//! `RUSTRANK_FUZZ_SECONDS=60 cargo test --release --test fuzz` takes longer, `RUSTRANK_FUZZ_SEED` asks for other
//! changes; a failure prints the seed and the number of the case, and leaves the input.

// The Python extension has an allocator of its own.
#![cfg(all(feature = "train", feature = "interop", not(feature = "python")))]
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stderr, reason = "a long run says how far it came")]

mod fuzz_checks;
mod held_memory;

use fuzz_checks::{CHECKS, Check, Random, change};
use held_memory::peak_of;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most memory that an input of some kilobytes may take.
const MOST_BYTES: usize = 64 << 20;
const MOST_TIME: Duration = Duration::from_secs(20);

/// A run of a check.
struct Run {
    name: &'static str,
    check: Check,
    inputs: u64,
    accepted: u64,
    slowest: Duration,
}

impl Run {
    fn take(&mut self, input: &[u8], what: &str) {
        let began = Instant::now();
        let (outcome, held) = peak_of(|| catch_unwind(AssertUnwindSafe(|| (self.check)(input))));
        let took = began.elapsed();
        if outcome.is_err() || held > MOST_BYTES || took > MOST_TIME {
            let path = std::env::temp_dir().join(format!("rustrank-fuzz-{}", self.name));
            fs::write(&path, input).unwrap();
            let (name, path) = (self.name, path.display());
            panic!("{name}, {what}: {held} bytes held, {took:?}; the input is {path}");
        }
        self.slowest = self.slowest.max(took);
        self.inputs += 1;
        self.accepted += u64::from(outcome.unwrap_or_default());
    }
}

/// The inputs of a check in `fuzz/corpus`, which the published crate does not have.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn run(name: &'static str) {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_secs(setting("RUSTRANK_FUZZ_SECONDS").unwrap_or(2));
    let seed = setting("RUSTRANK_FUZZ_SEED").unwrap_or(1);
    let (_, check) = CHECKS.into_iter().find(|(known, _)| *known == name).unwrap();
    let mut run = Run { name, check, inputs: 0, accepted: 0, slowest: Duration::ZERO };
    let corpus = corpus(name);
    if corpus.is_empty() {
        eprintln!("skipped: there is no fuzz/corpus/{name}");
        return;
    }
    for (path, input) in &corpus {
        run.take(input, &path.display().to_string());
    }
    assert!(run.accepted > 0, "some inputs of the corpus are accepted");
    let (start, mut random) = (Instant::now(), Random::new(seed));
    for case in 0.. {
        if start.elapsed() > time {
            break;
        }
        let mut input = corpus[random.below(corpus.len())].1.clone();
        for _ in 0..=random.below(4) {
            let other = random.below(corpus.len());
            change(&mut random, &mut input, &corpus[other].1);
        }
        run.take(&input, &format!("seed {seed}, case {case}"));
    }
    let Run { inputs, accepted, slowest, .. } = run;
    eprintln!("{name}: {inputs} inputs, {accepted} of them accepted, the slowest {slowest:?}");
}

#[test]
fn our_model_files_are_refused_or_work() {
    run("model_text");
}

#[test]
fn model_files_of_other_libraries_are_refused_or_work() {
    run("importers");
}

#[test]
fn letor_text_is_what_a_plain_parser_reads() {
    run("letor");
}

#[test]
fn runs_and_qrels_are_joined_as_a_plain_join_does() {
    run("trec");
}

#[test]
fn parameters_are_refused_or_read_back() {
    run("settings");
}

#[test]
fn damaged_messages_of_workers_are_refused() {
    run("frames");
}

#[test]
fn any_model_scores_as_a_plain_walk() {
    run("scoring");
}
