//! The order of documents and queries inside a dataset, which depends on their content alone.
//!
//! The documents of a query are sorted by a hash of their cells, label, weight, base score and position, then by
//! one of their further labels, and queries by such hashes over their documents. Documents with equal hashes are
//! copies of each other (with 64 bits, a memory error is more likely than a collision), and the order of copies
//! makes no difference. Random draws use the first hash alone: further labels that no metric asks for, and their
//! unit, change nothing in training.

use super::builder::RowData;
use crate::{Grouping, Queries, hash};
use rayon::prelude::*;
use std::ops::Range;

/// Documents and queries in the order of their content.
#[derive(Debug)]
pub(super) struct ContentOrder {
    pub(super) grouping: Grouping,
    /// The caller's number of each query.
    pub(super) query_of: Vec<u32>,
    /// Hashes without the further labels, for random draws.
    pub(super) doc_hash: Vec<u64>,
    pub(super) query_hash: Vec<u64>,
    /// A checksum of all queries, whatever their order, with the further labels.
    pub(super) checksum: u64,
}

/// The order of rows whose cells have the given hashes.
pub(super) fn content_order(row_hashes: &[u64], data: &RowData) -> ContentOrder {
    let grouping = &data.grouping;
    let hashes = row_hashes.par_iter().enumerate();
    let by_row: Vec<u64> = hashes.map(|(row, &hash)| doc_hash(hash, data, row)).collect();
    let with_extra = with_extra_labels(&by_row, data);
    let mut rows = grouping.rows.clone();
    // Of each query: its hash, and that with the further labels.
    let mut query_hash = vec![[0; 2]; grouping.queries.len()];
    let by_query = slices_by_query(&mut rows, &grouping.queries, 1);
    by_query.into_par_iter().zip(&mut query_hash).enumerate().for_each(|(q, (docs, hash))| {
        sort_by_hash(docs, &by_row);
        let weight = data.query_weight.as_ref().map_or(1.0, |w| w[q]);
        *hash = [fold(docs, &by_row, weight); 2];
        if let Some(with_extra) = &with_extra {
            let is_alike = |&a: &u32, &b: &u32| by_row[a as usize] == by_row[b as usize];
            for alike in docs.chunk_by_mut(is_alike) {
                alike.sort_by_key(|&row| with_extra[row as usize]);
            }
            hash[1] = fold(docs, with_extra, weight);
        }
    });
    let mut query_of: Vec<u32> = (0..grouping.queries.len() as u32).collect();
    query_of.par_sort_unstable_by_key(|&q| (query_hash[q as usize], q));
    let grouping = gathered(&rows, &grouping.queries, &query_of);
    ContentOrder {
        doc_hash: grouping.gather(&by_row),
        query_hash: query_of.iter().map(|&q| query_hash[q as usize][0]).collect(),
        checksum: query_hash.iter().fold(0, |sum, [_, hash]| sum.wrapping_add(hash::mix(*hash))),
        grouping,
        query_of,
    }
}

/// Sorts the documents of a query by hash, then row. Half of a hash and the row make one integer, which
/// nearly always decides the order.
fn sort_by_hash(docs: &mut [u32], by_row: &[u64]) {
    let half = |row: u32| by_row[row as usize] & (u64::MAX << 32);
    let mut keys: Vec<u64> = docs.iter().map(|&row| half(row) | u64::from(row)).collect();
    keys.sort_unstable();
    for (doc, key) in docs.iter_mut().zip(keys) {
        *doc = key as u32;
    }
    for alike in docs.chunk_by_mut(|&a, &b| half(a) == half(b)) {
        alike.sort_by_key(|&row| by_row[row as usize]);
    }
}

fn doc_hash(cells: u64, data: &RowData, row: usize) -> u64 {
    let label = u64::from((data.labels[row] + 0.0).to_bits());
    // Values that are not given hash as their defaults: a weight of 1, a score of 0.
    let extra = |values: &Option<Vec<f64>>, absent: f64| {
        values.as_ref().map_or(0, |v| (v[row] + 0.0).to_bits() ^ absent.to_bits())
    };
    let parts = [label, extra(&data.row_weight, 1.0), extra(&data.base_score, 0.0)];
    let position = data.position.as_ref().map(|position| u64::from(position[row]));
    parts.into_iter().chain(position).fold(cells, add)
}

/// The hashes of documents with their further labels; `None` if there are no such labels.
fn with_extra_labels(by_row: &[u64], data: &RowData) -> Option<Vec<u64>> {
    let with_extra = |(row, &hash): (usize, &u64)| {
        let values = data.extra_labels.iter().map(|extra| (extra.values[row] + 0.0).to_bits());
        values.map(u64::from).fold(hash, add)
    };
    let is_any = !data.extra_labels.is_empty();
    is_any.then(|| by_row.par_iter().enumerate().map(with_extra).collect())
}

fn add(hash: u64, part: u64) -> u64 {
    hash::mix(hash ^ part).rotate_left(1)
}

fn fold(docs: &[u32], by_row: &[u64], weight: f64) -> u64 {
    let start = hash::mix(weight.to_bits());
    docs.iter().fold(start, |h, &row| hash::mix(h.wrapping_add(by_row[row as usize])))
}

/// The values of each query as a slice of its own, `width` for each document.
pub(super) fn slices_by_query<'a, T>(
    mut values: &'a mut [T],
    queries: &Queries,
    width: usize,
) -> Vec<&'a mut [T]> {
    let slice = |docs: Range<usize>| values.split_off_mut(..docs.len() * width).unwrap_or_default();
    queries.ranges().map(slice).collect()
}

fn gathered(rows: &[u32], queries: &Queries, order: &[u32]) -> Grouping {
    let mut gathered = Vec::with_capacity(rows.len());
    let mut offsets = Vec::with_capacity(order.len() + 1);
    offsets.push(0);
    for &q in order {
        gathered.extend_from_slice(&rows[queries.range(q as usize)]);
        offsets.push(gathered.len());
    }
    let queries = if order.is_empty() { Queries::none() } else { Queries::from_offsets(offsets) };
    Grouping { queries, rows: gathered }
}
