//! What an evaluation needs of a file, and no more: labels and queries of LETOR text, or scores.
//!
//! Memory: 4 bytes a doc and a query's id a query, or 8 bytes a score.

use super::letor::LetorOptions;
use super::line_source::{LineOptions, LineSource, TextBlock};
use super::number;
use super::parallel_parse::parse_blocks;
use super::qid::{QidRuns, QueryTracker};
use crate::error::{Error, Result, foreign};
use crate::interrupt::Interrupt;
use crate::queries::Queries;
use std::path::Path;

/// Docs with their labels, query by query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryLabels {
    /// The label of each doc, in the order of the file.
    pub labels: Vec<f32>,
    /// The docs of each query.
    pub queries: Queries,
    /// The id of each query.
    pub ids: Vec<Box<str>>,
}

/// Reads the labels and the queries of LETOR text; its features are not looked at.
pub fn read_labels(path: impl AsRef<Path>, interrupt: &Interrupt) -> Result<QueryLabels> {
    labels_from(&mut LineSource::open(path, &LineOptions::default())?, interrupt)
}

/// As [`read_labels`], from a source at its begin.
pub fn labels_from(source: &mut LineSource, interrupt: &Interrupt) -> Result<QueryLabels> {
    let letor = LetorOptions::default();
    let (mut labels, mut tracker) = (Vec::new(), QueryTracker::default());
    let parse = |piece: &TextBlock<'_>| {
        let (mut labels, mut runs) = (Vec::new(), QidRuns::default());
        let outcome = piece.each(|number, line| {
            let row = letor.parse_head(line)?;
            labels.push(row.label);
            runs.push(&row, number);
            Ok(())
        });
        ((labels, runs), outcome)
    };
    parse_blocks(source, interrupt, parse, |(some, runs), before| {
        labels.extend(some);
        tracker.extend(&runs.after_lines(before))
    })?;
    let (queries, ids) = tracker.finish().map_err(|error| error.path(source.path()))?;
    Ok(QueryLabels { labels, queries, ids })
}

/// Reads scores: one number a line; `-inf` is a doc that was not retrieved.
pub fn read_scores(path: impl AsRef<Path>, interrupt: &Interrupt) -> Result<Vec<f64>> {
    scores_from(&mut LineSource::open(path, &LineOptions::default())?, interrupt)
}

/// As [`read_scores`], from a source at its begin.
pub fn scores_from(source: &mut LineSource, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    let parse = |piece: &TextBlock<'_>| {
        let mut scores = Vec::new();
        let outcome = piece.each(|_, line| {
            scores.push(score_line(line.bytes())?);
            Ok(())
        });
        (scores, outcome)
    };
    parse_blocks(source, interrupt, parse, |some, _| {
        scores.extend(some);
        Ok(())
    })?;
    Ok(scores)
}

fn score_line(line: &[u8]) -> Result<f64> {
    let start = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let end = memchr::memchr(b'#', line).unwrap_or(line.len());
    let text = line.get(start..end).unwrap_or_default().trim_ascii_end();
    score(text, "score.value").map_err(|error| error.at(1, start as u64 + 1))
}

/// A score: any number but NaN and infinity; minus infinity passes.
pub(crate) fn score(text: &[u8], code: &'static str) -> Result<f64> {
    let what = match number::parse_all(text) {
        Some(score) if score < f64::INFINITY => return Ok(score),
        Some(score) if score.is_nan() => "the score is NaN",
        Some(_) => "the score is infinite",
        None => "the score is not a number",
    };
    Err(Error::data(code, what).got(foreign(text)).expected("a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static str) -> LineSource {
        let reader = Box::new(text.as_bytes());
        LineSource::from_reader("text", reader, &LineOptions::default()).unwrap()
    }

    #[test]
    fn labels_come_with_their_queries() {
        let text = "# a file\n2 qid:7 1:0.5 x:y\n0 qid:7\n\n1.5 qid:b 3:1\n";
        let judged = labels_from(&mut source(text), &Interrupt::new()).unwrap();
        assert_eq!(judged.labels, [2.0, 0.0, 1.5]);
        assert_eq!(judged.queries.ranges().collect::<Vec<_>>(), [0..2, 2..3]);
        assert_eq!(judged.ids, ["7".into(), "b".into()]);
    }

    #[test]
    fn scores_are_one_a_line() {
        let scores =
            scores_from(&mut source("1.5\n -2e3 # x\r\n\n-inf"), &Interrupt::new()).unwrap();
        assert_eq!(scores, [1.5, -2000.0, f64::NEG_INFINITY]);
        for (text, place) in [("1\n nan", "text:2:2"), ("1 2", "text:1:1"), ("\n\ninf", "text:3:1")]
        {
            let error = scores_from(&mut source(text), &Interrupt::new()).unwrap_err();
            assert_eq!(error.fault().unwrap().code, "score.value");
            assert!(error.to_string().contains(place), "{error}");
        }
    }
}
