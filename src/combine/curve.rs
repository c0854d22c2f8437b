//! From the changes of all queries to the curve of their sum and its best intervals.

use super::kinetic_list::MetricChange;

/// How many intervals are remembered, best first: the mixed scores are floats, and a very narrow
/// interval may turn out to have no float that ranks as the lines do.
const REMEMBERED: usize = 8;

/// Sums of units count in steps of 2^21. All queries together have at most 2^61 units, so a step is
/// 2^-40 of what there is: well above what rounding in a metric makes of equal values, and well
/// below what any exchange of docs does.
const STEP_BITS: u32 = 21;
pub(super) const STEP: i64 = 1 << STEP_BITS;

/// An open interval of t on which no query changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CurveInterval {
    /// In units, to a whole step.
    pub(super) value: i64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl CurveInterval {
    pub(super) fn middle(&self) -> f64 {
        self.from / 2.0 + self.to / 2.0
    }

    /// Higher, then wider, then further left.
    fn beats(&self, other: &Self) -> bool {
        (self.value, self.to - self.from) > (other.value, other.to - other.from)
    }
}

fn rounded(units: i64) -> i64 {
    (units.wrapping_add(1 << (STEP_BITS - 1)) >> STEP_BITS) << STEP_BITS
}

/// Follows the sum of all queries from event to event.
#[derive(Debug)]
pub(super) struct CurveBuilder {
    value: i64,
    start: f64,
    pub(super) best: Vec<CurveInterval>,
    pub(super) steps: CurveIntervals,
    pub(super) num_events: u64,
}

impl CurveBuilder {
    pub(super) fn new(value: i64, from: f64, steps: CurveIntervals) -> Self {
        Self { value, start: from, best: Vec::with_capacity(REMEMBERED + 1), steps, num_events: 0 }
    }

    /// Events that are sorted, and later than those before.
    pub(super) fn follow(&mut self, events: &[MetricChange]) {
        self.num_events += events.len() as u64;
        for together in events.chunk_by(|x, y| x.t == y.t) {
            let delta = together.iter().fold(0i64, |sum, event| sum.wrapping_add(event.delta));
            let next = self.value.wrapping_add(delta);
            if rounded(next) != rounded(self.value) {
                self.close(together[0].t);
            }
            self.value = next;
        }
    }

    /// Ends the open interval at `to`.
    pub(super) fn close(&mut self, to: f64) {
        let interval = CurveInterval { value: rounded(self.value), from: self.start, to };
        self.start = to;
        self.steps.push(interval);
        if self.best.len() == REMEMBERED && !interval.beats(&self.best[REMEMBERED - 1]) {
            return;
        }
        let middle = interval.middle();
        if !(interval.from < middle && middle < to) {
            return;
        }
        let rank = self.best.partition_point(|known| !interval.beats(known));
        if rank < REMEMBERED {
            self.best.insert(rank, interval);
            self.best.truncate(REMEMBERED);
        }
    }
}

/// The intervals of a curve: all of them, or once there are too many the best of each cell.
#[derive(Debug)]
pub(super) struct CurveIntervals {
    from: f64,
    to: f64,
    most: usize,
    pub(super) is_whole: bool,
    pub(super) intervals: Vec<CurveInterval>,
}

impl CurveIntervals {
    /// At most `most` of the intervals between `from` and `to`.
    pub(super) fn new(from: f64, to: f64, most: usize) -> Self {
        Self { from, to, most, is_whole: true, intervals: Vec::new() }
    }

    fn cell(&self, interval: &CurveInterval) -> usize {
        let share = (interval.from - self.from) / (self.to - self.from);
        ((share * self.most as f64) as usize).min(self.most.saturating_sub(1))
    }

    fn push(&mut self, interval: CurveInterval) {
        if self.is_whole && self.intervals.len() < self.most {
            self.intervals.push(interval);
            return;
        }
        if self.is_whole {
            self.is_whole = false;
            for known in std::mem::take(&mut self.intervals) {
                self.push_to_cell(known);
            }
        }
        self.push_to_cell(interval);
    }

    fn push_to_cell(&mut self, interval: CurveInterval) {
        let last = self.intervals.last().filter(|last| self.cell(last) == self.cell(&interval));
        match last {
            Some(last) if !interval.beats(last) => return,
            Some(_) => drop(self.intervals.pop()),
            None => {}
        }
        if self.most > 0 {
            self.intervals.push(interval);
        }
    }
}
