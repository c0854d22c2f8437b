//! Removes the lines of documents that are never among the first `k`, before the walk.
//!
//! A line lies between its two ends. If `k` lines have both ends above some height, a line with both
//! ends below that height is below rank `k` everywhere. The best such height is the `k`th largest of
//! the lower ends.
//!
//! Lines of one slope never cross, so a line with `k` others of its own slope above it can go, too: a
//! tree has few different outputs in a query. Equal lines are kept or removed together.
//!
//! Cost: O(n) for a query of n documents, and a sort by slope for the second rule.

use super::score_lines::ScoreLine;

/// Sums of whole numbers below 2^52 times an end of the range are wrong by less than this share.
const ROUNDING: f64 = 1.0 / (1u64 << 48) as f64;

/// Buffers, kept from query to query.
#[derive(Debug, Default)]
pub(super) struct LinePruner {
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
}

/// Removes lines that have `k` of their own slope above them; the others end up in the order of slopes.
pub(super) fn by_slopes(lines: &mut Vec<ScoreLine>, k: usize) {
    if lines.len() <= k {
        return;
    }
    lines.sort_unstable_by(|x, y| {
        x.slope.total_cmp(&y.slope).then(y.intercept.total_cmp(&x.intercept))
    });
    let (mut slope, mut rank, mut lowest) = (f64::NAN, 0, 0.0);
    lines.retain(|line| {
        rank = if line.slope == slope { rank + 1 } else { 1 };
        slope = line.slope;
        if rank <= k {
            lowest = line.intercept;
        }
        line.intercept >= lowest
    });
}
