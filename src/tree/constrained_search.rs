//! The search of features that something must be heeded on: slow and plain, beside the kernels.
//!
//! It finds what the kernels would find, but for what is heeded. Where both search a node, of equal
//! scores the first wins, by the number of the feature in [`Digits`](super::features::Digits).

use super::constraints::{Bounds, Rules};
use super::features::{Digit, Digits, Set};
use super::kernel::marginal;
use super::packed_gradients::Sums;
use super::split_noise::Noise;
use super::split_search::{Asks, Choice, Found, Node, Scanner, beats};

/// What to heed in a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Careful<'a> {
    pub(super) rules: &'a Rules,
    /// The features to search this way.
    pub(super) features: &'a Set,
    pub(super) bounds: Bounds,
    /// What the value of a split must be above.
    pub(super) floor: f64,
    /// The mass of a doc, on the average of the node.
    pub(super) doc_mass: f64,
}

/// Some columns of a node's histogram.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) scanner: &'a Scanner<'a>,
    pub(super) node: &'a Node<'a>,
    /// Where their list begins among the scanner's.
    pub(super) first: usize,
    pub(super) sums: &'a [u64],
}

/// The sums of one feature, by code.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) digit: &'a Digit,
    pub(super) sums: &'a [u64],
}

impl Careful<'_> {
    /// Searches the features of some columns.
    pub(super) fn search(&self, of: Columns<'_>, found: &mut Found) {
        let Scanner { places, shape, .. } = of.scanner;
        for (sums, &place) in of.sums.chunks_exact(shape.stride).zip(&places[of.first..]) {
            for (number, digit) in of.scanner.digits_at(place) {
                if !self.features.contains(number) {
                    continue;
                }
                let mut of_digit = [0; 256];
                let of_digit = &mut of_digit[..usize::from(digit.codes)];
                marginal(sums, digit, of_digit);
                let line = Line { number, digit, sums: of_digit };
                if line.sums.iter().filter(|&&sum| sum != 0).count() <= 1 {
                    found.dead.push(line.number);
                } else if digit.is_category {
                    self.search_categories(of.node, &line, found);
                } else {
                    self.search_line(&of, &line, found);
                }
            }
        }
    }

    fn search_line(&self, of: &Columns<'_>, line: &Line<'_>, found: &mut Found) {
        let codes = line.sums.len();
        let missing = line.sums[codes - 1];
        let ways = [(false, 0), (true, missing)];
        for &(missing_left, more) in &ways[..=usize::from(missing != 0)] {
            let mut left = more;
            for (code, &sum) in (0..=u8::MAX).zip(&line.sums[..codes - 1]) {
                left = left.wrapping_add(sum);
                let direction = self.rules.direction(of.scanner.digits, line.number, code);
                let Some(value) = self.value(of.node, left, direction) else { continue };
                let [rank, score] = self.score(of.node, line, value, (missing_left, code));
                if !beats(score, line.number, found.best.as_ref()) {
                    continue;
                }
                let is_most =
                    2 * u64::from(Sums::of(left).mass) >= u64::from(Sums::of(of.node.total).mass);
                // Cells that may be missing one day go where most docs go.
                let missing_left = if missing == 0 { is_most } else { missing_left };
                let (digit, asks) = (line.number, Asks::UpTo(code));
                found.best = Some(Choice { value, score, rank, digit, asks, missing_left, left });
            }
        }
    }

    /// Adds what a split after each code takes off, which is nothing where it may not be made.
    pub(super) fn add_values(
        &self,
        (digits, node): (&Digits, &Node<'_>),
        (digit, prefix): (usize, &[u64]),
        more: u64,
        values: &mut [f64],
    ) {
        for ((code, &sum), to) in (0..=u8::MAX).zip(prefix).zip(values) {
            let direction = self.rules.direction(digits, digit, code);
            if let Some(value) = self.value(node, sum.wrapping_add(more), direction) {
                *to += value - node.alone;
            }
        }
    }

    /// What both sides of a split are worth; `None` where it may not be made.
    pub(super) fn value(&self, node: &Node<'_>, left: u64, direction: i8) -> Option<f64> {
        let sides = [left, node.total.wrapping_sub(left)].map(Sums::of);
        if sides.iter().any(|sums| f64::from(sums.mass) < node.least) {
            return None;
        }
        let [low, high] = sides.map(|sums| self.bounds.step(sums, node.l2));
        let runs_against = match direction {
            0 => false,
            1 => low > high,
            _ => low < high,
        };
        (!runs_against).then(|| self.value_with(node, left, node.l2))
    }

    /// What both sides of a split are worth with some `l2`.
    pub(super) fn value_with(&self, node: &Node<'_>, left: u64, l2: f64) -> f64 {
        let sides = [left, node.total.wrapping_sub(left)].map(Sums::of);
        if self.bounds.are_tight() {
            return sides.iter().map(|&sums| self.bounds.value(sums, l2)).sum();
        }
        // As in the kernels, to the bit.
        let total = Sums::of(node.total);
        let [left, _] = sides;
        let (left_grad, left_mass) = (f64::from(left.grad), f64::from(left.mass));
        let right_grad = f64::from(total.grad) - left_grad;
        let right_mass = f64::from(total.mass) - left_mass;
        let (a, b) = (left_mass + l2, right_mass + l2);
        (left_grad * left_grad * b + right_grad * right_grad * a) / (a * b)
    }

    /// What leaves are compared by, and what a split is chosen by: minus infinity where it brings too
    /// little.
    pub(super) fn score(
        &self,
        node: &Node<'_>,
        line: &Line<'_>,
        value: f64,
        (left, code): (bool, u8),
    ) -> [f64; 2] {
        if value <= self.floor {
            return [f64::NEG_INFINITY; 2];
        }
        let weight = self.rules.weight(line.number);
        let rank = if weight == 1.0 { value } else { node.alone + weight * (value - node.alone) };
        let id = (line.digit.feature, left, code);
        let moved = |noise: &Noise| noise.moved(rank.max(0.0), id);
        [rank, node.noise.as_ref().map_or(rank, moved)]
    }
}
