//! A feature table extended by the ranks of its values within queries.
//!
//! The ranks (see [`query_ranks`]) are additional features, after all others. They are computed once,
//! query by query, and kept until the rows are binned: four bytes a cell. Categories have no order, so
//! the ranks of categorical features are missing values.

use super::content_order::slices_by_query;
use crate::binning::{CellSource, row_hashes};
use crate::error::{Result, room_for};
use crate::model::query_ranks;
use crate::{Grouping, Interrupt};
use rayon::prelude::*;
use std::ops::Range;

/// A table with twice the features: its own and their ranks.
pub(super) struct TableWithRanks<'a> {
    table: &'a dyn CellSource,
    /// The ranks, document by document in the order of the grouping.
    ranks: Vec<f32>,
    /// The document of each row.
    doc_of: Vec<u32>,
}

impl<'a> TableWithRanks<'a> {
    /// Ranks the values of a table whose rows the grouping covers, but for the categorical features.
    pub(super) fn new(
        table: &'a dyn CellSource,
        grouping: &Grouping,
        categorical: &[usize],
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let width = table.num_features();
        room_for("the ranks", (4 * table.num_rows() as u64).saturating_mul(width as u64))?;
        let mut ranks = vec![0f32; table.num_rows() * width];
        let pieces = slices_by_query(&mut ranks, &grouping.queries, width);
        let docs: Vec<_> = grouping.queries.ranges().map(|docs| &grouping.rows[docs]).collect();
        let rank = |tile: &mut Vec<f32>, (rows, ranks): (&[u32], &mut [f32])| {
            interrupt.check()?;
            tile.resize(ranks.len(), 0.0);
            table.read_features(rows, 0..width, tile)?;
            query_ranks(tile, width, ranks);
            for row in ranks.chunks_exact_mut(width.max(1)) {
                // A feature that there is not is an error where bins are chosen.
                for &feature in categorical.iter().filter(|&&feature| feature < width) {
                    row[feature] = f32::NAN;
                }
            }
            Ok(())
        };
        // Reading all rows in order finds the first fault and its place.
        let first_fault = |error| row_hashes(table, interrupt).err().unwrap_or(error);
        let ranked = docs.into_par_iter().zip(pieces).try_for_each_init(Vec::new, rank);
        ranked.map_err(first_fault)?;
        let docs: Vec<u32> = (0..grouping.rows.len() as u32).collect();
        Ok(Self { table, ranks, doc_of: grouping.scatter(&docs) })
    }

    fn ranks_of(&self, row: usize) -> &[f32] {
        let width = self.table.num_features();
        let start = self.doc_of[row] as usize * width;
        &self.ranks[start..start + width]
    }
}

impl CellSource for TableWithRanks<'_> {
    fn num_rows(&self) -> usize {
        self.table.num_rows()
    }

    fn num_features(&self) -> usize {
        2 * self.table.num_features()
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let rows: Vec<u32> = rows.map(|row| row as u32).collect();
        self.read_features(&rows, 0..self.num_features(), tile)
    }

    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let width = self.table.num_features();
        let raw = features.start.min(width)..features.end.min(width);
        if raw == features {
            return self.table.read_features(rows, features, tile);
        }
        let mut cells = vec![0.0; rows.len() * raw.len()];
        if !raw.is_empty() {
            self.table.read_features(rows, raw.clone(), &mut cells)?;
        }
        let ranks = features.start.max(width) - width..features.end.max(width) - width;
        for (at, (&row, to)) in rows.iter().zip(tile.chunks_exact_mut(features.len())).enumerate() {
            let (values, rest) = to.split_at_mut(raw.len());
            values.copy_from_slice(&cells[at * raw.len()..(at + 1) * raw.len()]);
            rest.copy_from_slice(&self.ranks_of(row as usize)[ranks.clone()]);
        }
        Ok(())
    }
}
