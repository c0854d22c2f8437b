//! One model of several: a weighted sum that is still made of trees where that changes no bit.

use crate::error::Result;
use crate::model::{Component, Model, Part};

/// The weighted sum of models, each with its weight, as one model.
///
/// A model that is nothing but a part taken as it is, as most are that training makes, becomes a
/// component of the sum, so that its trees are trees of the whole; any other stands inside as a model.
pub fn merged(parts: Vec<(f64, Model)>) -> Result<Model> {
    let first = parts.first().map(|(_, model)| model);
    let mut sum = Model::new(first.map_or(0, Model::num_features));
    if first.is_some_and(Model::ranks_features) {
        sum.set_ranks_features()?;
    }
    sum.set_feature_names(first.and_then(|model| model.feature_names().map(<[String]>::to_vec)))?;
    for (weight, model) in parts {
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
        sum.add(Component { weight, ..Component::new(part) })?;
    }
    Ok(sum)
}
