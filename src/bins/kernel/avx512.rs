//! Sixteen comparisons an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::{Job, Table};
use crate::simd::Level;
use std::arch::x86_64::{__m512, _CMP_LT_OQ, _mm512_cmp_ps_mask, _mm512_loadu_ps, _mm512_set1_ps};

pub(super) fn encode(table: &Table, job: Job<'_>) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `Table::encode` calls this only after `Level::Avx512.is_available()`, which checks the
    // features that `run` is compiled for.
    unsafe { run(table, job) }
}

#[target_feature(enable = "avx512f,popcnt")]
fn run(table: &Table, job: Job<'_>) {
    let ends = load(&table.ends);
    let groups = table.thresholds.as_chunks::<16>().0;
    if table.is_narrow {
        let only = load(&groups[0]);
        return table.for_each(job, |cell| {
            _mm512_cmp_ps_mask::<_CMP_LT_OQ>(only, _mm512_set1_ps(cell)).count_ones() as u8
        });
    }
    table.for_each(job, |cell| {
        let x = _mm512_set1_ps(cell);
        // The last end is infinite, below nothing, so the group is at most 15.
        let group = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(ends, x).count_ones();
        let thresholds = load(&groups[group as usize & 15]);
        let rest = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(thresholds, x).count_ones();
        (16 * group + rest) as u8
    });
}

#[target_feature(enable = "avx512f")]
fn load(values: &[f32; 16]) -> __m512 {
    // SAFETY: sixteen `f32` are the 64 bytes that the unaligned load reads.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}
