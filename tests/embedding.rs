//! The model format and the scorer stay cheap to embed: few crates come with them.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::process::Command;

/// The most crates below rustrank without default features.
const MOST: usize = 6;

/// The crates that a build with these arguments needs, rustrank itself left out.
fn crates(arguments: &[&str]) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "rustrank").map(str::to_owned).collect()
}

fn check(crates: &BTreeSet<String>) -> Result<(), String> {
    let said =
        format!("{} crates come with the scorer, at most {MOST} may: {crates:?}", crates.len());
    if crates.len() <= MOST { Ok(()) } else { Err(said) }
}

#[test]
fn few_crates_come_with_the_scorer() {
    check(&crates(&["--no-default-features"])).unwrap();
}

#[test]
fn the_count_sees_the_crates_of_training() {
    let all = crates(&[]);
    assert!(all.contains("statrs") && all.contains("serde_json"), "{all:?}");
    assert!(check(&all).is_err());
}
