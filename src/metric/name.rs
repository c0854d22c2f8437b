//! Names of metrics and options: one each, no aliases, and near ones offered for a misspelt one.
//!
//! A metric's name is its measure, then `@` and its cut if it has one: `ndcg@10`, `map`.

use crate::error::{Error, Result, foreign};
use crate::metric::{Convention, Measure, Metric};
use std::fmt;
use std::str::FromStr;

const MEASURES: &[(&str, Measure)] = &[
    ("ndcg", Measure::Ndcg),
    ("dcg", Measure::Dcg),
    ("err", Measure::Err),
    ("map", Measure::Map),
    ("mrr", Measure::Mrr),
    ("precision", Measure::Precision),
    ("recall", Measure::Recall),
    ("pairwise", Measure::Pairwise),
];

impl FromStr for Metric {
    type Err = Error;

    /// The metric of that name under the default [`Convention`].
    fn from_str(text: &str) -> Result<Self> {
        let (measure, cut) = match text.split_once('@') {
            Some((measure, cut)) => (measure, Some(cut)),
            None => (text, None),
        };
        let measure = pick("metric.name", "metric", measure, MEASURES)?;
        let cut = cut.map(|digits| parse_cut(text, digits)).transpose()?;
        Self::new(measure, cut, Convention::default())
    }
}

/// Digits without a sign or a leading zero, so that one cut has one name.
fn parse_cut(name: &str, digits: &str) -> Result<usize> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    let cut = digits.parse::<u32>().ok().filter(|_| plain);
    cut.map(|cut| cut as usize).ok_or_else(|| {
        Error::param("metric.cut", format!("the cut of {} is no rank", foreign(name.as_bytes())))
            .expected("a whole number from 1, as in ndcg@10")
    })
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(of(*self, MEASURES))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut() {
            Some(cut) => write!(f, "{}@{cut}", self.measure()),
            None => self.measure().fmt(f),
        }
    }
}

/// The name of an option.
pub(super) fn of<T: Copy + PartialEq>(value: T, options: &[(&'static str, T)]) -> &'static str {
    options.iter().find(|(_, v)| *v == value).map_or("?", |(name, _)| name)
}

/// The option called `text`, or an error that offers the nearest ones.
pub(super) fn pick<T: Copy>(
    code: &'static str,
    what: &str,
    text: &str,
    options: &[(&'static str, T)],
) -> Result<T> {
    if let Some((_, value)) = options.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
    let near = nearest(text, &names);
    let error = Error::param(code, format!("unknown {what} {}", foreign(text.as_bytes())));
    Err(if near.is_empty() {
        error.expected(format!("one of {}", names.join(", ")))
    } else {
        error.hint(format!("did you mean {}?", near.join(" or ")))
    })
}

/// The names at the smallest edit distance if that is small, and those that `text` begins.
fn nearest<'a>(text: &str, names: &[&'a str]) -> Vec<&'a str> {
    const LONGEST: usize = 32;
    let text: Vec<u8> = text.trim().bytes().take(LONGEST).map(|b| b.to_ascii_lowercase()).collect();
    let distance = |name: &str| edit_distance(&text, name.as_bytes());
    let limit = if text.len() < 3 { 1 } else { 2 };
    let smallest = names.iter().map(|n| distance(n)).min().unwrap_or(usize::MAX).min(limit);
    let begun = |name: &str| !text.is_empty() && name.as_bytes().starts_with(&text);
    names.iter().copied().filter(|n| distance(n) <= smallest || begun(n)).collect()
}

/// Insertions, deletions, replacements and exchanges of neighbours.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_by_hand() {
        let distance = |a: &str, b: &str| edit_distance(a.as_bytes(), b.as_bytes());
        assert_eq!(distance("ndgc", "ndcg"), 1);
        assert_eq!(distance("", "map"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
