//! The names of categories, where they are texts: splits know their numbers.
//!
//! They are notes of the model, one a feature, so that they are in its file and survive whatever is
//! done to its trees.

use super::composite::Model;
use super::format::{escape, unescape};
use std::collections::BTreeMap;

/// What the names of such notes begin with; the number of the feature follows.
const PREFIX: &str = "categories.";

impl Model {
    /// The names of the categories of each feature that holds texts: category `i` is the name at
    /// place `i`.
    pub fn category_names(&self) -> BTreeMap<u32, Vec<String>> {
        let names = |(note, said): (&String, &String)| {
            let feature = note.strip_prefix(PREFIX)?.parse().ok()?;
            Some((feature, said.split(' ').map(unescape).collect::<Option<_>>()?))
        };
        self.attributes().iter().filter_map(names).collect()
    }

    /// Notes the names of the categories of a feature.
    pub fn set_category_names(&mut self, feature: u32, names: &[String]) {
        let words: Vec<_> = names.iter().map(|name| escape(name, true)).collect();
        self.set_attribute(format!("{PREFIX}{feature}"), words.join(" "));
    }
}
