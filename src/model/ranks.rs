//! Ranks within queries: for each feature, the rank of a doc's value among the values of its query.
//!
//! The rank of a value is `(r - 1/2) / n`: `n` docs of the query have a value, and `r` is its place
//! among them from the smallest, from 1; equal values share the mean of their places. A missing
//! value has no rank. Ranks lie between 0 and 1 and do not change with the order of the docs or with a
//! rising function of the feature, so they can be compared between queries where raw values cannot.
//!
//! A value counts as the nearest `f32`, as it does in training, so that data and scorer cannot
//! disagree. A feature of a query is sorted: `n log n` steps a feature.

use super::parallel;
use super::scorer::Value;
use crate::error::Result;

/// About so many docs get their ranks at a time, so that the wider rows stay in cache.
const DOCS: usize = 512;

/// The rank of each value within its feature.
///
/// `rows` are the docs of one query, `num_features` values each, one after the other; `ranks` has
/// room for as many.
///
/// ```
/// // Three docs with two features.
/// let rows = [10.0f32, 5.0, 30.0, f32::NAN, 30.0, 1.0];
/// let mut ranks = [0.0; 6];
/// rustrank::model::query_ranks(&rows, 2, &mut ranks);
/// assert_eq!(ranks[..3], [0.5 / 3.0, 0.75, 2.0 / 3.0]);
/// assert!(ranks[3].is_nan());
/// ```
pub fn query_ranks<T: Value>(rows: &[T], num_features: usize, ranks: &mut [f32]) {
    let width = num_features.max(1);
    columns(rows, width, |doc, feature, rank| {
        if let Some(to) = ranks.get_mut(doc * width + feature) {
            *to = rank;
        }
    });
}

/// Calls `put` with each doc, feature and rank.
fn columns<T: Value>(rows: &[T], width: usize, mut put: impl FnMut(usize, usize, f32)) {
    let mut keys: Vec<u64> = Vec::with_capacity(rows.len() / width);
    for feature in 0..width.min(rows.len()) {
        keys.clear();
        for (doc, value) in rows[feature..].iter().step_by(width).enumerate() {
            let value = value.nearest();
            if value.is_nan() {
                put(doc, feature, f32::NAN);
            } else {
                keys.push(u64::from(rising(value)) << 32 | doc as u64);
            }
        }
        keys.sort_unstable();
        let mut start = 0;
        for equal in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            // The mean of the places start + 1 to end, less a half.
            let end = start + equal.len();
            let rank = ((start + end) as f64 / (2 * keys.len()) as f64) as f32;
            for key in equal {
                put(*key as u32 as usize, feature, rank);
            }
            start = end;
        }
    }
}

/// An integer key with the order of the numbers; equal for equal numbers.
fn rising(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Appends the docs of a query to `wide`, each with its ranks after its values.
fn widen<T: Value>(rows: &[T], width: usize, wide: &mut Vec<T>) {
    let start = wide.len();
    for row in rows.chunks_exact(width) {
        wide.extend_from_slice(row);
        wide.extend_from_slice(row);
    }
    let wide = &mut wide[start..];
    columns(rows, width, |doc, feature, rank| {
        wide[(2 * doc + 1) * width + feature] = T::from(rank);
    });
}

/// Splits queries into pieces of about [`DOCS`] docs: the bounds of each and the slice of its results, `each` a row.
pub(super) fn pieces<'a>(
    bounds: &'a [usize],
    each: usize,
    mut results: &'a mut [f64],
) -> Vec<(&'a [usize], &'a mut [f64])> {
    let (mut pieces, mut first) = (Vec::new(), 0);
    for last in 1..bounds.len() {
        let docs = bounds[last] - bounds[first];
        if docs >= DOCS || last + 1 == bounds.len() {
            let (piece, rest) = results.split_at_mut(docs * each);
            pieces.push((&bounds[first..=last], piece));
            (results, first) = (rest, last);
        }
    }
    pieces
}

/// Calls `work` with pieces of whole queries: rows with their ranks, bounds, and the slice of results; in
/// parallel where there are many.
///
/// The bounds rise from 0 to the number of rows, and every row has as many results.
pub(super) fn by_queries<T: Value>(
    rows: &[T],
    bounds: &[usize],
    results: &mut [f64],
    work: impl Fn(&[T], &[usize], &mut [f64]) -> Result<()> + Sync,
) -> Result<()> {
    let docs = bounds.last().copied().unwrap_or_default();
    let (width, each) = match (rows.len().checked_div(docs), results.len().checked_div(docs)) {
        (Some(width), Some(each)) if width > 0 => (width, each),
        _ => return work(rows, bounds, results),
    };
    let pieces = pieces(bounds, each, results);
    let piece = |(bounds, results): (&[usize], &mut [f64])| {
        let start = bounds[0];
        let mut wide = Vec::with_capacity(2 * width * (bounds[bounds.len() - 1] - start));
        for query in bounds.windows(2) {
            widen(&rows[query[0] * width..query[1] * width], width, &mut wide);
        }
        let bounds: Vec<usize> = bounds.iter().map(|bound| bound - start).collect();
        work(&wide, &bounds, results)
    };
    parallel::try_for_each(pieces, piece)
}
