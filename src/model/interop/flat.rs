//! A model as one list of trees, for formats that know nothing else.

use super::super::Model;
use super::super::normalisation::Normalisation;
use super::super::parts::ScoreTerms;
use super::super::tree::Tree;
use crate::error::{Error, Result};

/// A model whose score is the intercept and a leaf value of each tree.
pub(super) struct Flat {
    pub(super) intercept: f64,
    /// Weights are in the leaf values.
    pub(super) trees: Vec<Tree>,
}

/// All trees of a model; an error that names `format` if there is more to it.
pub(super) fn flat(model: &Model, format: &str) -> Result<Flat> {
    let mut flat = Flat { intercept: 0.0, trees: Vec::new() };
    flat.collect(model, 1.0, format)?;
    Ok(flat)
}

impl Flat {
    fn collect(&mut self, model: &Model, weight: f64, format: &str) -> Result<()> {
        let cannot =
            |what| Err(Error::param("model.export", format!("{format} cannot hold {what}")));
        self.intercept += weight * model.intercept();
        for component in model.components() {
            let mut inner = weight * component.weight;
            match component.normalisation {
                Normalisation::AsIs => {}
                Normalisation::Fixed { mean, scale } => {
                    inner /= scale;
                    self.intercept -= inner * mean;
                }
                Normalisation::Logistic => return cannot("probabilities"),
                Normalisation::Query | Normalisation::QueryRange | Normalisation::QueryTop => {
                    return cannot("scores normalised within queries");
                }
            }
            let part = component.part.kind();
            match part.terms() {
                Some(ScoreTerms::Trees(forest)) if !forest.sets().is_empty() => {
                    return cannot("sets of categories");
                }
                Some(ScoreTerms::Trees(forest)) if !forest.zero_is_missing().is_empty() => {
                    return cannot("zeros that count as missing");
                }
                Some(ScoreTerms::Trees(forest)) => {
                    for tree in forest.trees() {
                        let mut tree = tree.clone();
                        tree.scale(inner);
                        self.trees.push(tree);
                    }
                }
                Some(ScoreTerms::Model(inside))
                    if inside.ranks_features() != model.ranks_features() =>
                {
                    return cannot("ranks within queries");
                }
                Some(ScoreTerms::Model(model)) => self.collect(model, inner, format)?,
                Some(ScoreTerms::Features(_)) | None => return cannot(part.noun()),
            }
        }
        Ok(())
    }
}
