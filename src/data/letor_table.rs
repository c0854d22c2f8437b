//! Reads LETOR text as a dense table of raw values, for uses that need them, such as distances between
//! documents.
//!
//! A [`Dataset`](super::Dataset) keeps bins and no values; this table keeps values, four bytes each.
//! The rows as they were parsed are held beside it until it is filled.

use super::labels::QueryLabels;
use super::letor::LetorOptions;
use super::line_source::LineSource;
use super::load::{LoadOptions, all_rows};
use crate::binning::CellSource as _;
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

/// Reads LETOR text with all its values.
pub fn read_letor_table(
    source: LineSource,
    letor: &LetorOptions,
    interrupt: &Interrupt,
) -> Result<LetorTable> {
    let options = LoadOptions { letor: letor.clone(), ..LoadOptions::default() };
    let (table, labels) = all_rows(source, &options, interrupt)?;
    let (num_docs, num_features) = (table.num_rows(), table.num_features());
    room_for("the values of the text", 4 * num_docs as u64 * num_features as u64)?;
    let mut values = vec![0.0; num_docs * num_features];
    table.read(0..num_docs, &mut values)?;
    Ok(LetorTable { values, num_features, labels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::line_source::LineOptions;

    fn table(text: &'static str, zero_based: bool) -> Result<LetorTable> {
        let reader = Box::new(text.as_bytes());
        let source = LineSource::from_reader("text", reader, &LineOptions::default())?;
        let letor = LetorOptions { zero_based, ..LetorOptions::default() };
        read_letor_table(source, &letor, &Interrupt::new())
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
