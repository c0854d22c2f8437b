//! Removes the lines of documents that are never among the first `k`, before the walk.
//!
//! A line lies between its two ends. If `k` lines have both ends above some height, a line with both
//! ends below that height is below rank `k` everywhere. The best such height is the `k`th largest of
//! the lower ends.
//!
//! Lines of one slope never cross, so a line with `k` others of its own slope above it can go, too: a
//! tree has few different outputs in a query. Equal lines are kept or removed together.
//!
//! Cost: O(n) for a query of n documents.

use super::score_lines::ScoreLine;

/// With more slopes, the second rule does not pay.
const MOST_SLOPES: usize = 256;
/// Slots of the table of slopes, a power of two.
const SLOTS: usize = 4 * MOST_SLOPES;

/// Sums of whole numbers below 2^52 times an end of the range are wrong by less than this share.
const ROUNDING: f64 = 1.0 / (1u64 << 48) as f64;

/// Buffers, kept from query to query.
#[derive(Debug, Default)]
pub(super) struct LinePruner {
    /// Hash table of slopes: one more than the slope's number, 0 for an empty slot.
    slots: Vec<u16>,
    slopes: Vec<f64>,
    /// How many lines have each slope.
    sizes: Vec<usize>,
    /// The slope of each line, by number.
    slope_of: Vec<u16>,
    /// The intercept of each slope below which lines are removed.
    lowest: Vec<f64>,
    intercepts: Vec<f64>,
    lower_ends: Vec<i64>,
}

impl LinePruner {
    /// Removes lines that are below rank `k` on all of `from..=to`.
    pub(super) fn by_ends(&mut self, lines: &mut Vec<ScoreLine>, k: usize, from: f64, to: f64) {
        if lines.len() <= k {
            return;
        }
        let ends = |line: &ScoreLine| {
            let (x, y) = (line.intercept + from * line.slope, line.intercept + to * line.slope);
            if x < y { (x, y) } else { (y, x) }
        };
        // The slack covers rounding, of ends here and of a crossing at the very end of the range.
        let far = from.abs().max(to.abs()).max(1.0);
        let slack = (1u64 << 52) as f64 * far * ROUNDING;
        // Truncated to whole numbers, and one less, so that they are lower bounds.
        self.lower_ends.clear();
        self.lower_ends.extend(lines.iter().map(|line| (ends(line).0 as i64).saturating_sub(1)));
        let order = |x: &i64, y: &i64| y.cmp(x);
        let kth = *self.lower_ends.select_nth_unstable_by(k - 1, order).1;
        if kth == i64::MIN || kth >= i64::MAX - 1 {
            return;
        }
        let height = kth as f64 - slack;
        // Which lines stay is unpredictable: no branch may depend on it.
        let mut kept = 0;
        for at in 0..lines.len() {
            let line = lines[at];
            lines[kept] = line;
            kept += usize::from(ends(&line).1 >= height);
        }
        lines.truncate(kept);
    }

    /// Removes lines that have `k` of their own slope above them.
    pub(super) fn by_slopes(&mut self, lines: &mut Vec<ScoreLine>, k: usize) {
        if lines.len() <= k || !self.number(lines) || self.sizes.iter().all(|&size| size <= k) {
            return;
        }
        self.lowest.clear();
        self.lowest.resize(self.sizes.len(), f64::NEG_INFINITY);
        for slope in 0..self.sizes.len() {
            if self.sizes[slope] > k {
                let of_slope = lines.iter().zip(&self.slope_of);
                let of_slope = of_slope.filter(|&(_, &number)| usize::from(number) == slope);
                self.intercepts.clear();
                self.intercepts.extend(of_slope.map(|(line, _)| line.intercept));
                let order = |x: &f64, y: &f64| y.total_cmp(x);
                self.lowest[slope] = *self.intercepts.select_nth_unstable_by(k - 1, order).1;
            }
        }
        let mut numbers = self.slope_of.iter();
        lines.retain(|line| {
            let number = numbers.next().map_or(0, |&number| usize::from(number));
            line.intercept >= self.lowest[number]
        });
    }

    /// Numbers the slopes; false if there are too many.
    fn number(&mut self, lines: &[ScoreLine]) -> bool {
        self.slots.clear();
        self.slots.resize(SLOTS, 0);
        self.slopes.clear();
        self.sizes.clear();
        self.slope_of.clear();
        for line in lines {
            // 0 and -0 are one slope.
            let hash = (line.slope + 0.0).to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let mut slot = hash as usize & (SLOTS - 1);
            while self.slots[slot] != 0
                && self.slopes[usize::from(self.slots[slot] - 1)] != line.slope
            {
                slot = (slot + 1) & (SLOTS - 1);
            }
            if self.slots[slot] == 0 {
                if self.slopes.len() == MOST_SLOPES {
                    return false;
                }
                self.slopes.push(line.slope);
                self.sizes.push(0);
                self.slots[slot] = self.slopes.len() as u16;
            }
            let number = self.slots[slot] - 1;
            self.sizes[usize::from(number)] += 1;
            self.slope_of.push(number);
        }
        true
    }
}
