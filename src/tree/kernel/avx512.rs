//! Partitioning with AVX-512, sixteen documents per step, and histogram search, eight values per
//! step.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::partition::{ByteSet, plain};
use super::search::{FILTER_LANES, SearchOps, SplitFilter};
use std::arch::x86_64::{
    _CMP_GT_OQ, _mm256_loadu_si256, _mm512_add_epi32, _mm512_add_epi64, _mm512_add_ps,
    _mm512_alignr_epi64, _mm512_and_si512, _mm512_castsi256_si512, _mm512_cmpge_epu32_mask,
    _mm512_cvtepi32_ps, _mm512_cvtepu32_ps, _mm512_i32gather_epi32, _mm512_loadu_si512,
    _mm512_mask_cmp_ps_mask, _mm512_maskz_compress_epi32, _mm512_min_epu32, _mm512_mul_ps,
    _mm512_permutex2var_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi32,
    _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_ps,
    _mm512_setr_epi32, _mm512_setzero_si512, _mm512_srli_epi32, _mm512_srlv_epi32,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_test_epi32_mask,
};

/// Whether the 31-bit offsets of a gather reach all documents of the column.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= 1 << 31
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt,bmi1,bmi2")]
pub(super) fn partition(
    bytes: &[u8],
    side: &ByteSet,
    docs: &mut [u32],
    right: &mut [u32],
) -> usize {
    assert!(docs.len() == right.len() && fits(bytes));
    // A gather reads three bytes after that of a document.
    assert!(bytes.len() > 3);
    // SAFETY: eight words of 32 bits are the 32 bytes that are read.
    let words = unsafe { _mm256_loadu_si256(side.0.as_ptr().cast()) };
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
    let more = plain(bytes, side, tail, &mut right[num_right..]);
    docs.copy_within(whole..whole + more, left);
    left + more
}

/// Sums eight at a time, filters splits sixteen at a time. Only for machines with AVX-512.
pub(super) struct Avx512Ops;

impl SearchOps for Avx512Ops {
    #[inline]
    fn prefix_sums(sums: &[u64], to: &mut [u64; 256]) {
        // SAFETY: `Avx512Ops` is used at that level alone, whose features have been checked.
        unsafe { prefix_sums(sums, to) }
    }

    #[inline]
    fn filter(split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2] {
        // SAFETY: as above.
        unsafe { filter(split_filter, prefix, more) }
    }
}

/// Eight are summed by themselves first, to shorten the dependency chain.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn prefix_sums(sums: &[u64], to: &mut [u64; 256]) {
    let (none, last) = (_mm512_setzero_si512(), _mm512_set1_epi64(7));
    let mut before = none;
    for (to, sums) in to.as_chunks_mut::<8>().0.iter_mut().zip(sums.as_chunks::<8>().0) {
        // SAFETY: eight words are the 64 bytes that are read.
        let own = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
        let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<7>(own, none));
        let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<6>(own, none));
        let own = _mm512_add_epi64(own, _mm512_alignr_epi64::<4>(own, none));
        // SAFETY: eight words are the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_add_epi64(own, before)) };
        before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, own));
    }
}

/// Checks the splits after sixteen codes at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn filter(split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2] {
    let &SplitFilter { total, least, l2, threshold } = split_filter;
    let low = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let high = _mm512_add_epi32(low, _mm512_set1_epi32(1));
    let more = _mm512_set1_epi64(more.cast_signed());
    let [grad, mass] = [total.grad, total.mass.cast_signed()].map(|sum| _mm512_set1_epi32(sum));
    let least = _mm512_set1_epi32(least.cast_signed());
    let (l2, threshold) = (_mm512_set1_ps(l2), _mm512_set1_ps(threshold));
    let (mut beats, mut splits) = (0, 0);
    for prefix in prefix.as_chunks::<FILTER_LANES>().0 {
        // SAFETY: sixteen words are the 128 bytes that are read.
        let (first, second) = unsafe {
            let at = prefix.as_ptr();
            (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(8).cast()))
        };
        let (first, second) = (_mm512_add_epi64(first, more), _mm512_add_epi64(second, more));
        let left_mass = _mm512_permutex2var_epi32(first, low, second);
        let left_grad = _mm512_permutex2var_epi32(first, high, second);
        let right_mass = _mm512_sub_epi32(mass, left_mass);
        let right_grad = _mm512_cvtepi32_ps(_mm512_sub_epi32(grad, left_grad));
        let left_grad = _mm512_cvtepi32_ps(left_grad);
        let fits = _mm512_cmpge_epu32_mask(_mm512_min_epu32(left_mass, right_mass), least);
        let left = _mm512_add_ps(_mm512_cvtepu32_ps(left_mass), l2);
        let right = _mm512_add_ps(_mm512_cvtepu32_ps(right_mass), l2);
        let of_left = _mm512_mul_ps(_mm512_mul_ps(left_grad, left_grad), right);
        let of_right = _mm512_mul_ps(_mm512_mul_ps(right_grad, right_grad), left);
        let value = _mm512_add_ps(of_left, of_right);
        let to_beat = _mm512_mul_ps(threshold, _mm512_mul_ps(left, right));
        beats |= _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(fits, value, to_beat);
        splits |= fits;
    }
    [beats != 0, splits != 0]
}
