//! The raw values of a small dataset, kept beside its bins so that training may rank them.
//!
//! Whether ranks within queries help is decided by the data, when training begins. By then only bins are left,
//! which cannot be ranked as exactly as values; so a small dataset keeps its values, four bytes each.

use super::builder::RowData;
use super::dataset::Dataset;
use crate::Interrupt;
use crate::binning::{BinOptions, Binning, CellSource};
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Values of larger tables are not kept: 2^24 of them take 64 MiB.
const MOST_VALUES: usize = 1 << 24;

/// The values and rows that a dataset was made of.
#[derive(Debug)]
pub(super) struct KeptValues {
    values: Vec<f32>,
    num_features: usize,
    rows: RowData,
    /// How its bins were chosen; `None` if they are those of another dataset.
    options: Option<BinOptions>,
}

impl KeptValues {
    /// A copy of a table that is small enough and has several queries.
    pub(super) fn of(
        table: &dyn CellSource,
        rows: &RowData,
        options: Option<BinOptions>,
    ) -> Result<Option<Self>> {
        let (num_rows, num_features) = (table.num_rows(), table.num_features());
        let is_small = num_rows.saturating_mul(num_features) <= MOST_VALUES;
        if !is_small || rows.grouping.queries.len() < 2 {
            return Ok(None);
        }
        let mut values = vec![0.0; num_rows * num_features];
        table.read(0..num_rows, &mut values)?;
        Ok(Some(Self { values, num_features, rows: rows.clone(), options }))
    }

    /// The bytes of memory.
    pub(super) fn memory(&self) -> usize {
        4 * self.values.len() + 12 * self.rows.labels.len()
    }
}

impl CellSource for KeptValues {
    fn num_rows(&self) -> usize {
        self.rows.labels.len()
    }

    fn num_features(&self) -> usize {
        self.num_features
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let width = self.num_features;
        tile.copy_from_slice(&self.values[rows.start * width..rows.end * width]);
        Ok(())
    }
}

impl Dataset {
    /// Whether [`with_query_ranks`](Self::with_query_ranks) can make a dataset.
    pub fn keeps_values(&self) -> bool {
        self.kept_values.is_some()
    }

    /// The dataset that its rows make with ranks within queries as further features: the same as one that was
    /// made with them; `None` if the values were not kept. An evaluation set takes the bins of its training set.
    pub fn with_query_ranks(
        &self,
        like: Option<&Arc<Binning>>,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        let Some(kept) = &self.kept_values else { return Ok(None) };
        let rows = kept.rows.clone();
        if let Some(binning) = like {
            return Self::like(kept, rows, binning.clone(), interrupt).map(Some);
        }
        let Some(options) = &kept.options else { return Ok(None) };
        let options = BinOptions { query_ranks: true, ..options.clone() };
        Self::new(kept, rows, &options, interrupt).map(Some)
    }
}
