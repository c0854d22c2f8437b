//! Ordering the docs of a query by their scores, in registers.
//!
//! A key holds the upper 24 bits of a score, turned so that they rise as it falls, and a doc's number
//! below. A bitonic network sorts 16 to 256 of them with comparisons that do not depend on them: two
//! nanoseconds a doc where counting how many docs are above each takes three to six.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::LANES;
use crate::metric::falling;
use crate::simd::Level;
use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_max_epu32, _mm512_max_epu32, _mm512_min_epu32,
    _mm512_permutexvar_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
};

/// The bits of a key that are a doc's number.
const NUMBER: u32 = 255;

/// Writes the docs by falling score into the low bits of `keys`, a power of two of steps and no fewer
/// than `scores` has, at most 16; where scores share their upper 24 bits, by number.
pub(super) fn order(scores: &[f32], keys: &mut [[u32; LANES]]) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: `order` is called only where the level is available, which checks the features that
    // `run` is compiled for.
    unsafe { run(scores, keys) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn run(scores: &[f32], keys: &mut [[u32; LANES]]) {
    let scores = scores.as_chunks::<LANES>().0;
    for (number, (keys, scores)) in (0..).step_by(LANES).zip(keys.iter_mut().zip(scores)) {
        for (lane, key) in (0..).zip(&mut *keys) {
            *key = falling(scores[lane as usize] + 0.0) & !NUMBER | (number + lane) & NUMBER;
        }
    }
    for keys in keys.iter_mut().skip(scores.len()) {
        keys.fill(u32::MAX);
    }
    sort(keys);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn sort(keys: &mut [[u32; LANES]]) {
    macro_rules! networks {
        ($($steps:literal)*) => {
            match keys.len() {
                $($steps => {
                    if let Ok(keys) = keys.try_into() {
                        network::<$steps>(keys);
                    }
                })*
                _ => keys.as_flattened_mut().sort_unstable(),
            }
        };
    }
    networks!(1 2 4 8 16);
}

/// Puts keys into rising order: a bitonic network, whose comparisons do not depend on the keys.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn network<const STEPS: usize>(keys: &mut [[u32; LANES]; STEPS]) {
    let mut all = [_mm512_setzero_si512(); STEPS];
    for (step, keys) in all.iter_mut().zip(&*keys) {
        // SAFETY: sixteen keys are the 64 bytes that are read.
        let keys = unsafe { _mm512_loadu_si512(keys.as_ptr().cast()) };
        // Sixteen by themselves: merges of 2, 4, 8 and 16.
        let keys = exchange::<1>(keys);
        let keys = exchange::<1>(exchange::<3>(keys));
        let keys = exchange::<1>(exchange::<2>(exchange::<7>(keys)));
        *step = halve(exchange::<15>(keys));
    }
    let mut size = 2;
    while size <= STEPS {
        // The first half against the second, read backwards.
        for group in all.chunks_exact_mut(size) {
            let (low, high) = group.split_at_mut(size / 2);
            for (low, high) in low.iter_mut().zip(high.iter_mut().rev()) {
                let turned = swapped::<15>(*high);
                *high = swapped::<15>(_mm512_max_epu32(*low, turned));
                *low = _mm512_min_epu32(*low, turned);
            }
        }
        let mut part = size / 2;
        while part > 1 {
            for group in all.chunks_exact_mut(part) {
                let (low, high) = group.split_at_mut(part / 2);
                for (low, high) in low.iter_mut().zip(high) {
                    (*low, *high) = (_mm512_min_epu32(*low, *high), _mm512_max_epu32(*low, *high));
                }
            }
            part /= 2;
        }
        for step in &mut all {
            *step = halve(exchange::<8>(*step));
        }
        size *= 2;
    }
    for (step, keys) in all.iter().zip(keys) {
        // SAFETY: sixteen keys are the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(keys.as_mut_ptr().cast(), *step) };
    }
}

/// The comparisons at distances 4, 2 and 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn halve(keys: __m512i) -> __m512i {
    exchange::<1>(exchange::<2>(exchange::<4>(keys)))
}

/// Compares each lane with the lane whose number differs in the bits of `WITH`: the lower takes the
/// smaller key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn exchange<const WITH: usize>(keys: __m512i) -> __m512i {
    let others = swapped::<WITH>(keys);
    let upper = const {
        let (mut upper, mut lane) = (0, 0);
        while lane < LANES {
            upper |= ((lane > lane ^ WITH) as u16) << lane;
            lane += 1;
        }
        upper
    };
    _mm512_mask_max_epu32(_mm512_min_epu32(keys, others), upper, keys, others)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn swapped<const WITH: usize>(keys: __m512i) -> __m512i {
    const {
        assert!(WITH < LANES);
    }
    let lanes: [u32; LANES] = const {
        let (mut lanes, mut lane) = ([0; LANES], 0);
        while lane < LANES {
            lanes[lane] = (lane ^ WITH) as u32;
            lane += 1;
        }
        lanes
    };
    // SAFETY: sixteen numbers are the 64 bytes that are read.
    let lanes = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    _mm512_permutexvar_epi32(lanes, keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn the_network_sorts() {
        if !Level::Avx512.is_available() {
            return;
        }
        for steps in [1, 2, 3, 4, 8, 16] {
            for (seed, few) in [(1, u64::from(u32::MAX)), (2, 3), (3, 200)] {
                let key = |i: usize| (draw(seed, 7, i as u64) % few) as u32;
                let mut keys = vec![[0; LANES]; steps];
                for (i, to) in keys.as_flattened_mut().iter_mut().enumerate() {
                    *to = key(i);
                }
                let mut expected = keys.clone();
                expected.as_flattened_mut().sort_unstable();
                // SAFETY: the level was asked for above.
                unsafe { sort(&mut keys) };
                assert_eq!(keys, expected);
            }
        }
    }
}
