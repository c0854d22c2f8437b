//! What LETOR text says, by the readers that load it.

use rustrank::data::letor::LetorOptions;
use rustrank::data::line_source::{LineOptions, LineSource, TextBlock};
use rustrank::data::parallel_parse::parse_blocks;
use rustrank::data::qid::{QidRuns, QueryTracker};
use rustrank::{Interrupt, Result};
use std::io;

/// A source of these bytes, called `text`.
pub(crate) fn from_bytes(bytes: &[u8], options: &LineOptions) -> LineSource {
    let reader = Box::new(io::Cursor::new(bytes.to_vec()));
    LineSource::from_reader("text", reader, options).unwrap_or_else(|error| panic!("{error}"))
}

/// All that a file says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    pub(crate) labels: Vec<f32>,
    /// Indices and the bits of values.
    pub(crate) cells: Vec<(u32, u32)>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) ids: Vec<Box<str>>,
}

/// What a text says, read on the current pool.
pub(crate) fn content(source: &mut LineSource, letor: &LetorOptions) -> Result<Content> {
    let parse = |piece: &TextBlock<'_>| {
        let (mut labels, mut cells, mut runs) = (Vec::new(), Vec::new(), QidRuns::default());
        let outcome = piece.each(|number, line| {
            let row = letor.parse_line(line, |index, cell| cells.push((index, cell.to_bits())))?;
            labels.push(row.label);
            runs.push(&row, number);
            Ok(())
        });
        ((labels, cells, runs), outcome)
    };
    let (mut all, mut tracker) = (Content::default(), QueryTracker::default());
    parse_blocks(source, &Interrupt::new(), parse, |(labels, cells, runs), before| {
        all.labels.extend(labels);
        all.cells.extend(cells);
        tracker.extend(&runs.after_lines(before))
    })?;
    let (queries, ids) = tracker.finish()?;
    (all.sizes, all.ids) = (queries.ranges().map(|docs| docs.len()).collect(), ids);
    Ok(all)
}
