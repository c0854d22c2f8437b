//! RBP: rank-biased precision (Moffat and Zobel 2008), `(1 - p) sum over ranks i of g_i p^(i - 1)`.
//!
//! A user looks at the first document and goes on from each to the next with probability p, the
//! *persistence*. Relevance is binary, by the convention's threshold, as in `ir_measures`. The sum is not
//! normalised: what lies below the last relevant document could still have added to it, so that no
//! ranking of finitely many documents has the value 1. At a cut it ends there.

use super::Measure;
use crate::error::{Error, Result};
use crate::metric::definition::{
    LabelUse, MetricDefinition, MetricFacts, MetricParameter, Normaliser,
};
use std::hash::{Hash, Hasher};

/// The parameter of rank-biased precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rbp {
    persistence: f64,
}

impl Rbp {
    /// A persistence of 0.8.
    pub const DEFAULT: Self = Self { persistence: 0.8 };

    /// With a persistence above 0 and below 1.
    pub fn new(persistence: f64) -> Result<Self> {
        if persistence > 0.0 && persistence < 1.0 {
            return Ok(Self { persistence });
        }
        Err(Error::param("metric.parameter", "the persistence of rbp")
            .got(persistence)
            .expected("a number above 0 and below 1"))
    }

    /// The probability that a user goes on from a document to the next.
    pub fn persistence(self) -> f64 {
        self.persistence
    }
}

// A persistence is never NaN and never -0.0: equal numbers have equal bits.
impl Eq for Rbp {}

impl Hash for Rbp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.persistence.to_bits().hash(state);
    }
}

impl MetricDefinition for Rbp {
    fn facts(&self) -> MetricFacts {
        MetricFacts::new("rbp", LabelUse::Relevance, Normaliser::One)
    }

    fn parameter(&self) -> Option<MetricParameter> {
        Some(MetricParameter { name: "p", value: self.persistence, low: 0.0, high: 1.0 })
    }

    fn with_parameter(&self, value: f64) -> Option<Measure> {
        Self::new(value).ok().map(Measure::Rbp)
    }

    fn discount(&self, rank: usize) -> Option<f64> {
        let power = i32::try_from(rank).unwrap_or(i32::MAX);
        Some((1.0 - self.persistence) * self.persistence.powi(power))
    }
}
