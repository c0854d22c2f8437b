//! [`Dataset`]: binned documents with labels, queries and weights.

use super::builder::RowData;
use super::content_order::{ContentOrder, content_order};
use super::query_ranks::TableWithRanks;
use crate::binning::{BinOptions, BinnedMatrix, Binning, CellSource, row_hashes};
use crate::error::{Error, Result, room_for};
use crate::{Interrupt, Queries, hash};
use std::sync::Arc;

/// Binned documents with labels and queries: checked and immutable.
///
/// Documents and queries are in an order of their content; `rows` and `query_of` map them to the
/// caller's numbers.
#[derive(Debug)]
pub struct Dataset {
    binning: Arc<Binning>,
    matrix: BinnedMatrix,
    labels: Vec<f32>,
    queries: Queries,
    rows: Vec<u32>,
    query_of: Vec<u32>,
    doc_hash: Vec<u64>,
    query_hash: Vec<u64>,
    row_weight: Option<Vec<f64>>,
    query_weight: Option<Vec<f64>>,
    base_score: Option<Vec<f64>>,
    position: Option<Vec<u32>>,
}

impl Dataset {
    /// A dataset from a table in memory, with bins of its own.
    pub fn new(
        table: &dyn CellSource,
        rows: RowData,
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        options.check()?;
        check_rows(table, &rows)?;
        let hashes = row_hashes(table, interrupt)?;
        Self::of_hashed(table, &hashes, rows, options, interrupt)
    }

    /// A dataset with the ranks of all values within their queries as additional features, after the
    /// others; see [`query_ranks`](crate::model::query_ranks).
    ///
    /// Models trained on it record this, and datasets made [`like`](Self::like) it have ranks, too.
    pub fn with_ranks(
        table: &dyn CellSource,
        rows: RowData,
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        options.check()?;
        check_rows(table, &rows)?;
        let table = TableWithRanks::new(table, &rows.grouping, interrupt)?;
        let hashes = row_hashes(&table, interrupt)?;
        let binning = Binning::of_hashed(&table, &hashes, options, interrupt)?.with_query_ranks();
        Self::of_table(&table, &hashes, rows, Arc::new(binning), interrupt)
    }

    /// A dataset of a table whose rows passed [`check_rows`] and have these hashes.
    pub(super) fn of_hashed(
        table: &dyn CellSource,
        hashes: &[u64],
        rows: RowData,
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let binning = Binning::of_hashed(table, hashes, options, interrupt)?;
        Self::of_table(table, hashes, rows, Arc::new(binning), interrupt)
    }

    /// A dataset with the bins of another, as an evaluation set needs.
    pub fn like(
        table: &dyn CellSource,
        rows: RowData,
        binning: Arc<Binning>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        check_features(table, &binning)?;
        check_rows(table, &rows)?;
        if binning.query_ranks() {
            let table = TableWithRanks::new(table, &rows.grouping, interrupt)?;
            let hashes = row_hashes(&table, interrupt)?;
            return Self::of_table(&table, &hashes, rows, binning, interrupt);
        }
        let hashes = row_hashes(table, interrupt)?;
        Self::of_table(table, &hashes, rows, binning, interrupt)
    }

    /// Finds the order of the rows before it bins them, so that each is written to its final place.
    fn of_table(
        table: &dyn CellSource,
        hashes: &[u64],
        rows: RowData,
        binning: Arc<Binning>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let order = content_order(hashes, &rows);
        let matrix = binning.encode_in_order(table, &order.rows, interrupt)?;
        Ok(Self::in_order(binning, matrix, order, rows))
    }

    /// A dataset of rows that were binned in the caller's order.
    pub(super) fn of_binned(
        binning: Arc<Binning>,
        matrix: BinnedMatrix,
        hashes: &[u64],
        rows: RowData,
    ) -> Result<Self> {
        let order = content_order(hashes, &rows);
        let matrix = matrix.in_order(&order.rows)?;
        Ok(Self::in_order(binning, matrix, order, rows))
    }

    fn in_order(
        binning: Arc<Binning>,
        matrix: BinnedMatrix,
        order: ContentOrder,
        data: RowData,
    ) -> Self {
        let gather = |values: Vec<f64>| order.rows.iter().map(|&r| values[r as usize]).collect();
        let places = |at: Vec<u32>| order.rows.iter().map(|&r| at[r as usize]).collect();
        let by_query = |w: Vec<f64>| order.query_of.iter().map(|&q| w[q as usize]).collect();
        Self {
            binning,
            matrix,
            labels: order.rows.iter().map(|&row| data.labels[row as usize] + 0.0).collect(),
            row_weight: data.row_weight.map(gather),
            base_score: data.base_score.map(gather),
            position: data.position.map(places),
            query_weight: data.query_weight.map(by_query),
            queries: order.queries,
            rows: order.rows,
            query_of: order.query_of,
            doc_hash: order.doc_hash,
            query_hash: order.query_hash,
        }
    }

    /// The shard of a worker without documents.
    pub fn empty(binning: Arc<Binning>) -> Result<Self> {
        let matrix = BinnedMatrix::zeros(binning.layout().width(), 0)?;
        Ok(Self {
            binning,
            matrix,
            labels: Vec::new(),
            queries: Queries::none(),
            rows: Vec::new(),
            query_of: Vec::new(),
            doc_hash: Vec::new(),
            query_hash: Vec::new(),
            row_weight: None,
            query_weight: None,
            base_score: None,
            position: None,
        })
    }

    /// The bins, shared with every dataset made [`like`](Self::like) this one.
    pub fn binning(&self) -> &Arc<Binning> {
        &self.binning
    }

    /// The binned cells.
    pub fn matrix(&self) -> &BinnedMatrix {
        &self.matrix
    }

    /// The label of each document.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The documents of each query.
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// The caller's row of each document.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The caller's number of each query.
    pub fn query_of(&self) -> &[u32] {
        &self.query_of
    }

    /// Makes an error about documents and queries of the dataset name the caller's rows and queries.
    pub(crate) fn name_caller_rows<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.with_caller_rows(&self.rows, &self.query_of))
    }

    /// A hash of each document's content, which identifies it in random draws.
    pub fn doc_hash(&self) -> &[u64] {
        &self.doc_hash
    }

    /// A hash of each query's content.
    pub fn query_hash(&self) -> &[u64] {
        &self.query_hash
    }

    /// The weight of each document, if given.
    pub fn row_weight(&self) -> Option<&[f64]> {
        self.row_weight.as_deref()
    }

    /// The weight of each query, if given.
    pub fn query_weight(&self) -> Option<&[f64]> {
        self.query_weight.as_deref()
    }

    /// The score of each document that training starts from, if given.
    pub fn base_score(&self) -> Option<&[f64]> {
        self.base_score.as_deref()
    }

    /// The position at which each document was shown, from 1, if given.
    pub fn position(&self) -> Option<&[u32]> {
        self.position.as_deref()
    }

    /// A hash of everything that training uses: cells and their bins, labels, weights, queries.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint_with(self.content())
    }

    /// A hash of the bins alone.
    pub(crate) fn bins_fingerprint(&self) -> u64 {
        self.binning.fingerprint()
    }

    /// The number of documents and a checksum of all queries; those of two shards can be added.
    pub(crate) fn content(&self) -> [u64; 2] {
        let queries = self.query_hash.iter();
        let content = queries.fold(0u64, |sum, &hash| sum.wrapping_add(hash::mix(hash)));
        [self.num_docs() as u64, content]
    }

    /// The fingerprint of all shards, given the sum of their contents.
    pub(crate) fn fingerprint_with(&self, content: [u64; 2]) -> u64 {
        content
            .into_iter()
            .fold(self.bins_fingerprint(), |h, part| hash::mix(h.rotate_left(1) ^ part))
    }

    /// The number of documents.
    pub fn num_docs(&self) -> usize {
        self.labels.len()
    }

    /// The number of features, including unused ones and ranks.
    pub fn num_features(&self) -> usize {
        self.binning.num_features()
    }

    /// Whether the second half of the features are the ranks of the first half within queries.
    pub fn query_ranks(&self) -> bool {
        self.binning.query_ranks()
    }

    /// `values[doc]` in the order of the caller's rows.
    pub fn by_row<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        let mut by_row = vec![T::default(); values.len()];
        for (&row, &value) in self.rows.iter().zip(values) {
            by_row[row as usize] = value;
        }
        by_row
    }

    /// An error unless some query has two different labels, which every ranking loss needs.
    pub fn require_pairs(&self) -> Result<()> {
        check_pairs(&self.labels, &self.queries)
    }

    /// The bytes this dataset holds.
    pub fn memory(&self) -> usize {
        let floats = [&self.row_weight, &self.query_weight, &self.base_score];
        let floats: usize = floats.into_iter().flatten().map(|v| 8 * v.len()).sum();
        let places = self.position.as_ref().map_or(0, |places| 4 * places.len());
        let floats = floats + places;
        self.matrix.memory() + self.num_docs() * (4 + 4 + 8) + self.queries.len() * 20 + floats
    }
}

/// Refuses labels without a pair.
pub(super) fn check_pairs(labels: &[f32], queries: &Queries) -> Result<()> {
    let mixed = |docs: std::ops::Range<usize>| labels[docs].windows(2).any(|p| p[0] != p[1]);
    if queries.ranges().any(mixed) {
        return Ok(());
    }
    let what = if queries.len() == queries.num_docs() {
        "no pairs to learn from: every query has one document"
    } else {
        "no pairs to learn from: in every query all labels are equal"
    };
    Err(Error::data("pairs", what)
        .hint("check the labels, and that `qid` or `group` puts the documents of a query together"))
}

/// Refuses a table with another number of features than the bins.
pub(super) fn check_features(table: &dyn CellSource, binning: &Binning) -> Result<()> {
    let (got, expected) = (table.num_features(), binning.num_raw_features());
    if got == expected {
        return Ok(());
    }
    let what = "the table has another number of features";
    Err(Error::data("features", what).got(got).expected(expected))
}

/// The error for rows without features.
pub(crate) fn no_features() -> Error {
    Error::data("features", "the table has no features")
}

/// Refuses rows that cannot be made into a dataset.
pub(super) fn check_rows(table: &dyn CellSource, rows: &RowData) -> Result<()> {
    if table.num_features() == 0 {
        return Err(no_features());
    }
    // Hashes, orders and labels beside the table itself.
    room_for("the dataset", 64 * table.num_rows() as u64)?;
    rows.check_for(table.num_rows())
}
