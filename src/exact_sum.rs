//! Exact sums of floats, which do not depend on the order of summation.
//!
//! A sum is an integer of about two thousand bits, and is rounded once, when it is read. So threads
//! and processes can sum in any order and add their parts as integers.
//!
//! Cost: some nanoseconds per number; half a kilobyte per sum.

/// The number of limbs. Each holds 32 bits and has 32 bits to spare; together they span all finite
/// floats.
const LIMBS: usize = 67;
/// The limbs, and the counts of positive infinities, negative infinities and NaNs.
pub(crate) const WORDS: usize = LIMBS + 3;
/// The number of additions after which limbs must be normalised.
const MOST_ADDED: u32 = 1 << 30;

/// An exact sum.
#[derive(Debug, Clone)]
pub(crate) struct ExactSum {
    limbs: [i64; LIMBS],
    others: [u64; 3],
    added: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], others: [0; 3], added: 0 }
    }
}

impl ExactSum {
    /// The sum of some numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = Self::default();
        numbers.into_iter().for_each(|number| sum.add(number));
        sum
    }

    /// Adds a number.
    pub(crate) fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
        if exponent == 0x7ff {
            let kind = if fraction > 0 { 2 } else { usize::from(number < 0.0) };
            self.others[kind] += 1;
            return;
        }
        let whole = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let place = exponent.max(1) - 1;
        let wide = u128::from(whole) << (place % 32);
        for (i, limb) in self.limbs[place / 32..place / 32 + 3].iter_mut().enumerate() {
            let part = i64::from((wide >> (32 * i)) as u32);
            *limb += if number < 0.0 { -part } else { part };
        }
        self.added += 1;
        if self.added == MOST_ADDED {
            self.settle();
        }
    }

    /// Carries, so that all limbs but the last, which has the sign, are between 0 and 2^32.
    fn settle(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let sum = *limb + carry;
            (*limb, carry) = (sum & 0xffff_ffff, sum >> 32);
        }
        self.limbs[LIMBS - 1] += carry;
        self.added = 0;
    }

    /// The sum as words that can be added to those of other sums as integers.
    pub(crate) fn words(mut self) -> [u64; WORDS] {
        self.settle();
        let mut words = [0; WORDS];
        for (word, limb) in words.iter_mut().zip(self.limbs) {
            *word = limb.cast_unsigned();
        }
        words[LIMBS..].copy_from_slice(&self.others);
        words
    }

    /// The sum with these words.
    ///
    /// # Panics
    /// If there are not [`WORDS`] of them.
    pub(crate) fn of_words(words: &[u64]) -> Self {
        let mut sum = Self::default();
        for (limb, word) in sum.limbs.iter_mut().zip(words) {
            *limb = word.cast_signed();
        }
        sum.others.copy_from_slice(&words[LIMBS..]);
        sum.settle();
        sum
    }

    /// The float nearest to the sum.
    pub(crate) fn value(&self) -> f64 {
        match self.others {
            [0, 0, 0] => {}
            [_, 0, 0] => return f64::INFINITY,
            [0, _, 0] => return f64::NEG_INFINITY,
            _ => return f64::NAN,
        }
        let mut sum = self.clone();
        sum.settle();
        let is_negative = sum.limbs[LIMBS - 1] < 0;
        if is_negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.settle();
        }
        let Some(top) = sum.limbs.iter().rposition(|&limb| limb != 0) else { return 0.0 };
        let low = top.saturating_sub(3);
        let mut high = sum.limbs[low..=top]
            .iter()
            .rev()
            .fold(0u128, |high, &limb| high << 32 | u128::from(limb.cast_unsigned()));
        // The bits that are cut off decide between two equally near floats.
        high |= u128::from(sum.limbs[..low].iter().any(|&limb| limb != 0));
        let power = 32 * (low as u16).cast_signed() - 1074;
        let half = power / 2;
        let size = high as f64 * 2f64.powi(half.into()) * 2f64.powi((power - half).into());
        if is_negative { -size } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(ExactSum::default().value(), 0.0);
        assert_eq!(ExactSum::of([0.1, 0.2, 0.3]).value(), 0.6);
        assert_eq!(ExactSum::of([1e300, 1.0, -1e300]).value(), 1.0);
        assert_eq!(ExactSum::of([f64::MAX, f64::MAX, -f64::MAX]).value(), f64::MAX);
        assert_eq!(ExactSum::of([-5e-324, -5e-324]).value(), -1e-323);
        assert_eq!(ExactSum::of([1.0, 2f64.powi(-53), 2f64.powi(-1000)]).value(), 1.0f64.next_up());
        assert_eq!(ExactSum::of([1.0, f64::INFINITY]).value(), f64::INFINITY);
        assert!(ExactSum::of([f64::NEG_INFINITY, f64::INFINITY]).value().is_nan());
    }

    proptest! {
        #[test]
        fn neither_order_nor_parts_can_be_seen(
            mut numbers in prop::collection::vec(-1e30f64..1e30, 0..50), cut in 0usize..50,
        ) {
            let all = ExactSum::of(numbers.iter().copied()).value();
            let (one, other) = numbers.split_at(cut.min(numbers.len()));
            let [one, other] = [one, other].map(|part| ExactSum::of(part.iter().copied()).words());
            let both: Vec<u64> =
                one.iter().zip(other).map(|(a, b)| a.wrapping_add(b)).collect();
            prop_assert_eq!(ExactSum::of_words(&both).value().to_bits(), all.to_bits());
            numbers.reverse();
            prop_assert_eq!(ExactSum::of(numbers.iter().copied()).value().to_bits(), all.to_bits());
            // Whole numbers: the sum is exact in 128 bits.
            let whole: Vec<i128> = numbers.iter().map(|&x| x as i128).collect();
            let sum = whole.iter().sum::<i128>() as f64;
            prop_assert_eq!(ExactSum::of(whole.iter().map(|&x| x as f64)).value(), sum);
        }
    }
}
