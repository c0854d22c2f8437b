//! A linear part: a weighted sum of a row's values.

use crate::error::{Error, Result};

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
    pub(super) fn push(&mut self, feature: u32, weight: f64) {
        self.terms.push((feature, weight));
    }

    /// Features and weights.
    pub fn terms(&self) -> &[(u32, f64)] {
        &self.terms
    }

    /// What it says of a row.
    pub fn score<T: Copy + Into<f64>>(&self, row: &[T]) -> f64 {
        self.terms.iter().fold(0.0, |sum, &(feature, weight)| {
            let value: f64 = row[feature as usize].into();
            if value.is_nan() { sum } else { sum + weight * value }
        })
    }

    pub(super) fn check(&self, num_features: usize) -> Result<()> {
        for &(feature, weight) in &self.terms {
            if feature as usize >= num_features {
                let what = format!("a linear part looks at feature {feature}");
                return Err(
                    Error::model("model.feature", what).expected(format!("< {num_features}"))
                );
            }
            if !weight.is_finite() {
                let what = format!("the weight of feature {feature} is not finite");
                return Err(Error::model("model.number", what));
            }
        }
        Ok(())
    }
}
