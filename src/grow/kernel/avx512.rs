//! Cutting docs in two, sixteen a step, and searching histograms, eight values a step.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::part::{Side, plain};
use super::search::Search;
use crate::grow::scan::Found;
use crate::simd::Level;
use std::arch::x86_64::{
    _mm256_loadu_si256, _mm512_and_si512, _mm512_castsi256_si512, _mm512_i32gather_epi32,
    _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_permutexvar_epi32, _mm512_set1_epi32,
    _mm512_srli_epi32, _mm512_srlv_epi32, _mm512_storeu_si512, _mm512_test_epi32_mask,
};

/// Whether all docs of a column can be told from each other by the 31 bits that a gather takes.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= 1 << 31
}

pub(super) fn part(bytes: &[u8], side: &Side, docs: &mut [u32], right: &mut [u32]) -> usize {
    debug_assert!(Level::Avx512.is_available());
    assert!(docs.len() == right.len() && fits(bytes));
    // Three bytes after that of the last doc are read with it.
    let known = bytes.len().saturating_sub(3);
    let last = docs.iter().fold(0, |last, &doc| doc.max(last));
    assert!(docs.is_empty() || (last as usize) < known);
    // SAFETY: callers come here only with `Level::Avx512`, which checks the features that `run` is
    // compiled for; the docs were checked against the column just now.
    unsafe { run(bytes, side, docs, right) }
}

/// # Safety
/// Every doc and three more are below `bytes.len()`, itself at most 2³¹; `right` is as long as `docs`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
unsafe fn run(bytes: &[u8], side: &Side, docs: &mut [u32], right: &mut [u32]) -> usize {
    // SAFETY: eight words of 32 bits are the 32 bytes that are read.
    let words = unsafe { _mm256_loadu_si256(side.words().as_ptr().cast()) };
    let words = _mm512_castsi256_si512(words);
    let (last_byte, low) = (_mm512_set1_epi32(255), _mm512_set1_epi32(31));
    let one = _mm512_set1_epi32(1);
    let whole = docs.len() / 16 * 16;
    let (mut left, mut at) = (0, 0);
    while at < whole {
        // SAFETY: sixteen docs from `at` on are there.
        let sixteen = unsafe { _mm512_loadu_si512(docs.as_ptr().add(at).cast()) };
        // SAFETY: each doc is an offset into `bytes` with three more bytes after it.
        let cells = unsafe { _mm512_i32gather_epi32::<1>(sixteen, bytes.as_ptr().cast()) };
        let cells = _mm512_and_si512(cells, last_byte);
        // The word of the byte is below eight: the upper half of the table is never looked at.
        let word = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(cells), words);
        let bit = _mm512_srlv_epi32(word, _mm512_and_si512(cells, low));
        let goes = _mm512_test_epi32_mask(bit, one);
        // SAFETY: `left <= at`, so sixteen docs from there on are in `docs`, and those that are
        // written over have been read.
        unsafe {
            let kept = _mm512_maskz_compress_epi32(goes, sixteen);
            _mm512_storeu_si512(docs.as_mut_ptr().add(left).cast(), kept);
        }
        let moved = at - left;
        // SAFETY: `moved <= at`, so sixteen docs from there on are in `right`.
        unsafe {
            let kept = _mm512_maskz_compress_epi32(!goes, sixteen);
            _mm512_storeu_si512(right.as_mut_ptr().add(moved).cast(), kept);
        }
        left += goes.count_ones() as usize;
        at += 16;
    }
    let moved = whole - left;
    let tail = &mut docs[whole..];
    let more = plain(|doc| bytes[doc as usize], side, tail, &mut right[moved..]);
    docs.copy_within(whole..whole + more, left);
    left + more
}

pub(super) fn search(search: Search<'_>, found: &mut Found) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `kernel::search` comes here only after `Level::Avx512.is_available()`, which checks
    // the features that `run_search` is compiled for.
    unsafe { run_search(search, found) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt,bmi1,bmi2")]
fn run_search(search: Search<'_>, found: &mut Found) {
    search.run(found);
}
