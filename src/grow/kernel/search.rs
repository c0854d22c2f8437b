//! The search of histograms: one safe loop, compiled for each level of instructions.

use crate::grow::features::Digit;
use crate::grow::packed::Sums;
use crate::grow::scan::{Choice, Found, Node, Scanner};

/// Some columns of a node's histogram.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) scanner: &'a Scanner<'a>,
    pub(crate) node: &'a Node<'a>,
    /// Where their list begins among the scanner's.
    pub(crate) first: usize,
    pub(crate) sums: &'a [u64],
}

/// Thresholds that are valued in one step.
const LANES: usize = 8;

/// The sums up to each code, and what a split there is worth.
struct Tables {
    prefix: [u64; 256],
    values: [f64; 256],
    digit: [u64; 256],
}

impl Search<'_> {
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    pub(crate) fn run(self, found: &mut Found) {
        let mut tables = Tables { prefix: [0; 256], values: [0.0; 256], digit: [0; 256] };
        let stride = self.scanner.stride;
        let columns = &self.scanner.columns[self.first..];
        for (sums, &column) in self.sums.chunks_exact(stride).zip(columns) {
            for (number, digit) in self.scanner.digits.of_column(column as usize) {
                if !self.node.features.contains(number) {
                    continue;
                }
                let codes = usize::from(digit.codes);
                if digit.is_whole {
                    self.search(number, &sums[..codes], &mut tables, found);
                } else {
                    let mut of_digit = tables.digit;
                    marginal(sums, digit, &mut of_digit[..codes]);
                    self.search(number, &of_digit[..codes], &mut tables, found);
                }
            }
        }
    }

    /// Searches one feature; the last of its sums is that of missing cells.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    fn search(&self, number: usize, sums: &[u64], tables: &mut Tables, found: &mut Found) {
        let (&missing, sums) = match sums.split_last() {
            Some(split) if sums.len() <= 256 => split,
            _ => return,
        };
        let mut sum = 0u64;
        for (prefix, &more) in tables.prefix.iter_mut().zip(sums) {
            sum = sum.wrapping_add(more);
            *prefix = sum;
        }
        // Without missing cells, all docs are left of the last code.
        let num_splits = sums.len() - usize::from(missing == 0);
        let padded = num_splits.next_multiple_of(LANES).min(256);
        let mut is_split = false;
        for (missing_left, more) in [(false, 0), (true, missing)] {
            if missing_left && missing == 0 {
                break;
            }
            // What fills the last step leaves nothing on the right.
            tables.prefix[num_splits..padded].fill(self.node.total.wrapping_sub(more));
            let to_beat = found.best.map_or(f64::NEG_INFINITY, |best| best.value);
            let (prefix, values) = (&tables.prefix[..padded], &mut tables.values[..padded]);
            let most = self.value_all(prefix, more, values);
            is_split |= most > f64::NEG_INFINITY;
            if most > to_beat {
                // The value is there: it is one of them.
                let at = values.iter().position(|&value| value == most).unwrap_or(0);
                let left = prefix[at].wrapping_add(more);
                let code = at as u8;
                let most_left =
                    2 * u64::from(Sums::of(left).mass) >= u64::from(Sums::of(self.node.total).mass);
                // Cells that may be missing one day go where most docs go.
                let missing_left = if missing == 0 { most_left } else { missing_left };
                found.best = Some(Choice { value: most, digit: number, code, missing_left, left });
            }
        }
        if !is_split {
            let codes = sums.iter().filter(|&&sum| sum != 0).count() + usize::from(missing != 0);
            found.dead.extend((codes <= 1).then_some(number));
        }
    }

    /// What a split after each code is worth, and the most of them; minus infinity where a side
    /// would be too small.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    fn value_all(&self, prefix: &[u64], more: u64, values: &mut [f64]) -> f64 {
        let Node { total, least, l2, .. } = *self.node;
        let total = Sums::of(total);
        let (grad, mass) = (f64::from(total.grad), f64::from(total.mass));
        let mut most = [f64::NEG_INFINITY; LANES];
        let prefix = prefix.as_chunks::<LANES>().0;
        let values = values.as_chunks_mut::<LANES>().0;
        for (prefix, values) in prefix.iter().zip(values) {
            for lane in 0..LANES {
                let sums = Sums::of(prefix[lane].wrapping_add(more));
                let (left_grad, left_mass) = (f64::from(sums.grad), f64::from(sums.mass));
                let (right_grad, right_mass) = (grad - left_grad, mass - left_mass);
                let (left, right) = (left_mass + l2, right_mass + l2);
                // One division for both sides.
                let value = (left_grad * left_grad * right + right_grad * right_grad * left)
                    / (left * right);
                let fits = left_mass.min(right_mass) >= least;
                let value = if fits { value } else { f64::NEG_INFINITY };
                values[lane] = value;
                most[lane] = if value > most[lane] { value } else { most[lane] };
            }
        }
        most.into_iter()
            .fold(f64::NEG_INFINITY, |most, value| if value > most { value } else { most })
    }
}

/// The sums of one of the features that share a column.
fn marginal(sums: &[u64], digit: &Digit, to: &mut [u64]) {
    let stride = usize::from(digit.stride);
    to.fill(0);
    for period in sums.chunks(stride * to.len()) {
        for (to, run) in to.iter_mut().zip(period.chunks(stride)) {
            *to = run.iter().fold(*to, |sum, &more| sum.wrapping_add(more));
        }
    }
}
