//! What the splits of a level take off, summed over its nodes: one safe loop, compiled for each level
//! of instructions.

use super::Summand;
use super::search::{Kit, Tables, marginal, padded, score_all};
use crate::tree::features::Set;
use crate::tree::packed_gradients::Sums;
use crate::tree::split_search::{Node, Scanner};
use crate::tree::symmetric_search::Terms;
use std::ops::Range;

/// What each split on some columns takes off, in all nodes so far.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The first of the columns, in the scanner's list.
    first: usize,
    /// `lines[of_column[c]]` are the features of a column.
    of_column: Vec<Range<usize>>,
    lines: Vec<Line>,
    values: Vec<f64>,
}

/// The splits on one feature.
#[derive(Debug)]
struct Line {
    /// The number of the feature.
    digit: usize,
    /// Where the values for missing cells on the right begin, and those for the left after them.
    start: usize,
    len: usize,
    /// Whether a node has missing cells: else it does not matter where they go.
    has_missing: bool,
}

/// A question to all nodes of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Asked {
    pub(crate) digit: usize,
    /// The last code that goes left; of categories, the only one.
    pub(crate) code: u8,
    /// `None` where no cell is missing.
    pub(crate) missing_left: Option<bool>,
    /// What it takes off in all nodes, in packed units.
    pub(crate) reduction: f64,
    /// What it was chosen by.
    pub(crate) score: f64,
}

impl Asked {
    /// Whether it takes off more, or as much and asks of a feature before the other's.
    pub(crate) fn beats(&self, other: &Self) -> bool {
        self.score > other.score || self.score == other.score && self.digit < other.digit
    }
}

impl Tally {
    /// Of no nodes, for columns of the scanner's list and a set of features.
    pub(crate) fn new(scanner: &Scanner<'_>, columns: Range<usize>, features: &Set) -> Self {
        let (mut lines, mut of_column, mut start) = (Vec::new(), Vec::new(), 0);
        for &place in &scanner.places[columns.clone()] {
            let first = lines.len();
            for (digit, of) in scanner.digits_at(place) {
                if features.contains(digit) && of.codes > 1 {
                    let len = padded(usize::from(of.codes) - 1);
                    lines.push(Line { digit, start, len, has_missing: false });
                    start += 2 * len;
                }
            }
            of_column.push(first..lines.len());
        }
        Self { first: columns.start, of_column, lines, values: vec![0.0; start] }
    }

    /// Adds a node, its sums in the columns from the scanner's `first` on.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
    #[inline(always)]
    pub(super) fn add_node(&mut self, kit: &impl Kit, summand: Summand<'_>, tables: &mut Tables) {
        let Summand { scanner, first, sums, .. } = summand;
        let of_column = &self.of_column[first - self.first..];
        for (sums, lines) in sums.chunks_exact(scanner.shape.stride).zip(of_column) {
            for line in &mut self.lines[lines.clone()] {
                let digit = &scanner.digits.all()[line.digit];
                let codes = usize::from(digit.codes);
                let values = &mut self.values[line.start..line.start + 2 * line.len];
                if digit.is_whole {
                    add_line(kit, summand, (sums, codes), (line, values), tables);
                } else {
                    let mut of_digit = [0; 256];
                    marginal(sums, digit, &mut of_digit[..codes]);
                    add_line(kit, summand, (&of_digit, codes), (line, values), tables);
                }
            }
        }
    }

    /// The question that takes off most, the first of equals; `base` is the value of all nodes.
    pub(crate) fn best(&self, scanner: &Scanner<'_>, terms: &Terms<'_>) -> Option<Asked> {
        let (base, noise) = (terms.base, terms.noise.as_ref());
        let mut best: Option<Asked> = None;
        for line in &self.lines {
            let feature = scanner.digits.all()[line.digit].feature;
            let weight = scanner.rules.map_or(1.0, |rules| rules.weight(line.digit));
            for missing_left in [false, true] {
                if missing_left && !line.has_missing {
                    continue;
                }
                let start = line.start + usize::from(missing_left) * line.len;
                let reductions = &self.values[start..start + line.len];
                let mut scores = [0.0; 256];
                let scores = &mut scores[..line.len];
                for (score, reduction) in scores.iter_mut().zip(reductions) {
                    let weighed =
                        if base + reduction > terms.floor { weight * reduction } else { 0.0 };
                    let reduction = if scanner.rules.is_some() { weighed } else { *reduction };
                    *score = if noise.is_some() { base + reduction } else { reduction };
                }
                let most = match noise {
                    Some(noise) => score_all(noise, (feature, missing_left), scores),
                    // What takes nothing off is no split.
                    None => scores.iter().fold(0.0, |most, &x| if x > most { x } else { most }),
                };
                let least = if noise.is_some() { f64::NEG_INFINITY } else { 0.0 };
                let at = scores.iter().position(|&score| score == most).unwrap_or(0);
                let asked = Asked {
                    digit: line.digit,
                    code: at as u8,
                    missing_left: line.has_missing.then_some(missing_left),
                    reduction: reductions[at],
                    score: most,
                };
                if best.map_or(most > least, |best| asked.beats(&best)) {
                    best = Some(asked);
                }
            }
        }
        best
    }
}

/// Adds a node to the splits on one feature; the last of its sums is that of missing cells.
#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_line(
    kit: &impl Kit,
    summand: Summand<'_>,
    (sums, codes): (&[u64], usize),
    (line, values): (&mut Line, &mut [f64]),
    tables: &mut Tables,
) {
    let Summand { scanner, node, .. } = summand;
    let missing = sums[codes - 1];
    let (right, left) = values.split_at_mut(line.len);
    if missing != 0 && !line.has_missing {
        // To the nodes so far it is all one.
        left.copy_from_slice(right);
        line.has_missing = true;
    }
    let is_category = scanner.digits.all()[line.digit].is_category;
    // A category is parted from the rest; all others cannot be named.
    let num_splits = codes - 1 - usize::from(is_category);
    if is_category {
        tables.prefix[..num_splits].copy_from_slice(&sums[..num_splits]);
    } else {
        kit.add_up(&sums[..line.len], &mut tables.prefix);
    }
    let prefix = &mut tables.prefix[..line.len];
    for (values, more) in [(right, 0), (left, missing)] {
        // What fills the last step leaves nothing on the right.
        prefix[num_splits..].fill(node.total.wrapping_sub(more));
        match &node.careful {
            None => add_values(node, prefix, more, values),
            Some(careful) => {
                let of_line = (line.digit, &prefix[..num_splits]);
                careful.add_values((scanner.digits, node), of_line, more, values);
            }
        }
        if !line.has_missing {
            return;
        }
    }
}

/// Adds what a split after each code takes off, which is nothing where a side would be too small.
#[expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]
#[inline(always)]
fn add_values(node: &Node<'_>, prefix: &[u64], more: u64, values: &mut [f64]) {
    let Node { total, least, l2, alone, .. } = *node;
    let total = Sums::of(total);
    let (grad, mass) = (f64::from(total.grad), f64::from(total.mass));
    // Place after place: from steps of eight the compiler makes gathers and scatters.
    for (prefix, value) in prefix.iter().zip(values) {
        let sums = Sums::of(prefix.wrapping_add(more));
        let (left_grad, left_mass) = (f64::from(sums.grad), f64::from(sums.mass));
        let (right_grad, right_mass) = (grad - left_grad, mass - left_mass);
        let (left, right) = (left_mass + l2, right_mass + l2);
        let both =
            (left_grad * left_grad * right + right_grad * right_grad * left) / (left * right);
        let fits = left_mass.min(right_mass) >= least;
        *value += if fits { both - alone } else { 0.0 };
    }
}
