//! The names of text categories. Splits hold the numbers of categories.
//!
//! The names are notes of the model, one a feature, so they are saved with it and do not depend on its trees.

use super::composite::Model;
use super::format::{escape, unescape};
use std::collections::BTreeMap;

/// The name of such a note is this prefix and the number of the feature.
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

    /// Sets the names of the categories of a feature.
    pub fn set_category_names(&mut self, feature: u32, names: &[String]) {
        let words: Vec<_> = names.iter().map(|name| escape(name, true)).collect();
        self.set_attribute(format!("{PREFIX}{feature}"), words.join(" "));
    }
}
