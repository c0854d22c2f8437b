//! Rows of LETOR text after parsing and before binning: a table of cells in chunks.
//!
//! A chunk holds what one piece of the text gave, as dense rows or, where lines leave most features
//! out, as pairs. How wide a chunk is depends on the cut of the text; what can be read from the
//! table does not, for a feature that a line does not mention is 0.

use super::cells::{Policy, as_missing};
use super::letor::{LetorOptions, Row};
use super::lines::Piece;
use crate::bins::Cells;
use crate::error::{Error, Result};
use std::ops::Range;

/// The rows of one piece.
#[derive(Debug)]
pub(super) struct Chunk {
    num_rows: usize,
    /// One more than the highest feature.
    num_features: usize,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    Dense { width: usize, cells: Vec<f32> },
    Sparse { ends: Vec<usize>, features: Vec<u32>, cells: Vec<f32> },
}

impl Chunk {
    /// Parses a piece up to its first fault; `about` is how many features rows are expected to have.
    pub(super) fn parse(
        letor: &LetorOptions,
        piece: Piece<'_>,
        about: usize,
        mut each: impl FnMut(&Row<'_>, u64),
    ) -> (Self, Result<()>) {
        let (given, highest) = first_line(letor, piece);
        let mut chunk = if 2 * given >= highest {
            Self::dense(piece, about.max(highest), given)
        } else {
            Self::sparse()
        };
        let lowest = u32::from(!letor.zero_based);
        let outcome = piece.each(|number, line| {
            let row = chunk.parse_line(letor, line, lowest)?;
            each(&row, number);
            Ok(())
        });
        (chunk, outcome)
    }

    fn dense(piece: Piece<'_>, width: usize, given: usize) -> Self {
        // A cell of LETOR text takes three bytes and more.
        let rows = piece.text.len() / (3 * given + 1) + 1;
        let cells = Vec::with_capacity(rows.min(piece.text.len()) * width);
        Self { num_rows: 0, num_features: 0, rows: Rows::Dense { width, cells } }
    }

    fn sparse() -> Self {
        let rows = Rows::Sparse { ends: vec![0], features: Vec::new(), cells: Vec::new() };
        Self { num_rows: 0, num_features: 0, rows }
    }

    fn parse_line<'a>(
        &mut self,
        letor: &LetorOptions,
        line: &'a [u8],
        lowest: u32,
    ) -> Result<Row<'a>> {
        let mut widest = 0;
        let row = match &mut self.rows {
            Rows::Dense { width, cells } => {
                let start = cells.len();
                cells.resize(start + *width, 0.0);
                let slots = &mut cells[start..];
                let parsed = letor.parse_line(line, |index, cell| {
                    let feature = (index - lowest) as usize;
                    widest = feature + 1;
                    if let Some(slot) = slots.get_mut(feature) {
                        *slot = cell;
                    }
                });
                parsed.inspect_err(|_| cells.truncate(start))?
            }
            Rows::Sparse { ends, features, cells } => {
                let start = cells.len();
                let parsed = letor.parse_line(line, |index, cell| {
                    features.push(index - lowest);
                    cells.push(cell);
                });
                let row = parsed.inspect_err(|_| {
                    features.truncate(start);
                    cells.truncate(start);
                })?;
                widest = features[start..].last().map_or(0, |&last| last as usize + 1);
                ends.push(cells.len());
                row
            }
        };
        self.num_rows += 1;
        self.num_features = self.num_features.max(widest);
        if self.is_too_narrow() {
            self.widen();
            self.num_rows -= 1;
            return self.parse_line(letor, line, lowest);
        }
        Ok(row)
    }

    fn is_too_narrow(&self) -> bool {
        matches!(self.rows, Rows::Dense { width, .. } if self.num_features > width)
    }

    /// Makes room for a feature that earlier lines did not have; the last row is parsed again.
    fn widen(&mut self) {
        if let Rows::Dense { width, cells } = &mut self.rows {
            let wider = self.num_features;
            let mut moved = Vec::with_capacity(self.num_rows * wider);
            for row in cells.chunks_exact(*width).take(self.num_rows - 1) {
                moved.extend_from_slice(row);
                moved.resize(moved.len() + wider - *width, 0.0);
            }
            (*width, *cells) = (wider, moved);
        }
    }

    /// One more than the highest feature.
    pub(super) fn num_features(&self) -> usize {
        self.num_features
    }

    /// The bytes held.
    fn memory(&self) -> usize {
        match &self.rows {
            Rows::Dense { cells, .. } => 4 * cells.len(),
            Rows::Sparse { ends, cells, .. } => 8 * (ends.len() + cells.len()),
        }
    }

    fn read(&self, row: usize, to: &mut [f32]) {
        match &self.rows {
            Rows::Dense { width, cells } => {
                let known = (*width).min(to.len());
                to[..known].copy_from_slice(&cells[row * width..row * width + known]);
                to[known..].fill(0.0);
            }
            Rows::Sparse { ends, features, cells } => {
                to.fill(0.0);
                for at in ends[row]..ends[row + 1] {
                    to[features[at] as usize] = cells[at];
                }
            }
        }
    }
}

/// How many features the first line gives, and one more than the highest of them.
fn first_line(letor: &LetorOptions, piece: Piece<'_>) -> (usize, usize) {
    let (mut given, mut highest) = (0, 0);
    if let Some((_, line)) = piece.lines().next() {
        // A fault in this line is found again, and reported, when the piece is parsed.
        let _ = letor.parse_line(line, |index, _| {
            given += 1;
            highest = index as usize + usize::from(letor.zero_based);
        });
    }
    (given, highest)
}

/// The chunks of a text, or of a part of it, in order.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    chunks: Vec<Chunk>,
    /// Where each chunk begins.
    starts: Vec<usize>,
    num_rows: usize,
    num_features: usize,
    memory: usize,
    policy: Policy,
}

impl Parsed {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    pub(super) fn push(&mut self, chunk: Chunk) {
        self.starts.push(self.num_rows);
        self.num_rows += chunk.num_rows;
        self.num_features = self.num_features.max(chunk.num_features);
        self.memory += chunk.memory();
        self.chunks.push(chunk);
    }

    /// The bytes held.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The same rows in a table of `num_features`, of which more than these rows have may be 0.
    pub(super) fn widened(mut self, num_features: usize) -> Result<Self> {
        if self.num_features > num_features {
            return Err(Error::data(
                "features",
                "the text has more features than the training set",
            )
            .got(self.num_features)
            .expected(num_features));
        }
        self.num_features = num_features;
        Ok(self)
    }
}

impl Cells for Parsed {
    fn num_rows(&self) -> usize {
        self.num_rows
    }

    fn num_features(&self) -> usize {
        self.num_features
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let width = self.num_features.max(1);
        let mut at = self.starts.partition_point(|&start| start <= rows.start).saturating_sub(1);
        for (row, to) in rows.zip(tile.chunks_exact_mut(width)) {
            while row >= self.starts[at] + self.chunks[at].num_rows {
                at += 1;
            }
            self.chunks[at].read(row - self.starts[at], to);
        }
        as_missing(tile, self.policy);
        Ok(())
    }
}
