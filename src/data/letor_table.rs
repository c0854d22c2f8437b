//! LETOR text as a table of values: for what needs them as they are, such as distances between docs.
//!
//! A `Dataset` keeps bins and no values; this keeps values, four bytes each, for the caller to deal
//! with. While the text is read, those that its lines mention are held too, eight bytes each.

use super::labels::QueryLabels;
use super::letor::LetorOptions;
use super::line_source::{LineOptions, LineSource, TextBlock};
use super::parallel_parse::parse_blocks;
use super::qid::{QidRuns, QueryTracker};
use crate::error::{Result, room_for};
use crate::interrupt::Interrupt;
use std::path::Path;

/// Docs with their values and labels, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LetorTable {
    /// The values of a doc after those of the one before; 0 where its line has none.
    pub values: Vec<f32>,
    /// Values a doc: the highest feature that the text has.
    pub num_features: usize,
    /// Labels and queries.
    pub judged: QueryLabels,
}

/// What the lines of a piece say.
#[derive(Default)]
struct LetorLines {
    labels: Vec<f32>,
    runs: QidRuns,
    /// The features that each line mentions end here.
    ends: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

/// Reads LETOR text with all its values.
pub fn read_letor_table(
    path: impl AsRef<Path>,
    letor: &LetorOptions,
    interrupt: &Interrupt,
) -> Result<LetorTable> {
    letor_table_from(&mut LineSource::open(path, &LineOptions::default())?, letor, interrupt)
}

/// As [`read_letor_table`], from a source at its begin.
pub fn letor_table_from(
    source: &mut LineSource,
    letor: &LetorOptions,
    interrupt: &Interrupt,
) -> Result<LetorTable> {
    let lowest = u32::from(!letor.zero_based);
    let (mut labels, mut tracker, mut pieces) = (Vec::new(), QueryTracker::default(), Vec::new());
    let parse = |piece: &TextBlock<'_>| {
        let mut lines = LetorLines::default();
        let outcome = piece.each(|number, line| {
            let (features, values) = (&mut lines.features, &mut lines.values);
            let row = letor.parse_line(line, |feature, value| {
                features.push(feature - lowest);
                values.push(value);
            })?;
            lines.ends.push(lines.values.len());
            lines.labels.push(row.label);
            lines.runs.push(&row, number);
            Ok(())
        });
        (lines, outcome)
    };
    parse_blocks(source, interrupt, parse, |lines, before| {
        labels.extend_from_slice(&lines.labels);
        tracker.extend(&lines.runs.after_lines(before))?;
        pieces.push((lines.ends, lines.features, lines.values));
        Ok(())
    })?;
    let (queries, ids) = tracker.finish().map_err(|error| error.path(source.path()))?;
    let features = pieces.iter().flat_map(|(_, features, _)| features);
    let num_features = features.max().map_or(0, |&highest| highest as usize + 1);
    room_for("the values of the text", 4 * labels.len() as u64 * num_features as u64)?;
    let mut table = vec![0.0; labels.len() * num_features];
    let mut doc = 0;
    for (ends, features, values) in pieces {
        let mut start = 0;
        for end in ends {
            let row = &mut table[doc * num_features..(doc + 1) * num_features];
            for (&feature, &value) in features[start..end].iter().zip(&values[start..end]) {
                row[feature as usize] = value;
            }
            (start, doc) = (end, doc + 1);
        }
    }
    Ok(LetorTable { values: table, num_features, judged: QueryLabels { labels, queries, ids } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &'static str, zero_based: bool) -> Result<LetorTable> {
        let reader = Box::new(text.as_bytes());
        let mut source = LineSource::from_reader("text", reader, &LineOptions::default())?;
        let letor = LetorOptions { zero_based, ..LetorOptions::default() };
        letor_table_from(&mut source, &letor, &Interrupt::new())
    }

    #[test]
    fn values_stand_where_lines_put_them() {
        let read =
            table("2 qid:a 1:0.5 3:nan\n0 qid:a # none\n1 qid:7 2:-4 # doc\n", false).unwrap();
        assert_eq!(read.num_features, 3);
        assert_eq!(read.judged.labels, [2.0, 0.0, 1.0]);
        assert_eq!(read.judged.ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "7"]);
        assert!(read.values[2].is_nan());
        let rest: Vec<f32> = read.values.iter().copied().filter(|value| !value.is_nan()).collect();
        assert_eq!(rest, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0, 0.0]);
        assert_eq!(table("0 qid:1 0:3\n", true).unwrap().values, [3.0]);
    }

    #[test]
    fn a_fault_is_told_with_its_line() {
        let said = table("0 qid:1 1:2\n0 qid:1 1:x\n", false).unwrap_err().to_string();
        assert!(said.contains("text:2:11"), "{said}");
    }
}
