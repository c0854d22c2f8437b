//! Linear combinations of rankers that maximise a metric.
//!
//! The combined score of a document is a line over *alpha*, the weight of the second ranker, and a
//! metric changes only at *crossings*, where two documents of a query exchange their order. [`sweep`]
//! visits the crossings of all queries and so knows the metric on every open interval between them
//! (Wu, Burges, Svore and Gao 2008, section 3): the result is exact. [`coordinate_ascent`] and
//! [`merge_pairwise()`] use it for more than two rankers.
//!
//! ```text
//! metric      ____
//!        ____|    |__       ____________        the result: the middle of the best interval,
//!       |           |______|            |_      the widest of equally good ones
//! alpha 0                                 1
//! ```
//!
//! Invariants: ties count as the metric's convention says, also between documents with the same scores
//! from both rankers. A single alpha between two intervals, where documents tie, is never the result,
//! because rounding would decide its value; the two ends of the range can be, since a caller can name
//! them. The value reported is that of [`evaluate`] on the combined scores. No result depends on the
//! order of rows or queries, on the number of threads or on the instruction set.
//!
//! Cost: for a query of n documents, and E crossings among its first k ranks, O(n + E (1 + n/8)) steps
//! of some nanoseconds (`benches/combine.rs`); without a cut, E counts all pairs that the two rankers
//! order differently. Memory is bounded: changes beyond [`SweepOptions::most_events`] take more passes.
//!
//! ```
//! use rustrank::combine::{JudgedQueries, AlphaRange, SweepOptions, sweep};
//! use rustrank::{Interrupt, Queries};
//!
//! let queries = Queries::from_sizes(&[3], 3)?;
//! let judged = JudgedQueries { labels: &[0.0, 2.0, 1.0], queries: &queries, query_weight: None };
//! let options = SweepOptions::new("ndcg".parse()?, AlphaRange::Between);
//! let (first, second) = ([1.0, 2.0, 0.0], [0.0, 0.0, 3.0]);
//! let found = sweep(&first, &second, &judged, &options, &Interrupt::new())?;
//! assert_eq!(found.value, 1.0);
//! assert_eq!((found.interval.from, found.interval.to), (0.25, 0.4));
//! # Ok::<(), rustrank::Error>(())
//! ```

mod coordinate_ascent;
mod curve;
mod kernel;
mod kinetic_list;
mod line_pruning;
mod pairwise_merge;
mod query_metric;
mod rankers;
mod score_lines;
mod sweep;
mod tie_breaking;

pub use coordinate_ascent::{CoordinateOptions, SearchDirections, coordinate_ascent};
pub use pairwise_merge::{MergeOrder, merge_pairwise};
pub(crate) use rankers::is_higher;
pub use rankers::{Combination, average, mix, values};
pub use sweep::sweep;
pub use tie_breaking::{TieBreak, break_ties};

use crate::error::{Error, Result, check_length};
use crate::interrupt::Interrupt;
use crate::metric::{Mean, Metric, evaluate};
use crate::queries::Queries;
use crate::queries::check_query_weights;

/// The labelled documents that a combination is fitted to.
#[derive(Debug, Clone, Copy)]
pub struct JudgedQueries<'a> {
    /// The label of each document.
    pub labels: &'a [f32],
    /// The documents of each query.
    pub queries: &'a Queries,
    /// The weight of each query in the mean; all equal if `None`.
    pub query_weight: Option<&'a [f64]>,
}

/// The combinations of two rankers that are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlphaRange {
    /// `(1 - alpha) * first + alpha * second`, alpha from 0 to 1.
    Between,
    /// `first + alpha * second`.
    Along {
        /// The least alpha; it may be negative.
        from: f64,
        /// The largest alpha.
        to: f64,
    },
}

/// The options of a [`sweep`].
#[derive(Debug, Clone)]
pub struct SweepOptions {
    /// The metric to maximise.
    pub metric: Metric,
    /// The range of alpha.
    pub range: AlphaRange,
    /// The most intervals of the curve that are kept: all, or else the best one in each of so many
    /// equal parts of the range.
    pub curve_steps: usize,
    /// The most changes held in memory at a time; more changes take more passes.
    pub most_events: usize,
    /// Whether the second ranker has few different scores in a query, as a tree has. Documents that
    /// stay below the cut behind others with the same score are then skipped; the result is the same.
    pub few_outputs: bool,
}

/// The result of a [`sweep`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The best alpha: the middle of `interval`.
    pub alpha: f64,
    /// The mean of the metric at alpha, from `evaluate` on the combined scores.
    pub value: f64,
    /// Where the metric has this value; a single alpha if an end of the range is better than all
    /// intervals.
    pub interval: AlphaInterval,
    /// The metric over alpha.
    pub curve: Curve,
    /// How often the metric of a query changed.
    pub num_events: u64,
}

/// An open interval of alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlphaInterval {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
}

/// A metric as a function of alpha, which is constant on open intervals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Intervals of rising alpha.
    pub steps: Vec<CurveStep>,
    /// Whether these are all intervals; else each is the best one in its part of the range.
    pub is_whole: bool,
}

/// An interval of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveStep {
    /// Where the interval begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The mean of the metric inside.
    pub value: f64,
}

impl SweepOptions {
    /// A curve of at most 100,000 intervals, 16 million changes at a time (256 MiB).
    pub fn new(metric: Metric, range: AlphaRange) -> Self {
        Self { metric, range, curve_steps: 100_000, most_events: 1 << 24, few_outputs: false }
    }

    fn check(&self) -> Result<()> {
        let AlphaRange::Along { from, to } = self.range else { return Ok(()) };
        if from.is_finite() && to.is_finite() && from < to {
            return Ok(());
        }
        Err(Error::param("combine.range", "the range of alpha")
            .got(format!("{from} to {to}"))
            .expected("two finite numbers, the smaller one first"))
    }
}

impl AlphaRange {
    /// The combined scores.
    ///
    /// # Panics
    /// If the rankers have not scored the same number of documents.
    pub fn mix(self, first: &[f64], second: &[f64], alpha: f64) -> Vec<f64> {
        assert_eq!(first.len(), second.len(), "two rankers of the same docs");
        let weight = self.first_weight(alpha);
        first.iter().zip(second).map(|(a, b)| weight * a + alpha * b).collect()
    }

    /// The weight of the first ranker where the second has the weight `alpha`.
    pub fn first_weight(self, alpha: f64) -> f64 {
        match self {
            Self::Between => 1.0 - alpha,
            Self::Along { .. } => 1.0,
        }
    }
}

impl JudgedQueries<'_> {
    fn check(&self) -> Result<()> {
        check_length("label", self.labels.len(), self.queries.num_docs(), "docs")?;
        self.query_weight.map_or(Ok(()), |weights| check_query_weights(weights, self.queries.len()))
    }

    /// Refuses scores of ranker `number` that cannot be combined.
    fn check_scores(&self, number: usize, scores: &[f64]) -> Result<()> {
        let name = format!("scores[{number}]");
        check_length(&name, scores.len(), self.queries.num_docs(), "docs")?;
        let Some(row) = scores.iter().position(|score| !score.is_finite()) else { return Ok(()) };
        let (code, score) = if scores[row].is_nan() {
            ("score.nan", "NaN".to_owned())
        } else {
            ("score.infinite", scores[row].to_string())
        };
        Err(Error::data(code, format!("= {score}"))
            .element(name, row)
            .query(self.queries.of_doc(row))
            .expected("a finite number")
            .hint("give docs that a ranker did not retrieve a score just below its lowest"))
    }

    /// The error for a score so large that many others of its query would round to 0 beside it, since
    /// a sweep counts in whole numbers.
    fn too_far(&self, query: usize, ranker: usize, scores: &[f64]) -> Error {
        let larger = |x: &usize, y: &usize| scores[*x].abs().total_cmp(&scores[*y].abs());
        let row = self.queries.range(query).rev().max_by(larger).unwrap_or_default();
        Error::data("score.far", format!("= {:e}", scores[row]))
            .element(format!("scores[{ranker}]"), row)
            .query(query)
            .expected("scores of a query that are not many powers of ten apart")
            .hint("give docs that a ranker did not retrieve a score just below its lowest")
    }

    /// The mean of the metric for these scores.
    fn mean(&self, metric: &Metric, scores: &[f64], interrupt: &Interrupt) -> Result<f64> {
        let metrics = std::slice::from_ref(metric);
        let values = evaluate(metrics, scores, self.labels, self.queries, interrupt)?;
        Ok(Mean::of(&values[0], self.query_weight)?.value)
    }
}
