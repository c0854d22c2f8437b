//! Merges models into one weighted sum.

use crate::error::{Error, Result};
use crate::model::{Component, Model, Normalisation, Part};

/// The weighted sum of models as one model. Each has a weight and a normalisation of its scores.
///
/// A model that is a single unweighted component becomes a component of the sum, so its trees
/// become trees of the sum. Any other model is nested.
pub fn merged(parts: Vec<(f64, Model, Normalisation)>) -> Result<Model> {
    let models: Vec<&Model> = parts.iter().map(|(_, model, _)| model).collect();
    let mut sum = Model::around(&models);
    let names = sum.category_names();
    let is_other = |(feature, own): &(u32, Vec<String>)| names.get(feature) != Some(own);
    if let Some((feature, _)) = models.iter().flat_map(|m| m.category_names()).find(is_other) {
        let what = "the models number the categories of a feature in different ways";
        return Err(Error::data("categories", what)
            .feature(feature as usize)
            .hint("make the datasets of all with like="));
    }
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
