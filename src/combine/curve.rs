//! The curve of a metric over alpha: sums up the changes of all queries and finds the best intervals.

use super::kinetic_list::MetricChange;

/// How many of the best intervals are kept: combined scores are floats, and a very narrow interval may
/// contain no float that ranks as the lines do.
const MAX_BEST: usize = 8;

/// Places in an interval, as offsets from its middle in widths.
const OFFSETS: [f64; 4] = [0.0, 0.021, -0.034, 0.055];

/// Sums of units are rounded to steps of 2^21. All queries together have at most 2^61 units, so a step
/// is 2^-40 of that: well above the rounding errors of a metric, and well below the change by any
/// exchange of documents.
const STEP_BITS: u32 = 21;
pub(super) const STEP: i64 = 1 << STEP_BITS;

/// An open interval of t on which no query changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CurveInterval {
    /// In units, rounded to whole steps.
    pub(super) value: i64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl CurveInterval {
    fn middle(&self) -> f64 {
        self.from / 2.0 + self.to / 2.0
    }

    /// Where the metric is evaluated: in the middle, and beside it, since documents whose exchange changes
    /// nothing may tie exactly there.
    pub(super) fn inside(&self) -> impl Iterator<Item = f64> {
        let places = OFFSETS.map(|offset| self.middle() + offset * (self.to - self.from));
        places.into_iter().filter(|t| self.from < *t && *t < self.to)
    }

    /// Higher, or as high and wider.
    fn beats(&self, other: &Self) -> bool {
        (self.value, self.to - self.from) > (other.value, other.to - other.from)
    }
}

fn rounded(units: i64) -> i64 {
    (units.wrapping_add(1 << (STEP_BITS - 1)) >> STEP_BITS) << STEP_BITS
}

/// Builds the curve of the sum over all queries from their changes.
#[derive(Debug)]
pub(super) struct CurveBuilder {
    value: i64,
    start: f64,
    pub(super) best: Vec<CurveInterval>,
    pub(super) intervals: CurveIntervals,
    pub(super) num_events: u64,
}

impl CurveBuilder {
    pub(super) fn new(value: i64, from: f64, intervals: CurveIntervals) -> Self {
        let best = Vec::with_capacity(MAX_BEST + 1);
        Self { value, start: from, best, intervals, num_events: 0 }
    }

    /// Adds changes, which are sorted and later than all before.
    pub(super) fn add(&mut self, changes: &[MetricChange]) {
        self.num_events += changes.len() as u64;
        for together in changes.chunk_by(|x, y| x.t == y.t) {
            let delta = together.iter().fold(0i64, |sum, event| sum.wrapping_add(event.delta));
            let next = self.value.wrapping_add(delta);
            if rounded(next) != rounded(self.value) {
                self.close(together[0].t);
            }
            self.value = next;
        }
    }

    /// Ends the current interval at `to`.
    pub(super) fn close(&mut self, to: f64) {
        let interval = CurveInterval { value: rounded(self.value), from: self.start, to };
        self.start = to;
        self.intervals.push(interval);
        if self.best.len() == MAX_BEST && !interval.beats(&self.best[MAX_BEST - 1]) {
            return;
        }
        let middle = interval.middle();
        if !(interval.from < middle && middle < to) {
            return;
        }
        let rank = self.best.partition_point(|known| !interval.beats(known));
        if rank < MAX_BEST {
            self.best.insert(rank, interval);
            self.best.truncate(MAX_BEST);
        }
    }
}

/// The intervals of a curve: all of them, or once there are too many the best one in each of `most`
/// equal parts of the range.
#[derive(Debug)]
pub(super) struct CurveIntervals {
    from: f64,
    to: f64,
    most: usize,
    pub(super) is_whole: bool,
    pub(super) list: Vec<CurveInterval>,
}

impl CurveIntervals {
    /// At most `most` of the intervals between `from` and `to`.
    pub(super) fn new(from: f64, to: f64, most: usize) -> Self {
        Self { from, to, most, is_whole: true, list: Vec::new() }
    }

    /// The part of the range in which an interval begins.
    fn part(&self, interval: &CurveInterval) -> usize {
        let share = (interval.from - self.from) / (self.to - self.from);
        ((share * self.most as f64) as usize).min(self.most.saturating_sub(1))
    }

    fn push(&mut self, interval: CurveInterval) {
        if self.is_whole && self.list.len() < self.most {
            self.list.push(interval);
            return;
        }
        if self.is_whole {
            self.is_whole = false;
            for known in std::mem::take(&mut self.list) {
                self.push_to_part(known);
            }
        }
        self.push_to_part(interval);
    }

    fn push_to_part(&mut self, interval: CurveInterval) {
        let last = self.list.last().filter(|last| self.part(last) == self.part(&interval));
        match last {
            Some(last) if !interval.beats(last) => return,
            Some(_) => drop(self.list.pop()),
            None => {}
        }
        if self.most > 0 {
            self.list.push(interval);
        }
    }
}
