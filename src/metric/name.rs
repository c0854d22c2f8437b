//! Parses and prints the names of metrics and options. There are no aliases; an unknown name is an error that
//! offers similar ones.
//!
//! A metric's name is its measure, then `@` and its cut if it has one: `ndcg@10`, `map`. A measure with a
//! parameter has it in parentheses, in one spelling: `name(p=0.8)@10`. A mean over cuts names the first and the last:
//! `ndcg@1..10`.

use crate::error::{Error, Result, foreign};
use crate::metric::{Convention, Measure, Metric};
use std::fmt;
use std::str::FromStr;

impl FromStr for Metric {
    type Err = Error;

    /// The metric of that name under the default [`Convention`].
    fn from_str(text: &str) -> Result<Self> {
        let (measure, cut) = match text.split_once('@') {
            Some((measure, cut)) => (measure, Some(cut)),
            None => (text, None),
        };
        let measure = Measure::parse(measure).map_err(|error| match of_other_tool(text) {
            Some(ours) => error.hint(format!("did you mean {ours}?")),
            None => error,
        })?;
        let (first, cut) = match cut.and_then(|cuts| cuts.split_once("..")) {
            Some((first, last)) => (Some(parse_cut(text, first)?), Some(last)),
            None => (None, cut),
        };
        let cut = cut.map(|digits| parse_cut(text, digits)).transpose()?;
        let metric = Self::new(measure, cut, Convention::default())?;
        first.map_or(Ok(metric.clone()), |first| metric.mean_from(first))
    }
}

/// The name of a metric that another tool calls `P_10`, `recip_rank` or `NDCG@5`.
fn of_other_tool(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let cut = &text[rest.len()..];
    let rest = rest.strip_suffix(['@', '_']).unwrap_or(rest);
    let rest = rest.strip_suffix("_cut").unwrap_or(rest);
    let measure = Measure::of_other_name(rest).filter(|_| !cut.starts_with('0'))?;
    let cut = if cut.is_empty() { String::new() } else { format!("@{cut}") };
    Some(format!("{measure}{cut}"))
}

/// Parses a cut: digits without a sign or a leading zero, so that each cut has one name.
fn parse_cut(name: &str, digits: &str) -> Result<usize> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    let cut = digits.parse::<u32>().ok().filter(|_| plain);
    cut.map(|cut| cut as usize).ok_or_else(|| {
        Error::param("metric.cut", format!("the cut of {} is no rank", foreign(name.as_bytes())))
            .expected("a whole number from 1, as in ndcg@10")
    })
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first_cut(), self.cut()) {
            (Some(first), Some(last)) => write!(f, "{}@{first}..{last}", self.measure()),
            (_, Some(cut)) => write!(f, "{}@{cut}", self.measure()),
            (_, None) => self.measure().fmt(f),
        }
    }
}

/// The value called `text`, or an error that offers similar names.
pub(crate) fn pick<T: Clone>(
    code: &'static str,
    what: &str,
    text: &str,
    options: &[T],
    name: impl Fn(&T) -> &'static str,
) -> Result<T> {
    if let Some(value) = options.iter().find(|option| name(option) == text) {
        return Ok(value.clone());
    }
    let names: Vec<&str> = options.iter().map(name).collect();
    let near = nearest(text, &names);
    let error = Error::param(code, format!("unknown {what} {}", foreign(text.as_bytes())));
    Err(if near.is_empty() {
        error.expected(format!("one of {}", names.join(", ")))
    } else {
        error.hint(format!("did you mean {}?", near.join(" or ")))
    })
}

/// The names at the smallest edit distance, if it is small, and the names that start with `text`.
fn nearest<'a>(text: &str, names: &[&'a str]) -> Vec<&'a str> {
    const LONGEST: usize = 32;
    let text: Vec<u8> = text.trim().bytes().take(LONGEST).map(|b| b.to_ascii_lowercase()).collect();
    let distance = |name: &str| edit_distance(&text, name.as_bytes());
    let limit = if text.len() < 6 { 1 } else { 2 };
    let smallest = names.iter().map(|n| distance(n)).min().unwrap_or(usize::MAX).min(limit);
    let begun = |name: &str| !text.is_empty() && name.as_bytes().starts_with(&text);
    names.iter().copied().filter(|n| distance(n) <= smallest || begun(n)).collect()
}

/// The number of insertions, deletions, replacements and exchanges of neighbours between two names.
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

    #[test]
    fn names_of_other_tools_lead_to_ours() {
        for (text, ours) in [
            ("recip_rank", "mrr"),
            ("ndcg_cut_10", "ndcg@10"),
            ("map_cut_5", "map@5"),
            ("P_10", "precision@10"),
            ("P@10", "precision@10"),
            ("recall_1000", "recall@1000"),
            ("NDCG@3", "ndcg@3"),
            ("ndcg5", "ndcg@5"),
            ("ndgc@10", "ndcg"),
        ] {
            let error = text.parse::<Metric>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("; did you mean {ours}?")), "{error}");
        }
        for text in ["bpref", "", "@", "_10", "é"] {
            let error = text.parse::<Metric>().unwrap_err();
            assert_eq!(error.fault().unwrap().hint, None, "{error}");
        }
    }

    #[test]
    fn only_near_names_are_offered() {
        let options = ["expected", "rows", "worst"];
        let hint = |text| {
            let error = pick("metric.ties", "tie rule", text, &options, |name| name).unwrap_err();
            error.fault().unwrap().hint.clone()
        };
        assert_eq!(hint("first"), None);
        assert_eq!(hint("row").as_deref(), Some("did you mean rows?"));
        assert_eq!(hint("wrost").as_deref(), Some("did you mean worst?"));
        assert_eq!(hint("expcetd").as_deref(), Some("did you mean expected?"));
    }
}
