//! Whatever the bytes of a model file: a fault that is told, or a model that works.
//!
//! Files of every format that is read are changed at random, and again. `cargo test` does that for
//! some seconds, `RUSTRANK_FUZZ_SECONDS=3600 cargo test --release --test fuzz` for longer;
//! `RUSTRANK_FUZZ_SEED` asks for other changes, and a failure prints the seed and the number of the
//! case, and leaves the file.

// The Python extension has an allocator of its own.
#![cfg(not(feature = "python"))]
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stderr, reason = "a long run says how far it came")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{Random, native, nets, rich};
use rustrank::model::Model;
use serde_json::Value;
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts what is held at once.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CATBOOST: &str = r#"{"features_info":{"float_features":[
{"borders":[-1.5,0.25],"feature_id":"a","feature_index":0,"flat_feature_index":0,"has_nans":true,"nan_value_treatment":"AsTrue"},
{"borders":[0.5],"feature_id":"b","feature_index":1,"flat_feature_index":2,"has_nans":false,"nan_value_treatment":"AsIs"}],
"categorical_features":[{"feature_id":"c","feature_index":0,"flat_feature_index":1,"values":[77]}],
"cat_features_hash":[{"hash":77,"value":"3"}]},"oblivious_trees":[
{"leaf_values":[0.5,-0.25,1,2],"leaf_weights":[3,4,5,0],"splits":[
{"border":-1.5,"float_feature_index":0,"split_type":"FloatFeature"},
{"cat_feature_index":0,"split_type":"OneHotFeature","value":77}]},
{"leaf_values":[0.5,-0.25],"leaf_weights":[3,9],"splits":[
{"border":0.5,"float_feature_index":1,"split_type":"FloatFeature"}]}],"scale_and_bias":[1,[0.5]]}"#;
const CATBOOST_NESTED: &str = r#"{"features_info":{"float_features":[
{"borders":[-1.5],"feature_index":0,"flat_feature_index":0,"nan_value_treatment":"AsFalse"}]},
"trees":[{"left":{"value":-0.5,"weight":47},"right":{"left":{"value":1,"weight":2},
"right":{"value":2,"weight":85},"split":{"border":3,"float_feature_index":0,"split_type":"FloatFeature"}},
"split":{"border":-1.5,"float_feature_index":0,"split_type":"FloatFeature"}}],"scale_and_bias":[2,[0]]}"#;

/// A JSON value as XGBoost's binary JSON.
fn ubjson(value: &Value, bytes: &mut Vec<u8>) {
    let text = |text: &str, bytes: &mut Vec<u8>| {
        bytes.push(b'L');
        bytes.extend((text.len() as u64).to_be_bytes());
        bytes.extend(text.as_bytes());
    };
    match value {
        Value::Null => bytes.push(b'Z'),
        Value::Bool(flag) => bytes.push(if *flag { b'T' } else { b'F' }),
        Value::Number(number) => {
            if let Some(integer) = number.as_i64() {
                bytes.push(b'L');
                bytes.extend(integer.to_be_bytes());
            } else {
                bytes.push(b'D');
                bytes.extend(number.as_f64().unwrap().to_be_bytes());
            }
        }
        Value::String(value) => {
            bytes.push(b'S');
            text(value, bytes);
        }
        Value::Array(values) => {
            bytes.push(b'[');
            for value in values {
                ubjson(value, bytes);
            }
            bytes.push(b']');
        }
        Value::Object(fields) => {
            bytes.push(b'{');
            for (name, value) in fields {
                text(name, bytes);
                ubjson(value, bytes);
            }
            bytes.push(b'}');
        }
    }
}

/// A whole file of each kind.
fn seeds() -> Vec<Vec<u8>> {
    let model = native(1, 4, &[2, 5, 9]);
    let xgboost = model.to_foreign("xgboost").unwrap();
    let mut binary = Vec::new();
    ubjson(&serde_json::from_slice(&xgboost).unwrap(), &mut binary);
    let mut seeds = vec![model.to_text().into_bytes(), xgboost, binary];
    seeds.push(model.to_foreign("lightgbm").unwrap());
    seeds.push(native(2, 3, &[4, 1]).to_foreign("lightgbm").unwrap());
    seeds.extend([CATBOOST, CATBOOST_NESTED].map(|text| text.as_bytes().to_vec()));
    seeds.push(rich(1).to_text().into_bytes());
    seeds.push(nets(1, 4).to_text().into_bytes());
    let mut ranked = Model::new(4);
    ranked.set_ranks_features().unwrap();
    model.trees().for_each(|tree| ranked.push(tree.clone()).unwrap());
    seeds.push(ranked.to_text().into_bytes());
    seeds.push(include_bytes!("golden/model-1-classes.rrk").to_vec());
    seeds.push(include_bytes!("golden/model-1-stack.rrk").to_vec());
    for seed in &seeds {
        Model::from_any(seed).unwrap();
    }
    seeds
}

/// Text as it stands in model files, and where numbers end.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "-2147483648",
    "9223372036854775807",
    "18446744073709551616",
    "1e999",
    "-1e999",
    "NaN",
    "nan",
    "inf",
    "1e-320",
    "0.5",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    "s0",
    "l0",
    "\n",
    " ",
    ",",
    ":",
];

/// Changes a file a little.
fn change(random: &mut Random, file: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(file.len() + 1);
    let most = 1 << random.below(8);
    let length = 1 + random.below(most);
    let end = (at + length).min(file.len());
    match random.below(8) {
        0 if at < file.len() => file[at] ^= 1 << random.below(8),
        1 if at < file.len() => file[at] = random.below(256) as u8,
        2 => drop(file.drain(at..end)),
        3 => {
            let again = file[at..end].to_vec();
            file.splice(at..at, again);
        }
        4 => {
            let from = random.below(other.len() + 1);
            let some = other[from..(from + length).min(other.len())].to_vec();
            file.splice(at..end, some);
        }
        5 => file.truncate(at),
        _ => {
            // A number, or what stands there, becomes another word.
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let from = file[..at].iter().rposition(|b| !is_word(b)).map_or(0, |before| before + 1);
            let to = file[at..].iter().position(|b| !is_word(b)).map_or(file.len(), |l| at + l);
            let word = WORDS[random.below(WORDS.len())];
            file.splice(from..to, word.bytes());
        }
    }
}

/// A file of ours with its length and checksum made right again, so that what is inside is read.
fn sealed(file: &[u8]) -> Option<Vec<u8>> {
    let text = file.strip_prefix(b"rustrank model 1\n")?;
    let from = text.iter().position(|&b| b == b'\n')? + 1;
    let to = text.windows(9).rposition(|w| w == b"checksum ")?;
    let body = text.get(from..to)?;
    let mut whole = format!("rustrank model 1\nbytes {}\n", body.len() + 31).into_bytes();
    whole.extend(body);
    let checksum = xxhash_rust::xxh3::xxh3_64(&whole);
    whole.extend(format!("checksum xxh3 {checksum:016x}\n").into_bytes());
    Some(whole)
}

/// What is done with a model; it may be refused by name, never more.
fn use_model(model: &Model) {
    let back = Model::from_text(model.to_text().as_bytes()).unwrap();
    assert!(back == *model, "the text of a model reads back to it");
    let (width, all) = (model.num_raw_features(), model.num_features());
    if all > 1000 {
        // A row of as many values, and a list of as many names, must be paid for.
        return;
    }
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        let _ = model.to_foreign(library);
    }
    let value = |i: usize| [0.0, 1.0, f64::NAN, -3.5, 3.0, 1e30, -0.25][i % 7];
    let rows: Vec<f64> = (0..70 * width).map(value).collect();
    let mut scores = vec![0.0; 70];
    if model.scorer().score(&rows, &mut scores).is_ok() {
        let last = model.scorer().score_row(&rows[69 * width..]).unwrap();
        assert_eq!(last.to_bits(), scores[69].to_bits());
    }
    let bounds = [0, 1, 40, 40, 70];
    model.scorer().score_queries(&rows, &bounds, &mut scores).unwrap();
    if let Ok(explainer) = model.explainer() {
        explainer.explain_queries(&rows, &bounds, &mut vec![0.0; 70 * (all + 1)]).unwrap();
    }
}

#[test]
fn a_changed_file_is_refused_or_works() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_secs(setting("RUSTRANK_FUZZ_SECONDS").unwrap_or(5));
    let seed = setting("RUSTRANK_FUZZ_SEED").unwrap_or(1);
    let (seeds, start, mut random) = (seeds(), Instant::now(), Random::new(seed));
    let (mut cases, mut loaded, mut slowest) = (0u64, 0u64, Duration::ZERO);
    while start.elapsed() < time {
        let mut file = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            let other = random.below(seeds.len());
            change(&mut random, &mut file, &seeds[other]);
        }
        if random.below(8) > 0 {
            file = sealed(&file).unwrap_or(file);
        }
        PEAK.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
        let before = HELD.load(Ordering::Relaxed);
        let began = Instant::now();
        let outcome =
            catch_unwind(AssertUnwindSafe(|| Model::from_any(&file).inspect(use_model).is_ok()));
        let took = began.elapsed();
        slowest = slowest.max(took);
        let peak = PEAK.load(Ordering::Relaxed) - before;
        if outcome.is_err() || peak > (64 << 20) || took > Duration::from_secs(20) {
            let path = std::env::temp_dir().join("rustrank-fuzz-case");
            std::fs::write(&path, &file).unwrap();
            let path = path.display();
            panic!("seed {seed}, case {cases}: {peak} bytes held, {took:?}; the file is {path}");
        }
        cases += 1;
        loaded += u64::from(outcome.unwrap_or_default());
    }
    eprintln!("{cases} files, {loaded} of them models, the slowest {slowest:?}");
    assert!(loaded > 0 && loaded < cases);
}
