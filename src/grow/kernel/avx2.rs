//! Searching histograms, four values a step.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::search::{Plain, Search, Tables};
use crate::grow::scan::Found;
use crate::simd::Level;

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
