//! Imports go down only: the layers of ARCHITECTURE.md, checked on the source text.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first; modules of one layer do not see each other unless `ALLOWED` says so.
const LAYERS: &[&[&str]] = &[
    &["error", "hash"],
    &["gradient", "random", "interrupt", "huge_pages", "progress", "simd", "exact_sum"],
    &["queries", "binning", "model", "distributed"],
    &["metric", "data"],
    &["tree", "objective", "combine"],
    &["neural", "boosting"],
    &["capi", "py"],
];
/// Steps sideways that are part of the design.
const ALLOWED: &[(&str, &str)] = &[("boosting", "neural")];
/// Steps down that are not: each keeps a part usable, and testable, alone.
const FORBIDDEN: &[(&str, &str)] = &[
    ("tree", "data"),
    ("tree", "metric"),
    ("objective", "binning"),
    ("objective", "model"),
    ("model", "random"),
    ("model", "gradient"),
    ("model", "interrupt"),
    ("combine", "model"),
    ("capi", "boosting"),
    ("capi", "data"),
];
/// Words that only `src/py` may say.
const PYTHON_WORDS: &[&str] = &["pyo3", "numpy::", "Python<"];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn may_import(from: &str, to: &str) -> bool {
    match (layer(from), layer(to)) {
        _ if from == to => true,
        _ if FORBIDDEN.contains(&(from, to)) => false,
        (Some(above), Some(below)) => below < above || ALLOWED.contains(&(from, to)),
        _ => false,
    }
}

/// The first path segment after each `crate::`, grouped imports included, with the curated
/// re-exports of `lib.rs` counted as the module they come from.
fn imported(source: &str, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("crate::") {
        let rest = &source[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0usize;
            let mut start = 0;
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' | ',' if depth == 0 => {
                        found.extend(first_segment(group[start..i].trim()));
                        start = i + 1;
                        if c == '}' {
                            break;
                        }
                    }
                    '}' => depth -= 1,
                    _ => {}
                }
            }
        } else {
            found.extend(first_segment(rest));
        }
    }
    found.iter().map(|name| home_of(name, root)).collect()
}

fn first_segment(path: &str) -> Option<String> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| path[..end].to_owned())
}

/// `Error` -> `error`: a name that `lib.rs` re-exports belongs to the module on the left of `::`.
fn home_of(name: &str, root: &str) -> String {
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap();
        let words = statement.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.clone().skip(1).any(|word| word == name) {
            return words.into_iter().next().unwrap().to_owned();
        }
    }
    name.to_owned()
}

fn violations(module: &str, source: &str, root: &str) -> Vec<String> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let source = &source.lines().filter(code).collect::<Vec<_>>().join("\n");
    let mut found: Vec<String> = imported(source, root)
        .into_iter()
        .filter(|to| !may_import(module, to))
        .map(|to| format!("{module} imports {to}"))
        .collect();
    if module != "py" {
        let said = PYTHON_WORDS.iter().filter(|word| source.contains(**word));
        found.extend(said.map(|word| format!("{module} says {word}")));
    }
    found
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn imports_go_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(src.join("lib.rs")).unwrap();
    let mut found = Vec::new();
    for path in rust_files(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        assert!(layer(module).is_some(), "{module} is in no layer: give it one in LAYERS");
        let source = fs::read_to_string(&path).unwrap();
        let bad = violations(module, &source, &root);
        found.extend(bad.into_iter().map(|v| format!("{}: {v}", inside.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn planted_illegal_imports_are_found() {
    let root = "mod error;\npub use error::{Error, Result};\npub use data::Dataset;\n";
    let bad = |module, source| violations(module, source, root);
    assert_eq!(bad("metric", "use crate::data::Dataset;"), ["metric imports data"]);
    assert_eq!(bad("binning", "use crate::{Error, Dataset};"), ["binning imports data"]);
    assert_eq!(
        bad("metric", "use crate::{error::{Error, Result},\n    boosting::Trainer};"),
        ["metric imports boosting"]
    );
    assert_eq!(bad("tree", "fn f(x: &crate::data::Dataset) {}"), ["tree imports data"]);
    assert_eq!(bad("data", "use pyo3::prelude::*;"), ["data says pyo3"]);
    assert!(bad("py", "use pyo3::prelude::*; use crate::{Dataset, metric};").is_empty());
    assert!(bad("data", "use crate::{Error, Result, binning::Mapper};").is_empty());
}
