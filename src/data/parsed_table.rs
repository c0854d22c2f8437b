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
    /// Whether the rows are hashed.
    pub(super) hashed: bool,
    /// Whether rows are kept in memory until all of the text was read.
    pub(super) kept: bool,
}

impl RowParser<'_> {
    /// The cell of a feature that a line does not mention.
    pub(super) fn absent(&self) -> f32 {
        if self.missing == Some(0.0) { f32::NAN } else { 0.0 }
    }

    /// Replaces the value that stands for a missing one by NaN.
    fn mark_missing(&self, cells: &mut [f32]) {
        if let Some(missing) = self.missing {
            cells.iter_mut().filter(|cell| **cell == missing).for_each(|cell| *cell = f32::NAN);
        }
    }
}

/// The rows of one block of text.
#[derive(Debug)]
pub(super) struct RowChunk {
    num_rows: usize,
    /// One more than the highest feature.
    num_features: usize,
    rows: ChunkRows,
    hashes: Vec<u64>,
}

#[derive(Debug)]
enum ChunkRows {
    Dense {
        width: usize,
        cells: Vec<f32>,
    },
    /// Dense rows, packed; `row` is the buffer of the current one.
    Packed {
        rows: PackedRows,
        row: Vec<CellGroup>,
    },
    Sparse {
        ends: Vec<usize>,
        features: Vec<u32>,
        cells: Vec<f32>,
    },
}

/// A dense row that takes the cells of a line.
struct RowSlots<'a> {
    cells: &'a mut [f32],
    /// The index of the first feature.
    lowest: u32,
    /// One more than the highest feature, which may be beyond `cells`.
    widest: usize,
}

impl CellSink for RowSlots<'_> {
    #[inline]
    fn cell(&mut self, index: u32, value: f32) {
        let feature = (index - self.lowest) as usize;
        self.widest = feature + 1;
        if let Some(slot) = self.cells.get_mut(feature) {
            *slot = value;
        }
    }

    #[inline]
    fn run(&mut self, first: u32, values: &[f32]) {
        let first = (first - self.lowest) as usize;
        if let Some(slots) = self.cells.get_mut(first..first + values.len()) {
            slots.copy_from_slice(values);
            self.widest = first + values.len();
        } else {
            (first as u32 + self.lowest..).zip(values).for_each(|(i, &value)| self.cell(i, value));
        }
    }
}

impl ChunkRows {
    fn packed(width: usize, capacity: usize) -> Self {
        let rows = PackedRows::new(width, capacity);
        Self::Packed { row: vec![[0.0; LANES]; rows.num_groups()], rows }
    }

    /// Adds a dense row.
    fn push(&mut self, given: &[f32], absent: f32) {
        match self {
            Self::Dense { cells, .. } => cells.extend_from_slice(given),
            Self::Packed { rows, row } => {
                row.as_flattened_mut()[..given.len()].copy_from_slice(given);
                rows.push(row);
            }
            Self::Sparse { ends, features, cells } => {
                for (feature, &cell) in (0..).zip(given) {
                    if cell.to_bits() != absent.to_bits() {
                        features.push(feature);
                        cells.push(cell);
                    }
                }
                ends.push(cells.len());
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
        let mut scan = CellScanner::default();
        let outcome = block.each(|number, line| {
            each(&chunk.parse_line(parser, line, &mut scan)?, number);
            Ok(())
        });
        if parser.hashed && parser.absent() == 0.0 {
            chunk.hash_rows();
        }
        if let ChunkRows::Packed { rows, row } = &mut chunk.rows {
            rows.finish();
            *row = Vec::new();
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
        let rows = if width <= 2 * given && parser.kept && PackedRows::pays() {
            // Packed cells take about a third of the text.
            ChunkRows::packed(width, block.text().len() / 3)
        } else if width <= 2 * given {
            ChunkRows::Dense { width, cells: Vec::with_capacity((num_rows + num_rows / 8) * width) }
        } else {
            ChunkRows::Sparse { ends: vec![0], features: Vec::new(), cells: Vec::new() }
        };
        Self { num_rows: 0, num_features: 0, rows, hashes: Vec::new() }
    }

    fn parse_line<'a>(
        &mut self,
        parser: RowParser<'_>,
        line: TextLine<'a>,
        scan: &mut CellScanner,
    ) -> Result<LetorHead<'a>> {
        let lowest = u32::from(!parser.letor.zero_based);
        let widest;
        let row = match &mut self.rows {
            ChunkRows::Dense { width, cells } => {
                let start = cells.len();
                cells.resize(start + *width, 0.0);
                let mut slots = RowSlots { cells: &mut cells[start..], lowest, widest: 0 };
                let parsed = parser.letor.parse_into(line, scan, &mut slots);
                parser.mark_missing(slots.cells);
                widest = slots.widest;
                parsed.inspect_err(|_| cells.truncate(start))?
            }
            ChunkRows::Packed { rows, row } => {
                let slots = &mut row.as_flattened_mut()[..rows.width()];
                slots.fill(0.0);
                let mut sink = RowSlots { cells: slots, lowest, widest: 0 };
                let parsed = parser.letor.parse_into(line, scan, &mut sink)?;
                widest = sink.widest;
                parser.mark_missing(slots);
                if widest <= slots.len() {
                    if parser.hashed && parser.absent() == 0.0 {
                        self.hashes.push(row_hash(slots));
                    }
                    rows.push(row);
                }
                parsed
            }
            ChunkRows::Sparse { ends, features, cells } => {
                let start = cells.len();
                let mut sink = CellFn(|index, cell| {
                    features.push(index - lowest);
                    cells.push(cell);
                });
                let parsed = parser.letor.parse_into(line, scan, &mut sink);
                let row = parsed.inspect_err(|_| {
                    features.truncate(start);
                    cells.truncate(start);
                })?;
                parser.mark_missing(&mut cells[start..]);
                widest = features[start..].last().map_or(0, |&last| last as usize + 1);
                ends.push(cells.len());
                row
            }
        };
        if self.width().is_some_and(|width| widest > width) {
            self.widen(widest, parser.absent());
            return self.parse_line(parser, line, scan);
        }
        self.num_rows += 1;
        self.num_features = self.num_features.max(widest);
        Ok(row)
    }

    /// The number of cells of every row, unless rows are sparse.
    fn width(&self) -> Option<usize> {
        match &self.rows {
            ChunkRows::Dense { width, .. } => Some(*width),
            ChunkRows::Packed { rows, .. } => Some(rows.width()),
            ChunkRows::Sparse { .. } => None,
        }
    }

    /// Widens the rows for a feature that earlier lines did not have; the last row is parsed again.
    fn widen(&mut self, wider: usize, absent: f32) {
        let stays = self.width().is_none_or(|width| wider <= 2 * width.max(8));
        let mut moved = match &self.rows {
            ChunkRows::Packed { .. } if stays => ChunkRows::packed(wider, 0),
            ChunkRows::Dense { .. } if stays => ChunkRows::Dense {
                width: wider,
                cells: Vec::with_capacity((self.num_rows + 1) * wider),
            },
            _ => ChunkRows::Sparse { ends: vec![0], features: Vec::new(), cells: Vec::new() },
        };
        let mut cells = vec![0.0; wider];
        for row in 0..self.num_rows {
            self.read(row, 0..wider, &mut cells, absent);
            moved.push(&cells, absent);
        }
        self.rows = moved;
    }

    /// Hashes the rows while they are in the cache; packed ones were hashed before.
    fn hash_rows(&mut self) {
        let mut scratch = vec![0.0; self.num_features];
        let hash = |row| match &self.rows {
            ChunkRows::Dense { width, cells } => row_hash(&cells[row * width..(row + 1) * width]),
            ChunkRows::Packed { .. } => self.hashes[row],
            ChunkRows::Sparse { ends, features, .. } => {
                let last = features[ends[row]..ends[row + 1]].last();
                let scratch = &mut scratch[..last.map_or(0, |&last| last as usize + 1)];
                self.read(row, 0..scratch.len(), scratch, 0.0);
                row_hash(scratch)
            }
        };
        self.hashes = (0..self.num_rows).map(hash).collect();
    }

    /// One more than the highest feature.
    pub(super) fn num_features(&self) -> usize {
        self.num_features
    }

    /// The bytes of memory.
    fn memory(&self) -> usize {
        match &self.rows {
            ChunkRows::Dense { cells, .. } => 4 * cells.len(),
            ChunkRows::Packed { rows, .. } => rows.memory(),
            ChunkRows::Sparse { ends, cells, .. } => 8 * (ends.len() + cells.len()),
        }
    }

    /// Writes the cells of some features of a row.
    fn read(&self, row: usize, features: Range<usize>, to: &mut [f32], absent: f32) {
        match &self.rows {
            ChunkRows::Dense { width, cells } => {
                let known = features.start.min(*width)..features.end.min(*width);
                let (given, beyond) = to.split_at_mut(known.len());
                given.copy_from_slice(&cells[row * width..(row + 1) * width][known]);
                beyond.fill(absent);
            }
            ChunkRows::Packed { rows, .. } => {
                let known = features.start.min(rows.width())..features.end.min(rows.width());
                let (given, beyond) = to.split_at_mut(known.len());
                rows.read(row, known, given);
                beyond.fill(absent);
            }
            ChunkRows::Sparse { ends, features: given, cells } => {
                to.fill(absent);
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

/// The chunks of a text, or of a part of it, in order.
#[derive(Debug, Default)]
pub(super) struct ParsedTable {
    chunks: Vec<RowChunk>,
    /// Where each chunk begins.
    starts: Vec<usize>,
    num_rows: usize,
    num_features: usize,
    memory: usize,
    hashes: Vec<u64>,
    absent: f32,
}

impl ParsedTable {
    pub(super) fn new(parser: RowParser<'_>) -> Self {
        Self { absent: parser.absent(), ..Self::default() }
    }

    pub(super) fn of(parser: RowParser<'_>, chunk: RowChunk) -> Self {
        let mut table = Self::new(parser);
        table.push(chunk);
        table
    }

    pub(super) fn push(&mut self, mut chunk: RowChunk) {
        self.starts.push(self.num_rows);
        self.num_rows += chunk.num_rows;
        self.num_features = self.num_features.max(chunk.num_features);
        self.memory += chunk.memory();
        self.hashes.append(&mut chunk.hashes);
        self.chunks.push(chunk);
    }

    /// The hash of each row. Where features that are not mentioned are missing, it depends on the number
    /// of features and is computed here.
    pub(super) fn hashes(&self, interrupt: &Interrupt) -> Result<Cow<'_, [u64]>> {
        if !self.absent_is_missing() {
            return Ok(Cow::Borrowed(&self.hashes));
        }
        row_hashes(self, interrupt).map(Cow::Owned)
    }

    /// The bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Whether features that a line does not mention are missing, and not 0.
    pub(super) fn absent_is_missing(&self) -> bool {
        self.absent.is_nan()
    }

    /// The same rows in a table of at least `num_features` features.
    pub(super) fn widened(mut self, num_features: usize) -> Self {
        self.num_features = self.num_features.max(num_features);
        self
    }
}

impl ParsedTable {
    /// The chunk that has a row, and the row's number in it. `at` is the chunk of the previous row: for
    /// rising rows no search is needed.
    fn find(&self, row: usize, at: &mut usize) -> (&RowChunk, usize) {
        let holds =
            |at: usize| self.starts[at] <= row && row - self.starts[at] < self.chunks[at].num_rows;
        if !holds(*at) {
            let next = (*at + 1).min(self.chunks.len() - 1);
            let found = || self.starts.partition_point(|&start| start <= row) - 1;
            *at = if holds(next) { next } else { found() };
        }
        (&self.chunks[*at], row - self.starts[*at])
    }

    /// Prefetches a row into the cache.
    fn fetch(&self, row: usize, at: &mut usize) {
        if let (RowChunk { rows: ChunkRows::Packed { rows, .. }, .. }, row) = self.find(row, at) {
            rows.fetch(row);
        }
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
            if let Some(&row) = rows.get(i + AHEAD) {
                self.fetch(row as usize, &mut at_ahead);
            }
            let (chunk, row) = self.find(rows[i] as usize, &mut at);
            chunk.read(row, features.clone(), to, self.absent);
        }
        Ok(())
    }
}
