//! Partitioning with AVX-512, sixteen documents per step, and histogram search, eight values per
//! step.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::LevelReductions;
use super::partition::{LeftBytes, plain};
use super::search::{FILTER_LANES, SearchOps, SearchScratch, SplitFilter};
use crate::simd::Level;
use crate::tree::split_search::{NodeColumns, SearchResult};
use std::arch::x86_64::{
    __m512, __m512i, __mmask16, _CMP_GT_OQ, _mm256_loadu_si256, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_add_ps, _mm512_alignr_epi64, _mm512_and_si512, _mm512_castsi256_si512,
    _mm512_cmpge_epu32_mask, _mm512_cvtepi32_ps, _mm512_cvtepu32_ps, _mm512_i32gather_epi32,
    _mm512_loadu_si512, _mm512_mask_cmp_ps_mask, _mm512_maskz_compress_epi32, _mm512_min_epu32,
    _mm512_mul_ps, _mm512_permutex2var_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi32,
    _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_ps,
    _mm512_setr_epi32, _mm512_setzero_si512, _mm512_srli_epi32, _mm512_srlv_epi32,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_test_epi32_mask,
};

/// Whether the 31-bit offsets of a gather reach all documents of the column.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= 1 << 31
}

pub(super) fn partition(
    bytes: &[u8],
    side: &LeftBytes,
    docs: &mut [u32],
    right: &mut [u32],
) -> usize {
    debug_assert!(Level::Avx512.is_available());
    assert!(docs.len() == right.len() && fits(bytes));
    // A gather reads three bytes after that of a document.
    assert!(bytes.len() > 3);
    // SAFETY: `kernel::part` comes here only after `Level::Avx512.is_available()`, which checks the
    // features that `run` is compiled for; the column was checked just now.
    unsafe { run(bytes, side, docs, right) }
}

/// # Safety
/// `bytes.len()` is above 3 and at most 2³¹; `right` is as long as `docs`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt,bmi1,bmi2")]
unsafe fn run(bytes: &[u8], side: &LeftBytes, docs: &mut [u32], right: &mut [u32]) -> usize {
    // SAFETY: eight words of 32 bits are the 32 bytes that are read.
    let words = unsafe { _mm256_loadu_si256(side.words().as_ptr().cast()) };
    let words = _mm512_castsi256_si512(words);
    let (last_byte, low) = (_mm512_set1_epi32(255), _mm512_set1_epi32(31));
    let one = _mm512_set1_epi32(1);
    let last = _mm512_set1_epi32(((bytes.len() - 4) as u32).cast_signed());
    let whole = docs.len() / 16 * 16;
    let (mut left, mut at) = (0, 0);
    while at < whole {
        // SAFETY: sixteen docs from `at` on are there.
        let sixteen = unsafe { _mm512_loadu_si512(docs.as_ptr().add(at).cast()) };
        let (first, end) = (docs[at], docs[at + 15]);
        let cells = match bytes.get(first as usize..).and_then(<[u8]>::first_chunk::<64>) {
            // Documents are ascending, so these lie in one window, which is read at once.
            Some(window) if end.wrapping_sub(first) < 64 => {
                // SAFETY: 64 bytes.
                let window = unsafe { _mm512_loadu_si512(window.as_ptr().cast()) };
                let positions = _mm512_sub_epi32(sixteen, _mm512_set1_epi32(first.cast_signed()));
                _mm512_permutexvar_epi8(positions, window)
            }
            _ => {
                // Documents are always inside of the table; clamping here is cheaper than checking
                // them in a separate pass.
                let positions = _mm512_min_epu32(sixteen, last);
                // SAFETY: each place is an offset into `bytes` with three more bytes after it.
                unsafe { _mm512_i32gather_epi32::<1>(positions, bytes.as_ptr().cast()) }
            }
        };
        let cells = _mm512_and_si512(cells, last_byte);
        // The index of the word is below eight, so the upper half of the table is never used.
        let word = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(cells), words);
        let bit = _mm512_srlv_epi32(word, _mm512_and_si512(cells, low));
        let goes = _mm512_test_epi32_mask(bit, one);
        // SAFETY: `left <= at`, so sixteen docs from there on are in `docs`, and those that are
        // written over have been read.
        unsafe {
            let kept = _mm512_maskz_compress_epi32(goes, sixteen);
            _mm512_storeu_si512(docs.as_mut_ptr().add(left).cast(), kept);
        }
        let num_right = at - left;
        // SAFETY: `num_right <= at`, so sixteen docs from there on are in `right`.
        unsafe {
            let kept = _mm512_maskz_compress_epi32(!goes, sixteen);
            _mm512_storeu_si512(right.as_mut_ptr().add(num_right).cast(), kept);
        }
        left += goes.count_ones() as usize;
        at += 16;
    }
    let num_right = whole - left;
    let tail = &mut docs[whole..];
    let more = plain(|doc| bytes[doc as usize], side, tail, &mut right[num_right..]);
    docs.copy_within(whole..whole + more, left);
    left + more
}

pub(super) fn search(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    found: &mut SearchResult,
) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `kernel::search` comes here only after `Level::Avx512.is_available()`, which checks
    // the features that `run_search` is compiled for.
    unsafe { run_search(columns, search_scratch, found) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt,bmi1,bmi2")]
fn run_search(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    found: &mut SearchResult,
) {
    columns.run(&Avx512Ops, search_scratch, found);
}

pub(super) fn add_node(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    reductions: &mut LevelReductions,
) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `kernel::add_node` comes here only after `Level::Avx512.is_available()`, which checks
    // the features that `run_level` is compiled for.
    unsafe { run_level(columns, search_scratch, reductions) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt,bmi1,bmi2")]
fn run_level(
    columns: NodeColumns<'_>,
    search_scratch: &mut SearchScratch,
    reductions: &mut LevelReductions,
) {
    reductions.add_node(&Avx512Ops, columns, search_scratch);
}

/// Sums eight at a time, filters splits sixteen at a time. Only for machines with AVX-512.
pub(super) struct Avx512Ops;

impl SearchOps for Avx512Ops {
    #[inline]
    fn prefix_sums(&self, sums: &[u64], to: &mut [u64; 256]) {
        // SAFETY: `Avx512Ops` is used below `search` alone, whose caller has checked the features.
        unsafe { prefix_sums(sums, to) }
    }

    #[inline]
    fn filter_prefix(&self, split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2] {
        // SAFETY: `Avx512Ops` is used below `search` alone, whose caller has checked the features.
        unsafe { filter_prefix(split_filter, prefix, more) }
    }

    #[inline]
    fn filter_sums(&self, split_filter: &SplitFilter, sums: &[u64]) -> [bool; 2] {
        // SAFETY: `Avx512Ops` is used below `search` alone, whose caller has checked the features.
        unsafe { filter_sums(split_filter, sums) }
    }
}

/// The prefix sums of eight numbers, starting from `before`, which becomes the sum of all so far.
///
/// The eight are summed by themselves first, to shorten the dependency chain.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn add_eight(sums: &[u64; 8], before: &mut __m512i) -> __m512i {
    let (none, last) = (_mm512_setzero_si512(), _mm512_set1_epi64(7));
    // SAFETY: eight words are the 64 bytes that are read.
    let own = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
    let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<7>(own, none));
    let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<6>(own, none));
    let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<4>(own, none));
    let all = _mm512_add_epi64(own, *before);
    *before = _mm512_add_epi64(*before, _mm512_permutexvar_epi64(last, own));
    all
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn prefix_sums(sums: &[u64], to: &mut [u64; 256]) {
    let mut before = _mm512_setzero_si512();
    for (to, sums) in to.as_chunks_mut::<8>().0.iter_mut().zip(sums.as_chunks::<8>().0) {
        // SAFETY: eight words are the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), add_eight(sums, &mut before)) };
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn filter_sums(split_filter: &SplitFilter, sums: &[u64]) -> [bool; 2] {
    let mut before = _mm512_setzero_si512();
    let filter = BroadcastFilter::of(split_filter);
    let mut seen = [0; 2];
    for pair in sums.as_chunks::<8>().0.as_chunks::<2>().0 {
        let first = add_eight(&pair[0], &mut before);
        let second = add_eight(&pair[1], &mut before);
        filter.look(first, second, &mut seen);
    }
    seen.map(|lanes| lanes != 0)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn filter_prefix(split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2] {
    let more = _mm512_set1_epi64(more.cast_signed());
    let filter = BroadcastFilter::of(split_filter);
    let mut seen = [0; 2];
    for prefix in prefix.as_chunks::<FILTER_LANES>().0 {
        // SAFETY: sixteen words are the 128 bytes that are read.
        let (first, second) = unsafe {
            let at = prefix.as_ptr();
            (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(8).cast()))
        };
        let (first, second) = (_mm512_add_epi64(first, more), _mm512_add_epi64(second, more));
        filter.look(first, second, &mut seen);
    }
    seen.map(|lanes| lanes != 0)
}

/// A filter with its values in all lanes.
struct BroadcastFilter {
    low: __m512i,
    high: __m512i,
    grad: __m512i,
    mass: __m512i,
    least: __m512i,
    l2: __m512,
    threshold: __m512,
}

impl BroadcastFilter {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn of(split_filter: &SplitFilter) -> Self {
        let &SplitFilter { total, least, l2, threshold } = split_filter;
        let low = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        Self {
            low,
            high: _mm512_add_epi32(low, _mm512_set1_epi32(1)),
            grad: _mm512_set1_epi32(total.grad),
            mass: _mm512_set1_epi32(total.mass.cast_signed()),
            least: _mm512_set1_epi32(least.cast_signed()),
            l2: _mm512_set1_ps(l2),
            threshold: _mm512_set1_ps(threshold),
        }
    }

    /// Checks the splits after sixteen codes: which may beat the threshold, and which are large
    /// enough on both sides.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn look(&self, first: __m512i, second: __m512i, [beats, splits]: &mut [__mmask16; 2]) {
        let left_mass = _mm512_permutex2var_epi32(first, self.low, second);
        let left_grad = _mm512_permutex2var_epi32(first, self.high, second);
        let right_mass = _mm512_sub_epi32(self.mass, left_mass);
        let right_grad = _mm512_cvtepi32_ps(_mm512_sub_epi32(self.grad, left_grad));
        let left_grad = _mm512_cvtepi32_ps(left_grad);
        let fits = _mm512_cmpge_epu32_mask(_mm512_min_epu32(left_mass, right_mass), self.least);
        let left = _mm512_add_ps(_mm512_cvtepu32_ps(left_mass), self.l2);
        let right = _mm512_add_ps(_mm512_cvtepu32_ps(right_mass), self.l2);
        let of_left = _mm512_mul_ps(_mm512_mul_ps(left_grad, left_grad), right);
        let of_right = _mm512_mul_ps(_mm512_mul_ps(right_grad, right_grad), left);
        let value = _mm512_add_ps(of_left, of_right);
        let to_beat = _mm512_mul_ps(self.threshold, _mm512_mul_ps(left, right));
        *beats |= _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(fits, value, to_beat);
        *splits |= fits;
    }
}
