//! Sixteen comparisons an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::{Job, Table};
use crate::simd::Level;
use std::arch::x86_64::{__m512, _CMP_NGE_UQ, _mm512_cmp_ps_mask, _mm512_loadu_ps, _mm512_set1_ps};

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
    // No threshold is above or equal to a missing cell: those of its last group are all counted.
    let missing = u32::from(table.missing);
    if table.is_narrow {
        let only = load(&groups[0]);
        return for_each(table, job, |cell| below(only, _mm512_set1_ps(cell)).min(missing));
    }
    for_each(table, job, |cell| {
        let x = _mm512_set1_ps(cell);
        let group = below(ends, x);
        // SAFETY: sixteen bits have at most sixteen ones, and there are seventeen groups.
        let thresholds = load(unsafe { groups.get_unchecked(group as usize) });
        (16 * group + below(thresholds, x)).min(missing)
    });
}

/// How many thresholds are not above or equal to the cell.
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
fn below(thresholds: __m512, cell: __m512) -> u32 {
    _mm512_cmp_ps_mask::<_CMP_NGE_UQ>(thresholds, cell).count_ones()
}

/// As [`Table::for_each`], without the counting and checking that is a third of it.
#[expect(clippy::inline_always, reason = "`code` must be compiled with the features of its level")]
#[inline(always)]
fn for_each(table: &Table, job: Job<'_>, code: impl Fn(f32) -> u32) {
    if table.is_alone {
        for_each_to(table, job, code, |byte, code| *byte = code);
    } else {
        let stride = table.stride;
        for_each_to(table, job, code, |byte, code| {
            *byte = byte.wrapping_add(code.wrapping_mul(stride));
        });
    }
}

#[expect(clippy::inline_always, reason = "`code` must be compiled with the features of its level")]
#[inline(always)]
fn for_each_to(
    table: &Table,
    job: Job<'_>,
    code: impl Fn(f32) -> u32,
    write: impl Fn(&mut u8, u8),
) {
    let Job { cells, num_features, rows, width } = job;
    let rows = &mut rows[table.column..];
    let count = cells.len().div_ceil(num_features).min(rows.len().div_ceil(width));
    let (mut cell, mut byte) = (cells.as_ptr(), rows.as_mut_ptr());
    for _ in 0..count {
        // SAFETY: the last of `count` steps of `num_features` from the first cell is within `cells`,
        // and that of `width` from the first byte is within `rows`.
        unsafe { write(&mut *byte, code(*cell) as u8) };
        cell = cell.wrapping_add(num_features);
        byte = byte.wrapping_add(width);
    }
}

#[target_feature(enable = "avx512f")]
fn load(values: &[f32; 16]) -> __m512 {
    // SAFETY: sixteen `f32` are the 64 bytes that the unaligned load reads.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}
