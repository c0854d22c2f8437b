//! Element-wise operations on sums: safe loops, compiled for each SIMD level.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use crate::simd::Level;

/// The total of some sums.
pub(crate) fn total(level: Level, sums: &[u64]) -> u64 {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features are there.
        Level::Avx512 if level.is_available() => unsafe { avx512::total(sums) },
        _ => add_up(sums),
    }
}

/// Adds `more` to `to`.
pub(crate) fn add(level: Level, to: &mut [u64], more: &[u64]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features are there.
        Level::Avx512 if level.is_available() => unsafe { avx512::add(to, more) },
        _ => add_each(to, more),
    }
}

/// Subtracts `less` from `from`.
pub(crate) fn subtract(level: Level, from: &mut [u64], less: &[u64]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features are there.
        Level::Avx512 if level.is_available() => unsafe { avx512::subtract(from, less) },
        _ => subtract_each(from, less),
    }
}

#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_up(sums: &[u64]) -> u64 {
    sums.iter().fold(0, |sum, &more| sum.wrapping_add(more))
}

#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_each(to: &mut [u64], more: &[u64]) {
    for (sum, more) in to.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}

#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn subtract_each(from: &mut [u64], less: &[u64]) {
    for (sum, less) in from.iter_mut().zip(less) {
        *sum = sum.wrapping_sub(*less);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    pub(super) fn total(sums: &[u64]) -> u64 {
        super::add_up(sums)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    pub(super) fn add(to: &mut [u64], more: &[u64]) {
        super::add_each(to, more);
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    pub(super) fn subtract(from: &mut [u64], less: &[u64]) {
        super::subtract_each(from, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn sums_are_the_same_at_every_level() {
        for len in [0, 1, 7, 40, 264, 1000] {
            let [a, b] =
                [1, 2].map(|seed| (0..len).map(|i| draw(seed, 0, i)).collect::<Vec<u64>>());
            for level in Level::available() {
                let mut left = a.clone();
                subtract(level, &mut left, &b);
                let expected = a.iter().zip(&b).map(|(a, b)| a.wrapping_sub(*b));
                assert!(left.iter().copied().eq(expected));
                add(level, &mut left, &b);
                assert_eq!(left, a);
                let sum = a.iter().fold(0u64, |sum, more| sum.wrapping_add(*more));
                assert_eq!(total(level, &a), sum);
            }
        }
    }
}
