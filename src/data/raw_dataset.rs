//! Documents with their raw values, for learners that do not use bins: nets and linear models.

use super::builder::RowData;
use super::content_order::content_order;
use super::dataset::check_rows;
use super::documents::Documents;
use crate::Interrupt;
use crate::binning::{CellSource, block_rows};
use crate::error::{Result, room_for};
use rayon::prelude::*;
use std::ops::Deref;

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
    documents: Documents,
}

impl Deref for RawDataset {
    type Target = Documents;

    fn deref(&self) -> &Documents {
        &self.documents
    }
}

impl RawDataset {
    /// A copy of a table in memory.
    pub fn new(table: &dyn CellSource, data: RowData, interrupt: &Interrupt) -> Result<Self> {
        check_rows(table, &data)?;
        let width = table.num_features();
        let stride = width.next_multiple_of(CACHE_LINE);
        room_for("the cells", (4 * table.num_rows() as u64).saturating_mul(stride as u64))?;
        let hashes = table.hashes(interrupt)?;
        let order = content_order(&hashes, &data);
        let mut cells = vec![0.0; table.num_rows() * stride];
        let block = block_rows(width);
        let copies =
            cells.par_chunks_mut(block * stride).zip(order.grouping.rows.par_chunks(block));
        copies.try_for_each_init(Vec::new, |tile: &mut Vec<f32>, (cells, rows)| {
            interrupt.check()?;
            tile.resize(rows.len() * width, 0.0);
            table.read_features(rows, 0..width, tile)?;
            for (to, from) in cells.chunks_exact_mut(stride).zip(tile.chunks_exact(width)) {
                to[..width].copy_from_slice(from);
            }
            Ok(())
        })?;
        let data = RowData { base_score: None, position: None, extra_labels: Vec::new(), ..data };
        Ok(Self { num_features: width, stride, cells, documents: Documents::new(order, data) })
    }

    /// The number of features.
    pub fn num_features(&self) -> usize {
        self.num_features
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
}
