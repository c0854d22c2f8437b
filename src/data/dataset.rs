//! [`Dataset`]: binned documents with labels, queries and weights.

use super::builder::RowData;
use super::content_order::content_order;
use super::documents::Documents;
use super::kept_values::KeptValues;
use super::query_ranks::TableWithRanks;
use crate::binning::{BinOptions, BinnedMatrix, Binning, CellSource};
use crate::error::{Error, Result, check_features, room_for};
use crate::{Grouping, Interrupt, Queries, hash};
use std::ops::Deref;
use std::sync::Arc;

/// Binned documents with labels and queries: checked and immutable.
#[derive(Debug)]
pub struct Dataset {
    binning: Arc<Binning>,
    matrix: BinnedMatrix,
    documents: Documents,
    /// The values of a small dataset without ranks within queries.
    pub(super) kept_values: Option<KeptValues>,
}

impl Deref for Dataset {
    type Target = Documents;

    fn deref(&self) -> &Documents {
        &self.documents
    }
}

impl Dataset {
    /// A dataset from a table in memory, with bins of its own.
    ///
    /// With `query_ranks`, the ranks of all values within their queries are additional features, after
    /// the others; see [`query_ranks`](crate::model::query_ranks). Those of categorical features are
    /// missing. Models trained on it record this, and
    /// datasets made [`like`](Self::like) it have ranks, too.
    pub fn new(
        table: &dyn CellSource,
        rows: RowData,
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        options.check()?;
        Self::with_base(table, rows, BinSource::Choose(options), &|_| Ok(None), interrupt)
    }

    /// A dataset with the bins of another, as an evaluation set needs.
    pub fn like(
        table: &dyn CellSource,
        rows: RowData,
        binning: Arc<Binning>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::with_base(table, rows, BinSource::Like(binning), &|_| Ok(None), interrupt)
    }

    /// A dataset whose base scores depend on the bins; `None` leaves those of `rows`.
    pub(super) fn with_base(
        table: &dyn CellSource,
        rows: RowData,
        bins: BinSource<'_>,
        base: &dyn Fn(&Binning) -> Result<Option<Vec<f64>>>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        if let BinSource::Like(binning) = &bins {
            check_table(table, binning)?;
        }
        check_rows(table, &rows)?;
        if bins.query_ranks() {
            let categorical = bins.categorical();
            let table = TableWithRanks::new(table, &rows.grouping, &categorical, interrupt)?;
            return Self::of_table(&table, rows, bins, base, interrupt);
        }
        Self::of_table(table, rows, bins, base, interrupt)
    }

    /// Finds the order of the rows before it bins them, so that each is written to its final place.
    fn of_table(
        table: &dyn CellSource,
        mut rows: RowData,
        bins: BinSource<'_>,
        base: &dyn Fn(&Binning) -> Result<Option<Vec<f64>>>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let hashes = table.hashes(interrupt)?;
        let binning = bins.of_hashed(table, &hashes, interrupt)?;
        if let Some(scores) = base(&binning)? {
            rows.base_score = Some(scores);
            rows.check_for(table.num_rows())?;
        }
        let order = content_order(&hashes, &rows);
        let matrix = binning.encode_in_order(table, &order.grouping.rows, interrupt)?;
        let kept_values = KeptValues::of(table, &rows, &binning)?;
        Ok(Self { binning, matrix, documents: Documents::new(order, rows), kept_values })
    }

    /// A dataset of rows that were binned in the caller's order.
    pub(super) fn of_binned(
        binning: Arc<Binning>,
        matrix: BinnedMatrix,
        hashes: &[u64],
        rows: RowData,
    ) -> Result<Self> {
        let order = content_order(hashes, &rows);
        let matrix = matrix.in_order(&order.grouping.rows)?;
        Ok(Self::of_parts(binning, matrix, Documents::new(order, rows)))
    }

    /// A dataset of cells and documents in the same order.
    pub(super) fn of_parts(
        binning: Arc<Binning>,
        matrix: BinnedMatrix,
        documents: Documents,
    ) -> Self {
        Self { binning, matrix, documents, kept_values: None }
    }

    /// The same dataset with the values that it was made of.
    pub(super) fn keeping(self, kept_values: Option<KeptValues>) -> Self {
        Self { kept_values, ..self }
    }

    /// Labels, queries and weights.
    pub(super) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The shard of a worker without documents; those of the other workers may have base scores.
    pub fn empty(binning: Arc<Binning>, has_base_scores: bool) -> Result<Self> {
        let matrix = BinnedMatrix::zeros(binning.layout().width(), 0)?;
        let mut rows = RowData::new(Vec::new(), Grouping::in_row_order(Queries::none()));
        rows.base_score = has_base_scores.then(Vec::new);
        Self::of_binned(binning, matrix, &[], rows)
    }

    /// The bins, shared with every dataset made [`like`](Self::like) this one.
    pub fn binning(&self) -> &Arc<Binning> {
        &self.binning
    }

    /// The binned cells.
    pub fn matrix(&self) -> &BinnedMatrix {
        &self.matrix
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
        [self.num_docs() as u64, self.checksum()]
    }

    /// The fingerprint of all shards, given the sum of their contents.
    pub(crate) fn fingerprint_with(&self, content: [u64; 2]) -> u64 {
        content
            .into_iter()
            .fold(self.bins_fingerprint(), |h, part| hash::mix(h.rotate_left(1) ^ part))
    }

    /// The number of features, including unused ones and ranks.
    pub fn num_features(&self) -> usize {
        self.binning.num_features()
    }

    /// Whether the second half of the features are the ranks of the first half within queries.
    pub fn query_ranks(&self) -> bool {
        self.binning.query_ranks()
    }

    /// The bytes this dataset holds.
    pub fn memory(&self) -> usize {
        let kept = self.kept_values.as_ref().map_or(0, KeptValues::memory);
        self.matrix.memory() + self.documents.memory() + kept
    }
}

/// The bins of a dataset: those of another, or how they are chosen.
pub(super) enum BinSource<'a> {
    Choose(&'a BinOptions),
    Like(Arc<Binning>),
}

impl BinSource<'_> {
    /// Whether ranks within queries are features.
    fn query_ranks(&self) -> bool {
        match self {
            Self::Choose(options) => options.query_ranks,
            Self::Like(binning) => binning.query_ranks(),
        }
    }

    /// The categorical features.
    fn categorical(&self) -> Vec<usize> {
        match self {
            Self::Choose(options) => options.categorical.iter().map(|&at| at as usize).collect(),
            Self::Like(binning) => binning.categorical().to_vec(),
        }
    }

    /// The bins for a table, which has its ranks, and the hashes of its rows.
    fn of_hashed(
        self,
        table: &dyn CellSource,
        hashes: &[u64],
        interrupt: &Interrupt,
    ) -> Result<Arc<Binning>> {
        let options = match self {
            Self::Choose(options) => options,
            Self::Like(binning) => return Ok(binning),
        };
        let binning = Binning::of_hashed(table, hashes, options, interrupt)?;
        Ok(Arc::new(if options.query_ranks { binning.with_query_ranks() } else { binning }))
    }
}

/// Refuses a table with another number of features than the bins.
pub(super) fn check_table(table: &dyn CellSource, binning: &Binning) -> Result<()> {
    let (got, expected) = (table.num_features(), binning.num_raw_features());
    check_features("the table has another number of features", got, expected)
}

/// Refuses rows that cannot be made into a dataset.
pub(super) fn check_rows(table: &dyn CellSource, rows: &RowData) -> Result<()> {
    if table.num_features() == 0 {
        return Err(Error::data("features", "the table has no features"));
    }
    // Hashes, orders and labels beside the table itself.
    room_for("the dataset", 64 * table.num_rows() as u64)?;
    rows.check_for(table.num_rows())
}
