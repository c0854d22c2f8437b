//! The conventions of a metric: gains, ties, empty queries and the threshold of relevance.
//!
//! `trec_eval`, gdeval, scikit-learn and ranx compute metrics of one name under different conventions. Each
//! known difference is a field of [`Convention`], so that the values of each tool can be reproduced.

use crate::error::{Error, Result};
use crate::metric::pick;
use crate::schema::choices;
use std::str::FromStr;

/// The largest label that the gain 2^label - 1 takes: 31 levels, as many as a label file of the
/// field has ever needed; a larger one is an id or a count that was passed by mistake.
pub(crate) const MAX_EXP2_LABEL: f32 = 30.0;

/// The largest gain of a table: no sum of gains that a machine can hold overflows.
const MAX_GAIN: f64 = 1e200;

/// The conventions of a metric. The default is used everywhere in the library.
#[derive(Debug, Clone, PartialEq)]
pub struct Convention {
    /// The gain of a label, for metrics of gains.
    pub gain: Gain,
    /// How docs with equal scores are ranked.
    pub ties: Ties,
    /// The value of a query in which nothing can be found.
    pub empty: Empty,
    /// A doc is relevant iff its label is at least this, in metrics of relevant and irrelevant docs.
    pub relevant_from: f32,
    /// The top of ERR's label scale; `None` takes the largest label of the given data.
    pub max_label: Option<f32>,
}

/// The gain of a label.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Gain {
    /// `2^label - 1`; labels are whole numbers from 0 to 30.
    Exp2,
    /// The label itself, any finite number >= 0.
    Linear,
    /// `table[label]`: from 0 to 1e200 and not falling; labels are whole numbers below its length.
    Table(Vec<f64>),
}

choices! {
    /// How docs with equal scores are ranked.
    #[non_exhaustive]
    pub enum Ties {
        /// The metric is the expectation over all orders of tied docs. It does not depend on the row order.
        Expected = "expected",
        /// In row order, like tools that sort stably.
        RowOrder = "rows",
        /// By rising label, the least favourable order.
        Worst = "worst",
    }
}

choices! {
    /// The value of a query in which nothing can be found: its ideal is 0 (metrics of gains), it has no
    /// relevant doc (metrics of relevant and irrelevant docs) or no two different labels (pairwise).
    #[non_exhaustive]
    pub enum Empty {
        /// Left out of the mean and counted.
        Skip = "skip",
        /// The same, and so are queries whose docs all have the same label (Wu et al. 2008): no order of
        /// theirs is better than another.
        SkipOneLabel = "skip-one-label",
        /// 0.
        Zero = "zero",
        /// 1.
        One = "one",
    }
}

impl Default for Convention {
    fn default() -> Self {
        Self {
            gain: Gain::Exp2,
            ties: Ties::Expected,
            empty: Empty::Skip,
            relevant_from: 1.0,
            max_label: None,
        }
    }
}

impl Convention {
    /// An error that names the first field out of its range.
    pub fn check(&self) -> Result<()> {
        if !self.relevant_from.is_finite() {
            return Err(Error::param("metric.relevant_from", "relevant_from")
                .got(self.relevant_from)
                .expected("a finite number"));
        }
        if let Gain::Table(table) = &self.gain {
            check_table(table)?;
        }
        match self.max_label {
            Some(max) => self.check_max_label(max),
            None => Ok(()),
        }
    }

    fn check_max_label(&self, max: f32) -> Result<()> {
        let whole = max >= 0.0 && max.fract() == 0.0;
        let (fits, expected) = match &self.gain {
            Gain::Exp2 => (whole && max <= MAX_EXP2_LABEL, "a whole number from 0 to 30".into()),
            Gain::Linear => (max >= 0.0 && max.is_finite(), "a finite number >= 0".to_owned()),
            Gain::Table(t) => {
                (whole && (max as usize) < t.len(), format!("a whole number below {}", t.len()))
            }
        };
        if fits {
            return Ok(());
        }
        Err(Error::param("metric.max_label", "max_label").got(max).expected(expected))
    }

    /// The value of a query in which nothing can be found; NaN where it is skipped.
    pub(crate) fn empty_value(&self) -> f64 {
        match self.empty {
            Empty::Skip | Empty::SkipOneLabel => f64::NAN,
            Empty::Zero => 0.0,
            Empty::One => 1.0,
        }
    }
}

/// Checks a gain table. With a falling one the order by label would not be ideal, and ERR's probabilities
/// could exceed 1.
fn check_table(table: &[f64]) -> Result<()> {
    let code = "metric.gain";
    if table.is_empty() {
        return Err(Error::param(code, "the gain table is empty").expected("a gain for label 0"));
    }
    if let Some(at) = table.iter().position(|g| !(0.0..=MAX_GAIN).contains(g)) {
        return Err(Error::param(code, format!("gain[{at}]"))
            .got(table[at])
            .expected(format!("a number from 0 to {MAX_GAIN:e}")));
    }
    match table.windows(2).position(|w| w[1] < w[0]) {
        None => Ok(()),
        Some(at) => Err(Error::param(code, format!("gain[{}]", at + 1))
            .got(table[at + 1])
            .expected(format!("at least the gain before it, {}", table[at]))),
    }
}

impl FromStr for Ties {
    type Err = Error;

    /// `expected`, `rows` or `worst`.
    fn from_str(text: &str) -> Result<Self> {
        pick("metric.ties", "tie rule", text, Self::ALL, |ties| ties.name())
    }
}

impl FromStr for Empty {
    type Err = Error;

    /// `skip`, `skip-one-label`, `zero` or `one`.
    fn from_str(text: &str) -> Result<Self> {
        pick("metric.empty", "value for an empty query", text, Self::ALL, |empty| empty.name())
    }
}

impl FromStr for Gain {
    type Err = Error;

    /// `exp2` or `linear`; a table is no text.
    fn from_str(text: &str) -> Result<Self> {
        let name = |gain: &Self| if *gain == Self::Linear { "linear" } else { "exp2" };
        pick("metric.gain", "gain", text, &[Self::Exp2, Self::Linear], name)
    }
}
