//! The combined score of a document as a line over alpha, in whole numbers.
//!
//! Between `from` and `to` the combined score is a line, `intercept + t * slope`. Both are whole numbers
//! of at most 51 bits kept in `f64`, so that differences are exact and a crossing
//!
//! `t = (intercept - intercept') / (slope' - slope)`
//!
//! is rounded once: crossings that are equal as fractions are equal as floats, within a query and
//! across queries, and crossings that differ keep their order or become equal. The order is exact up to
//! alphas between which no float lies.
//!
//! Scores become whole numbers by a power of two for each query, which no crossing depends on. A score
//! that is so much larger than the others of its query that these have hardly a bit left makes the lines
//! imprecise; [`sweep`](super::sweep) refuses it.

use super::AlphaRange;
use crate::metric::Ties;
use std::cmp::Ordering;
use std::ops::Range;

/// Scores have at most this many bits: slopes one more, differences of slopes two more.
const BITS: i32 = 50;
/// Adding and subtracting it rounds a number below 2^51 to a whole one.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;

/// The largest power of two by which the magnitudes of two rankers are aligned.
const MOST_SHIFT: i32 = 1000;

/// Scores more than this many powers of two below the largest have hardly a bit left.
const FAR: i32 = 44;

/// How precisely the lines of a query represent its scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinePrecision {
    /// To their last bits; else the scores of one ranker decide nearly everywhere.
    pub(super) is_full: bool,
    /// The order of many documents by this ranker, 0 or 1, is lost.
    pub(super) lost: Option<usize>,
}

/// The line of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreLine {
    pub(super) intercept: f64,
    pub(super) slope: f64,
    pub(super) doc: u32,
}

impl ScoreLine {
    /// Where `below` overtakes `self`, which is above it; infinite if it never does.
    #[expect(clippy::inline_always, reason = "the walk is compiled for several levels")]
    #[inline(always)]
    pub(super) fn overtaken(self, below: Self) -> f64 {
        let (rise, gap) = (below.slope - self.slope, self.intercept - below.intercept);
        if rise > 0.0 { gap / rise } else { f64::INFINITY }
    }

    /// The order right after `t`; equal lines are ordered by document.
    fn first_after(self, other: Self, t: f64) -> Ordering {
        let steeper = || other.slope.total_cmp(&self.slope);
        let order = if t == 0.0 {
            other.intercept.total_cmp(&self.intercept).then_with(steeper)
        } else if self.slope == other.slope {
            other.intercept.total_cmp(&self.intercept)
        } else if (self.intercept - other.intercept) / (other.slope - self.slope) <= t {
            steeper()
        } else {
            steeper().reverse()
        };
        order.then_with(|| self.doc.cmp(&other.doc))
    }

    /// Whether the two have the same score at `t` without being the same line.
    pub(super) fn meets(self, other: Self, t: f64) -> bool {
        self.slope != other.slope
            && (self.intercept - other.intercept) / (other.slope - self.slope) == t
    }
}

/// The scale of alpha and scores in lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineFrame {
    is_between: bool,
    /// `t = alpha / 2^shift` brings the two rankers to one magnitude.
    shift: i32,
    /// The range of t.
    pub(super) from: f64,
    pub(super) to: f64,
}

impl LineFrame {
    pub(super) fn new(a: &[f64], b: &[f64], range: AlphaRange) -> Self {
        match range {
            AlphaRange::Between => Self { is_between: true, shift: 0, from: 0.0, to: 1.0 },
            AlphaRange::Along { from, to } => {
                let (of_a, of_b) = (largest(a), largest(b));
                let differ = exponent(of_a) - exponent(of_b);
                let is_zero = of_a == 0.0 || of_b == 0.0;
                let shift = if is_zero { 0 } else { differ.clamp(-MOST_SHIFT, MOST_SHIFT) };
                let mut frame = Self { is_between: false, shift, from, to };
                // No shift that would take the range out of the floats.
                let (low, high) = (scaled(from, -shift), scaled(to, -shift));
                if low < high && low.is_finite() && high.is_finite() {
                    (frame.from, frame.to) = (low, high);
                } else {
                    frame.shift = 0;
                }
                frame
            }
        }
    }

    pub(super) fn alpha(&self, t: f64) -> f64 {
        scaled(t, self.shift)
    }

    /// The lines of a query.
    pub(super) fn lines(&self, a: &[f64], b: &[f64], lines: &mut Vec<ScoreLine>) -> LinePrecision {
        let reaches = [a, b].map(ExponentRange::of);
        let (of_a, of_b) = (reaches[0].most, reaches[1].most + self.shift);
        let bits = BITS - of_a.max(of_b);
        let (scale_a, scale_b) = (PowerOfTwo::new(bits), PowerOfTwo::new(bits + self.shift));
        lines.clear();
        lines.extend(a.iter().zip(b).enumerate().map(|(doc, (&a, &b))| {
            let (intercept, b) = (scale_a.whole(a), scale_b.whole(b));
            let slope = if self.is_between { b - intercept } else { b };
            ScoreLine { intercept, slope, doc: doc as u32 }
        }));
        let lost = [a, b].iter().zip(&reaches).position(|(scores, reach)| reach.is_far(scores));
        // Scores that are all 0 are exact.
        let is_coarse = |of: i32, other: i32| of > -1022 && of + FAR < other;
        let is_full = !is_coarse(reaches[0].most, of_b) && !is_coarse(of_b, of_a);
        LinePrecision { is_full: is_full && lost.is_none(), lost }
    }
}

/// A power of two as two factors, because a single one could overflow.
#[derive(Debug, Clone, Copy)]
struct PowerOfTwo(f64, f64);

impl PowerOfTwo {
    fn new(exponent: i32) -> Self {
        let exponent = exponent.clamp(-2000, 2000);
        let half = exponent / 2;
        Self(power_of_two(half), power_of_two(exponent - half))
    }

    fn whole(self, score: f64) -> f64 {
        (score * self.0 * self.1 + ROUND) - ROUND
    }
}

fn scaled(x: f64, exponent: i32) -> f64 {
    let PowerOfTwo(first, second) = PowerOfTwo::new(exponent);
    x * first * second
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().fold(0.0, |most, score| if score.abs() > most { score.abs() } else { most })
}

/// The least e with x < 2^e; for 0 and for what has no exponent of its own, a small one.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1022
}

/// The exponents of the largest score and of the smallest that is not 0; -1022 if all are 0.
#[derive(Debug, Clone, Copy)]
struct ExponentRange {
    most: i32,
    least: i32,
}

impl ExponentRange {
    /// Computed on the bits, which vector instructions compare.
    fn of(scores: &[f64]) -> Self {
        let (mut most, mut least) = (0, 0x7ff);
        for score in scores {
            let bits = score.to_bits();
            let exponent = (bits >> 52) as i32 & 0x7ff;
            most = exponent.max(most);
            least = least.min(if bits << 1 == 0 { 0x7ff } else { exponent });
        }
        Self { most: most - 1022, least: least - 1022 }
    }

    /// Whether a quarter of the other scores or more have hardly a bit beside the largest. A few that
    /// are that small are near 0 by rounding.
    fn is_far(self, scores: &[f64]) -> bool {
        if self.least + FAR >= self.most {
            return false;
        }
        let (mut far, mut others) = (0, 0);
        for score in scores {
            let exponent = (score.to_bits() >> 52) as i32 & 0x7ff;
            far += u32::from(exponent - 1022 + FAR < self.most && *score != 0.0);
            others += u32::from(exponent - 1022 != self.most);
        }
        4 * far >= others
    }
}

/// Moves the first `k` lines right after `t` to the front, in order.
pub(super) fn rank(lines: &mut [ScoreLine], k: usize, t: f64) {
    let order = |x: &ScoreLine, y: &ScoreLine| x.first_after(*y, t);
    if k < lines.len() {
        lines.select_nth_unstable_by(k, order);
    }
    lines[..k].sort_unstable_by(order);
}

/// Sets of documents with equal lines, which are tied at every alpha.
#[derive(Debug, Clone, Default)]
pub(super) struct TiedDocs {
    /// Whether there are any; the other fields are filled only then.
    pub(super) any: bool,
    /// Documents, set by set, each set in the order of the tie rule.
    members: Vec<u32>,
    /// The range of each document's set in `members`.
    ranges: Vec<Range<u32>>,
    /// A hash table of lines: one more than the line's place, 0 for an empty slot.
    slots: Vec<u32>,
    sorted: Vec<ScoreLine>,
}

impl TiedDocs {
    pub(super) fn find(&mut self, lines: &[ScoreLine], labels: &[f32], ties: Ties) {
        self.any = self.has_equal_lines(lines);
        if !self.any {
            return;
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(lines);
        let label = |line: &ScoreLine| labels[line.doc as usize];
        self.sorted.sort_unstable_by(|x, y| {
            let lines = x.intercept.total_cmp(&y.intercept).then(x.slope.total_cmp(&y.slope));
            let rule = match ties {
                Ties::Expected => label(y).total_cmp(&label(x)),
                Ties::Worst => label(x).total_cmp(&label(y)),
                Ties::RowOrder => Ordering::Equal,
            };
            lines.then(rule).then(x.doc.cmp(&y.doc))
        });
        self.members.clear();
        self.members.extend(self.sorted.iter().map(|line| line.doc));
        self.ranges.clear();
        self.ranges.resize(labels.len(), 0..0);
        let mut start = 0;
        for set in self.sorted.chunk_by(same) {
            let end = start + set.len() as u32;
            for line in set {
                self.ranges[line.doc as usize] = start..end;
            }
            start = end;
        }
    }

    /// The documents tied with `doc` at every alpha, itself included.
    pub(super) fn of(&self, doc: u32) -> &[u32] {
        let Range { start, end } = self.ranges[doc as usize];
        &self.members[start as usize..end as usize]
    }

    /// Whether a line occurs twice.
    fn has_equal_lines(&mut self, lines: &[ScoreLine]) -> bool {
        let size = (4 * lines.len()).next_power_of_two();
        self.slots.clear();
        self.slots.resize(size, 0);
        for (at, line) in lines.iter().enumerate() {
            let key = line.intercept.to_bits() ^ line.slope.to_bits().rotate_left(31);
            let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                if same(&lines[self.slots[slot] as usize - 1], line) {
                    return true;
                }
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = at as u32 + 1;
        }
        false
    }
}

fn same(x: &ScoreLine, y: &ScoreLine) -> bool {
    x.intercept == y.intercept && x.slope == y.slope
}
