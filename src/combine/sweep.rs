//! The sweep over alpha: all queries in parallel, in as many passes as memory asks for.
//!
//! A pass walks every query through one window of the range and keeps what changes; then the changes
//! of all queries are sorted and followed. A pass that finds too much is given up and its window
//! halved, at the middle of what it found. Windows follow each other: where they meet is no event.

use super::curve::{Follower, Interval, STEP, Steps};
use super::front::{End, Event, Front, Walked};
use super::lines::{Frame, Grain, Line, Twins};
use super::tally::{self, Asked, Buffers, Known, Rules, Sum};
use super::thin::Thinner;
use super::{Curve, Judged, Step, Sweep, SweepOptions, kernel};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::simd::Level;
use rayon::prelude::*;
use std::cmp::Ordering::Equal;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Queries a task takes; also how often the interrupt is looked at.
const QUERIES_A_TASK: usize = 16;
/// All queries that count stay below 2^61 units together, so that no sum of changes overflows.
const UNITS: f64 = (1u64 << 61) as f64;
/// What a query of weight 1 counts in whole numbers, so that sums have no order.
const WEIGHT: f64 = (1u64 << 52) as f64;
/// Rounding in a metric's own sums is below this share of its value.
const ROUNDING: f64 = 1e-9;
/// Where else than in the middle of an interval to look, in its widths: docs whose exchange changes
/// nothing may tie right there.
const BESIDE: [f64; 4] = [0.0, 0.021, -0.034, 0.055];

/// Finds the alpha at which the mean of the metric over queries is highest, and the whole curve.
///
/// The alpha is the middle of the best open interval between crossings, the widest of equals, or
/// an end of the range if docs that tie there make it better than every interval. So the value is
/// never below that of either ranker alone.
pub fn sweep(
    first: &[f64],
    second: &[f64],
    judged: &Judged<'_>,
    options: &SweepOptions,
    interrupt: &Interrupt,
) -> Result<Sweep> {
    judged.check()?;
    judged.check_scores(0, first)?;
    judged.check_scores(1, second)?;
    options.check()?;
    let mut task = Task::new((first, second), *judged, options)?;
    // A tree's outputs are what they are.
    task.refuses = !options.few_outputs;
    task.run(interrupt)
}

/// [`sweep`] of what has been checked.
pub(super) fn sweep_checked(
    scores: (&[f64], &[f64]),
    judged: &Judged<'_>,
    options: &SweepOptions,
    interrupt: &Interrupt,
) -> Result<Sweep> {
    options.check()?;
    Task::new(scores, *judged, options)?.run(interrupt)
}

/// A sweep made ready.
struct Task<'a> {
    scores: (&'a [f64], &'a [f64]),
    judged: Judged<'a>,
    options: &'a SweepOptions,
    rules: Rules,
    frame: Frame,
    /// Units a value of 1 in a query of weight 1.
    unit: f64,
    /// The largest weight, which counts as 1.
    heaviest: f64,
    level: Level,
    /// Scores too far apart are an error.
    refuses: bool,
}

/// What all windows together gave.
struct Found {
    follower: Follower,
    /// The weight of the queries that count.
    weight: f64,
    /// The ends of the range may be worth more than what is beside them: docs that no alpha nearby
    /// ties are tied there, or lines are coarse.
    tied: (bool, bool),
}

/// The best alpha so far.
#[derive(Debug, Clone, Copy)]
struct Best {
    value: f64,
    alpha: f64,
    interval: (f64, f64),
}

/// What some queries give in one window.
#[derive(Debug, Default)]
struct Part {
    events: Vec<Event>,
    /// Units at the start, and the weight of those queries that count.
    start: i64,
    weight: u128,
    tied: (bool, bool),
    /// Given up: there was too much.
    is_full: bool,
    /// The first query with scores that leave nothing of others, and which ranker's they are.
    lost: Option<(usize, usize)>,
}

/// Alphas after `after`, until `until`, that included.
#[derive(Debug, Clone, Copy)]
struct Window {
    after: f64,
    until: f64,
}

/// One thread's buffers.
#[derive(Debug, Default)]
struct Bench {
    lines: Vec<Line>,
    twins: Twins,
    thinner: Thinner,
    front: Front,
    buffers: Buffers,
}

impl<'a> Task<'a> {
    fn new(
        scores: (&'a [f64], &'a [f64]),
        judged: Judged<'a>,
        options: &'a SweepOptions,
    ) -> Result<Self> {
        let rules = Rules::new(&options.metric, judged.labels)?;
        let frame = Frame::new(scores.0, scores.1, options.range);
        let heaviest = judged.query_weight.map_or(1.0, |w| w.iter().copied().fold(0.0, f64::max));
        let bounds =
            judged.queries.ranges().map(|docs| rules.prepared.upper_bound(&judged.labels[docs]));
        let bounds: Vec<f64> = bounds.collect();
        let most = bounds.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        // What all queries together cannot exceed, in whole numbers: the same in any order.
        let of_query = |(query, bound): (usize, &f64)| {
            let weight = judged.query_weight.map_or(1.0, |weights| weights[query] / heaviest);
            (weight * (bound / most) * WEIGHT).ceil() as u128
        };
        let total: u128 = bounds.iter().enumerate().map(of_query).sum();
        let unit = UNITS / (most * (total.max(1) as f64 / WEIGHT) * (1.0 + ROUNDING));
        let level = Level::best();
        let refuses = false;
        Ok(Self { scores, judged, options, rules, frame, unit, heaviest, level, refuses })
    }

    fn run(&self, interrupt: &Interrupt) -> Result<Sweep> {
        let found = self.follow(interrupt)?;
        self.answer(&found, interrupt)
    }

    fn weight(&self, query: usize) -> f64 {
        self.judged.query_weight.map_or(1.0, |weights| weights[query] / self.heaviest)
    }

    /// The curve of the sum of all queries.
    fn follow(&self, interrupt: &Interrupt) -> Result<Found> {
        let Frame { from, to, .. } = self.frame;
        let mut found: Option<Found> = None;
        let (mut ends, mut after) = (vec![to.next_down()], from);
        let mut most = self.options.most_events.max(1);
        while let Some(&until) = ends.last() {
            let window = Window { after, until };
            let mut pass = self.pass(window, most, interrupt)?;
            if pass.is_full {
                match halved(window, &mut pass.events) {
                    Some(middle) => ends.push(middle),
                    None => most = usize::MAX,
                }
                continue;
            }
            ends.pop();
            (after, most) = (until, self.options.most_events.max(1));
            sort(&mut pass.events);
            let found = found.get_or_insert_with(|| {
                let steps = Steps::new(from, to, self.options.curve_steps);
                let follower = Follower::new(pass.start, from, steps);
                Found { follower, weight: pass.weight as f64 / WEIGHT, tied: (false, false) }
            });
            found.follower.follow(&pass.events);
            found.tied.0 |= pass.tied.0;
            found.tied.1 |= pass.tied.1;
        }
        let mut found = found.ok_or_else(|| Error::internal("a sweep without a window"))?;
        found.follower.close(to);
        Ok(found)
    }

    /// All queries through one window.
    fn pass(&self, window: Window, most: usize, interrupt: &Interrupt) -> Result<Part> {
        let num_queries = self.judged.queries.len();
        let num_events = AtomicUsize::new(0);
        let tasks = (0..num_queries.div_ceil(QUERIES_A_TASK)).into_par_iter();
        let parts = tasks.map_init(Bench::default, |bench, task| {
            interrupt.check()?;
            let mut part = Part::default();
            let first = task * QUERIES_A_TASK;
            for query in first..(first + QUERIES_A_TASK).min(num_queries) {
                if num_events.load(Ordering::Relaxed) > most {
                    part.is_full = true;
                    break;
                }
                let before = part.events.len();
                // One more than there may be says that there is too much.
                let limit = before.saturating_add(most).saturating_add(1);
                self.walk(query, (window, limit), bench, &mut part);
                num_events.fetch_add(part.events.len() - before, Ordering::Relaxed);
            }
            Ok(part)
        });
        let parts: Vec<Part> = parts.collect::<Result<_>>()?;
        let mut all = Part { is_full: num_events.into_inner() > most, ..Part::default() };
        all.events.reserve_exact(parts.iter().map(|part| part.events.len()).sum());
        for part in parts {
            all.events.extend_from_slice(&part.events);
            all.start = all.start.wrapping_add(part.start);
            all.weight += part.weight;
            all.tied = (all.tied.0 | part.tied.0, all.tied.1 | part.tied.1);
            all.is_full |= part.is_full;
            all.lost = all.lost.or(part.lost);
        }
        match all.lost.filter(|_| self.refuses) {
            Some((query, ranker)) => Err(self.judged.too_far(query, ranker, self.scores)),
            None => Ok(all),
        }
    }

    /// One query through a window, or as far as the part has room for a number of events.
    fn walk(
        &self,
        query: usize,
        (window, most_events): (Window, usize),
        bench: &mut Bench,
        part: &mut Part,
    ) {
        let weight = self.weight(query);
        if weight == 0.0 {
            return;
        }
        let docs = self.judged.queries.range(query);
        let labels = &self.judged.labels[docs.clone()];
        let known = Known { labels, unit: self.unit * weight };
        let Bench { lines, twins, thinner, front, buffers } = bench;
        if let Some(value) = tally::constant(&self.rules, labels, buffers) {
            if !value.is_nan() {
                part.start = part.start.wrapping_add((value * known.unit) as i64);
                part.weight += (weight * WEIGHT) as u128;
            }
            return;
        }
        let (a, b) = (&self.scores.0[docs.clone()], &self.scores.1[docs]);
        match self.frame.lines(a, b, lines) {
            Grain::Fine => {}
            Grain::Coarse => part.tied = (true, true),
            Grain::Lost(ranker) => {
                part.tied = (true, true);
                part.lost.get_or_insert((query, ranker));
            }
        }
        let ranks = self.rules.ranks(labels.len());
        thinner.by_ends(lines, ranks, (self.frame.from, self.frame.to));
        if self.options.few_outputs {
            thinner.by_slopes(lines, ranks);
        }
        twins.find(lines, labels, self.options.metric.convention().ties);
        front.start(lines, ranks, window.after);
        let is_first = window.after == self.frame.from;
        part.tied.0 |= is_first && front.begins_tied(window.after);
        let (level, events) = (self.level, &mut part.events);
        let end = End { until: window.until, most_events };
        let Walked { start, next } = if self.rules.is_sum {
            let mut sum = Sum::new(&self.rules, known, twins, buffers);
            kernel::walk(level, front, end, &mut sum, events)
        } else {
            let mut asked = Asked::new(&self.rules, known, twins, buffers);
            kernel::walk(level, front, end, &mut asked, events)
        };
        part.start = part.start.wrapping_add(start);
        part.weight += (weight * WEIGHT) as u128;
        part.tied.1 |= next == self.frame.to;
    }

    /// The best interval, judged by the scores that are mixed there.
    fn answer(&self, found: &Found, interrupt: &Interrupt) -> Result<Sweep> {
        if found.weight == 0.0 {
            return Err(Error::data("combine.empty", "no query has anything to find")
                .expected("a query with relevant docs and a weight above 0")
                .hint("without one no alpha is better than another"));
        }
        let per_unit = self.unit.recip() / found.weight;
        let value = |interval: &Interval| interval.value as f64 * per_unit;
        let mut best = Best { value: f64::NEG_INFINITY, alpha: 0.0, interval: (0.0, 0.0) };
        let (mut others, mut is_kept) = (best, false);
        // Values are rounded to whole steps.
        let step = STEP as f64 * per_unit;
        for interval in &found.follower.best {
            let promised = (value(interval), step);
            is_kept = self.try_inside(interval, promised, [&mut best, &mut others], interrupt)?;
            if is_kept {
                break;
            }
        }
        if !is_kept && others.value > best.value {
            // No interval is worth what its lines promise: what was seen counts.
            best = others;
        }
        for (is_tied, t) in [(found.tied.0, self.frame.from), (found.tied.1, self.frame.to)] {
            if is_tied || !is_kept {
                let alpha = self.alpha(t);
                self.try_alpha(alpha, (alpha, alpha), &mut best, interrupt)?;
            }
        }
        let steps = found.follower.steps.intervals.iter().map(|interval| Step {
            from: self.alpha(interval.from),
            to: self.alpha(interval.to),
            value: value(interval),
        });
        let curve = Curve { steps: steps.collect(), is_whole: found.follower.steps.is_whole };
        let num_events = found.follower.num_events;
        let Best { value, alpha, interval } = best;
        Ok(Sweep { alpha, value, interval, curve, num_events })
    }

    /// Tries the middle of an interval, and places beside it if docs happen to tie just there, which
    /// may be worth more or less; true if one of them is worth what the interval is, to a step.
    ///
    /// A place that is worth more than promised is put among the others.
    fn try_inside(
        &self,
        interval: &Interval,
        (promised, step): (f64, f64),
        [best, others]: [&mut Best; 2],
        interrupt: &Interrupt,
    ) -> Result<bool> {
        let ends = (self.alpha(interval.from), self.alpha(interval.to));
        let (middle, width) = (interval.middle(), interval.to - interval.from);
        for share in BESIDE {
            let t = middle + share * width;
            if !(interval.from < t && t < interval.to) {
                continue;
            }
            let mut tried = Best { value: f64::NEG_INFINITY, ..*best };
            self.try_alpha(self.alpha(t), ends, &mut tried, interrupt)?;
            let (slack, over) = (ROUNDING * promised.abs() + step, tried.value - promised);
            let of_kind = if over <= slack { &mut *best } else { &mut *others };
            if tried.value > of_kind.value {
                *of_kind = tried;
            }
            if over.abs() <= slack {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn try_alpha(
        &self,
        alpha: f64,
        interval: (f64, f64),
        best: &mut Best,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mixed = self.options.range.mix(self.scores.0, self.scores.1, alpha);
        let value = self.judged.mean(&self.options.metric, &mixed, interrupt)?;
        if value > best.value {
            *best = Best { value, alpha, interval };
        }
        Ok(())
    }

    fn alpha(&self, t: f64) -> f64 {
        self.frame.alpha(t)
    }
}

/// By t, which is a number.
fn sort(events: &mut [Event]) {
    let order = |x: &Event, y: &Event| x.t.partial_cmp(&y.t).unwrap_or(Equal);
    // On one thread the parallel sort is the same at twice the price.
    if rayon::current_num_threads() == 1 {
        events.sort_unstable_by(order);
    } else {
        events.par_sort_unstable_by(order);
    }
}

/// A place strictly inside the window, in the middle of its events if that is one.
fn halved(window: Window, events: &mut [Event]) -> Option<f64> {
    let Window { after, until } = window;
    let inside = |t: f64| after < t && t < until;
    let middle = events.len() / 2;
    let median = (!events.is_empty())
        .then(|| events.select_nth_unstable_by(middle, |x, y| x.t.total_cmp(&y.t)).1.t);
    let halves = [median, Some(after / 2.0 + until / 2.0)];
    halves.into_iter().flatten().find(|&t| inside(t))
}
