//! Documents with their raw values, for learners that do not use bins: nets and linear models.

use super::builder::RowData;
use super::content_order::content_order;
use super::dataset::{check_pairs, check_rows};
use crate::binning::{CellSource, block_rows, row_hashes};
use crate::error::{Result, room_for};
use crate::{Interrupt, Queries};
use rayon::prelude::*;

/// Cells in a cache line.
const CACHE_LINE: usize = 16;

/// Documents with raw values, labels and queries, in the order of their content, as in a
/// [`Dataset`](super::Dataset) of the same rows. Four bytes a cell; base scores are not kept.
///
/// Rows are padded to whole cache lines, so that a learner can replace cells by its own inputs.
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
        let padded = width.next_multiple_of(CACHE_LINE) as u64;
        room_for("the cells", (4 * table.num_rows() as u64).saturating_mul(padded))?;
        let hashes = row_hashes(table, interrupt)?;
        let order = content_order(&hashes, &data);
        let stride = width.next_multiple_of(CACHE_LINE);
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

    /// The number of documents.
    pub fn num_docs(&self) -> usize {
        self.labels.len()
    }

    /// All cells, document by document, [`stride`](Self::stride) each; NaN for a missing one.
    pub fn cells(&self) -> &[f32] {
        &self.cells
    }

    /// The distance between the cells of two documents; the padding is zeros.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All cells, to be replaced by the inputs of a learner.
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

    /// The label of each document.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The documents of each query.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The caller's row of each document.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The caller's number of each query.
    pub fn query_of(&self) -> &[u32] {
        &self.query_of
    }

    /// A hash of each document's content, which identifies it in random draws.
    pub fn doc_hash(&self) -> &[u64] {
        &self.doc_hash
    }

    /// A hash of each query's content.
    pub fn query_hash(&self) -> &[u64] {
        &self.query_hash
    }

    /// The weight of each document, if given.
    pub fn row_weight(&self) -> Option<&[f64]> {
        self.row_weight.as_deref()
    }

    /// The weight of each query, if given.
    pub fn query_weight(&self) -> Option<&[f64]> {
        self.query_weight.as_deref()
    }
}
