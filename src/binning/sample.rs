//! A sample of rows that depends on their content and not on their order.
//!
//! Every row has a hash of its content. The sample consists of the `limit` smallest distinct
//! hashes, each with the number of rows that have it. So equal rows are sampled together, and a row
//! that fills a third of the data cannot displace the others. The sample does not depend on the
//! order of rows, on batches or on threads.
//!
//! Cost: one hash per row, and a copy of the rows that are in the sample when they are added.

use super::cells::CellSource;
use super::feature_bins::BinOptions;
use super::mapper::BinMapper;
use super::sample_columns::{SampleColumn, mappers_of};
use super::thresholds::sort_by_key;
use crate::Interrupt;
use crate::error::{Error, Result, check_features};
use rayon::prelude::*;
use std::ops::Range;

/// A sample of rows from which thresholds are chosen.
#[derive(Debug)]
pub struct RowSample {
    pub(super) limit: usize,
    /// Rows with a larger hash cannot enter the sample any more.
    cutoff: u64,
    pub(super) entries: Vec<EqualRows>,
    /// The cells of the rows, slot by slot: all cells, or those of `features` that are not 0.
    pub(super) cells: Vec<f32>,
    /// The end of each row among the cells, after a 0.
    pub(super) ends: Vec<usize>,
    /// The feature of each cell; `None` if rows have all their cells.
    pub(super) features: Option<Vec<u32>>,
    pub(super) num_features: usize,
    /// The first row of the next batch, for error messages.
    rows_seen: usize,
    /// The sum of the hashes of all rows seen.
    pub(super) content: u64,
}

/// The rows with one hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EqualRows {
    pub(super) hash: u64,
    pub(super) count: u32,
    /// The first of the rows in a table, or the slot of their copy in the sample.
    pub(super) row: u32,
}

/// Wider rows are stored without their zeros.
const WIDE: usize = 2048;

impl RowSample {
    /// An empty sample of up to `limit` distinct rows of `num_features` cells.
    ///
    /// Zeros of wide rows are not stored.
    pub fn new(limit: usize, num_features: usize) -> Self {
        let features = (num_features > WIDE).then(Vec::new);
        Self { features, num_features, ..Self::growing(limit) }
    }

    /// An empty sample of rows whose number of features is not known yet.
    pub fn growing(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            cutoff: u64::MAX,
            entries: Vec::new(),
            cells: Vec::new(),
            ends: vec![0],
            features: Some(Vec::new()),
            num_features: 0,
            rows_seen: 0,
            content: 0,
        }
    }

    /// The number of features seen so far.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// Adds features that are 0 in all rows, up to this number, to a sample that is growing.
    pub(crate) fn widen(&mut self, num_features: usize) {
        if self.features.is_some() {
            self.num_features = self.num_features.max(num_features);
        }
    }

    /// The sum of the hashes of all rows seen, which identifies them in any order.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// Adds all rows of a table.
    pub fn push(&mut self, table: &dyn CellSource, interrupt: &Interrupt) -> Result<()> {
        let rows_seen = self.rows_seen;
        let hashes = table.hashes(interrupt).map_err(|e| e.rows_after(rows_seen))?;
        self.push_hashed(table, &hashes)
    }

    fn push_hashed(&mut self, table: &dyn CellSource, hashes: &[u64]) -> Result<()> {
        self.rows_seen += hashes.len();
        self.content = hashes.iter().fold(self.content, |sum, &hash| sum.wrapping_add(hash));
        let groups = smallest_distinct(hashes, self.cutoff, self.limit);
        self.push_rows(table, &groups)?;
        self.num_features = self.num_features.max(table.num_features());
        let first = self.entries.len() as u32;
        self.entries
            .extend(groups.iter().zip(first..).map(|(group, row)| EqualRows { row, ..*group }));
        if self.entries.len() > self.limit + self.limit / 4 {
            self.shrink();
        }
        Ok(())
    }

    /// Merges equal rows and drops all beyond the limit.
    pub(super) fn shrink(&mut self) {
        self.entries.sort_unstable_by_key(|e| (e.hash, e.row));
        self.entries.dedup_by(|later, first| {
            let same = later.hash == first.hash;
            first.count = first.count.saturating_add(if same { later.count } else { 0 });
            same
        });
        self.entries.truncate(self.limit);
        if self.entries.len() == self.limit {
            self.cutoff = self.entries[self.limit - 1].hash;
        }
        self.entries.sort_unstable_by_key(|e| e.row);
        let mut end = 0;
        for (entry, slot) in self.entries.iter_mut().zip(0..) {
            let old = std::mem::replace(&mut entry.row, slot) as usize;
            let row = self.ends[old]..self.ends[old + 1];
            self.cells.copy_within(row.clone(), end);
            self.features.iter_mut().for_each(|features| features.copy_within(row.clone(), end));
            end += row.len();
            self.ends[slot as usize + 1] = end;
        }
        self.ends.truncate(self.entries.len() + 1);
        self.cells.truncate(end);
        self.features.iter_mut().for_each(|features| features.truncate(end));
    }

    /// The features and cells of a row that are not 0.
    pub(super) fn row(&self, slot: usize) -> impl Iterator<Item = (u32, f32)> {
        let row = self.ends[slot]..self.ends[slot + 1];
        let cells = (0..).zip(&self.cells[row.clone()]).filter(|(_, cell)| **cell != 0.0);
        let features = self.features.as_ref().map(|features| &features[row]);
        cells.map(move |(at, &cell)| (features.map_or(at as u32, |features| features[at]), cell))
    }

    /// Adds one row of each group.
    fn push_rows(&mut self, table: &dyn CellSource, groups: &[EqualRows]) -> Result<()> {
        let (width, old) = (table.num_features(), self.cells.len());
        let Self { cells, ends, features, .. } = self;
        if let Some(features) = features {
            let mut row = vec![0.0; width];
            for group in groups {
                table.read(group.rows(), &mut row)?;
                for (feature, &cell) in (0..).zip(&row).filter(|(_, cell)| **cell != 0.0) {
                    features.push(feature);
                    cells.push(cell);
                }
                ends.push(cells.len());
            }
            return Ok(());
        }
        check_features("a batch has other features", width, self.num_features)?;
        let more = groups.len() * width;
        let fault = || Error::resource("the sample of rows", 4 * (old + more) as u64);
        if cells.capacity() == 0 {
            // Zeroed memory is not touched before the rows are read into it.
            *cells = bytemuck::try_zeroed_vec(more).map_err(|()| fault())?;
        } else {
            cells.try_reserve(more).map_err(|_| fault())?;
            cells.resize(old + more, 0.0);
        }
        ends.extend((1..=groups.len()).map(|row| old + row * width));
        let rows = cells[old..].par_chunks_exact_mut(width.max(1));
        rows.zip(groups).try_for_each(|(row, group)| table.read(group.rows(), row))
    }

    /// Chooses the bins of every feature.
    pub(crate) fn into_mappers(
        mut self,
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Vec<BinMapper>> {
        self.shrink();
        let counts: Vec<u32> = self.entries.iter().map(|e| e.count).collect();
        if self.features.is_none() {
            let width = self.num_features;
            let read = |rows: Range<usize>, features: Range<usize>, tile: &mut [f32]| {
                let rows = self.cells[rows.start * width..rows.end * width].chunks_exact(width);
                for (row, to) in rows.zip(tile.chunks_exact_mut(features.len())) {
                    to.copy_from_slice(&row[features.clone()]);
                }
                Ok(())
            };
            return mappers_of(read, width, &counts, options, interrupt);
        }
        let mut columns = vec![SampleColumn::default(); self.num_features];
        for (slot, &count) in counts.iter().enumerate() {
            for (feature, cell) in self.row(slot) {
                columns[feature as usize].push(cell, count);
            }
        }
        let total = counts.iter().map(|&count| u64::from(count)).sum();
        let mapper = |(feature, column): (usize, SampleColumn)| {
            interrupt.check()?;
            Ok(column.mapper(&mut Vec::new(), (options, feature), total))
        };
        columns.into_par_iter().enumerate().map(mapper).collect()
    }
}

/// Chooses the bins of a table that can be read again, from the rows that its sample would contain.
pub(super) fn mappers_of_table(
    table: &dyn CellSource,
    hashes: &[u64],
    options: &BinOptions,
    interrupt: &Interrupt,
) -> Result<Vec<BinMapper>> {
    let num_features = table.num_features();
    if num_features > WIDE {
        let mut sample = RowSample::new(options.sample_rows, num_features);
        sample.push_hashed(table, hashes)?;
        return sample.into_mappers(options, interrupt);
    }
    let groups = smallest_distinct(hashes, u64::MAX, options.sample_rows);
    let (rows, counts): (Vec<u32>, Vec<u32>) = groups.iter().map(|g| (g.row, g.count)).unzip();
    let read = |at: Range<usize>, features, tile: &mut [f32]| {
        table.read_features(&rows[at], features, tile)
    };
    mappers_of(read, num_features, &counts, options, interrupt)
}

impl EqualRows {
    /// One of the rows, as a range.
    fn rows(&self) -> Range<usize> {
        self.row as usize..self.row as usize + 1
    }
}

/// The `limit` smallest distinct hashes up to `cutoff`, in the order of their first rows.
///
/// Hashes are uniform, so a bound on those that matter is known beforehand. It is too low only if
/// many rows are equal.
fn smallest_distinct(hashes: &[u64], cutoff: u64, limit: usize) -> Vec<EqualRows> {
    let share = (limit + limit / 4 + 64) as f64 / hashes.len() as f64;
    let mut bound = (share.min(1.0) * u64::MAX as f64) as u64;
    loop {
        bound = bound.min(cutoff);
        let mut groups = grouped(hashes, bound);
        if groups.len() >= limit || bound == cutoff {
            groups.truncate(limit);
            sort_by_key(&mut groups, &mut Vec::new(), |group| group.row);
            return groups;
        }
        bound = bound.saturating_mul(4);
    }
}

/// The groups of the hashes up to `highest`, sorted by hash.
fn grouped(hashes: &[u64], highest: u64) -> Vec<EqualRows> {
    let rows = (0..).zip(hashes).filter(|&(_, &hash)| hash <= highest);
    let mut rows: Vec<EqualRows> =
        rows.map(|(row, &hash)| EqualRows { hash, count: 1, row }).collect();
    sort_by_key(&mut rows, &mut Vec::new(), |row| (row.hash >> 32) as u32);
    // Nearly all hashes with equal upper halves are equal, and so are in order.
    for alike in rows.chunk_by_mut(|a, b| a.hash >> 32 == b.hash >> 32) {
        alike.sort_by_key(|row| row.hash);
    }
    rows.chunk_by(|a, b| a.hash == b.hash)
        .map(|same| EqualRows { count: same.len() as u32, ..same[0] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_smallest_hashes_are_found_with_all_their_rows(
            ids in prop::collection::vec(0u64..60, 0..300), limit in 1usize..80, high in 0u32..3, cutoff in any::<u64>(),
        ) {
            // Hashes that differ in their high bits, in their low bits only, or in both.
            let hash = |id: u64| match high {
                0 => id << 58,
                1 => 7 << 40 | id,
                _ => crate::hash::mix(id),
            };
            let hashes: Vec<u64> = ids.into_iter().map(hash).collect();
            let mut naive = BTreeMap::new();
            for (row, &hash) in (0..).zip(&hashes).filter(|(_, hash)| **hash <= cutoff) {
                naive.entry(hash).or_insert(EqualRows { hash, count: 0, row }).count += 1;
            }
            let mut naive: Vec<EqualRows> = naive.into_values().take(limit).collect();
            naive.sort_by_key(|group| group.row);
            prop_assert_eq!(smallest_distinct(&hashes, cutoff, limit), naive);
        }
    }
}
