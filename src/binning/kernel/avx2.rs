//! The AVX2 kernel: sixteen comparisons in two instructions.
#![expect(unsafe_code, reason = "a kernel: AVX2 behind a run-time check")]

use super::{EncodeJob, ThresholdTable};
use crate::simd::Level;
use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_set1_ps,
};

pub(super) fn encode(tables: &[ThresholdTable], mut job: EncodeJob<'_, '_>) {
    debug_assert!(Level::Avx2.is_available());
    for table in tables {
        // SAFETY: `kernel::encode` calls this only after `Level::Avx2.is_available()` or that of
        // AVX-512, which check the features that `run` is compiled for.
        unsafe { run(table, &mut job) }
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn run(table: &ThresholdTable, job: &mut EncodeJob<'_, '_>) {
    let ends = load(&table.ends);
    let groups = table.thresholds.as_chunks::<16>().0;
    table.for_each(job, |cell| {
        let x = _mm256_set1_ps(cell);
        // The last end is infinite, so the group is at most 15.
        let group = below(ends, x);
        (16 * group + below(load(&groups[group as usize & 15]), x)) as u8
    });
}

#[target_feature(enable = "avx2,popcnt")]
fn below(thresholds: [__m256; 2], x: __m256) -> u32 {
    let low = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(thresholds[0], x));
    let high = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(thresholds[1], x));
    (low | high << 8).count_ones()
}

#[target_feature(enable = "avx2")]
fn load(values: &[f32; 16]) -> [__m256; 2] {
    let pointer = values.as_ptr();
    // SAFETY: the two unaligned loads read the first and the last eight of sixteen `f32`.
    unsafe { [_mm256_loadu_ps(pointer), _mm256_loadu_ps(pointer.add(8))] }
}
