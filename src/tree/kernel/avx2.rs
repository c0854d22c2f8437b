//! Searching histograms, four values a step.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::search::{Plain, Search, Tables};
use super::{Summand, Tally};
use crate::simd::Level;
use crate::tree::split_search::Found;

pub(super) fn search(search: Search<'_>, tables: &mut Tables, found: &mut Found) {
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: `kernel::search` comes here only after `Level::Avx2.is_available()`, which checks the
    // features that `run` is compiled for.
    unsafe { run(search, tables, found) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run(search: Search<'_>, tables: &mut Tables, found: &mut Found) {
    search.run(&Plain, tables, found);
}

pub(super) fn add_node(summand: Summand<'_>, tables: &mut Tables, tally: &mut Tally) {
    debug_assert!(Level::Avx2.is_available());
    // SAFETY: `kernel::add_node` comes here only after `Level::Avx2.is_available()`, which checks the
    // features that `run_tally` is compiled for.
    unsafe { run_tally(summand, tables, tally) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_tally(summand: Summand<'_>, tables: &mut Tables, tally: &mut Tally) {
    tally.add_node(&Plain, summand, tables);
}
