//! Histogram search with AVX2: four values per step.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::LevelReductions;
use super::search::{PortableOps, SearchScratch};
use crate::simd::Level;
use crate::tree::split_search::{NodeColumns, SearchResult};

pub(super) fn search(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    found: &mut SearchResult,
) {
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: `kernel::search` comes here only after `Level::Avx2.is_available()`, which checks the
    // features that `run` is compiled for.
    unsafe { run(columns, search_scratch, found) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run(columns: NodeColumns<'_>, search_scratch: &mut SearchScratch, found: &mut SearchResult) {
    columns.run(&PortableOps, search_scratch, found);
}

pub(super) fn add_node(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    reductions: &mut LevelReductions,
) {
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: `kernel::add_node` comes here only after `Level::Avx2.is_available()`, which checks the
    // features that `run_level` is compiled for.
    unsafe { run_level(columns, search_scratch, reductions) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_level(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    reductions: &mut LevelReductions,
) {
    reductions.add_node(&PortableOps, columns, search_scratch);
}
