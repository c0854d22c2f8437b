//! The sweep over alpha: all queries in parallel, in as many passes as the memory limit requires.
//!
//! A pass walks every query through one window of the range and collects the changes of the metric;
//! then the changes of all queries are sorted and summed up. A pass that finds too many changes is
//! abandoned and its window halved, at the median of the changes found. Windows are adjacent; their
//! borders are no changes.

use super::curve::{CurveBuilder, CurveInterval, CurveIntervals, STEP};
use super::kinetic_list::{KineticList, MetricChange, WalkLimit, WalkOutcome};
use super::line_pruning::LinePruner;
use super::query_metric::{
    self, GainSum, MetricBuffers, MetricRules, RecomputedMetric, WeightedLabels,
};
use super::score_lines::{LineFrame, LinePrecision, ScoreLine, TiedDocs};
use super::{AlphaInterval, Curve, CurveStep, JudgedQueries, Sweep, SweepOptions, kernel};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::simd::Level;
use rayon::prelude::*;
use std::cmp::Ordering::Equal;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Queries per task; the interrupt is checked once a task.
const QUERIES_A_TASK: usize = 16;
/// The metric summed over all queries stays below 2^61 units, so that no sum of changes overflows.
const UNITS: f64 = (1u64 << 61) as f64;
/// A query weight of 1 as a whole number: sums of whole numbers have no order.
const WEIGHT: f64 = (1u64 << 52) as f64;
/// Rounding in a metric's own sums is below this share of its value.
const ROUNDING: f64 = 1e-9;
/// Finds the alpha at which the mean of the metric over queries is highest, and the whole curve.
///
/// The alpha is the middle of the best open interval between crossings, the widest of equals, or
/// an end of the range if docs that tie there make it better than every interval. So the value is
/// never below that of either ranker alone.
pub fn sweep(
    first: &[f64],
    second: &[f64],
    judged: &JudgedQueries<'_>,
    options: &SweepOptions,
    interrupt: &Interrupt,
) -> Result<Sweep> {
    judged.check()?;
    judged.check_scores(0, first)?;
    judged.check_scores(1, second)?;
    options.check()?;
    let run = SweepRun::new([first, second], *judged, options)?;
    // The caller cannot change the outputs of a tree.
    SweepRun { refuses_far_scores: !options.few_outputs, ..run }.run(interrupt)
}

/// The scores of two rankers for the same documents.
pub(super) type TwoRankers<'a> = [&'a [f64]; 2];

/// [`sweep`] of checked scores.
pub(super) fn sweep_checked(
    scores: TwoRankers<'_>,
    judged: &JudgedQueries<'_>,
    options: &SweepOptions,
    interrupt: &Interrupt,
) -> Result<Sweep> {
    options.check()?;
    SweepRun::new(scores, *judged, options)?.run(interrupt)
}

/// A sweep with everything that its passes share.
struct SweepRun<'a> {
    scores: TwoRankers<'a>,
    judged: JudgedQueries<'a>,
    options: &'a SweepOptions,
    rules: MetricRules,
    frame: LineFrame,
    /// The units of a value of 1 in a query of weight 1.
    unit: f64,
    /// The largest weight, which counts as 1.
    heaviest: f64,
    /// Scores of a query that are too far apart are an error.
    refuses_far_scores: bool,
}

/// The curve of the whole range.
struct SweepCurve {
    curve: CurveBuilder,
    /// The total weight of the queries that count.
    weight: f64,
    tied_ends: TiedEnds,
}

/// Which of the two ends of the range must be evaluated by themselves, because documents tie there that
/// tie at no alpha nearby, or because lines are imprecise.
type TiedEnds = [bool; 2];

/// The best alpha so far.
#[derive(Debug, Clone, Copy)]
struct BestAlpha {
    value: f64,
    alpha: f64,
    interval: AlphaInterval,
}

impl BestAlpha {
    /// Takes another alpha that is better.
    fn keep(&mut self, other: Self) {
        if other.value > self.value {
            *self = other;
        }
    }
}

/// The result of some queries in one window.
#[derive(Debug, Default)]
struct PassResult {
    changes: Vec<MetricChange>,
    /// The metric at the start in units.
    start: i64,
    /// The weight of the queries that count.
    weight: u128,
    tied_ends: TiedEnds,
    /// There were too many changes, and the pass was abandoned.
    is_full: bool,
    /// A query, and the ranker whose scores in it are too far apart for whole numbers.
    far_scores: Option<(usize, usize)>,
}

/// The part of the range that a pass covers: from `after`, exclusive, to `until`, inclusive.
#[derive(Debug, Clone, Copy)]
struct PassWindow {
    after: f64,
    until: f64,
    /// The pass is abandoned if it finds more changes.
    most_changes: usize,
}

/// The buffers of one thread.
#[derive(Debug, Default)]
struct QueryBuffers {
    lines: Vec<ScoreLine>,
    tied_docs: TiedDocs,
    pruner: LinePruner,
    list: KineticList,
    metric: MetricBuffers,
}

impl<'a> SweepRun<'a> {
    fn new(
        scores: TwoRankers<'a>,
        judged: JudgedQueries<'a>,
        options: &'a SweepOptions,
    ) -> Result<Self> {
        let rules = MetricRules::new(&options.metric, judged.labels)?;
        let frame = LineFrame::new(scores[0], scores[1], options.range);
        let heaviest = judged.query_weight.map_or(1.0, |w| w.iter().copied().fold(0.0, f64::max));
        let bounds =
            judged.queries.ranges().map(|docs| rules.prepared.upper_bound(&judged.labels[docs]));
        let bounds: Vec<f64> = bounds.collect();
        let most = bounds.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        // An upper bound of the sum over all queries, in whole numbers: the same in any order.
        let of_query = |(query, bound): (usize, &f64)| {
            let weight = judged.query_weight.map_or(1.0, |weights| weights[query] / heaviest);
            (weight * (bound / most) * WEIGHT).ceil() as u128
        };
        let total: u128 = bounds.iter().enumerate().map(of_query).sum();
        let unit = UNITS / (most * (total.max(1) as f64 / WEIGHT) * (1.0 + ROUNDING));
        let refuses_far_scores = false;
        Ok(Self { scores, judged, options, rules, frame, unit, heaviest, refuses_far_scores })
    }

    fn run(&self, interrupt: &Interrupt) -> Result<Sweep> {
        let curve = self.curve(interrupt)?;
        self.best(&curve, interrupt)
    }

    fn weight(&self, query: usize) -> f64 {
        self.judged.query_weight.map_or(1.0, |weights| weights[query] / self.heaviest)
    }

    /// The curve of the sum over all queries.
    fn curve(&self, interrupt: &Interrupt) -> Result<SweepCurve> {
        let LineFrame { from, to, .. } = self.frame;
        let mut found: Option<SweepCurve> = None;
        let (mut ends, mut after) = (vec![to.next_down()], from);
        let mut most = self.options.most_events.max(1);
        while let Some(&until) = ends.last() {
            let window = PassWindow { after, until, most_changes: most };
            let mut pass = self.pass(window, interrupt)?;
            if pass.is_full {
                match halved(window, &mut pass.changes) {
                    Some(middle) => ends.push(middle),
                    None => most = usize::MAX,
                }
                continue;
            }
            ends.pop();
            (after, most) = (until, self.options.most_events.max(1));
            sort(&mut pass.changes);
            let found = found.get_or_insert_with(|| {
                let intervals = CurveIntervals::new(from, to, self.options.curve_steps);
                let curve = CurveBuilder::new(pass.start, from, intervals);
                let weight = pass.weight as f64 / WEIGHT;
                SweepCurve { curve, weight, tied_ends: [false; 2] }
            });
            found.curve.add(&pass.changes);
            add_ends(&mut found.tied_ends, pass.tied_ends);
        }
        let mut found = found.ok_or_else(|| Error::internal("a sweep without a window"))?;
        found.curve.close(to);
        Ok(found)
    }

    /// All queries through one window.
    fn pass(&self, window: PassWindow, interrupt: &Interrupt) -> Result<PassResult> {
        let num_queries = self.judged.queries.len();
        let num_changes = AtomicUsize::new(0);
        let tasks = (0..num_queries.div_ceil(QUERIES_A_TASK)).into_par_iter();
        let parts = tasks.map_init(QueryBuffers::default, |buffers, task| {
            interrupt.check()?;
            let mut part = PassResult::default();
            let first = task * QUERIES_A_TASK;
            for query in first..(first + QUERIES_A_TASK).min(num_queries) {
                if num_changes.load(Ordering::Relaxed) > window.most_changes {
                    part.is_full = true;
                    break;
                }
                let before = part.changes.len();
                self.walk(query, window, buffers, &mut part);
                num_changes.fetch_add(part.changes.len() - before, Ordering::Relaxed);
            }
            Ok(part)
        });
        let parts: Vec<PassResult> = parts.collect::<Result<_>>()?;
        let is_full = num_changes.into_inner() > window.most_changes;
        let mut all = PassResult { is_full, ..PassResult::default() };
        all.changes.reserve_exact(parts.iter().map(|part| part.changes.len()).sum());
        for part in parts {
            all.changes.extend_from_slice(&part.changes);
            all.start = all.start.wrapping_add(part.start);
            all.weight += part.weight;
            add_ends(&mut all.tied_ends, part.tied_ends);
            all.is_full |= part.is_full;
            all.far_scores = all.far_scores.or(part.far_scores);
        }
        match all.far_scores.filter(|_| self.refuses_far_scores) {
            Some((query, ranker)) => Err(self.judged.too_far(query, ranker, self.scores[ranker])),
            None => Ok(all),
        }
    }

    /// Walks one query through a window, until there are too many changes.
    fn walk(
        &self,
        query: usize,
        window: PassWindow,
        buffers: &mut QueryBuffers,
        part: &mut PassResult,
    ) {
        let weight = self.weight(query);
        if weight == 0.0 {
            return;
        }
        let docs = self.judged.queries.range(query);
        let labels = &self.judged.labels[docs.clone()];
        let known = WeightedLabels { labels, unit: self.unit * weight };
        let QueryBuffers { lines, tied_docs, pruner, list, metric: buffers } = buffers;
        if let Some(value) = query_metric::constant(&self.rules, labels, buffers) {
            if !value.is_nan() {
                part.start = part.start.wrapping_add((value * known.unit) as i64);
                part.weight += (weight * WEIGHT) as u128;
            }
            return;
        }
        let [a, b] = self.scores.map(|scores| &scores[docs.clone()]);
        let LinePrecision { is_full, lost } = self.frame.lines(a, b, lines);
        part.tied_ends = part.tied_ends.map(|is_tied| is_tied || !is_full);
        part.far_scores = part.far_scores.or(lost.map(|ranker| (query, ranker)));
        let ranks = self.rules.ranks(labels.len());
        pruner.by_ends(lines, ranks, self.frame.from, self.frame.to);
        if self.options.few_outputs {
            pruner.by_slopes(lines, ranks);
        }
        tied_docs.find(lines, labels, self.options.metric.convention().ties);
        list.start(lines, ranks, window.after);
        let is_first = window.after == self.frame.from;
        part.tied_ends[0] |= is_first && list.begins_tied(window.after);
        let (level, changes) = (Level::best(), &mut part.changes);
        // One more change than allowed shows that there are too many.
        let most_events = changes.len().saturating_add(window.most_changes).saturating_add(1);
        let end = WalkLimit { until: window.until, most_events };
        let WalkOutcome { start, next } = if self.rules.is_sum {
            let mut sum = GainSum::new(&self.rules, known, tied_docs, buffers);
            kernel::walk_sum(level, list, end, &mut sum, changes)
        } else {
            let mut recomputed = RecomputedMetric::new(&self.rules, known, tied_docs, buffers);
            kernel::walk_recomputed(level, list, end, &mut recomputed, changes)
        };
        part.start = part.start.wrapping_add(start);
        part.weight += (weight * WEIGHT) as u128;
        part.tied_ends[1] |= next == self.frame.to;
    }

    /// The best interval of the curve, confirmed by evaluating the combined scores there.
    fn best(&self, found: &SweepCurve, interrupt: &Interrupt) -> Result<Sweep> {
        if found.weight == 0.0 {
            return Err(Error::data("combine.empty", "no query has anything to find")
                .expected("a query with relevant docs and a weight above 0")
                .hint("without one no alpha is better than another"));
        }
        let per_unit = self.unit.recip() / found.weight;
        let value = |interval: &CurveInterval| interval.value as f64 * per_unit;
        let interval = AlphaInterval { from: 0.0, to: 0.0 };
        let mut best = BestAlpha { value: f64::NEG_INFINITY, alpha: 0.0, interval };
        // The best alpha of intervals that do not have the value that their lines promise.
        let mut other = best;
        let mut is_kept = false;
        for interval in &found.curve.best {
            let promised = value(interval);
            // Values are rounded to whole steps.
            let slack = ROUNDING * promised.abs() + STEP as f64 * per_unit;
            let ends =
                AlphaInterval { from: self.alpha(interval.from), to: self.alpha(interval.to) };
            for t in interval.inside() {
                let tried = self.evaluated(self.alpha(t), ends, interrupt)?;
                let over = tried.value - promised;
                let best = if over <= slack { &mut best } else { &mut other };
                best.keep(tried);
                is_kept = over.abs() <= slack;
                if is_kept {
                    break;
                }
            }
            if is_kept {
                break;
            }
        }
        if !is_kept {
            // No interval has the value that its lines promise: the best value seen counts.
            best.keep(other);
        }
        for (is_tied, t) in found.tied_ends.into_iter().zip([self.frame.from, self.frame.to]) {
            if is_tied || !is_kept {
                let alpha = self.alpha(t);
                let interval = AlphaInterval { from: alpha, to: alpha };
                best.keep(self.evaluated(alpha, interval, interrupt)?);
            }
        }
        let steps = found.curve.intervals.list.iter().map(|interval| CurveStep {
            from: self.alpha(interval.from),
            to: self.alpha(interval.to),
            value: value(interval),
        });
        let curve = Curve { steps: steps.collect(), is_whole: found.curve.intervals.is_whole };
        let num_events = found.curve.num_events;
        let BestAlpha { value, alpha, interval } = best;
        Ok(Sweep { alpha, value, interval, curve, num_events })
    }

    fn evaluated(
        &self,
        alpha: f64,
        interval: AlphaInterval,
        interrupt: &Interrupt,
    ) -> Result<BestAlpha> {
        let mixed = self.options.range.mix(self.scores[0], self.scores[1], alpha);
        let value = self.judged.mean(&self.options.metric, &mixed, interrupt)?;
        Ok(BestAlpha { value, alpha, interval })
    }

    fn alpha(&self, t: f64) -> f64 {
        self.frame.alpha(t)
    }
}

fn add_ends(ends: &mut TiedEnds, others: TiedEnds) {
    ends.iter_mut().zip(others).for_each(|(end, other)| *end |= other);
}

/// Sorts by t, which is never NaN.
fn sort(changes: &mut [MetricChange]) {
    let order = |x: &MetricChange, y: &MetricChange| x.t.partial_cmp(&y.t).unwrap_or(Equal);
    // On one thread the parallel sort takes twice the time.
    if rayon::current_num_threads() == 1 {
        changes.sort_unstable_by(order);
    } else {
        changes.par_sort_unstable_by(order);
    }
}

/// A point strictly inside the window: the median of its changes if that is inside, else the middle.
fn halved(window: PassWindow, changes: &mut [MetricChange]) -> Option<f64> {
    let PassWindow { after, until, .. } = window;
    let inside = |t: f64| after < t && t < until;
    let middle = changes.len() / 2;
    let median = (!changes.is_empty())
        .then(|| changes.select_nth_unstable_by(middle, |x, y| x.t.total_cmp(&y.t)).1.t);
    let halves = [median, Some(after / 2.0 + until / 2.0)];
    halves.into_iter().flatten().find(|&t| inside(t))
}
