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
}

impl KeptValues {
    /// A copy of a table, if it is small enough and its bins ask for it.
    pub(super) fn of(
        table: &dyn CellSource,
        rows: &RowData,
        binning: &Binning,
    ) -> Result<Option<Self>> {
        let mut growing = GrowingValues::new(binning);
        growing.push(table)?;
        Ok(growing.finish(rows))
    }

    /// The bytes of memory.
    pub(super) fn memory(&self) -> usize {
        4 * self.values.len() + 12 * self.rows.labels.len()
    }
}

/// The values of a table that comes in parts.
#[derive(Debug)]
pub(super) struct GrowingValues {
    /// `None` once there are too many.
    values: Option<Vec<f32>>,
    num_features: usize,
}

impl GrowingValues {
    /// No values yet, for a dataset with these bins.
    pub(super) fn new(binning: &Binning) -> Self {
        let is_kept = binning.later_options().is_some() && !binning.query_ranks();
        Self { values: is_kept.then(Vec::new), num_features: binning.num_features() }
    }

    /// Adds the values of further rows.
    pub(super) fn push(&mut self, table: &dyn CellSource) -> Result<()> {
        let Some(values) = &mut self.values else { return Ok(()) };
        let start = values.len();
        let end = start.saturating_add(table.num_rows().saturating_mul(self.num_features));
        if end > MOST_VALUES {
            self.values = None;
            return Ok(());
        }
        values.resize(end, 0.0);
        table.read(0..table.num_rows(), &mut values[start..])
    }

    /// All values with their rows; `None` if they are too many, or of one query.
    pub(super) fn finish(self, rows: &RowData) -> Option<KeptValues> {
        let values = self.values.filter(|_| rows.grouping.queries.len() > 1)?;
        Some(KeptValues { values, num_features: self.num_features, rows: rows.clone() })
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
        let Some(options) = self.binning().later_options() else { return Ok(None) };
        let options = BinOptions { query_ranks: true, ..options.clone() };
        Self::new(kept, rows, &options, interrupt).map(Some)
    }
}
