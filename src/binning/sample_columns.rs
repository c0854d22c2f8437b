//! Turns the sampled rows into sorted columns, and chooses the bins of each feature.
//!
//! A *key* is a cell as an integer of the same order. Rows are read a few features at a time (at
//! least a cache line), so that the keys of each feature are collected one after the other. Then
//! they are sorted by radix.

use super::feature_bins::BinOptions;
use super::kernel::nonzero_keys::{SLACK, nonzero_keys};
use super::mapper::BinMapper;
use super::thresholds::{WeightedCell, from_key, sort_by_key, to_key};
use crate::Interrupt;
use crate::error::Result;
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// The bins of all features. Row `i` of the sample stands for `counts[i]` rows; `read` writes the
/// cells of some features of some rows to a tile.
pub(super) fn mappers_of(
    read: impl Fn(Range<usize>, Range<usize>, &mut [f32]) -> Result<()> + Sync,
    num_features: usize,
    counts: &[u32],
    options: &BinOptions,
    interrupt: &Interrupt,
) -> Result<Vec<BinMapper>> {
    /// The number of cells in a cache line.
    const LINE: usize = 16;
    const KEYS: usize = 12 << 20;
    const TILE: usize = 16 << 10;
    let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    // As many features at a time as each thread has to process, and as the memory for keys allows.
    // So a row is fetched from memory once per thread.
    let share = num_features.div_ceil(rayon::current_num_threads());
    let most = KEYS / counts.len().max(1);
    let at_once = share.min(most).next_multiple_of(LINE);
    let rows = (TILE / at_once).clamp(1, 256);
    let groups: Vec<Vec<BinMapper>> = (0..num_features.div_ceil(at_once))
        .into_par_iter()
        .map(|group| {
            let features = group * at_once..((group + 1) * at_once).min(num_features);
            let width = features.len();
            let mut keys: Vec<_> =
                (0..width).map(|_| SampleColumn::with_room(counts.len())).collect();
            let mut tile = vec![0.0; rows * width];
            for (block, counts) in counts.chunks(rows).enumerate() {
                interrupt.check()?;
                let tile = &mut tile[..counts.len() * width];
                read(block * rows..block * rows + counts.len(), features.clone(), tile)?;
                let alone = counts.iter().all(|&count| count == 1);
                for (feature, keys) in keys.iter_mut().enumerate() {
                    keys.extend(&tile[feature..], width, counts, alone);
                }
            }
            let mut scratch = Vec::new();
            let keys = keys.into_iter().zip(features);
            Ok(keys.map(|(keys, f)| keys.mapper(&mut scratch, (options, f), total)).collect())
        })
        .collect::<Result<_>>()?;
    Ok(groups.into_iter().flatten().collect())
}

/// The cells of one feature of the sample. Zeros, about two cells in five of real data, are not
/// stored: their number is the difference to the number of rows.
#[derive(Debug, Clone, Default)]
pub(super) struct SampleColumn {
    /// Cells of rows with count 1: most cells.
    single: Vec<u32>,
    /// Cells of rows with larger counts, and the counts.
    many: Vec<(u32, u32)>,
    missing: u64,
}

impl SampleColumn {
    /// An empty column. The allocated memory is not touched before it is used.
    fn with_room(rows: usize) -> Self {
        Self { single: Vec::with_capacity(rows + SLACK), ..Self::default() }
    }

    #[inline]
    pub(super) fn push(&mut self, cell: f32, count: u32) {
        if cell.is_nan() {
            self.missing += u64::from(count);
        } else if cell != 0.0 && count == 1 {
            self.single.push(to_key(cell));
        } else if cell != 0.0 {
            self.many.push((to_key(cell), count));
        }
    }

    /// Adds cells that are `stride` apart. If `alone`, all counts are 1, and the loop does not
    /// branch on the cells.
    fn extend(&mut self, cells: &[f32], stride: usize, counts: &[u32], alone: bool) {
        if !alone {
            let cells = cells.iter().step_by(stride);
            cells.zip(counts).for_each(|(&cell, &count)| self.push(cell, count));
            return;
        }
        let old = self.single.len();
        self.single.resize(old + counts.len() + SLACK, 0);
        let kept = nonzero_keys(Level::best(), cells, stride, &mut self.single[old..]);
        self.single.truncate(old + kept.keys);
        self.missing += kept.missing as u64;
    }

    /// The bins of the feature. Rows of `total` without a stored cell are 0.
    pub(super) fn mapper(
        mut self,
        scratch: &mut Vec<u32>,
        (options, feature): (&BinOptions, usize),
        total: u64,
    ) -> BinMapper {
        sort_by_key(&mut self.single, scratch, |key| key);
        let many: u64 = self.many.iter().map(|&(_, count)| u64::from(count)).sum();
        let absent = total - self.missing - many - self.single.len() as u64;
        let many = self.many.iter().map(|&(key, count)| (key, u64::from(count)));
        let mut rest: Vec<(u32, u64)> = many.collect();
        rest.extend((absent > 0).then_some((to_key(0.0), absent)));
        rest.sort_unstable();
        let distinct = merged(&self.single, &rest);
        let is_category = options.categorical.contains(&(feature as u32));
        BinMapper::choose(&distinct, self.missing, options.max_bins, is_category)
    }
}

/// The distinct cells with their weights, from sorted cells of weight 1 and sorted weighted cells.
fn merged(single: &[u32], weighted: &[(u32, u64)]) -> Vec<WeightedCell> {
    let mut distinct: Vec<WeightedCell> = Vec::new();
    let mut last = None;
    let mut weighted = weighted.iter().peekable();
    let mut add = |key: u32, weight: u64| {
        if last == Some(key)
            && let Some(cell) = distinct.last_mut()
        {
            cell.weight += weight;
        } else {
            distinct.push(WeightedCell { cell: from_key(key), weight });
            last = Some(key);
        }
    };
    for same in single.chunk_by(|a, b| a == b) {
        while let Some(&(key, weight)) = weighted.next_if(|w| w.0 <= same[0]) {
            add(key, weight);
        }
        add(same[0], same.len() as u64);
    }
    for &(key, weight) in weighted {
        add(key, weight);
    }
    distinct
}
