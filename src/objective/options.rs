//! Options of losses, with their names, defaults and ranges.

use super::ObjectiveKind;
use super::augment::Augment;
use crate::error::{Error, Result};
use crate::metric::{Metric, Ties, name_of, pick};
use std::fmt;
use std::str::FromStr;

/// Whether a pair's lambda depends on how far apart its scores are, beyond the sigmoid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PairNormaliser {
    /// It does not depend on the gap.
    None,
    /// Divided by `gap_offset + |s_i - s_j|`, unless all scores of the query are equal; `LightGBM`
    /// does so with an offset of 0.01.
    ScoreGap,
}

const PAIR_NORMALISERS: &[(&str, PairNormaliser)] =
    &[("none", PairNormaliser::None), ("score_gap", PairNormaliser::ScoreGap)];

/// How the gradients of a query are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueryNormaliser {
    /// Not at all.
    None,
    /// `LightGBM`'s: by log2(1 + S) / S, where S is the sum of |lambda| over docs and pairs.
    LogSum,
}

const QUERY_NORMALISERS: &[(&str, QueryNormaliser)] =
    &[("none", QueryNormaliser::None), ("log_sum", QueryNormaliser::LogSum)];

/// How pairs of docs with equal scores are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TiedPairs {
    /// The expectation over all orders; for ERR and pairwise accuracy an order that is drawn.
    Expected,
    /// One order, drawn anew each round from the contents of the docs.
    Drawn,
}

const TIED_PAIRS: &[(&str, TiedPairs)] =
    &[("expected", TiedPairs::Expected), ("drawn", TiedPairs::Drawn)];

/// Lambdas averaged over orders by perturbed scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreNoise {
    /// What the Gumbel noise is multiplied by, in units of the score.
    pub scale: f64,
    /// How many orders a round draws, from 1 to 64.
    pub copies: usize,
}

/// The options of [`LambdaRank`]; [`RankNet`] takes those that are not about a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaOptions {
    /// What is optimised. A cut counts in its deltas.
    pub metric: Metric,
    /// Pairs count if one of the two has at most this rank; `None` takes all.
    pub pairs_to: Option<usize>,
    /// The steepness of the sigmoid, above 0.
    pub sigma: f64,
    /// The scale of a pair.
    pub pair_normaliser: PairNormaliser,
    /// What [`PairNormaliser::ScoreGap`] adds to the gap of a pair: the smaller, the more it is about
    /// pairs of nearly equal scores, which helps on clean labels and harms on noisy ones.
    pub gap_offset: f64,
    /// The scale of a query.
    pub query_normaliser: QueryNormaliser,
    /// Ranks from perturbed scores; the sigmoid still sees the clean ones.
    pub noise: Option<ScoreNoise>,
    /// Copies of queries with some of their docs.
    pub augment: Option<Augment>,
    /// How tied docs are treated; with noise there are none.
    pub ties: TiedPairs,
    /// The seed of all random draws.
    pub seed: u64,
}

impl LambdaOptions {
    /// As in the papers: pairs to rank 30, sigma 1, no normaliser, no noise.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            pairs_to: Some(30),
            sigma: 1.0,
            pair_normaliser: PairNormaliser::None,
            gap_offset: 0.3,
            query_normaliser: QueryNormaliser::None,
            noise: None,
            augment: None,
            ties: TiedPairs::Expected,
            seed: 0,
        }
    }

    /// The options with the best results on validation sets of real data, and on clean data (see
    /// `benches/RESULTS.md`): pairs are divided by the gap of their scores plus 0.3, and ranks come from
    /// scores with noise of scale 1.
    pub fn tuned(metric: Metric) -> Self {
        Self {
            pair_normaliser: PairNormaliser::ScoreGap,
            noise: Some(ScoreNoise { scale: 1.0, copies: 1 }),
            ..Self::new(metric)
        }
    }

    /// An error that names the first option out of its range.
    pub fn check(&self) -> Result<()> {
        if self.metric.convention().ties != Ties::Expected {
            return Err(Error::param("metric.ties", "deltas exist for ties by expectation only")
                .got(self.metric.convention().ties)
                .expected(Ties::Expected));
        }
        if self.pairs_to.is_some_and(|rank| rank == 0 || rank > u32::MAX as usize) {
            return Err(Error::param("objective.pairs_to", "pairs_to is no rank")
                .got(self.pairs_to.unwrap_or_default())
                .expected("a whole number from 1 to 2^32 - 1"));
        }
        check_sigma(self.sigma)?;
        check_range("gap_offset", self.gap_offset, 1e-6, 1e6)?;
        self.augment.map_or(Ok(()), Augment::check)?;
        if let Some(noise) = self.noise {
            check_range("noise_scale", noise.scale, 1e-6, 1e6)?;
            if !(1..=64).contains(&noise.copies) {
                return Err(Error::param("objective.noise.copies", "noise_copies")
                    .got(noise.copies)
                    .expected("a whole number from 1 to 64"));
            }
        }
        Ok(())
    }
}

/// Refuses a sigma out of range.
pub(super) fn check_sigma(sigma: f64) -> Result<()> {
    check_range("sigma", sigma, 1e-6, 1e6)
}

fn check_range(name: &str, value: f64, least: f64, most: f64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let code = match name {
        "sigma" => "objective.sigma",
        "gap_offset" => "objective.gap_offset",
        _ => "objective.noise.scale",
    };
    Err(Error::param(code, name).got(value).expected(format!("a number from {least} to {most}")))
}

/// An objective by its name, with all options there are.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveOptions {
    /// Which objective.
    pub kind: ObjectiveKind,
    /// The options of pairs, and the seed of all random draws.
    pub lambda: LambdaOptions,
    /// Logistic: a doc is relevant iff its label is at least this; `None` takes the label itself as
    /// the probability, from 0 to 1.
    pub relevant_from: Option<f32>,
}

impl ObjectiveOptions {
    /// The defaults of an objective: those of `LambdaRank` are tuned.
    pub fn new(kind: ObjectiveKind, metric: Metric) -> Self {
        let lambda = match kind {
            ObjectiveKind::LambdaRank => LambdaOptions::tuned(metric),
            _ => LambdaOptions::new(metric),
        };
        Self { kind, lambda, relevant_from: None }
    }
}

impl FromStr for PairNormaliser {
    type Err = Error;

    /// `none` or `score_gap`.
    fn from_str(text: &str) -> Result<Self> {
        pick("objective.pair_normaliser", "pair normaliser", text, PAIR_NORMALISERS)
    }
}

impl fmt::Display for PairNormaliser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, PAIR_NORMALISERS))
    }
}

impl FromStr for QueryNormaliser {
    type Err = Error;

    /// `none` or `log_sum`.
    fn from_str(text: &str) -> Result<Self> {
        pick("objective.query_normaliser", "query normaliser", text, QUERY_NORMALISERS)
    }
}

impl fmt::Display for QueryNormaliser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, QUERY_NORMALISERS))
    }
}

impl FromStr for TiedPairs {
    type Err = Error;

    /// `expected` or `drawn`.
    fn from_str(text: &str) -> Result<Self> {
        pick("objective.ties", "rule for tied pairs", text, TIED_PAIRS)
    }
}

impl fmt::Display for TiedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, TIED_PAIRS))
    }
}
