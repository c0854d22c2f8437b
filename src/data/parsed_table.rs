//! The rows of LETOR text between parsing and binning: a table of cells in chunks.
//!
//! A chunk has the rows of one block of text: dense, or sparse where lines mention few features, so that
//! it takes no more memory than a small multiple of its text. Dense rows that are kept until all of the
//! text was read are packed. The width of a chunk depends on how the text was divided; the content of
//! the table does not, since features that a line does not mention are filled in. Rows are hashed while
//! they are in the cache.

use super::letor::{LetorHead, LetorOptions};
use super::line_source::{TextBlock, TextLine};
use super::packed::{CellGroup, LANES, PackedRows};
use super::scan::{CellFn, CellScanner, CellSink};
use crate::Interrupt;
use crate::binning::{CellSource, row_hash, row_hashes};
use crate::error::Result;
use std::borrow::Cow;
use std::ops::Range;

/// How lines are parsed into rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowParser<'a> {
    pub(super) letor: &'a LetorOptions,
    /// The value that stands for a missing one, besides NaN.
    pub(super) missing: Option<f32>,
    /// Whether rows are hashed, and kept in memory until all of the text was read.
    pub(super) kept: bool,
}

impl RowParser<'_> {
    /// Replaces the value that stands for a missing one by NaN.
    fn mark_missing(&self, cells: &mut [f32]) {
        if let Some(missing) = self.missing {
            cells.iter_mut().filter(|cell| **cell == missing).for_each(|cell| *cell = f32::NAN);
        }
    }
}

/// The cell of a feature that a line does not mention, given the value that stands for a missing one.
pub(super) fn absent(missing: Option<f32>) -> f32 {
    if missing == Some(0.0) { f32::NAN } else { 0.0 }
}

/// The rows of one block of text.
#[derive(Debug)]
pub(super) struct RowChunk {
    num_rows: usize,
    /// One more than the highest feature.
    pub(super) num_features: usize,
    rows: ChunkRows,
    hashes: Vec<u64>,
    absent: f32,
}

#[derive(Debug)]
enum ChunkRows {
    Dense { width: usize, cells: Vec<f32> },
    Packed(PackedRows),
    Sparse { ends: Vec<usize>, features: Vec<u32>, cells: Vec<f32> },
}

/// A dense row that takes the cells of a line and grows as it needs.
struct RowSlots<'a> {
    cells: &'a mut Vec<CellGroup>,
    /// The index of the first feature.
    lowest: u32,
    /// One more than the highest feature.
    widest: usize,
}

impl RowSlots<'_> {
    #[cold]
    fn grow(&mut self) -> &mut [f32] {
        self.cells.resize(self.widest.div_ceil(LANES), [0.0; LANES]);
        self.cells.as_flattened_mut()
    }
}

impl CellSink for RowSlots<'_> {
    #[expect(clippy::inline_always, reason = "called for each cell, by each kernel")]
    #[inline(always)]
    fn cell(&mut self, index: u32, value: f32) {
        let feature = (index - self.lowest) as usize;
        self.widest = feature + 1;
        match self.cells.as_flattened_mut().get_mut(feature) {
            Some(slot) => *slot = value,
            None => self.grow()[feature] = value,
        }
    }

    #[inline]
    fn run(&mut self, first: u32, values: &[f32]) {
        let first = (first - self.lowest) as usize;
        self.widest = first + values.len();
        match self.cells.as_flattened_mut().get_mut(first..self.widest) {
            Some(slots) => slots.copy_from_slice(values),
            None => self.grow()[first..][..values.len()].copy_from_slice(values),
        }
    }
}

impl ChunkRows {
    fn sparse() -> Self {
        Self::Sparse { ends: vec![0], features: Vec::new(), cells: Vec::new() }
    }

    /// The number of cells of every row, unless rows are sparse.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Dense { width, .. } => Some(*width),
            Self::Packed(rows) => Some(rows.width()),
            Self::Sparse { .. } => None,
        }
    }

    /// Adds a dense row; cells that it has beyond its last feature are those of absent ones.
    fn push(&mut self, row: &[CellGroup], absent: f32) {
        match self {
            Self::Dense { width, cells } => cells.extend_from_slice(&row.as_flattened()[..*width]),
            Self::Packed(rows) => rows.push(&row[..rows.num_groups()]),
            Self::Sparse { ends, features, cells } => {
                for (feature, &cell) in (0..).zip(row.as_flattened()) {
                    if cell.to_bits() != absent.to_bits() {
                        features.push(feature);
                        cells.push(cell);
                    }
                }
                ends.push(cells.len());
            }
        }
    }

    /// The bytes of memory.
    fn memory(&self) -> usize {
        match self {
            Self::Dense { cells, .. } => 4 * cells.len(),
            Self::Packed(rows) => rows.memory(),
            Self::Sparse { ends, cells, .. } => 8 * (ends.len() + cells.len()),
        }
    }

    /// Writes the cells of some features of a row.
    fn read(&self, row: usize, features: Range<usize>, to: &mut [f32], absent: f32) {
        // Of sparse rows, any cell may be absent.
        let width = self.width().unwrap_or_default();
        let known = features.start.min(width)..features.end.min(width);
        let (dense, beyond) = to.split_at_mut(known.len());
        beyond.fill(absent);
        match self {
            Self::Packed(rows) => rows.read(row, known, dense),
            Self::Dense { cells, .. } => dense.copy_from_slice(&cells[row * width..][known]),
            Self::Sparse { ends, features: given, cells } => {
                let row = ends[row]..ends[row + 1];
                let (given, cells) = (&given[row.clone()], &cells[row]);
                let first = given.partition_point(|&feature| (feature as usize) < features.start);
                for (&feature, &cell) in given[first..].iter().zip(&cells[first..]) {
                    match to.get_mut(feature as usize - features.start) {
                        Some(to) => *to = cell,
                        None => break,
                    }
                }
            }
        }
    }
}

impl RowChunk {
    /// Parses a block up to its first fault; `expected` is the number of features that rows may have.
    pub(super) fn parse(
        parser: RowParser<'_>,
        block: &TextBlock<'_>,
        expected: usize,
        mut each: impl FnMut(&LetorHead<'_>, u64),
    ) -> (Self, Result<()>) {
        let mut chunk = Self::shaped_for(parser, block, expected);
        let (mut scan, mut row) = (CellScanner::default(), Vec::new());
        let outcome = block.each(|number, line| {
            each(&chunk.parse_line(parser, line, &mut scan, &mut row)?, number);
            Ok(())
        });
        if let ChunkRows::Packed(rows) = &mut chunk.rows {
            rows.finish();
        }
        (chunk, outcome)
    }

    /// An empty chunk with the layout and capacity for rows like the first one.
    fn shaped_for(parser: RowParser<'_>, block: &TextBlock<'_>, expected: usize) -> Self {
        let letor = parser.letor;
        let (mut given, mut highest, mut length) = (0, 0, 0);
        if let Some((_, line)) = block.lines().next() {
            length = line.bytes().len();
            // An error in this line is found again and reported when the block is parsed.
            let _ = letor.parse_line(line, |index, _| {
                given += 1;
                highest = index as usize + usize::from(letor.zero_based);
            });
        }
        let num_rows = block.text().len() / (length + 1) + 1;
        let width = expected.max(highest);
        let rows = if width > 2 * given {
            ChunkRows::sparse()
        } else if parser.kept && PackedRows::pays() {
            // Packed cells take about a third of the text.
            ChunkRows::Packed(PackedRows::new(width, block.text().len() / 3))
        } else {
            ChunkRows::Dense { width, cells: Vec::with_capacity((num_rows + num_rows / 8) * width) }
        };
        let absent = absent(parser.missing);
        Self { num_rows: 0, num_features: 0, rows, hashes: Vec::new(), absent }
    }

    /// Adds the row of a line; `row` is the buffer of a dense one.
    fn parse_line<'a>(
        &mut self,
        parser: RowParser<'_>,
        line: TextLine<'a>,
        scan: &mut CellScanner,
        row: &mut Vec<CellGroup>,
    ) -> Result<LetorHead<'a>> {
        let lowest = parser.letor.lowest();
        let hashed = parser.kept && self.absent == 0.0;
        let (head, widest);
        if let ChunkRows::Sparse { ends, features, cells } = &mut self.rows {
            let start = cells.len();
            let mut sink = CellFn(|index, cell| {
                features.push(index - lowest);
                cells.push(cell);
            });
            head = parser.letor.parse_into(line, scan, &mut sink).inspect_err(|_| {
                features.truncate(start);
                cells.truncate(start);
            })?;
            parser.mark_missing(&mut cells[start..]);
            widest = features[start..].last().map_or(0, |&last| last as usize + 1);
            ends.push(cells.len());
            if hashed {
                row.clear();
                row.resize(widest.div_ceil(LANES), [0.0; LANES]);
                let slots = row.as_flattened_mut();
                for (&feature, &cell) in features[start..].iter().zip(&cells[start..]) {
                    slots[feature as usize] = cell;
                }
            }
        } else {
            let width = self.rows.width().unwrap_or_default();
            row.clear();
            row.resize(width.div_ceil(LANES), [0.0; LANES]);
            let mut sink = RowSlots { cells: row, lowest, widest: 0 };
            head = parser.letor.parse_into(line, scan, &mut sink)?;
            widest = sink.widest;
            if widest > width {
                self.widen(widest);
            }
            parser.mark_missing(row.as_flattened_mut());
            self.rows.push(row, self.absent);
        }
        if hashed {
            self.hashes.push(row_hash(row.as_flattened()));
        }
        self.num_rows += 1;
        self.num_features = self.num_features.max(widest);
        Ok(head)
    }

    /// The number of rows.
    pub(super) fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Writes the first cells of a row, as many as `to` has room for.
    pub(super) fn read(&self, row: usize, to: &mut [f32]) {
        self.rows.read(row, 0..to.len(), to, self.absent);
    }

    /// Widens the rows for a feature that earlier lines did not have.
    fn widen(&mut self, wider: usize) {
        let stays = self.rows.width().is_none_or(|width| wider <= 2 * width.max(8));
        let mut moved = match &self.rows {
            ChunkRows::Packed(_) if stays => ChunkRows::Packed(PackedRows::new(wider, 0)),
            ChunkRows::Dense { .. } if stays => ChunkRows::Dense {
                width: wider,
                cells: Vec::with_capacity((self.num_rows + 1) * wider),
            },
            _ => ChunkRows::sparse(),
        };
        let mut cells = vec![[self.absent; LANES]; wider.div_ceil(LANES)];
        for row in 0..self.num_rows {
            self.rows.read(row, 0..wider, &mut cells.as_flattened_mut()[..wider], self.absent);
            moved.push(&cells, self.absent);
        }
        self.rows = moved;
    }
}

/// The chunks of a text, or of a part of it, in order.
#[derive(Debug, Default)]
pub(super) struct ParsedTable {
    chunks: Vec<RowChunk>,
    /// Where each chunk begins.
    starts: Vec<usize>,
    num_rows: usize,
    num_features: usize,
    /// The bytes of memory.
    pub(super) memory: usize,
    hashes: Vec<u64>,
    absent: f32,
}

impl ParsedTable {
    /// A table without rows; `absent` is the cell of a feature that a line does not mention.
    pub(super) fn new(absent: f32) -> Self {
        Self { absent, ..Self::default() }
    }

    pub(super) fn push(&mut self, mut chunk: RowChunk) {
        self.starts.push(self.num_rows);
        self.num_rows += chunk.num_rows;
        self.num_features = self.num_features.max(chunk.num_features);
        self.memory += chunk.rows.memory();
        self.hashes.append(&mut chunk.hashes);
        self.chunks.push(chunk);
    }

    /// Whether features that a line does not mention are missing, and not 0.
    pub(super) fn absent_is_missing(&self) -> bool {
        self.absent.is_nan()
    }

    /// Makes the table one of at least `num_features` features.
    pub(super) fn widen(&mut self, num_features: usize) {
        self.num_features = self.num_features.max(num_features);
    }

    /// The rows of the chunk that has a row, and the row's number in it. `at` is the chunk of the
    /// previous row: for rising rows no search is needed.
    fn find(&self, row: usize, at: &mut usize) -> (&ChunkRows, usize) {
        let holds =
            |at: usize| self.starts[at] <= row && row - self.starts[at] < self.chunks[at].num_rows;
        if !holds(*at) {
            let next = (*at + 1).min(self.chunks.len() - 1);
            let found = || self.starts.partition_point(|&start| start <= row) - 1;
            *at = if holds(next) { next } else { found() };
        }
        (&self.chunks[*at].rows, row - self.starts[*at])
    }
}

impl CellSource for ParsedTable {
    fn num_rows(&self) -> usize {
        self.num_rows
    }

    fn num_features(&self) -> usize {
        self.num_features
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let features = 0..self.num_features;
        let mut at = 0;
        for (row, to) in rows.zip(tile.chunks_exact_mut(features.len().max(1))) {
            let (chunk, row) = self.find(row, &mut at);
            chunk.read(row, features.clone(), to, self.absent);
        }
        Ok(())
    }

    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        /// Rows are scattered, and each read would wait for memory: so many rows are prefetched.
        const AHEAD: usize = 4;
        let (mut at, mut at_ahead) = (0, 0);
        for (i, to) in (0..rows.len()).zip(tile.chunks_exact_mut(features.len().max(1))) {
            if let Some(&row) = rows.get(i + AHEAD)
                && let (ChunkRows::Packed(rows), row) = self.find(row as usize, &mut at_ahead)
            {
                rows.fetch(row);
            }
            let (chunk, row) = self.find(rows[i] as usize, &mut at);
            chunk.read(row, features.clone(), to, self.absent);
        }
        Ok(())
    }

    /// Known since the rows were parsed; but where features that are not mentioned are missing, hashes
    /// depend on the number of features.
    fn hashes(&self, interrupt: &Interrupt) -> Result<Cow<'_, [u64]>> {
        if self.absent_is_missing() {
            return row_hashes(self, interrupt).map(Cow::Owned);
        }
        Ok(Cow::Borrowed(&self.hashes))
    }
}
