//! Reads what an evaluation needs of a file: labels and queries of LETOR text, or scores.
//!
//! Memory: 4 bytes a document and an id a query, or 8 bytes a score.

use super::letor::{LetorHead, LetorOptions};
use super::line_source::{LineSource, TextLine};
use super::number;
use super::parallel_parse::parse_lines;
use super::qid::{QidRuns, QueryTracker};
use crate::error::{Error, Result, foreign};
use crate::interrupt::Interrupt;
use crate::queries::Queries;

/// The labels and queries of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryLabels {
    /// The label of each document, in the order of the file.
    pub labels: Vec<f32>,
    /// The documents of each query.
    pub queries: Queries,
    /// The id of each query.
    pub ids: Vec<Box<str>>,
}

/// The labels and qids of a block of LETOR text.
#[derive(Debug, Default)]
pub(super) struct BlockLabels {
    labels: Vec<f32>,
    runs: QidRuns,
}

impl BlockLabels {
    /// Adds a document on the given line of the block.
    pub(super) fn push(&mut self, head: &LetorHead<'_>, line: u64) {
        self.labels.push(head.label);
        self.runs.push(head, line);
    }
}

/// The labels and queries of the blocks so far.
#[derive(Debug, Default)]
pub(super) struct TextLabels {
    pub(super) labels: Vec<f32>,
    pub(super) tracker: QueryTracker,
}

impl TextLabels {
    /// Adds the next block, which has so many lines before it.
    pub(super) fn add(&mut self, block: BlockLabels, lines_before: u64) -> Result<()> {
        self.labels.extend(block.labels);
        self.tracker.extend(&block.runs.after_lines(lines_before))
    }

    /// The labels and queries; an error if there are none.
    pub(super) fn finish(self) -> Result<QueryLabels> {
        let (queries, ids) = self.tracker.finish()?;
        Ok(QueryLabels { labels: self.labels, queries, ids })
    }
}

/// Reads the labels and the queries of LETOR text and skips its features.
pub fn read_labels(source: &mut LineSource, interrupt: &Interrupt) -> Result<QueryLabels> {
    let letor = LetorOptions::default();
    let mut labels = TextLabels::default();
    let parse = |labels: &mut BlockLabels, number, line: TextLine<'_>| {
        labels.push(&letor.parse_head(line)?, number);
        Ok(())
    };
    parse_lines(source, interrupt, parse, |block, before| labels.add(block, before))?;
    labels.finish().map_err(|error| error.path(source.path()))
}

/// Reads scores, one number a line; `-inf` is the score of a document that was not retrieved.
pub fn read_scores(source: &mut LineSource, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    let parse = |scores: &mut Vec<f64>, _, line: TextLine<'_>| {
        scores.push(score_line(line.bytes())?);
        Ok(())
    };
    parse_lines(source, interrupt, parse, |of_block, _| {
        scores.extend(of_block);
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

/// Parses a score: any number but NaN and plus infinity.
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
    use crate::data::line_source::LineOptions;

    fn source(text: &'static str) -> LineSource {
        let reader = Box::new(text.as_bytes());
        LineSource::from_reader("text", reader, &LineOptions::default()).unwrap()
    }

    #[test]
    fn labels_come_with_their_queries() {
        let text = "# a file\n2 qid:7 1:0.5 x:y\n0 qid:7\n\n1.5 qid:b 3:1\n";
        let judged = read_labels(&mut source(text), &Interrupt::new()).unwrap();
        assert_eq!(judged.labels, [2.0, 0.0, 1.5]);
        assert_eq!(judged.queries.ranges().collect::<Vec<_>>(), [0..2, 2..3]);
        assert_eq!(judged.ids, ["7".into(), "b".into()]);
    }

    #[test]
    fn scores_are_one_a_line() {
        let scores =
            read_scores(&mut source("1.5\n -2e3 # x\r\n\n-inf"), &Interrupt::new()).unwrap();
        assert_eq!(scores, [1.5, -2000.0, f64::NEG_INFINITY]);
        for (text, place) in [("1\n nan", "text:2:2"), ("1 2", "text:1:1"), ("\n\ninf", "text:3:1")]
        {
            let error = read_scores(&mut source(text), &Interrupt::new()).unwrap_err();
            assert_eq!(error.fault().unwrap().code, "score.value");
            assert!(error.to_string().contains(place), "{error}");
        }
    }
}
