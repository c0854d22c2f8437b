//! The AVX-512 kernel: packs and unpacks sixteen cells a step by compression and expansion.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::{CellGroup, GroupHead, HEAD, LANES};
use crate::simd::Level;
use bytemuck::{Pod, bytes_of_mut, cast, pod_read_unaligned};
use std::arch::x86_64::{
    __m128i, __m512, _MM_HINT_T0, _mm_maskz_compress_epi8, _mm_maskz_expand_epi8, _mm_prefetch,
    _mm512_cmpeq_ps_mask, _mm512_cmple_epu32_mask, _mm512_cvtepi32_epi8, _mm512_cvtepi32_ps,
    _mm512_cvtepu8_epi32, _mm512_cvttps_epi32, _mm512_mask_expand_ps, _mm512_mask_test_epi32_mask,
    _mm512_maskz_compress_ps, _mm512_set1_epi32,
};

pub(super) fn pack(row: &[CellGroup], to: &mut [u8]) -> usize {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: the caller has checked that the level is available, which has the features of `pack_row`.
    unsafe { pack_row(row, to) }
}

pub(super) fn unpack(heads: &[[u8; HEAD]], cells: &[u8], first: usize, to: &mut [f32]) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: the caller has checked that the level is available, which has the features of
    // `unpack_row`.
    unsafe { unpack_row(heads, cells, first, to) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn pack_row(row: &[CellGroup], to: &mut [u8]) -> usize {
    let (heads, cells) = to.split_at_mut(HEAD * row.len());
    let mut at = 0;
    for (group, head) in row.iter().zip(heads.as_chunks_mut().0) {
        let given: __m512 = cast(*group);
        // NaN and numbers that are too large become negative integers: above all counts as unsigned.
        let whole = _mm512_cvttps_epi32(given);
        let equal = _mm512_cmpeq_ps_mask(_mm512_cvtepi32_ps(whole), given);
        let small = equal & _mm512_cmple_epu32_mask(whole, _mm512_set1_epi32(255));
        let found =
            GroupHead { counts: _mm512_mask_test_epi32_mask(small, whole, whole), others: !small };
        *head = found.bytes();
        // The last store may write beyond the row: there is room for `MAX_GROUP_BYTES`.
        if let Some(to) = cells[at..].first_chunk_mut::<16>() {
            *to = cast(_mm_maskz_compress_epi8(found.counts, _mm512_cvtepi32_epi8(whole)));
        }
        at += found.counts.count_ones() as usize;
        if let Some(to) = cells[at..].first_chunk_mut::<64>() {
            *to = cast(_mm512_maskz_compress_ps(found.others, given));
        }
        at += 4 * found.others.count_ones() as usize;
    }
    HEAD * row.len() + at
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn unpack_row(heads: &[[u8; HEAD]], cells: &[u8], first: usize, to: &mut [f32]) {
    let mut at: usize = heads[..first].iter().map(|&head| GroupHead::of(head).size()).sum();
    for (&head, to) in heads[first..].iter().zip(to.chunks_mut(LANES)) {
        let head = GroupHead::of(head);
        fetch(cells, at + AHEAD);
        let bytes: __m128i = load(&cells[at..]);
        at += head.counts.count_ones() as usize;
        let others: __m512 = load(&cells[at..]);
        at += 4 * head.others.count_ones() as usize;
        let counts = _mm512_cvtepu8_epi32(_mm_maskz_expand_epi8(head.counts, bytes));
        let found = _mm512_mask_expand_ps(_mm512_cvtepi32_ps(counts), head.others, others);
        if let Some(to) = to.first_chunk_mut::<LANES>() {
            *to = cast(found);
        } else {
            let group: CellGroup = cast(found);
            to.copy_from_slice(&group[..to.len()]);
        }
    }
}

pub(super) fn fetch_all(bytes: &[u8]) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: the caller has checked that the level is available, which has the features of `fetch_lines`.
    unsafe { fetch_lines(bytes) }
}

#[target_feature(enable = "avx512f")]
fn fetch_lines(bytes: &[u8]) {
    for at in (0..bytes.len()).step_by(64) {
        fetch(bytes, at);
    }
}

/// How far ahead rows are prefetched, some rows of usual width: they are read in order, and the
/// processor's own prefetching stops at the end of each page.
const AHEAD: usize = 4096;

/// Prefetches the memory at a place into the cache, if there is any.
#[target_feature(enable = "avx512f")]
#[inline]
#[allow(unused_unsafe, reason = "newer compilers know that fetching is safe")]
fn fetch(cells: &[u8], at: usize) {
    // SAFETY: fetching ahead reads nothing and never fails, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(cells.as_ptr().wrapping_add(at).cast()) }
}

/// A vector of the first bytes of the cells, padded with zeros.
#[inline]
fn load<V: Pod>(cells: &[u8]) -> V {
    if let Some(bytes) = cells.get(..size_of::<V>()) {
        return pod_read_unaligned(bytes);
    }
    let mut vector = V::zeroed();
    bytes_of_mut(&mut vector)[..cells.len()].copy_from_slice(cells);
    vector
}
