//! Reads LETOR text as a dense table of raw values, for uses that need them, such as distances between
//! documents.
//!
//! A [`Dataset`](super::Dataset) keeps bins and no values; this table keeps values, four bytes each.
//! While the text is read, the values that its lines mention are held too, eight bytes each.

use super::labels::{BlockLabels, QueryLabels, TextLabels};
use super::letor::LetorOptions;
use super::line_source::{LineSource, TextLine};
use super::parallel_parse::parse_lines;
use crate::error::{Result, room_for};
use crate::interrupt::Interrupt;

/// The values and labels of documents, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LetorTable {
    /// The values, document by document; 0 where a line mentions none.
    pub values: Vec<f32>,
    /// The values per document: the highest feature of the text.
    pub num_features: usize,
    /// Labels and queries.
    pub labels: QueryLabels,
}

/// The values that lines mention.
#[derive(Default)]
struct SparseRows {
    /// Where the values of each line end.
    ends: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

/// Reads LETOR text with all its values.
pub fn read_letor_table(
    source: &mut LineSource,
    letor: &LetorOptions,
    interrupt: &Interrupt,
) -> Result<LetorTable> {
    let (mut labels, mut blocks) = (TextLabels::default(), Vec::new());
    let parse = |(labels, rows): &mut (BlockLabels, SparseRows), number, line: TextLine<'_>| {
        let head = letor.parse_line(line, |feature, value| {
            rows.features.push(feature - letor.lowest());
            rows.values.push(value);
        })?;
        rows.ends.push(rows.values.len());
        labels.push(&head, number);
        Ok(())
    };
    parse_lines(source, interrupt, parse, |(block_labels, rows), before| {
        blocks.push(rows);
        labels.add(block_labels, before)
    })?;
    let labels = labels.finish().map_err(|error| error.path(source.path()))?;
    let num_docs = labels.labels.len();
    let features = blocks.iter().flat_map(|rows: &SparseRows| &rows.features);
    let num_features = features.max().map_or(0, |&highest| highest as usize + 1);
    room_for("the values of the text", 4 * num_docs as u64 * num_features as u64)?;
    let mut table = vec![0.0; num_docs * num_features];
    let mut doc = 0;
    for SparseRows { ends, features, values } in blocks {
        let mut start = 0;
        for end in ends {
            let row = &mut table[doc * num_features..(doc + 1) * num_features];
            for (&feature, &value) in features[start..end].iter().zip(&values[start..end]) {
                row[feature as usize] = value;
            }
            (start, doc) = (end, doc + 1);
        }
    }
    Ok(LetorTable { values: table, num_features, labels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::line_source::LineOptions;

    fn table(text: &'static str, zero_based: bool) -> Result<LetorTable> {
        let reader = Box::new(text.as_bytes());
        let mut source = LineSource::from_reader("text", reader, &LineOptions::default())?;
        let letor = LetorOptions { zero_based, ..LetorOptions::default() };
        read_letor_table(&mut source, &letor, &Interrupt::new())
    }

    #[test]
    fn values_stand_where_lines_put_them() {
        let read =
            table("2 qid:a 1:0.5 3:nan\n0 qid:a # none\n1 qid:7 2:-4 # doc\n", false).unwrap();
        assert_eq!(read.num_features, 3);
        assert_eq!(read.labels.labels, [2.0, 0.0, 1.0]);
        assert_eq!(read.labels.ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "7"]);
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
