//! Options of losses, with their names, defaults and ranges.

use super::ObjectiveKind;
use super::augment::Augment;
use crate::error::{Error, Result};
use crate::metric::{Metric, Ties};
use crate::schema::{ParamRange, choices};

choices! {
    /// Whether a pair's lambda depends on how far apart its scores are, beyond the sigmoid.
    #[non_exhaustive]
    pub enum PairNormaliser {
        /// It does not.
        None = "none",
        /// Divided by `gap_offset + |s_i - s_j|`, unless all scores of the query are equal; `LightGBM`
        /// does so with an offset of 0.01.
        ScoreGap = "score_gap",
    }
}

choices! {
    /// How the gradients of a query are scaled.
    #[non_exhaustive]
    pub enum QueryNormaliser {
        /// Not at all.
        None = "none",
        /// `LightGBM`'s: by log2(1 + S) / S, where S is the sum of |lambda| over docs and pairs.
        LogSum = "log_sum",
    }
}

choices! {
    /// What becomes of docs with equal scores.
    #[non_exhaustive]
    pub enum TiedPairs {
        /// The expectation over all orders; for ERR and pairwise accuracy an order that is drawn.
        Expected = "expected",
        /// One order, drawn anew each round from the contents of the docs.
        Drawn = "drawn",
    }
}

/// Lambdas averaged over orders by perturbed scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreNoise {
    /// What the Gumbel noise is multiplied by, in units of the score.
    pub scale: f64,
    /// How many orders a round draws, from 1 to 64.
    pub copies: usize,
}

/// The options of [`LambdaRank`](super::LambdaRank); [`RankNet`](super::RankNet) takes those that are not about a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaOptions {
    /// What is optimised. A cut counts in its deltas.
    pub metric: Metric,
    /// Pairs count if one of the two has at most this rank; `None` takes all.
    pub pairs_to: Option<usize>,
    /// The rank to which the best order counts in what gains are divided by; `None` for the metric's cut.
    pub ideal_to: Option<usize>,
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
            ideal_to: None,
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
        RANK.check("pairs_to", &self.pairs_to)?;
        RANK.check("ideal_to", &self.ideal_to)?;
        SCALE.check("sigma", &self.sigma)?;
        SCALE.check("gap_offset", &self.gap_offset)?;
        self.augment.map_or(Ok(()), Augment::check)?;
        let Some(noise) = self.noise else { return Ok(()) };
        SCALE.check("noise_scale", &noise.scale)?;
        COPIES.check("noise_copies", &noise.copies)
    }
}

/// The range of a rank, from 1.
pub(crate) const RANK: ParamRange = ParamRange::from(1.0).to(4_294_967_295.0);
/// The range of the steepness of a sigmoid, and of what is added to a gap of scores.
pub(crate) const SCALE: ParamRange = ParamRange::from(1e-6).to(1e6);
/// The range of the number of orders that a round draws.
pub(crate) const COPIES: ParamRange = ParamRange::from(1.0).to(64.0);

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
