//! The order of documents and queries inside a dataset, which depends on their content alone.
//!
//! The documents of a query are sorted by a hash of their cells, labels, weight, base score and
//! position, queries by a hash over their documents. Documents with equal hashes are copies of each other (with 64
//! bits, a memory error is more likely than a collision), and the order of copies makes no difference.

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
    pub(super) doc_hash: Vec<u64>,
    pub(super) query_hash: Vec<u64>,
}

/// The order of rows whose cells have the given hashes.
pub(super) fn content_order(row_hashes: &[u64], data: &RowData) -> ContentOrder {
    let grouping = &data.grouping;
    let hashes = row_hashes.par_iter().enumerate();
    let by_row: Vec<u64> = hashes.map(|(row, &hash)| doc_hash(hash, data, row)).collect();
    let mut rows = grouping.rows.clone();
    let mut query_hash = vec![0; grouping.queries.len()];
    let by_query = slices_by_query(&mut rows, &grouping.queries, 1);
    by_query.into_par_iter().zip(&mut query_hash).enumerate().for_each(|(q, (docs, hash))| {
        sort_by_hash(docs, &by_row);
        *hash = fold(docs, &by_row, data.query_weight.as_ref().map_or(1.0, |w| w[q]));
    });
    let mut query_of: Vec<u32> = (0..grouping.queries.len() as u32).collect();
    query_of.par_sort_unstable_by_key(|&q| (query_hash[q as usize], q));
    let grouping = gathered(&rows, &grouping.queries, &query_of);
    let doc_hash = grouping.gather(&by_row);
    let query_hash = query_of.iter().map(|&q| query_hash[q as usize]).collect();
    ContentOrder { grouping, query_of, doc_hash, query_hash }
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
    let extra_labels = data.extra_labels.iter().map(|extra| (extra.values[row] + 0.0).to_bits());
    let parts = parts.into_iter().chain(position).chain(extra_labels.map(u64::from));
    parts.fold(cells, |hash, part| hash::mix(hash ^ part).rotate_left(1))
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
