//! Docs with their cells as they came, for what learns from values and not from bins.

use super::builder::RowData;
use super::dataset::{check_pairs, check_rows};
use super::order::canonical;
use crate::binning::{CellSource, block_rows, row_hashes};
use crate::error::{Result, room_for};
use crate::{Interrupt, Queries};
use rayon::prelude::*;

/// Cells that a line of memory holds.
const LINE: usize = 16;

/// Docs with cells, labels and queries, in the order of their content: that of a
/// [`Dataset`](super::Dataset) of the same rows. Four bytes a cell; base scores are not kept.
///
/// Rows are padded to whole lines of memory, so that what learns can turn cells into its own inputs
/// where they stand.
#[derive(Debug)]
pub struct RawDataset {
    num_features: usize,
    stride: usize,
    cells: Vec<f32>,
    labels: Vec<f32>,
    queries: Queries,
    rows: Vec<u32>,
    query_of: Vec<u32>,
    doc_hash: Vec<u64>,
    query_hash: Vec<u64>,
    row_weight: Option<Vec<f64>>,
    query_weight: Option<Vec<f64>>,
}

impl RawDataset {
    /// A copy of a table in memory.
    pub fn new(table: &dyn CellSource, data: RowData, interrupt: &Interrupt) -> Result<Self> {
        check_rows(table, &data)?;
        let width = table.num_features();
        let padded = width.next_multiple_of(LINE) as u64;
        room_for("the cells", (4 * table.num_rows() as u64).saturating_mul(padded))?;
        let hashes = row_hashes(table, interrupt)?;
        let order = canonical(&hashes, &data);
        let stride = width.next_multiple_of(LINE);
        let mut cells = vec![0.0; table.num_rows() * stride];
        let block = block_rows(width);
        let copies = cells.par_chunks_mut(block * stride).zip(order.rows.par_chunks(block));
        copies.try_for_each_init(Vec::new, |tile: &mut Vec<f32>, (cells, rows)| {
            interrupt.check()?;
            tile.resize(rows.len() * width, 0.0);
            table.read_features(rows, 0..width, tile)?;
            for (to, from) in cells.chunks_exact_mut(stride).zip(tile.chunks_exact(width)) {
                to[..width].copy_from_slice(from);
            }
            Ok(())
        })?;
        let gather = |values: Vec<f64>| order.rows.iter().map(|&r| values[r as usize]).collect();
        let by_query = |w: Vec<f64>| order.query_of.iter().map(|&q| w[q as usize]).collect();
        Ok(Self {
            num_features: width,
            stride,
            cells,
            labels: order.rows.iter().map(|&row| data.labels[row as usize] + 0.0).collect(),
            row_weight: data.row_weight.map(gather),
            query_weight: data.query_weight.map(by_query),
            queries: order.queries,
            rows: order.rows,
            query_of: order.query_of,
            doc_hash: order.doc_hash,
            query_hash: order.query_hash,
        })
    }

    /// The number of features.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The number of docs.
    pub fn num_docs(&self) -> usize {
        self.labels.len()
    }

    /// All cells, doc after doc, [`stride`](Self::stride) each; NaN where one is missing.
    pub fn cells(&self) -> &[f32] {
        &self.cells
    }

    /// From one doc's cells to the next's; between them, zeros.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All cells, to be replaced by what is made of them.
    pub(crate) fn cells_mut(&mut self) -> &mut [f32] {
        &mut self.cells
    }

    /// An error unless some query has two different labels.
    pub fn require_pairs(&self) -> Result<()> {
        check_pairs(&self.labels, &self.queries)
    }

    /// `values[doc]` in the order of the caller's rows.
    pub fn by_row<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        let mut by_row = vec![T::default(); values.len()];
        for (&row, &value) in self.rows.iter().zip(values) {
            by_row[row as usize] = value;
        }
        by_row
    }

    /// The label of each doc.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The docs of each query.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The caller's row of each doc.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The caller's number of each query.
    pub fn query_of(&self) -> &[u32] {
        &self.query_of
    }

    /// A hash of each doc's content: its identity for everything random.
    pub fn doc_hash(&self) -> &[u64] {
        &self.doc_hash
    }

    /// A hash of each query's content.
    pub fn query_hash(&self) -> &[u64] {
        &self.query_hash
    }

    /// The weight of each doc, where given.
    pub fn row_weight(&self) -> Option<&[f64]> {
        self.row_weight.as_deref()
    }

    /// The weight of each query, where given.
    pub fn query_weight(&self) -> Option<&[f64]> {
        self.query_weight.as_deref()
    }
}
