//! `pandas_categorical`: the categories of each column of type `category`, as JSON lists.
//!
//! LightGBM maps a value of such a column to its place in the list, which is the number that splits test
//! for. A value that is not in the list counts as missing.

use super::super::super::Model;
use super::super::super::write::put;
use crate::error::{Error, Result, foreign};
use serde_json::Value;

/// The line's name, and that of the note with lists that hold more than texts.
const NAME: &str = "pandas_categorical";

/// Sets the names of categories from the text of a model.
pub(super) fn read(model: &mut Model, text: &str) -> Result<()> {
    let last = |prefix: &str| text.lines().rev().find_map(|line| line.strip_prefix(prefix));
    let Some(json) = last("pandas_categorical:").map(str::trim) else { return Ok(()) };
    let lists: Option<Vec<Vec<Value>>> = serde_json::from_str(json).map_err(|error| {
        let what = format!("`{NAME}` is not as LightGBM writes it: {error}");
        Error::model("lightgbm.syntax", what).got(foreign(json.as_bytes()))
    })?;
    let lists = lists.unwrap_or_default();
    let features = model.num_features() as u32;
    let known = |features_of: Option<Vec<u32>>| {
        features_of
            .filter(|found| found.len() == lists.len() && found.iter().all(|&f| f < features))
    };
    let listed =
        last("[categorical_feature: ").and_then(|rest| numbers(rest.trim_end_matches(']')));
    let infos = text.lines().find_map(|line| line.strip_prefix("feature_infos=")).map(typed);
    // Ordered columns have a list, and are split as numbers: then the columns are not known.
    let Some(found) = known(listed).or_else(|| known(infos)) else { return Ok(()) };
    let is_plain = |list: &Vec<Value>| !list.is_empty() && list.iter().all(Value::is_string);
    if !lists.iter().all(is_plain) {
        model.set_attribute(NAME, json);
    }
    for (feature, list) in found.into_iter().zip(&lists).filter(|(_, list)| !list.is_empty()) {
        model.set_category_names(feature, &list.iter().map(name_of).collect::<Vec<_>>());
    }
    Ok(())
}

fn numbers(list: &str) -> Option<Vec<u32>> {
    list.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// The features that `feature_infos` has a list of categories for, and no range.
fn typed(infos: &str) -> Vec<u32> {
    let is_list = |info: &str| info != "none" && !info.starts_with('[');
    (0..).zip(infos.split_ascii_whitespace()).filter(|(_, i)| is_list(i)).map(|(f, _)| f).collect()
}

fn name_of(category: &Value) -> String {
    category.as_str().map_or_else(|| category.to_string(), str::to_owned)
}

/// The value of `feature_infos`: a list of categories where they have names.
pub(super) fn infos(model: &Model) -> String {
    let names = model.category_names();
    let mut text = String::new();
    for feature in 0..model.num_features() as u32 {
        match names.get(&feature) {
            Some(names) => {
                let all: Vec<_> = (0..names.len()).map(|category| category.to_string()).collect();
                put(&mut text, format_args!(" {}", all.join(":")));
            }
            None => text.push_str(" [-1e308:1e308]"),
        }
    }
    text.split_off(1)
}

/// The lists as JSON. Without names of categories there are no lists: LightGBM then refuses columns of type
/// `category`, which `null` would let it number by itself.
pub(super) fn json(model: &Model) -> String {
    let names: Vec<Vec<String>> = model.category_names().into_values().collect();
    let is_same = |json: &&String| {
        let lists: Vec<Vec<Value>> = serde_json::from_str(json).unwrap_or_default();
        let lists: Vec<Vec<String>> = lists
            .iter()
            .filter(|l| !l.is_empty())
            .map(|l| l.iter().map(name_of).collect())
            .collect();
        lists == names
    };
    match model.attributes().get(NAME).filter(is_same) {
        Some(json) => json.clone(),
        None => Value::from(names.into_iter().map(Value::from).collect::<Vec<_>>()).to_string(),
    }
}
