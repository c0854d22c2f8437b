//! A scorer of class probabilities: a scorer for each margin, then the link function.

use super::super::composite::not_of_classes;
use super::super::parts::{Class, Expectation};
use super::super::{Component, Model, Part};
use super::{Scorer, Value};
use crate::error::{Error, Result};

/// A model of classes made ready to say how probable each is.
#[derive(Debug)]
pub struct ClassScorer {
    num_features: usize,
    expectation: Expectation,
    margins: Vec<Scorer>,
}

impl Model {
    /// The model made ready to say how probable each class is: an error if it is not one of classes
    /// alone.
    pub fn class_scorer(&self) -> Result<ClassScorer> {
        let classes = self.classes().ok_or_else(not_of_classes)?;
        if self.ranks_features() {
            let what = "a model that ranks features within queries gives no probabilities";
            return Err(Error::param("classes.queries", what).hint("it gives scores"));
        }
        let margins = classes.forests().iter().zip(classes.starts());
        let scorer = |(forest, &start): (&_, &f64)| {
            let mut model = Self::new(classes.num_features());
            model.set_intercept(start)?;
            model.add(Component::new(Part::Forest(Clone::clone(forest))))?;
            Ok(model.scorer())
        };
        Ok(ClassScorer {
            num_features: classes.num_features(),
            expectation: classes.expectation().clone(),
            margins: margins.map(scorer).collect::<Result<_>>()?,
        })
    }
}

impl ClassScorer {
    /// The number of values in a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The labels, rising, and their gains.
    pub fn classes(&self) -> &[Class] {
        self.expectation.classes()
    }

    /// The probability of each class for each row: as many values a row as there are classes.
    pub fn probabilities<T: Value>(&self, rows: &[T], probabilities: &mut [f64]) -> Result<()> {
        let width = self.expectation.num_classes();
        let count = probabilities.len() / width;
        if probabilities.len() != count * width {
            return Err(Error::param("classes.values", "a row has a probability for each class")
                .got(probabilities.len()));
        }
        let mut margins = vec![0.0; count * self.margins.len()];
        if count > 0 {
            for (scorer, margins) in self.margins.iter().zip(margins.chunks_mut(count)) {
                scorer.score(rows, margins)?;
            }
        }
        let mut own = vec![0.0; self.margins.len()];
        for (doc, probabilities) in probabilities.chunks_mut(width).enumerate() {
            for (at, own) in own.iter_mut().enumerate() {
                *own = margins[at * count + doc];
            }
            self.expectation.probabilities(&own, probabilities);
        }
        Ok(())
    }
}
