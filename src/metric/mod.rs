//! Ranking metrics: one exact definition for training, early stopping, evaluation and combination.
//!
//! A [`Metric`] is a [`Measure`], a cut and a [`Convention`]. Its value of each query is computed from scores
//! and labels ([`Metric::per_query`], [`evaluate`]), averaged by [`Mean`] and compared by [`significance`].
//! [`SwapDelta`] is its change by the exchange of two docs. Each metric is one file in `registry/`, which
//! answers the questions of the trait in `definition.rs`.
//!
//! *Rank* counts from 1; the *cut* is the last rank that counts, in values and in deltas; a *block*
//! is a run of docs with equal scores; the *ideal* is the best value the labels allow.
//!
//! Invariants: under [`Ties::Expected`] no value depends on the order of rows, and none depends on
//! the order of queries or on threads, bit for bit. A doc with score -inf is not retrieved: it counts
//! in the ideal, among the relevant docs and among the pairs, and has no rank.
//!
//! Cost: a query of n docs takes O(n log n), or O(n + k log k) where all metrics are cut at k;
//! metrics with one tie rule share the sort.
//!
//! ```
//! use rustrank::{Interrupt, Metric, Queries};
//!
//! let queries = Queries::from_sizes(&[3, 2], 5)?;
//! let metric: Metric = "ndcg@10".parse()?;
//! let scores = [0.3, 0.2, 0.1, 1.0, 2.0];
//! let labels = [2.0, 1.0, 0.0, 0.0, 0.0];
//! let values = metric.per_query(&scores, &labels, &queries, &Interrupt::new())?;
//! assert_eq!(values[0], 1.0);
//! assert!(values[1].is_nan()); // nothing to find: skipped
//! # Ok::<(), rustrank::Error>(())
//! ```

mod convention;
mod definition;
mod discounted_sum;
mod discounts;
mod evaluate;
mod gains;
mod mean;
mod name;
mod pair_weights;
mod prepared;
mod ranking;
mod registry;
pub mod significance;
mod swap_delta;

pub use convention::{Convention, Empty, Gain, Ties};
pub use evaluate::{evaluate, evaluate_rows};
pub use mean::Mean;
pub use registry::{Measure, Rbp};
pub use swap_delta::SwapDelta;

pub(crate) use definition::{LabelUse, MetricDefinition, Normaliser, PairWeights};
pub(crate) use evaluate::place_in_query;
pub(crate) use gains::LabelFacts;
pub(crate) use mean::largest;
pub(crate) use name::pick;
pub(crate) use pair_weights::{PairColumns, RankLimits, RankedGains};
pub(crate) use prepared::{MetricScratch, PreparedMetric};
pub(crate) use ranking::{Ranking, falling};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::queries::Queries;

/// The largest number of cuts that a metric is the mean over.
const MAX_CUTS: usize = 1000;

/// A measure at a cut under a convention; its name (`ndcg@10`) parses and prints. `ndcg@1..10` is the
/// mean of the measure at all cuts from 1 to 10.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    measure: Measure,
    cut: Option<usize>,
    /// The first of several cuts, of which `cut` is the last.
    first_cut: Option<usize>,
    convention: Convention,
}

impl Metric {
    /// A metric; the cut is at least 1 and the convention's fields are in range.
    pub fn new(measure: Measure, cut: Option<usize>, convention: Convention) -> Result<Self> {
        if cut.is_some_and(|cut| cut == 0 || cut > u32::MAX as usize) {
            return Err(Error::param("metric.cut", "the cut is no rank")
                .got(cut.unwrap_or_default())
                .expected("a whole number from 1 to 2^32 - 1"));
        }
        convention.check()?;
        Ok(Self { measure, cut, first_cut: None, convention })
    }

    /// The mean of this metric at all cuts from `first` to its own, as in `ndcg@1..10`.
    pub fn mean_from(self, first: usize) -> Result<Self> {
        match self.cut {
            Some(last) if 0 < first && first < last && last - first < MAX_CUTS => {
                Ok(Self { first_cut: Some(first), ..self })
            }
            _ => Err(Error::param("metric.cut", "the cuts are no range of ranks")
                .got(first)
                .expected(format!("a rising range of up to {MAX_CUTS} ranks, as in ndcg@1..10"))),
        }
    }

    /// The same measure and cut under another convention.
    pub fn with_convention(&self, convention: &Convention) -> Result<Self> {
        let metric = Self::new(self.measure, self.cut, convention.clone())?;
        Ok(Self { first_cut: self.first_cut, ..metric })
    }

    /// The metric at each of its cuts, if it is a mean over several; else none.
    pub(crate) fn single_cuts(&self) -> impl Iterator<Item = Self> {
        let cuts = self.first_cut.into_iter().flat_map(|first| first..=self.cut.unwrap_or(first));
        cuts.map(|cut| Self { cut: Some(cut), first_cut: None, ..self.clone() })
    }

    /// What is measured.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The metric's definition.
    pub(crate) fn definition(&self) -> &dyn MetricDefinition {
        self.measure.definition()
    }

    /// The first of the cuts of which this is the mean, if there are several.
    pub fn first_cut(&self) -> Option<usize> {
        self.first_cut
    }

    /// The last rank that counts, if there is one.
    pub fn cut(&self) -> Option<usize> {
        self.cut
    }

    /// What is meant by the name.
    pub fn convention(&self) -> &Convention {
        &self.convention
    }

    /// The value of each query; NaN where the query is skipped.
    ///
    /// Runs on the current rayon pool; more than one metric is cheaper by [`evaluate`].
    pub fn per_query(
        &self,
        scores: &[f64],
        labels: &[f32],
        queries: &Queries,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let values = evaluate(std::slice::from_ref(self), scores, labels, queries, interrupt)?;
        values.into_iter().next().ok_or_else(|| Error::internal("a metric without values"))
    }

    /// Exact swap deltas of this metric for queries with these labels (all labels of the data: they
    /// are checked here once, and ERR takes the top of its scale from them).
    ///
    /// Only for [`Ties::Expected`]: under the other rules an exchange of two scores reorders docs
    /// that were not exchanged, and has no O(1) delta.
    pub fn swap_delta(&self, labels: &[f32]) -> Result<SwapDelta> {
        SwapDelta::new(self, labels)
    }
}
