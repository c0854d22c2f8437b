//! More than two rankers: sweeps of one weight at a time, and trees of two-way combinations.
//!
//! Only a sweep of two is optimal. [`coordinate_sweeps`] takes one ranker after the other and sets its
//! weight to the best there is while all others stay (the iterative procedure of Wu et al. 2008,
//! section 3): the metric never falls, and where a whole pass raises it no further, it ends.
//! [`pairing`] joins two rankers at a time into one until one is left.
//!
//! A ranker's *spread*, the median over queries of what its scores range over, makes weights of
//! rankers with other scales comparable.
//!
//! Cost: a pass of coordinate sweeps is a sweep a ranker, so that a thousand rankers are possible; a
//! pairing sweeps all pairs, about `n * n` sweeps for `n` rankers.

use super::sweep::sweep_checked;
use super::{Judged, Range, SweepOptions};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Metric;

/// A rise below this share of the value is rounding.
const LEAST_RISE: f64 = 1e-12;

/// Rankers with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// What the scores of each ranker are multiplied by.
    pub weights: Vec<f64>,
    /// The mean of the metric, as `evaluate` finds it on [`mix`] of these weights.
    pub value: f64,
    /// The value at the start and after each change, never falling; for a pairing, of each join.
    pub history: Vec<f64>,
    /// The weights that each value of `history` is of: what a held-out set may choose from.
    pub path: Vec<Vec<f64>>,
    /// How many passes were made; for a pairing, how many joins.
    pub passes: usize,
}

/// How weights are looked for.
#[derive(Debug, Clone)]
pub struct CoordinateOptions {
    /// What should be as high as possible.
    pub metric: Metric,
    /// The weights to begin with; if `None`, the best of each ranker alone and of the mean of all.
    pub start: Option<Vec<f64>>,
    /// How far a ranker may outweigh all others together, spread for spread.
    pub reach: f64,
    /// Whether weights below 0 are looked at.
    pub negative: bool,
    /// An end to passes, should each still raise the metric.
    pub most_passes: usize,
}

/// Which two rankers [`pairing`] joins next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Those whose combination is best.
    BestFirst,
    /// Those between which the metric changes most often.
    MostDifferentFirst,
}

impl CoordinateOptions {
    /// Weights of any sign up to 100 times all others, at most 100 passes.
    pub fn new(metric: Metric) -> Self {
        Self { metric, start: None, reach: 100.0, negative: true, most_passes: 100 }
    }

    fn check(&self, num_rankers: usize) -> Result<()> {
        if !(self.reach.is_finite() && self.reach > 0.0) {
            return Err(Error::param("combine.reach", "reach")
                .got(self.reach)
                .expected("a finite number above 0"));
        }
        let Some(start) = &self.start else { return Ok(()) };
        if start.len() != num_rankers {
            return Err(Error::param("combine.start", "start has the wrong length")
                .got(start.len())
                .expected(format!("{num_rankers}, the number of rankers")));
        }
        match start.iter().position(|weight| !weight.is_finite()) {
            Some(at) => Err(Error::param("combine.start", format!("start[{at}]"))
                .got(start[at])
                .expected("a finite number")),
            None => Ok(()),
        }
    }
}

/// The sum of all rankers' scores, each times its weight; rankers of weight 0 are left out.
///
/// # Panics
/// If the rankers have not scored the same docs.
pub fn mix(rankers: &[&[f64]], weights: &[f64]) -> Vec<f64> {
    let mut mixed = vec![0.0; rankers.first().map_or(0, |scores| scores.len())];
    for (scores, &weight) in rankers.iter().zip(weights) {
        assert_eq!(scores.len(), mixed.len(), "rankers of the same docs");
        if weight != 0.0 {
            mixed.iter_mut().zip(*scores).for_each(|(sum, score)| *sum += weight * score);
        }
    }
    mixed
}

/// The mean of the metric for each of several weights of the rankers: how a [path](Combination::path)
/// does on docs that it was not fitted to.
pub fn values(
    rankers: &[&[f64]],
    judged: &Judged<'_>,
    metric: &Metric,
    weights: &[Vec<f64>],
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    check(rankers, judged)?;
    if let Some(at) = weights.iter().position(|weights| weights.len() != rankers.len()) {
        return Err(Error::param("combine.weights", format!("weights[{at}] has the wrong length"))
            .got(weights[at].len())
            .expected(format!("{}, the number of rankers", rankers.len())));
    }
    let team = Team { rankers, judged, metric, interrupt };
    weights.iter().map(|weights| team.value(&mix(rankers, weights))).collect()
}

/// The mean of all rankers, each divided by its spread: what to beat.
pub fn average(
    rankers: &[&[f64]],
    judged: &Judged<'_>,
    metric: &Metric,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    let spreads: Vec<f64> = rankers.iter().map(|scores| spread(scores, judged)).collect();
    Team { rankers, judged, metric, interrupt }.average(&spreads)
}

/// Sets one weight after the other to the best there is, until nothing raises the metric.
pub fn coordinate_sweeps(
    rankers: &[&[f64]],
    judged: &Judged<'_>,
    options: &CoordinateOptions,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    options.check(rankers.len())?;
    let spreads: Vec<f64> = rankers.iter().map(|scores| spread(scores, judged)).collect();
    let team = Team { rankers, judged, metric: &options.metric, interrupt };
    let mut best = match &options.start {
        Some(weights) => team.combination(weights.clone())?,
        None => team.best_start(&spreads)?,
    };
    for _ in 0..options.most_passes {
        let before = best.value;
        best.passes += 1;
        for (ranker, &spread) in spreads.iter().enumerate() {
            team.improve(ranker, spread, options, &mut best)?;
        }
        if best.value <= before {
            break;
        }
    }
    Ok(best)
}

/// Joins rankers two by two, each pair by its best mixture, until one is left.
pub fn pairing(
    rankers: &[&[f64]],
    judged: &Judged<'_>,
    metric: &Metric,
    order: Pairing,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    let team = Team { rankers, judged, metric, interrupt };
    let mut nodes = Vec::with_capacity(rankers.len());
    for ranker in 0..rankers.len() {
        nodes.push(team.node(alone(ranker, rankers.len()))?);
    }
    let mut joins = Vec::new();
    for y in 0..nodes.len() {
        team.try_joins(&nodes, y, &mut joins)?;
    }
    let (mut history, mut path) = (Vec::new(), Vec::new());
    while nodes.iter().flatten().count() > 1 {
        let better = |join: &Join, than: &Join| match order {
            Pairing::BestFirst => join.value > than.value,
            Pairing::MostDifferentFirst => join.num_events > than.num_events,
        };
        let next = joins.iter().reduce(|x, y| if better(y, x) { y } else { x }).cloned();
        let Join { pair: (x, y), weights, .. } =
            next.ok_or_else(|| Error::internal("two rankers that were never joined"))?;
        joins.retain(|join| ![x, y].iter().any(|node| [join.pair.0, join.pair.1].contains(node)));
        (nodes[x], nodes[y]) = (None, None);
        nodes.push(team.node(weights)?);
        team.try_joins(&nodes, nodes.len() - 1, &mut joins)?;
        if let Some(Some(node)) = nodes.last() {
            history.push(node.value);
            path.push(node.weights.clone());
        }
    }
    let last = nodes.into_iter().flatten().next();
    let Node { weights, value, .. } = last.ok_or_else(|| Error::internal("no ranker is left"))?;
    let passes = history.len();
    if path.is_empty() {
        (history, path) = (vec![value], vec![weights.clone()]);
    }
    Ok(Combination { weights, value, history, path, passes })
}

fn check(rankers: &[&[f64]], judged: &Judged<'_>) -> Result<()> {
    if rankers.is_empty() {
        return Err(Error::param("combine.rankers", "no rankers").expected("at least one"));
    }
    judged.check()?;
    rankers.iter().enumerate().try_for_each(|(number, scores)| judged.check_scores(number, scores))
}

/// The median over queries of what the scores range over, the most if that is 0, or 0.
fn spread(scores: &[f64], judged: &Judged<'_>) -> f64 {
    let range = |docs: std::ops::Range<usize>| {
        let scores = &scores[docs];
        let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high - low).min(f64::MAX)
    };
    let mut ranges: Vec<f64> = judged.queries.ranges().map(range).collect();
    let middle = ranges.len() / 2;
    let median = *ranges.select_nth_unstable_by(middle, f64::total_cmp).1;
    if median > 0.0 { median } else { ranges.iter().copied().fold(0.0, f64::max) }
}

/// Weight 1 for one ranker of many.
fn alone(ranker: usize, num_rankers: usize) -> Vec<f64> {
    let mut weights = vec![0.0; num_rankers];
    weights[ranker] = 1.0;
    weights
}

fn is_higher(value: f64, than: f64) -> bool {
    value > than + LEAST_RISE * than.abs()
}

/// Rankers and what they are judged by.
#[derive(Clone, Copy)]
struct Team<'a> {
    rankers: &'a [&'a [f64]],
    judged: &'a Judged<'a>,
    metric: &'a Metric,
    interrupt: &'a Interrupt,
}

/// A ranker, or what was joined from some.
struct Node {
    weights: Vec<f64>,
    scores: Vec<f64>,
    spread: f64,
    value: f64,
}

/// Two nodes and their best mixture.
#[derive(Debug, Clone)]
struct Join {
    pair: (usize, usize),
    weights: Vec<f64>,
    value: f64,
    num_events: u64,
}

impl Team<'_> {
    fn value(&self, scores: &[f64]) -> Result<f64> {
        self.judged.mean(self.metric, scores, self.interrupt)
    }

    fn combination(&self, weights: Vec<f64>) -> Result<Combination> {
        let value = self.value(&mix(self.rankers, &weights))?;
        let (history, path) = (vec![value], vec![weights.clone()]);
        Ok(Combination { weights, value, history, path, passes: 0 })
    }

    fn average(&self, spreads: &[f64]) -> Result<Combination> {
        let inverse = |spread: &f64| if *spread > 0.0 { spread.recip() } else { 0.0 };
        self.combination(spreads.iter().map(inverse).map(|weight| weight.min(f64::MAX)).collect())
    }

    /// The best of each ranker alone and of all together.
    fn best_start(&self, spreads: &[f64]) -> Result<Combination> {
        let mut best = self.average(spreads)?;
        for ranker in 0..self.rankers.len() {
            let other = self.combination(alone(ranker, self.rankers.len()))?;
            // A value that is NaN is that of no query at all: the sweep will say so.
            if other.value > best.value {
                best = other;
            }
        }
        Ok(best)
    }

    /// Sweeps the weight of one ranker and takes what is better than all that was.
    fn improve(
        &self,
        ranker: usize,
        spread_of_ranker: f64,
        options: &CoordinateOptions,
        best: &mut Combination,
    ) -> Result<()> {
        let mut weights = best.weights.clone();
        weights[ranker] = 0.0;
        let rest = mix(self.rankers, &weights);
        let spread_of_rest = spread(&rest, self.judged);
        let to = options.reach * (spread_of_rest / spread_of_ranker);
        if !(to.is_normal() && to > 0.0) {
            return Ok(());
        }
        let range = Range::Along { from: if options.negative { -to } else { 0.0 }, to };
        let mut sweeping = SweepOptions::new(self.metric.clone(), range);
        sweeping.curve_steps = 0;
        let scores = (&rest[..], self.rankers[ranker]);
        let found = sweep_checked(scores, self.judged, &sweeping, self.interrupt)?;
        if is_higher(found.value, best.value) {
            weights[ranker] = found.alpha;
            // Summed in the order of rankers, as callers will: rounding may tell.
            let value = self.value(&mix(self.rankers, &weights))?;
            if is_higher(value, best.value) {
                best.history.push(value);
                best.path.push(weights.clone());
                (best.weights, best.value) = (weights, value);
            }
        }
        Ok(())
    }

    fn node(&self, weights: Vec<f64>) -> Result<Option<Node>> {
        let scores = mix(self.rankers, &weights);
        let value = self.value(&scores)?;
        let spread = spread(&scores, self.judged);
        Ok(Some(Node { weights, scores, spread, value }))
    }

    /// Joins of node `y` with all before it that are left.
    fn try_joins(&self, nodes: &[Option<Node>], y: usize, joins: &mut Vec<Join>) -> Result<()> {
        let mut options = SweepOptions::new(self.metric.clone(), Range::Between);
        options.curve_steps = 0;
        let Some(second) = &nodes[y] else { return Ok(()) };
        for (x, first) in nodes[..y].iter().enumerate() {
            let Some(first) = first else { continue };
            let (to_first, to_second) = (to_one(first.spread), to_one(second.spread));
            let scaled = |node: &Node, by: f64| node.scores.iter().map(|s| s * by).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (scaled(first, to_first), scaled(second, to_second));
            let found = sweep_checked((&a, &b), self.judged, &options, self.interrupt)?;
            let weights = [to_first * (1.0 - found.alpha), to_second * found.alpha];
            let pairs = first.weights.iter().zip(&second.weights);
            let weights = pairs.map(|(v, w)| weights[0] * v + weights[1] * w).collect();
            let (value, num_events) = (found.value, found.num_events);
            joins.push(Join { pair: (x, y), weights, value, num_events });
        }
        Ok(())
    }
}

/// The power of two that brings a spread near 1: it leaves all scores exact.
fn to_one(spread: f64) -> f64 {
    let bits = spread.to_bits() & (0x7ff << 52);
    if spread.is_normal() && spread.recip().is_normal() {
        f64::from_bits(bits).recip()
    } else {
        1.0
    }
}
