//! `pandas_categorical`: the categories of each column of type `category`, as JSON lists.
//!
//! LightGBM maps a value of such a column to its place in the list, which is the number that splits test
//! for. A value that is not in the list counts as missing.

use super::super::super::Model;
use super::super::super::write::put;
use crate::CategoryList;
use crate::error::{Error, Result, foreign};
use serde_json::Value;
use std::collections::BTreeSet;

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
    let found = known(listed).or_else(|| known(infos));
    let is_plain = |list: &Vec<Value>| !list.is_empty() && list.iter().all(Value::is_string);
    if found.is_none() || !lists.iter().all(is_plain) {
        model.set_attribute(NAME, json);
    }
    // Ordered columns have a list, and are split as numbers: then the columns are not known.
    let found = found.unwrap_or_default().into_iter().zip(&lists);
    for (feature, list) in found.filter(|(_, list)| !list.is_empty()) {
        model.set_category_list(feature, Some(&list_of(list)));
    }
    Ok(())
}

/// A list of truth values or of numbers; any other is one of texts.
fn list_of(list: &[Value]) -> CategoryList {
    let truths: Option<Vec<bool>> = list.iter().map(Value::as_bool).collect();
    if let Some(truths) = truths {
        return CategoryList::Truths(truths);
    }
    let number = |value: &Value| value.as_f64().or(value.as_bool().map(f64::from));
    let numbers: Option<Vec<f64>> = list.iter().map(number).collect();
    // Whole numbers that a double cannot hold may come out as one.
    let differ = |numbers: &Vec<f64>| {
        numbers.iter().map(|x| x.to_bits()).collect::<BTreeSet<_>>().len() == numbers.len()
    };
    match numbers.filter(differ) {
        Some(numbers) => CategoryList::Numbers(numbers),
        None => CategoryList::Texts(list.iter().map(name_of).collect()),
    }
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

/// The value of `feature_infos`: a list of categories where the model has one.
pub(super) fn infos(model: &Model) -> String {
    let lists = model.category_lists();
    let mut text = String::new();
    for feature in 0..model.num_features() as u32 {
        match lists.get(&feature) {
            Some(list) => {
                let all: Vec<_> = (0..list.len()).map(|category| category.to_string()).collect();
                put(&mut text, format_args!(" {}", all.join(":")));
            }
            None => text.push_str(" [-1e308:1e308]"),
        }
    }
    text.split_off(1)
}

/// The lists as JSON. Where there are none, LightGBM refuses columns of type `category`, which `null` would let
/// it number by itself.
pub(super) fn json(model: &Model) -> String {
    let lists: Vec<CategoryList> = model.category_lists().into_values().collect();
    let is_same = |json: &&String| {
        let theirs: Vec<Vec<Value>> = serde_json::from_str(json).unwrap_or_default();
        let theirs = theirs.iter().filter(|list| !list.is_empty());
        theirs.map(|list| list_of(list)).eq(lists.iter().cloned())
    };
    match model.attributes().get(NAME).filter(is_same) {
        Some(json) => json.clone(),
        None => Value::from(lists.iter().map(values).collect::<Vec<_>>()).to_string(),
    }
}

/// The categories of a list; whole numbers without a fraction.
fn values(list: &CategoryList) -> Value {
    let number = |&number: &f64| match number as i64 {
        whole if whole as f64 == number && whole.unsigned_abs() < 1 << 53 => Value::from(whole),
        _ => Value::from(number),
    };
    match list {
        CategoryList::Texts(texts) => Value::from(texts.clone()),
        CategoryList::Numbers(numbers) => numbers.iter().map(number).collect(),
        CategoryList::Truths(truths) => Value::from(truths.clone()),
    }
}
