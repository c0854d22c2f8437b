//! Chooses thresholds that minimise the weight of the heaviest bin with more than one distinct
//! value.
//!
//! With at most as many distinct cells as bins, each cell has its own bin. Otherwise bins are
//! filled from the left up to a capacity, with heavier cells in bins of their own, and the capacity
//! is the smallest for which `max_bins` bins suffice. No other choice of as many bins has a lighter
//! heaviest bin among those with several cells.
//!
//! Cost: a radix sort of the sample, then `max_bins` bisections for each bit of its weight.

/// A distinct cell of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedCell {
    /// The cell, not missing.
    pub cell: f32,
    /// The number of rows of the sample with this cell.
    pub weight: u64,
}

/// Maps cells to integers of the same order; not for NaN.
#[inline]
pub(crate) fn to_key(cell: f32) -> u32 {
    let bits = cell.to_bits();
    bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | 0x8000_0000)
}

/// The inverse of [`to_key`].
#[inline]
pub(crate) fn from_key(key: u32) -> f32 {
    f32::from_bits(key ^ ((!key.cast_signed() >> 31).cast_unsigned() | 0x8000_0000))
}

/// Radix sort by a 32-bit key, eleven bits per pass. A pass in which all items agree is skipped.
pub(crate) fn sort_by_key<T: Copy + Default>(
    items: &mut Vec<T>,
    scratch: &mut Vec<T>,
    key: impl Fn(T) -> u32,
) {
    const BITS: u32 = 11;
    const SIZE: usize = 1 << BITS;
    let digit = |item: T, pass: u32| (key(item) >> (pass * BITS)) as usize & (SIZE - 1);
    let mut counts = vec![[0u32; SIZE]; 3];
    for &item in items.iter() {
        for pass in 0..3 {
            counts[pass as usize][digit(item, pass)] += 1;
        }
    }
    scratch.clear();
    scratch.resize(items.len(), T::default());
    for pass in 0..3 {
        let starts = &mut counts[pass as usize];
        if starts.iter().any(|&n| n as usize == items.len()) {
            continue;
        }
        let mut total = 0;
        for slot in starts.iter_mut() {
            total += std::mem::replace(slot, total);
        }
        for &item in items.iter() {
            let slot = &mut starts[digit(item, pass)];
            scratch[*slot as usize] = item;
            *slot += 1;
        }
        std::mem::swap(items, scratch);
    }
}

/// Thresholds that divide ascending distinct cells into at most `max_bins` bins.
pub fn thresholds(distinct: &[WeightedCell], max_bins: usize) -> Vec<f32> {
    let bounds: Vec<usize> = if distinct.len() <= max_bins {
        (1..distinct.len()).collect()
    } else {
        let (mut sums, mut total) = (vec![0], 0);
        sums.extend(distinct.iter().map(|cell| {
            total += cell.weight;
            total
        }));
        fill(&sums, smallest_capacity(&sums, max_bins), max_bins).unwrap_or_default()
    };
    bounds.iter().map(|&i| between(distinct[i - 1].cell, distinct[i].cell)).collect()
}

/// The smallest capacity for which `max_bins` bins suffice. It is usually near the mean weight,
/// where the search begins.
fn smallest_capacity(sums: &[u64], max_bins: usize) -> u64 {
    let suffices = |capacity| fill(sums, capacity, max_bins).is_some();
    let mean = sums[sums.len() - 1] / max_bins as u64;
    let (mut low, mut high) = (0, mean);
    let mut step = 1 + mean / 32;
    while !suffices(high) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// The index of the first cell of each bin but the first, with bins filled from the left; `None` if
/// more than `max_bins` are needed.
fn fill(sums: &[u64], capacity: u64, max_bins: usize) -> Option<Vec<usize>> {
    let num_cells = sums.len() - 1;
    let mut bounds = Vec::with_capacity(max_bins);
    let mut start = 0;
    loop {
        let end = start + 1 + gallop(&sums[start + 2..], sums[start] + capacity);
        if end >= num_cells {
            return Some(bounds);
        }
        bounds.push(end);
        if bounds.len() == max_bins {
            return None;
        }
        start = end;
    }
}

/// The number of leading sums that are at most `limit`. It is usually small, so the step is doubled
/// before bisection.
fn gallop(sums: &[u64], limit: u64) -> usize {
    let mut step = 1;
    while step <= sums.len() && sums[step - 1] <= limit {
        step *= 2;
    }
    let from = step / 2;
    let to = step.min(sums.len());
    from + sums[from..to].partition_point(|&s| s <= limit)
}

/// A threshold `t` with `a <= t < b`, half way between if `f32` allows it.
fn between(a: f32, b: f32) -> f32 {
    let middle = f64::midpoint(f64::from(a), f64::from(b)) as f32;
    if middle < b { middle.max(a) } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weighted(weights: &[u64]) -> Vec<WeightedCell> {
        weights
            .iter()
            .enumerate()
            .map(|(i, &weight)| WeightedCell { cell: i as f32, weight })
            .collect()
    }

    /// The weight of the heaviest bin with more than one cell.
    fn heaviest(weights: &[u64], starts: &[usize]) -> u64 {
        let mut ends = starts.to_vec();
        ends.push(weights.len());
        let mut start = 0;
        let mut heaviest = 0;
        for end in ends {
            if end - start > 1 {
                heaviest = heaviest.max(weights[start..end].iter().sum());
            }
            start = end;
        }
        heaviest
    }

    fn best_by_trying_all(weights: &[u64], max_bins: usize) -> u64 {
        let n = weights.len();
        (0u32..1 << (n - 1))
            .filter(|cuts| (cuts.count_ones() as usize) < max_bins)
            .map(|cuts| {
                let starts: Vec<_> = (1..n).filter(|i| cuts >> (i - 1) & 1 == 1).collect();
                heaviest(weights, &starts)
            })
            .min()
            .unwrap()
    }

    proptest! {
        #[test]
        fn no_cut_has_a_lighter_heaviest_bin(
            weights in prop::collection::vec(1u64..20, 2..11),
            max_bins in 2usize..6,
        ) {
            let chosen = thresholds(&weighted(&weights), max_bins);
            prop_assert!(chosen.len() < max_bins);
            let starts: Vec<_> = chosen.iter().map(|t| t.ceil() as usize).collect();
            prop_assert_eq!(heaviest(&weights, &starts), best_by_trying_all(&weights, max_bins));
        }

        #[test]
        fn keys_keep_order_and_come_back(a in any::<f32>(), b in any::<f32>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let (a, b) = (a + 0.0, b + 0.0);
            prop_assert_eq!(a < b, to_key(a) < to_key(b));
            prop_assert_eq!(from_key(to_key(a)).to_bits(), a.to_bits());
        }

        #[test]
        fn sorting_sorts(mut items in prop::collection::vec(any::<u32>(), 0..300)) {
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_by_key(&mut items, &mut Vec::new(), |x| x);
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn a_threshold_lies_between(a in any::<f32>(), b in any::<f32>()) {
            prop_assume!(a.is_finite() && b.is_finite() && a < b);
            let t = between(a, b);
            prop_assert!(a <= t && t < b, "{a} {t} {b}");
        }
    }

    #[test]
    fn few_cells_have_a_bin_each() {
        assert_eq!(thresholds(&weighted(&[5, 1, 1]), 255), [0.5, 1.5]);
        assert_eq!(thresholds(&weighted(&[5]), 255), [] as [f32; 0]);
        assert_eq!(thresholds(&[], 255), [] as [f32; 0]);
    }
}
