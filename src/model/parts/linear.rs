//! A linear part: a weighted sum of a row's values.
//!
//! ```text
//! linear      = "linear" count LF { feature weight LF }
//! ```

use super::{ModelPart, NoSum, Term};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::{ScorerBuilder, SumStep};
use crate::model::write::put;

/// Some features, each with its weight; a missing value adds nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Linear {
    terms: Vec<(u32, f64)>,
}

impl Linear {
    /// The sum of `weight * value` over `(feature, weight)`, in this order.
    pub fn new(terms: Vec<(u32, f64)>) -> Self {
        Self { terms }
    }

    /// Adds a term that was checked.
    pub(in crate::model) fn push(&mut self, feature: u32, weight: f64) {
        self.terms.push((feature, weight));
    }

    /// Features and weights.
    pub fn terms(&self) -> &[(u32, f64)] {
        &self.terms
    }
}

impl ModelPart for Linear {
    fn read(reader: &mut ModelReader<'_>, line: ModelLine<'_>) -> Result<Self> {
        let terms = reader.lines(line.last_count()?, |line| {
            Ok((line.parse("a feature")?, line.float("a weight")?))
        })?;
        Ok(Self::new(terms))
    }

    fn write(&self, text: &mut String) {
        put(text, format_args!("linear {}\n", self.terms().len()));
        for (feature, weight) in self.terms() {
            put(text, format_args!("{feature} {weight:?}\n"));
        }
    }

    fn compares(&self, feature: u32) -> bool {
        self.terms.iter().any(|&(own, _)| own == feature)
    }

    fn check(&self, model: &Model) -> Result<()> {
        for &(feature, weight) in &self.terms {
            if feature as usize >= model.num_features() {
                let what = format!("a linear part looks at feature {feature}");
                return Err(Error::model("model.feature", what)
                    .expected(format!("< {}", model.num_features())));
            }
            if !weight.is_finite() {
                let what = format!("the weight of feature {feature} is not finite");
                return Err(Error::model("model.number", what));
            }
        }
        Ok(())
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        for &(feature, weight) in &self.terms {
            scorer.program.push(SumStep::Term { feature, weight });
        }
    }

    fn add_terms<'a>(&'a self, weight: f64, terms: &mut Vec<Term<'a>>) -> Result<(), NoSum> {
        terms.extend(self.terms.iter().map(|&(feature, own)| Term::Feature(feature, weight * own)));
        Ok(())
    }
}
