//! All metrics: one file each, and the only places where they are listed.
//!
//! To add a metric, write its file and add it to [`Measure`], [`Measure::ALL`] and
//! [`Measure::definition`]. See "Adding a metric" in `CONTRIBUTING.md`.

mod dcg;
pub(super) mod err;
mod map;
mod mrr;
mod ndcg;
pub(super) mod pairwise;
mod precision;
mod rbp;
mod recall;
mod relevance;

pub use rbp::Rbp;

use super::definition::{MetricDefinition, MetricParameter};
use crate::error::{Error, Result, foreign};
use crate::metric::name::pick;
use std::fmt;

/// What is measured; the cut is a separate number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// DCG divided by that of the ideal order.
    Ndcg,
    /// Discounted cumulative gain: the sum of gain / log2(1 + rank).
    Dcg,
    /// Expected reciprocal rank of the doc that satisfies.
    Err,
    /// Average precision; its mean over queries is MAP. At a cut still divided by all relevant docs.
    Map,
    /// Reciprocal rank of the first relevant doc; its mean is MRR.
    Mrr,
    /// Relevant docs above the cut, divided by the cut; without one, by the number of ranked docs.
    Precision,
    /// Relevant docs above the cut, divided by all relevant docs.
    Recall,
    /// Rightly ordered pairs of different labels, the better doc above the cut, divided by those of
    /// the ideal order.
    Pairwise,
    /// Rank-biased precision of a user with a given persistence.
    Rbp(Rbp),
}

impl Measure {
    /// All measures, those with a parameter with its default.
    pub const ALL: [Self; 9] = [
        Self::Ndcg,
        Self::Dcg,
        Self::Err,
        Self::Map,
        Self::Mrr,
        Self::Precision,
        Self::Recall,
        Self::Pairwise,
        Self::Rbp(Rbp::DEFAULT),
    ];

    /// Whether its value means little without a cut, so that training by it keeps the cut.
    pub fn needs_cut(self) -> bool {
        self.definition().facts().needs_cut
    }

    /// The file that answers for it.
    pub(crate) fn definition(&self) -> &dyn MetricDefinition {
        match self {
            Self::Ndcg => &ndcg::Ndcg,
            Self::Dcg => &dcg::Dcg,
            Self::Err => &err::ExpectedReciprocalRank,
            Self::Map => &map::AveragePrecision,
            Self::Mrr => &mrr::ReciprocalRank,
            Self::Precision => &precision::Precision,
            Self::Recall => &recall::Recall,
            Self::Pairwise => &pairwise::PairwiseAccuracy,
            Self::Rbp(rbp) => rbp,
        }
    }

    /// The measure of a name without a cut: `ndcg`, or with a parameter as in `name(p=0.8)`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (name, parameter) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (text, None),
        };
        let name_of = |measure: &Self| measure.definition().facts().name;
        let measure = pick("metric.name", "metric", name, &Self::ALL, name_of)?;
        let found = measure.with_parameter(parameter).filter(|found| found.to_string() == text);
        found.ok_or_else(|| measure.parameter_error(text))
    }

    /// Our measure of what another tool calls so, in lower case.
    pub(super) fn of_other_name(text: &str) -> Option<Self> {
        let is_called = |measure: &Self| {
            let facts = measure.definition().facts();
            facts.name == text || facts.other_names.contains(&text)
        };
        Self::ALL.into_iter().find(is_called)
    }

    /// With the parameter that a name gives, `p=0.8`.
    fn with_parameter(self, text: Option<&str>) -> Option<Self> {
        let Some(parameter) = self.definition().parameter() else {
            return text.is_none().then_some(self);
        };
        let (name, value) = text?.split_once('=')?;
        let value: f64 = value.parse().ok()?;
        let in_range = parameter.low < value && value < parameter.high;
        if name == parameter.name && in_range {
            self.definition().with_parameter(value)
        } else {
            None
        }
    }

    fn parameter_error(self, text: &str) -> Error {
        let what = format!("the parameter of {}", foreign(text.as_bytes()));
        let error = Error::param("metric.parameter", what);
        match self.definition().parameter() {
            None => error.expected(format!("none, as in {self}")),
            Some(MetricParameter { name, low, high, .. }) => {
                error.expected(format!("{name} above {low} and below {high}, as in {self}"))
            }
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.definition().facts().name)?;
        match self.definition().parameter() {
            Some(MetricParameter { name, value, .. }) => write!(f, "({name}={value})"),
            None => Ok(()),
        }
    }
}
