//! Coordinate ascent: optimises one weight, or one direction, after the other until the metric rises no
//! further.
//!
//! [`coordinate_ascent`] sets the weight of one ranker after the other to its best value while all
//! others stay (the iterative procedure of Wu et al. 2008, section 3). *Powell's method* starts with the
//! rankers as directions, each in units of its spread; after a pass, the total change of the weights
//! replaces the direction that raised the metric most (Powell 1964). The line search is the exact
//! sweep, so the metric never falls.
//!
//! Cost: a pass takes one sweep per ranker, so that a thousand rankers are possible.

use super::rankers::{Combination, RankerSet, alone, check, inverse, is_higher, mix, spread};
use super::{AlphaRange, JudgedQueries};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Metric;
use crate::random;

/// The distance of a restart near the best weights, as a share of the largest weight.
const NEAR: f64 = 0.25;

/// The options of [`coordinate_ascent`].
#[derive(Debug, Clone)]
pub struct CoordinateOptions {
    /// The metric to maximise.
    pub metric: Metric,
    /// The first weights; if `None`, the best of each ranker alone and the mean of all.
    pub start: Option<Vec<f64>>,
    /// How far a ranker may outweigh all others together, spread for spread.
    pub reach: f64,
    /// Whether weights may be below 0.
    pub negative: bool,
    /// The most passes.
    pub most_passes: usize,
    /// The directions of the line searches.
    pub directions: SearchDirections,
    /// How often to restart, from random weights or near the best so far; the best result counts.
    pub restarts: usize,
    /// The seed of the random weights.
    pub seed: u64,
}

/// The directions of the line searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchDirections {
    /// One weight at a time.
    #[default]
    Rankers,
    /// Powell's method: also the total changes of passes.
    Powell,
}

impl CoordinateOptions {
    /// Weights of any sign up to 100 times all others, at most 100 passes, no restarts.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            start: None,
            reach: 100.0,
            negative: true,
            most_passes: 100,
            directions: SearchDirections::Rankers,
            restarts: 0,
            seed: 0,
        }
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

/// Sets one weight after the other to its best value until the metric rises no further.
pub fn coordinate_ascent(
    rankers: &[&[f64]],
    judged: &JudgedQueries<'_>,
    options: &CoordinateOptions,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    options.check(rankers.len())?;
    let spreads = rankers.iter().map(|scores| spread(scores, judged)).collect();
    let rankers = RankerSet { rankers, judged, metric: &options.metric, interrupt };
    let ascent = Ascent { rankers, options, spreads };
    let start = match &options.start {
        Some(weights) => rankers.combination(weights.clone())?,
        None => rankers.best_start(&ascent.spreads)?,
    };
    let mut best = ascent.raise(start)?;
    for restart in 1..=options.restarts as u64 {
        let other = ascent.raise(ascent.restart(restart, &best)?)?;
        if other.value > best.value {
            best = other;
        }
    }
    Ok(best)
}

struct Ascent<'a> {
    rankers: RankerSet<'a>,
    options: &'a CoordinateOptions,
    /// Those of the rankers.
    spreads: Vec<f64>,
}

/// Changes of the weights, and the spread of their scores.
struct Direction {
    weights: Vec<f64>,
    spread: f64,
}

impl Ascent<'_> {
    fn direction(&self, weights: Vec<f64>) -> Direction {
        let spread = spread(&mix(self.rankers.rankers, &weights), self.rankers.judged);
        Direction { weights, spread }
    }

    /// Passes from a start until a pass raises the metric no further.
    fn raise(&self, mut best: Combination) -> Result<Combination> {
        let num_rankers = self.spreads.len();
        let is_powell = self.options.directions == SearchDirections::Powell;
        let of_ranker = |ranker: usize| {
            let mut weights = alone(ranker, num_rankers);
            if is_powell {
                weights[ranker] = inverse(self.spreads[ranker]);
            }
            self.direction(weights)
        };
        let mut directions: Vec<Direction> = (0..num_rankers).map(of_ranker).collect();
        for _ in 0..self.options.most_passes {
            let before = best.value;
            best.passes += 1;
            if is_powell {
                self.pass_along(&mut directions, &mut best)?;
            } else {
                for (ranker, direction) in directions.iter().enumerate() {
                    let mut rest = best.weights.clone();
                    rest[ranker] = 0.0;
                    self.improve_along(&rest, direction, &mut best)?;
                }
            }
            if best.value <= before {
                break;
            }
        }
        Ok(best)
    }

    /// The weights of a restart: every other one random, the others near the best so far.
    fn restart(&self, number: u64, best: &Combination) -> Result<Combination> {
        let Self { options, spreads, .. } = self;
        let shares =
            best.weights.iter().zip(spreads).map(|(weight, spread)| (weight * spread).abs());
        let most = shares.fold(0.0, f64::max).min(f64::MAX);
        let draw = |(ranker, &spread): (usize, &f64)| {
            let drawn = random::draw(options.seed, number, ranker as u64) as f64 / 2f64.powi(64);
            let drawn = if options.negative { 2.0 * drawn - 1.0 } else { drawn };
            if number % 2 == 1 {
                return drawn * inverse(spread);
            }
            best.weights[ranker] + NEAR * most * drawn * inverse(spread)
        };
        self.rankers.combination(spreads.iter().enumerate().map(draw).collect())
    }

    /// A pass of Powell's method.
    fn pass_along(&self, directions: &mut [Direction], best: &mut Combination) -> Result<()> {
        let start = best.weights.clone();
        let (mut at, mut most) = (0, 0.0);
        for (number, direction) in directions.iter().enumerate() {
            let before = best.value;
            self.improve_along(&best.weights.clone(), direction, best)?;
            if best.value - before > most {
                (at, most) = (number, best.value - before);
            }
        }
        if most > 0.0 {
            let moved = best.weights.iter().zip(&start).map(|(to, of)| to - of).collect();
            directions[at] = self.direction(moved);
            self.improve_along(&best.weights.clone(), &directions[at], best)?;
        }
        Ok(())
    }

    /// Searches from some weights along a direction and keeps better weights.
    fn improve_along(
        &self,
        start: &[f64],
        direction: &Direction,
        best: &mut Combination,
    ) -> Result<()> {
        let Self { rankers: RankerSet { rankers, judged, .. }, options, .. } = self;
        let (here, ahead) = (mix(rankers, start), mix(rankers, &direction.weights));
        let far = options.reach * (spread(&here, judged) / direction.spread);
        if !(far.is_normal() && far > 0.0) {
            return Ok(());
        }
        let moved = || start.iter().zip(&direction.weights);
        let (mut from, mut to) = (-far, far);
        if !options.negative {
            for (weight, change) in moved() {
                if *change > 0.0 {
                    from = from.max((0.0 - weight) / change);
                } else if *change < 0.0 {
                    to = to.min((0.0 - weight) / change);
                }
            }
        }
        if from >= to {
            return Ok(());
        }
        let found = self.rankers.swept([&here, &ahead], AlphaRange::Along { from, to })?;
        // Rounding may take a sum of several weights out of the range.
        let is_bounded = !options.negative && options.directions == SearchDirections::Powell;
        let least = if is_bounded { 0.0 } else { f64::NEG_INFINITY };
        let weights = moved().map(|(w, change)| (w + found.alpha * change).max(least)).collect();
        self.keep(weights, found.value, best)
    }

    /// Keeps weights of this value, if it is higher.
    fn keep(&self, weights: Vec<f64>, value: f64, best: &mut Combination) -> Result<()> {
        if is_higher(value, best.value) {
            // Summed in the order of rankers, as callers do: rounding may change the value.
            let value = self.rankers.value(&mix(self.rankers.rankers, &weights))?;
            if is_higher(value, best.value) {
                best.history.push(value);
                best.path.push(weights.clone());
                (best.weights, best.value) = (weights, value);
            }
        }
        Ok(())
    }
}
