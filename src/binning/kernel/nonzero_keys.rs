//! Collects the keys of those cells of a column that are neither 0 nor missing.
//!
//! The cells of a sample are stored in rows: sixteen of a column are gathered at once, and the
//! wanted ones are compressed.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use crate::binning::thresholds::to_key;
use crate::simd::Level;

/// The number of keys that [`nonzero_keys`] may write beyond the last.
pub(in crate::binning) const SLACK: usize = 16;

/// How many cells had keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::binning) struct KeyCounts {
    /// The number of keys.
    pub(in crate::binning) keys: usize,
    /// The number of missing cells.
    pub(in crate::binning) missing: usize,
}

/// Writes the keys of every `stride`th cell to `room`, which is [`SLACK`] longer than the number of
/// cells.
pub(in crate::binning) fn nonzero_keys(
    level: Level,
    cells: &[f32],
    stride: usize,
    room: &mut [u32],
) -> KeyCounts {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() && stride <= x86::WIDEST => {
            // SAFETY: the level has these features, and the machine has the level.
            unsafe { x86::nonzero_keys(cells, stride, room) }
        }
        _ => rest(cells.iter().step_by(stride), room, KeyCounts::default()),
    }
}

/// Appends the keys of further cells, without branching on them.
fn rest<'a>(
    cells: impl Iterator<Item = &'a f32>,
    room: &mut [u32],
    mut kept: KeyCounts,
) -> KeyCounts {
    for &cell in cells {
        room[kept.keys] = to_key(cell);
        kept.keys += usize::from(cell < 0.0) + usize::from(cell > 0.0);
        kept.missing += usize::from(cell.is_nan());
    }
    kept
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::KeyCounts;
    use std::arch::x86_64::{
        __m512i, _CMP_NEQ_OQ, _CMP_UNORD_Q, _mm512_castps_si512, _mm512_cmp_ps_mask,
        _mm512_i32gather_ps, _mm512_maskz_compress_epi32, _mm512_mullo_epi32, _mm512_or_si512,
        _mm512_set_epi32, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_srai_epi32,
        _mm512_storeu_si512, _mm512_xor_si512,
    };

    const LANES: usize = 16;
    /// Sixteen strides must fit into a 32-bit index.
    pub(super) const WIDEST: usize = 1 << 20;

    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn nonzero_keys(cells: &[f32], stride: usize, room: &mut [u32]) -> KeyCounts {
        let count = cells.len().div_ceil(stride);
        let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let locations = _mm512_mullo_epi32(lanes, _mm512_set1_epi32((stride as u32).cast_signed()));
        let (mut kept, mut done) = (KeyCounts::default(), 0);
        while done + LANES <= count
            && let Some(room) = room[kept.keys..].first_chunk_mut::<LANES>()
        {
            let first = &cells[done * stride..];
            debug_assert!((LANES - 1) * stride < first.len());
            // SAFETY: the last of these sixteen is cell `done + 15` of `count`, so it is there.
            let found = unsafe { _mm512_i32gather_ps::<4>(locations, first.as_ptr()) };
            let bits = _mm512_castps_si512(found);
            let flipped =
                _mm512_or_si512(_mm512_srai_epi32::<31>(bits), _mm512_set1_epi32(i32::MIN));
            let given = _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(found, _mm512_setzero_ps());
            let missing = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(found, found);
            store(room, _mm512_maskz_compress_epi32(given, _mm512_xor_si512(bits, flipped)));
            kept.keys += given.count_ones() as usize;
            kept.missing += missing.count_ones() as usize;
            done += LANES;
        }
        super::rest(cells.iter().step_by(stride).skip(done), room, kept)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(to: &mut [u32; LANES], keys: __m512i) {
        // SAFETY: the unaligned store writes these sixteen `u32`.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), keys) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_levels_keep_the_same_keys(
            cells in prop::collection::vec(prop_oneof![
                Just(0.0), Just(-0.0), Just(f32::NAN), any::<f32>(), (-3i8..4).prop_map(f32::from)
            ], 0..400),
            stride in 1usize..20,
        ) {
            let column = || cells.iter().step_by(stride);
            let given = column().filter(|cell| cell.abs() > 0.0);
            let keys: Vec<u32> = given.map(|&cell| to_key(cell)).collect();
            let missing = column().filter(|cell| cell.is_nan()).count();
            for level in Level::available() {
                let mut room = vec![7; column().count() + SLACK];
                let kept = nonzero_keys(level, &cells, stride, &mut room);
                prop_assert_eq!(kept, KeyCounts { keys: keys.len(), missing });
                prop_assert_eq!(&room[..kept.keys], &keys[..]);
            }
        }
    }
}
