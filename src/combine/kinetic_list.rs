//! The top of one query's ranking as alpha rises: a kinetic sorted list.
//!
//! ```text
//! rank      0     1     2  ...  k-1  |  outside, in no order
//! next      t01   t12   t23     t*   |  t*: the first of them to overtake the last of the list
//! ```
//!
//! The list stores, for each of its k ranks, the time at which the document below overtakes. The walk
//! takes the earliest time, exchanges the two documents and recomputes at most three times; only when
//! the last document of the list changes are those outside searched, in one pass of vector
//! instructions. All exchanges at one alpha are reported as one change of the metric.
//!
//! Cost of a query of n documents with E exchanges in its first k ranks: O(n + k log k) to start, O(k/16)
//! per exchange and O(n/8) for each new last document of the list. Without a cut, k = n.
#![expect(clippy::inline_always, reason = "the walk is compiled for several levels")]

use super::query_metric::QueryMetric;
use super::score_lines::{self, ScoreLine};

/// A change of a query's metric at `t`, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MetricChange {
    pub(super) t: f64,
    pub(super) delta: i64,
}

/// Where a walk ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkLimit {
    /// After all exchanges up to this time, inclusive.
    pub(super) until: f64,
    /// Or as soon as there are so many changes.
    pub(super) most_events: usize,
}

/// The result of a walk, beside its changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkOutcome {
    /// The metric before the first change.
    pub(super) start: i64,
    /// The time of the next exchange after the end.
    pub(super) next: f64,
}

/// Times and lines are processed in runs of these lengths.
const RUN: usize = 16;
const LANES: usize = 8;

/// The list of one query; its buffers are kept from query to query.
#[derive(Debug, Clone, Default)]
pub(super) struct KineticList {
    /// The number of ranks in the list.
    k: usize,
    num_docs: usize,
    /// The documents of the list by rank, then those outside.
    order: Vec<u32>,
    /// Their lines, padded to whole runs with lines that never overtake.
    intercepts: Vec<f64>,
    slopes: Vec<f64>,
    times: CrossingTimes,
    /// The place of the document outside that overtakes at `times[k - 1]`.
    entering: usize,
}

impl KineticList {
    /// Ranks the lines right after `t`; `k` is at least 1 and at most their number.
    pub(super) fn start(&mut self, all: &mut [ScoreLine], k: usize, t: f64) {
        score_lines::rank(all, k, t);
        (self.k, self.num_docs) = (k, all.len());
        self.order.clear();
        self.order.extend(all.iter().map(|line| line.doc));
        self.intercepts.clear();
        self.intercepts.extend(all.iter().map(|line| line.intercept));
        self.intercepts.resize(all.len() + LANES, 0.0);
        self.slopes.clear();
        self.slopes.extend(all.iter().map(|line| line.slope));
        self.slopes.resize(all.len() + LANES, f64::NEG_INFINITY);
    }

    /// The documents of the list, best first.
    pub(super) fn top(&self) -> &[u32] {
        &self.order[..self.k]
    }

    /// Whether different lines of the list, or its last and one outside, meet at the start `t`.
    pub(super) fn begins_tied(&self, t: f64) -> bool {
        let inside = (1..self.k).any(|rank| self.line(rank - 1).meets(self.line(rank), t));
        let last = self.line(self.k - 1);
        inside || (self.k..self.num_docs).any(|at| last.meets(self.line(at), t))
    }

    #[inline(always)]
    fn line(&self, at: usize) -> ScoreLine {
        let (intercept, slope) = (self.intercepts[at], self.slopes[at]);
        ScoreLine { intercept, slope, doc: self.order[at] }
    }

    fn exchange(&mut self, x: usize, y: usize) {
        self.order.swap(x, y);
        self.intercepts.swap(x, y);
        self.slopes.swap(x, y);
    }

    /// Follows the list from the start to the end and appends each change of the metric.
    #[inline(always)]
    pub(super) fn walk(
        &mut self,
        end: WalkLimit,
        metric: &mut impl QueryMetric,
        events: &mut Vec<MetricChange>,
    ) -> WalkOutcome {
        self.times.reset(self.k);
        for rank in 0..self.k {
            self.refresh(rank);
        }
        for run in 0..self.k.div_ceil(RUN) {
            self.times.settle(run);
        }
        let start = metric.value(self.top());
        let (mut now, mut value) = (f64::NEG_INFINITY, start);
        loop {
            let (t, rank) = self.times.first();
            if t > now && now > f64::NEG_INFINITY && metric.is_changed() {
                let next = metric.value(self.top());
                if next != value {
                    events.push(MetricChange { t: now, delta: next.wrapping_sub(value) });
                    value = next;
                }
            }
            if t > end.until || t == f64::INFINITY || events.len() >= end.most_events {
                return WalkOutcome { start, next: t };
            }
            now = t;
            self.cross(rank, metric);
        }
    }

    /// Exchanges the document at `rank` with the one below, which overtakes it.
    #[inline(always)]
    fn cross(&mut self, rank: usize, metric: &mut impl QueryMetric) {
        let last = self.k - 1;
        if rank == last {
            metric.enter(last, self.order[last], self.order[self.entering]);
            self.exchange(last, self.entering);
        } else {
            metric.swap(rank, self.order[rank], self.order[rank + 1]);
            self.exchange(rank, rank + 1);
            // The upper line is now the steeper one: the other does not overtake it again.
            self.times.put(rank, f64::INFINITY);
            self.refresh(rank + 1);
        }
        if rank == last {
            self.refresh(last);
        }
        if rank > 0 {
            self.refresh(rank - 1);
        }
        let (first, end) = (rank.saturating_sub(1) / RUN, (rank + 1).min(last) / RUN);
        self.times.settle(first);
        if end != first {
            self.times.settle(end);
        }
    }

    /// Recomputes when the document at `rank` will be overtaken.
    #[inline(always)]
    fn refresh(&mut self, rank: usize) {
        let t = if rank + 1 < self.k {
            self.line(rank).overtaken(self.line(rank + 1))
        } else {
            let (outside, t) = self.first_outside();
            self.entering = self.k + outside;
            t
        };
        self.times.put(rank, t);
    }

    /// The line outside that overtakes the last of the list first, and when.
    #[inline(always)]
    fn first_outside(&self) -> (usize, f64) {
        let last = self.line(self.k - 1);
        let mut least = [f64::INFINITY; LANES];
        let mut found = [0u64; LANES];
        let intercepts = self.intercepts[self.k..].chunks_exact(LANES);
        let slopes = self.slopes[self.k..].chunks_exact(LANES);
        for (run, (intercepts, slopes)) in intercepts.zip(slopes).enumerate() {
            for lane in 0..LANES {
                let rise = slopes[lane] - last.slope;
                let t = (last.intercept - intercepts[lane]) / rise;
                let t = if rise > 0.0 { t } else { f64::INFINITY };
                let earlier = t < least[lane];
                least[lane] = if earlier { t } else { least[lane] };
                found[lane] = if earlier { run as u64 } else { found[lane] };
            }
        }
        let mut lane = 0;
        for other in 1..LANES {
            if least[other] < least[lane] {
                lane = other;
            }
        }
        (found[lane] as usize * LANES + lane, least[lane])
    }
}

/// The crossing time of each rank, and the least of each run.
#[derive(Debug, Clone, Default)]
struct CrossingTimes {
    runs: Vec<[f64; RUN]>,
    least: Vec<f64>,
}

impl CrossingTimes {
    fn reset(&mut self, k: usize) {
        self.runs.clear();
        self.runs.resize(k.div_ceil(RUN), [f64::INFINITY; RUN]);
        self.least.clear();
        self.least.resize(self.runs.len(), f64::INFINITY);
    }

    #[inline(always)]
    fn put(&mut self, rank: usize, t: f64) {
        self.runs[rank / RUN][rank % RUN] = t;
    }

    /// Recomputes the least time of a run, once after all stores to it: loading a vector has to wait for
    /// a number that was just stored in it.
    #[inline(always)]
    fn settle(&mut self, run: usize) {
        self.least[run] = least(&self.runs[run]);
    }

    /// The earliest time and its rank.
    #[inline(always)]
    fn first(&self) -> (f64, usize) {
        let mut run = 0;
        for other in 1..self.least.len() {
            if self.least[other] < self.least[run] {
                run = other;
            }
        }
        let t = self.least[run];
        let mut equal = 0u32;
        for (lane, &time) in self.runs[run].iter().enumerate() {
            equal |= u32::from(time == t) << lane;
        }
        (t, run * RUN + equal.trailing_zeros() as usize)
    }
}

#[inline(always)]
fn least(run: &[f64; RUN]) -> f64 {
    let mut least = *run;
    let mut width = RUN / 2;
    while width > 0 {
        for lane in 0..width {
            let other = least[lane + width];
            least[lane] = if other < least[lane] { other } else { least[lane] };
        }
        width /= 2;
    }
    least[0]
}
