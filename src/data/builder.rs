//! Builds a [`Dataset`] from raw rows that come in one or many batches.

use super::dataset::{Dataset, check_table};
use super::kept_values::GrowingValues;
use crate::binning::{BinnedMatrix, Binning, CellSource};
use crate::error::{Error, Result, check_length};
use crate::queries::check_query_weights;
use crate::{Grouping, Interrupt};
use std::fmt::Display;
use std::sync::Arc;

/// Everything about rows and queries but the features.
#[derive(Debug, Clone)]
pub struct RowData {
    /// The judged relevance of each row.
    pub labels: Vec<f32>,
    /// The query of each row.
    pub grouping: Grouping,
    /// The weight of each row: a factor of its gradients.
    pub row_weight: Option<Vec<f64>>,
    /// The weight of each query in metrics and in training, in the order of `grouping`.
    pub query_weight: Option<Vec<f64>>,
    /// The scores to which training adds its trees.
    pub base_score: Option<Vec<f64>>,
    /// The position at which each row was shown, from 1, where labels are clicks.
    pub position: Option<Vec<u32>>,
    /// Further labels of each row, such as revenue.
    pub extra_labels: Vec<ExtraLabels>,
}

/// Labels of rows besides their relevance, such as revenue. Metrics refer to them by name.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtraLabels {
    /// The name.
    pub name: String,
    /// The label of each row.
    pub values: Vec<f32>,
}

/// The largest label: above it, single precision cannot represent all whole numbers.
const MAX_LABEL: f32 = 16_777_216.0;

/// The largest position: a bias is learned for each one up to the last that occurs.
const MAX_POSITION: u32 = 1 << 16;

impl RowData {
    /// Labels and queries without weights, base scores or positions.
    pub fn new(labels: Vec<f32>, grouping: Grouping) -> Self {
        Self {
            labels,
            grouping,
            row_weight: None,
            query_weight: None,
            base_score: None,
            position: None,
            extra_labels: Vec::new(),
        }
    }

    /// Refuses data that cannot be used for any purpose.
    pub fn check_for(&self, num_rows: usize) -> Result<()> {
        check_length("the grouping", self.grouping.rows.len(), num_rows, "rows")?;
        self.check_labels("label", &self.labels, num_rows)?;
        for ExtraLabels { name, values } in &self.extra_labels {
            self.check_labels(name, values, num_rows)?;
        }
        if let Some(weights) = &self.query_weight {
            check_query_weights(weights, self.grouping.queries.len())?;
        }
        let no_weight = |weight: f64| {
            (!weight.is_finite() || weight < 0.0).then(|| "a finite number >= 0".to_owned())
        };
        let row_weight = self.row_weight.as_deref();
        check_values(("row_weight", "weight"), row_weight, num_rows, no_weight)?;
        if row_weight.is_some_and(|weights| weights.iter().all(|&w| w == 0.0)) {
            return Err(Error::data("weight", "all of row_weight are 0"));
        }
        let infinite = |score: f64| (!score.is_finite()).then(|| "a finite number".to_owned());
        let base_score = self.base_score.as_deref();
        check_values(("base_score", "base_score"), base_score, num_rows, infinite)?;
        let no_place = |place| {
            let is_place = (1..=MAX_POSITION).contains(&place);
            (!is_place).then(|| format!("a place from 1 to {MAX_POSITION}"))
        };
        check_values(("position", "position"), self.position.as_deref(), num_rows, no_place)
    }

    fn check_labels(&self, name: &str, labels: &[f32], num_rows: usize) -> Result<()> {
        check_length(name, labels.len(), num_rows, "rows")?;
        for (row, &label) in labels.iter().enumerate() {
            check_label(label).map_err(|error| {
                error
                    .element(name, row)
                    .query(self.query_of_row(row))
                    .expected("a finite number from 0 to 2^24")
            })?;
        }
        Ok(())
    }

    fn query_of_row(&self, row: usize) -> usize {
        let doc = self.grouping.rows.iter().position(|&r| r as usize == row).unwrap_or_default();
        self.grouping.queries.of_doc(doc)
    }
}

/// Refuses a label that is unusable with any gain.
fn check_label(label: f32) -> Result<()> {
    if label.is_nan() {
        Err(Error::data("label.nan", "is NaN"))
    } else if label.is_infinite() {
        Err(Error::data("label.infinite", "is infinite"))
    } else if label < 0.0 {
        Err(Error::data("label.negative", format!("= {label} is negative")))
    } else if label > MAX_LABEL {
        Err(Error::data("label.large", format!("= {label:e} is too large")))
    } else {
        Ok(())
    }
}

/// Refuses a column of another length, and the first value for which `refused` says what it expects;
/// the error of the value has the code.
fn check_values<T: Copy + Display>(
    (name, code): (&'static str, &'static str),
    values: Option<&[T]>,
    num_rows: usize,
    refused: impl Fn(T) -> Option<String>,
) -> Result<()> {
    let Some(values) = values else { return Ok(()) };
    check_length(name, values.len(), num_rows, "rows")?;
    for (row, &value) in values.iter().enumerate() {
        if let Some(expected) = refused(value) {
            let error = Error::data(code, format!("= {value}")).element(name, row);
            return Err(error.expected(expected));
        }
    }
    Ok(())
}

/// Bins rows batch by batch, with bins that were chosen before.
#[derive(Debug)]
pub struct DatasetBuilder {
    binning: Arc<Binning>,
    matrix: BinnedMatrix,
    hashes: Vec<u64>,
    values: GrowingValues,
}

impl DatasetBuilder {
    /// A builder for about `num_rows` rows.
    pub fn new(binning: Arc<Binning>, num_rows: usize) -> Result<Self> {
        if binning.query_ranks() {
            return Err(Error::param("query_ranks", "rows that come in batches cannot be ranked")
                .hint("ranks within queries need all rows at once"));
        }
        let matrix = BinnedMatrix::with_capacity(binning.layout().width(), num_rows)?;
        let values = GrowingValues::new(&binning);
        Ok(Self { binning, matrix, hashes: Vec::with_capacity(num_rows), values })
    }

    /// The bins in use.
    pub fn binning(&self) -> &Arc<Binning> {
        &self.binning
    }

    /// The number of rows so far.
    pub fn num_rows(&self) -> usize {
        self.hashes.len()
    }

    /// A checksum of all rows so far, in any order; equal to that of a
    /// [`RowSample`](crate::binning::RowSample::content) of the same rows.
    pub fn content(&self) -> u64 {
        self.hashes.iter().fold(0, |sum, &hash| sum.wrapping_add(hash))
    }

    /// Bins a batch of rows.
    pub fn push(&mut self, table: &dyn CellSource, interrupt: &Interrupt) -> Result<()> {
        check_table(table, &self.binning)?;
        let rows = self.num_rows();
        self.binning
            .append(table, &mut self.matrix, &mut self.hashes, interrupt)
            .and_then(|()| self.values.push(table))
            .map_err(|error| error.rows_after(rows))
    }

    /// Checks labels, queries and weights and makes the dataset.
    pub fn finish(self, rows: RowData) -> Result<Dataset> {
        rows.check_for(self.num_rows())?;
        let kept_values = self.values.finish(&rows);
        let dataset = Dataset::of_binned(self.binning, self.matrix, &self.hashes, rows)?;
        Ok(dataset.keeping(kept_values))
    }
}
