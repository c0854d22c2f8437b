//! Rules about the source text: imports go down only (the layers of ARCHITECTURE.md), and no type name
//! is defined twice.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first; modules of one layer do not see each other unless `ALLOWED` says so.
const LAYERS: &[&[&str]] = &[
    &["error", "hash"],
    &[
        "category_list",
        "gradient",
        "random",
        "interrupt",
        "memory_reserve",
        "huge_pages",
        "progress",
        "schema",
        "simd",
        "exact_sum",
    ],
    &["queries", "block_sums", "binning", "model"],
    &["metric", "data"],
    &["tree", "objective", "combine", "rounds"],
    &["neural", "boosting"],
    // Trees and boosting know a trait for what they ask of other workers; `distributed` implements it.
    &["distributed"],
    &["settings"],
    &["capi", "py"],
];
/// Steps sideways that are part of the design.
const ALLOWED: &[(&str, &str)] = &[("boosting", "neural"), ("interrupt", "memory_reserve")];
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
    assert_eq!(bad("tree", "use crate::distributed::WorkerGroup;"), ["tree imports distributed"]);
    assert_eq!(
        bad("boosting", "use crate::{distributed::WorkerGroup, model::Tree};"),
        ["boosting imports distributed"]
    );
    assert!(bad("distributed", "use crate::{boosting::Rounds, tree::Grower};").is_empty());
    assert_eq!(bad("data", "use pyo3::prelude::*;"), ["data says pyo3"]);
    assert!(bad("py", "use pyo3::prelude::*; use crate::{Dataset, metric};").is_empty());
    assert!(bad("data", "use crate::{Error, Result, binning::Mapper};").is_empty());
}

/// The type that a line defines, associated types of `impl` blocks left out.
fn defined_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) => rest,
        None => code,
    };
    let code = code.trim_start().trim_start_matches("unsafe ");
    let (keyword, rest) = code.split_once(' ')?;
    let defines = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    defines.then(|| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())?
}

/// Type names that more than one definition has, with the files.
fn duplicates<'s>(sources: &[(&'s str, &'s str)]) -> BTreeMap<&'s str, Vec<&'s str>> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, source) in sources {
        // Kernels have types of the same name for each level of instructions.
        if !file.split('/').any(|part| part.trim_end_matches(".rs") == "kernel") {
            source
                .lines()
                .filter_map(defined_type)
                .for_each(|name| files.entry(name).or_default().push(file));
        }
    }
    files.retain(|_, files| files.len() > 1);
    files
}

#[test]
fn type_names_are_unique() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: PathBuf| {
        let file = path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        (file, fs::read_to_string(path).unwrap())
    };
    let sources: Vec<(String, String)> = rust_files(&src).into_iter().map(read).collect();
    let sources: Vec<_> = sources.iter().map(|(file, source)| (&file[..], &source[..])).collect();
    let found = duplicates(&sources);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn planted_duplicate_types_are_found() {
    let sources = [
        (
            "tree/a.rs",
            "pub(in crate::tree) struct Rows<'a> {\n}\nimpl X for Y {\n    type Err = E;\n}",
        ),
        ("data/b.rs", "enum Rows {}\nimpl X for Y {\n    type Err = E;\n}\ntype Kind = u8;"),
        (
            "model/c.rs",
            "mod x86 {\n    pub(super) struct Kind;\n}\n/// struct Rows\nstruct Alone(u8);",
        ),
        ("data/kernel/d.rs", "struct Alone;"),
        ("data/kernel.rs", "struct Alone;"),
    ];
    let found = duplicates(&sources);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["Kind", "Rows"]);
    assert_eq!(found["Rows"], ["tree/a.rs", "data/b.rs"]);
}
