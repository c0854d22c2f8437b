//! Element-wise operations on sums: safe loops, compiled for each SIMD level.

use crate::simd::for_levels;

for_levels! {
    /// The total of some sums.
    pub(crate) fn total(sums: &[u64]) -> u64 {
        sums.iter().fold(0, |sum, &more| sum.wrapping_add(more))
    }

    /// Adds `more` to `to`.
    pub(crate) fn add(to: &mut [u64], more: &[u64]) {
        to.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }

    /// Subtracts `less` from `from`.
    pub(crate) fn subtract(from: &mut [u64], less: &[u64]) {
        from.iter_mut().zip(less).for_each(|(sum, less)| *sum = sum.wrapping_sub(*less));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;
    use crate::simd::Level;

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
