//! Merges models into one weighted sum.

use crate::error::Result;
use crate::model::{Component, Model, Normalisation, Part};
use std::collections::BTreeSet;

/// The weighted sum of models as one model. Each has a weight and a normalisation of its scores.
///
/// A model that is a single unweighted component becomes a component of the sum, so its trees
/// become trees of the sum. Any other model is nested.
pub fn merged(mut parts: Vec<(f64, Model, Normalisation)>) -> Result<Model> {
    let mut shared: Vec<&mut Model> = parts.iter_mut().map(|(_, model, _)| model).collect();
    Model::share_categories(&mut shared, &BTreeSet::new())?;
    let models: Vec<&Model> = parts.iter().map(|(_, model, _)| model).collect();
    let mut sum = Model::around(&models);
    for (weight, model, normalisation) in parts {
        let part = match model.components() {
            [only]
                if only.is_plain()
                    && model.intercept() == 0.0
                    && model.ranks_features() == sum.ranks_features() =>
            {
                only.part.clone()
            }
            _ => Part::Model(Box::new(model)),
        };
        sum.add(Component { weight, normalisation, part })?;
    }
    Ok(sum)
}
