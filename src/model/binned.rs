//! Scores of binned documents, for training: a model is a composite of forests, and what evaluates a
//! forest on bins is given from outside.

use super::{Forest, Model};
use crate::error::{Error, Result};

/// Adds the leaf values of a forest's trees to the sum of each binned document.
pub(crate) type AddForest<'a, 'f> = dyn FnMut(&'a Forest, &mut [f64]) -> Result<()> + 'f;

impl Model {
    /// Adds the model's scores to `sums`, term by term, as a scorer does. The order of the forests is
    /// the same at each call.
    pub(crate) fn add_binned<'a>(
        &'a self,
        add: &mut AddForest<'a, '_>,
        sums: &mut [f64],
    ) -> Result<()> {
        for sum in sums.iter_mut() {
            *sum += self.intercept();
        }
        for component in self.components() {
            let part = component.part.kind();
            let ranks = |inner: &Self| inner.ranks_features() != self.ranks_features();
            if part.inner().is_some_and(ranks) {
                return Err(some_rank());
            }
            if component.normalisation.needs_queries() {
                return Err(no_bins());
            }
            if component.is_plain() {
                part.add_binned(add, sums)?;
                continue;
            }
            let mut own = vec![0.0; sums.len()];
            part.add_binned(add, &mut own)?;
            let (weight, normalisation) = (component.weight, component.normalisation);
            let sums = sums.iter_mut().zip(own);
            sums.for_each(|(sum, own)| *sum += weight * normalisation.of_doc(own));
        }
        Ok(())
    }
}

/// The error of a sum of models of which only some rank features within queries: no data set has the bins of all.
pub(crate) fn some_rank() -> Error {
    Error::data("bins", "the model cannot score binned docs: only some of the models in it rank features within queries")
        .hint("score the raw features, or mix models that all do")
}

/// The error of a model that no bins are enough for.
pub(crate) fn no_bins() -> Error {
    Error::data("bins", "the model cannot score binned docs: a part of it has no bins, such as trees of another library or a net")
        .hint("score the raw features, predict(X, qid=...), and evaluate the scores; or make the Dataset with base=, the model, which scores its features while they are there")
}
