//! Queries as ranges of documents: the unit of ranking, parallelism, bagging and sharding.
//!
//! Inside the crate the documents of a query are always consecutive. Callers may pass rows in any
//! order: [`Grouping`] keeps the row of each document, so that results can be returned in that
//! order.

use crate::error::{Error, Result, check_length, room_for};
use std::ops::Range;

/// Consecutive, non-empty ranges that cover all documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queries {
    /// `offsets[q]..offsets[q + 1]` are the documents of query `q`.
    offsets: Vec<usize>,
}

/// Queries whose documents were collected from rows in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// The queries, in the order of their first rows.
    pub queries: Queries,
    /// `rows[doc]` is the caller's row of that document.
    pub rows: Vec<u32>,
}

impl Queries {
    /// Consecutive queries of the given sizes, which must cover `num_rows`.
    pub fn from_sizes(sizes: &[i64], num_rows: usize) -> Result<Self> {
        if num_rows == 0 || sizes.is_empty() {
            return Err(empty(num_rows));
        }
        let mut offsets = Vec::with_capacity(sizes.len() + 1);
        offsets.push(0usize);
        let mut total = 0usize;
        for (q, &size) in sizes.iter().enumerate() {
            if size <= 0 {
                return Err(Error::data("group.size", format!("group[{q}] = {size}"))
                    .expected("a positive number of rows")
                    .hint("leave empty queries out"));
            }
            total = total.saturating_add(size as usize);
            offsets.push(total);
        }
        if total != num_rows {
            let what = format!("groups cover {total} of {num_rows} rows");
            return Err(Error::data("group.sum", what)
                .hint("`group` holds the number of rows of each query, in row order"));
        }
        Ok(Self { offsets })
    }

    /// Queries from their boundaries: 0, ascending, the last one the number of documents.
    ///
    /// # Panics
    /// If `offsets` is not such a list.
    pub(crate) fn from_offsets(offsets: Vec<usize>) -> Self {
        assert!(offsets.len() > 1 && offsets[0] == 0 && offsets.is_sorted_by(|a, b| a < b));
        Self { offsets }
    }

    /// No queries: the part of a worker without documents.
    pub(crate) fn none() -> Self {
        Self { offsets: vec![0] }
    }

    /// The number of queries.
    #[expect(clippy::len_without_is_empty, reason = "there is nearly always a query")]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of documents of all queries.
    pub fn num_docs(&self) -> usize {
        self.offsets[self.len()]
    }

    /// The documents of a query.
    pub fn range(&self, query: usize) -> Range<usize> {
        self.offsets[query]..self.offsets[query + 1]
    }

    /// Where queries begin, and the last one ends: 0 first, the number of documents last.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The documents of each query.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.offsets.windows(2).map(|w| w[0]..w[1])
    }

    /// The query of a document, found by bisection.
    pub fn of_doc(&self, doc: usize) -> usize {
        self.offsets.partition_point(|&start| start <= doc) - 1
    }
}

impl Grouping {
    /// Groups rows by `codes[row]`, a number below `num_queries`; each must occur.
    ///
    /// The documents of a query keep the order of their rows.
    pub fn from_codes(codes: &[u32], num_queries: usize) -> Result<Self> {
        if codes.is_empty() || num_queries == 0 {
            return Err(empty(codes.len()));
        }
        if codes.len() > u32::MAX as usize {
            return Err(Error::data("rows.many", "too many rows").expected("at most 2^32 - 1"));
        }
        room_for("the list of queries", 4 * codes.len() as u64 + 24 * num_queries as u64)?;
        let mut offsets = vec![0usize; num_queries + 1];
        for (row, &code) in codes.iter().enumerate() {
            let Some(size) = offsets[1..].get_mut(code as usize) else {
                return Err(Error::data("query.code", format!("query code[{row}] = {code}"))
                    .expected(format!("a number below {num_queries}")));
            };
            *size += 1;
        }
        if let Some(q) = offsets[1..].iter().position(|&size| size == 0) {
            return Err(Error::data("query.code", format!("query code {q} has no row")));
        }
        for q in 0..num_queries {
            offsets[q + 1] += offsets[q];
        }
        let mut next = offsets.clone();
        let mut rows = vec![0u32; codes.len()];
        for (row, &code) in codes.iter().enumerate() {
            let slot = &mut next[code as usize];
            rows[*slot] = row as u32;
            *slot += 1;
        }
        Ok(Self { queries: Queries { offsets }, rows })
    }

    /// The grouping of the caller's rows, from the row of each document and the caller's number of
    /// each query.
    pub(crate) fn of_caller(queries: &Queries, rows: &[u32], numbers: &[u32]) -> Result<Self> {
        room_for("the list of queries", 4 * rows.len() as u64)?;
        let mut codes = vec![0; rows.len()];
        for (docs, &number) in queries.ranges().zip(numbers) {
            rows[docs].iter().for_each(|&row| codes[row as usize] = number);
        }
        Self::from_codes(&codes, queries.len())
    }

    /// A grouping whose documents are in the order of their rows.
    pub fn in_row_order(queries: Queries) -> Self {
        let rows = (0..queries.num_docs() as u32).collect();
        Self { queries, rows }
    }

    /// Turns `values[row]` into the order of documents.
    pub fn gather<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.rows.iter().map(|&row| values[row as usize]).collect()
    }

    /// Turns `values[doc]` back into the order of rows.
    pub fn scatter<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        let mut by_row = vec![T::default(); values.len()];
        for (&row, &value) in self.rows.iter().zip(values) {
            by_row[row as usize] = value;
        }
        by_row
    }
}

/// Checks query weights: one a query, finite numbers >= 0, not all 0.
pub(crate) fn check_query_weights(weights: &[f64], num_queries: usize) -> Result<()> {
    check_length("query_weight", weights.len(), num_queries, "queries")?;
    let refused = |w: &f64| !(w.is_finite() && *w >= 0.0);
    if let Some(query) = weights.iter().position(refused) {
        return Err(Error::data("weight", format!("query_weight[{query}] = {}", weights[query]))
            .query(query)
            .expected("a finite number >= 0"));
    }
    if weights.iter().all(|&w| w == 0.0) {
        return Err(Error::data("weight", "all of query_weight are 0"));
    }
    Ok(())
}

fn empty(num_rows: usize) -> Error {
    let what = if num_rows == 0 { "the data have no rows" } else { "the data have no queries" };
    Error::data("data.empty", what).expected("at least one query with one document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_any_order_come_together_and_go_back() {
        let grouping = Grouping::from_codes(&[0, 1, 0, 2, 1], 3).unwrap();
        assert_eq!(grouping.rows, [0, 2, 1, 4, 3]);
        let sizes: Vec<_> = grouping.queries.ranges().map(|r| r.len()).collect();
        assert_eq!(sizes, [2, 2, 1]);
        let docs = grouping.gather(&[10, 11, 12, 13, 14]);
        assert_eq!(docs, [10, 12, 11, 14, 13]);
        assert_eq!(grouping.scatter(&docs), [10, 11, 12, 13, 14]);
    }

    #[test]
    fn bad_sizes_are_named() {
        let say = |sizes: &[i64], rows| Queries::from_sizes(sizes, rows).unwrap_err().to_string();
        assert!(say(&[100, 80], 200).starts_with("groups cover 180 of 200 rows"));
        assert!(say(&[10, -20], 200).starts_with("group[1] = -20"));
        assert!(say(&[10, 0], 10).starts_with("group[1] = 0"));
        assert!(say(&[], 0).starts_with("the data have no rows"));
        assert!(say(&[i64::MAX, i64::MAX, i64::MAX], 3).starts_with("groups cover"));
    }

    #[test]
    fn the_query_of_a_doc() {
        let queries = Queries::from_sizes(&[2, 3], 5).unwrap();
        let of: Vec<_> = (0..5).map(|d| queries.of_doc(d)).collect();
        assert_eq!(of, [0, 0, 1, 1, 1]);
    }
}
