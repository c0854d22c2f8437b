//! From raw rows, in one or many batches, to a [`Dataset`].

use super::dataset::{Dataset, check_features};
use crate::binning::{BinnedMatrix, Binning, CellSource};
use crate::error::{Error, Result};
use crate::{Grouping, Interrupt};
use std::sync::Arc;

/// What is known of rows and queries besides the features.
#[derive(Debug, Clone)]
pub struct RowData {
    /// The judged relevance of each row.
    pub labels: Vec<f32>,
    /// The query of each row.
    pub grouping: Grouping,
    /// A factor on the gradients of each row.
    pub row_weight: Option<Vec<f64>>,
    /// A factor on each query, in metrics and in training; in the order of `grouping`.
    pub query_weight: Option<Vec<f64>>,
    /// What training adds its trees to.
    pub base_score: Option<Vec<f64>>,
    /// The place at which each row was shown, from 1, where labels are clicks.
    pub position: Option<Vec<u32>>,
}

/// The largest label: above it, single precision no longer tells whole numbers apart.
const MAX_LABEL: f32 = 16_777_216.0;

/// The last position: a bias is learned for each up to the last that occurs.
const MAX_POSITION: u32 = 1 << 16;

impl RowData {
    /// Labels and queries alone.
    pub fn new(labels: Vec<f32>, grouping: Grouping) -> Self {
        Self {
            labels,
            grouping,
            row_weight: None,
            query_weight: None,
            base_score: None,
            position: None,
        }
    }

    /// Refuses what no use of the data could accept.
    pub fn check_for(&self, num_rows: usize) -> Result<()> {
        check_length("the grouping", self.grouping.rows.len(), num_rows, "rows")?;
        check_length("label", self.labels.len(), num_rows, "rows")?;
        for (row, &label) in self.labels.iter().enumerate() {
            check_label(label).map_err(|(code, what)| {
                Error::data(code, format!("label[{row}] {what}"))
                    .row(row)
                    .query(self.query_of_row(row))
                    .expected("a finite number from 0 to 2^24")
            })?;
        }
        check_weights("query_weight", self.query_weight.as_deref(), self.grouping.queries.len())?;
        check_weights("row_weight", self.row_weight.as_deref(), num_rows)?;
        if let Some(base) = &self.base_score {
            check_length("base_score", base.len(), num_rows, "rows")?;
            if let Some(row) = base.iter().position(|score| !score.is_finite()) {
                let what = format!("base_score[{row}] = {}", base[row]);
                return Err(Error::data("base_score", what).row(row).expected("a finite number"));
            }
        }
        self.check_positions(num_rows)
    }

    fn check_positions(&self, num_rows: usize) -> Result<()> {
        let Some(position) = &self.position else { return Ok(()) };
        check_length("position", position.len(), num_rows, "rows")?;
        match position.iter().position(|position| !(1..=MAX_POSITION).contains(position)) {
            None => Ok(()),
            Some(row) => {
                Err(Error::data("position", format!("position[{row}] = {}", position[row]))
                    .row(row)
                    .expected(format!("a place from 1 to {MAX_POSITION}")))
            }
        }
    }

    fn query_of_row(&self, row: usize) -> usize {
        let doc = self.grouping.rows.iter().position(|&r| r as usize == row).unwrap_or_default();
        self.grouping.queries.of_doc(doc)
    }
}

/// What is wrong with a label under any gain, as a code and words.
pub(super) fn check_label(label: f32) -> Result<(), (&'static str, String)> {
    if label.is_nan() {
        Err(("label.nan", "is NaN".to_owned()))
    } else if label.is_infinite() {
        Err(("label.infinite", "is infinite".to_owned()))
    } else if label < 0.0 {
        Err(("label.negative", format!("= {label} is negative")))
    } else if label > MAX_LABEL {
        Err(("label.large", format!("= {label:e} is too large")))
    } else {
        Ok(())
    }
}

fn check_length(name: &str, got: usize, expected: usize, what: &str) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::data("length", format!("{name} has the wrong length"))
        .got(got)
        .expected(format!("{expected}, the number of {what}")))
}

fn check_weights(name: &'static str, weights: Option<&[f64]>, len: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    let what = if name == "query_weight" { "queries" } else { "rows" };
    check_length(name, weights.len(), len, what)?;
    if let Some(i) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let fault = Error::data("weight", format!("{name}[{i}] = {}", weights[i]));
        let fault = fault.expected("a finite number >= 0");
        return Err(if what == "rows" { fault.row(i) } else { fault.query(i) });
    }
    if weights.iter().all(|&w| w == 0.0) {
        return Err(Error::data("weight", format!("all of {name} are 0")));
    }
    Ok(())
}

/// Bins rows batch by batch with bins that are already chosen.
#[derive(Debug)]
pub struct Builder {
    binning: Arc<Binning>,
    matrix: BinnedMatrix,
    hashes: Vec<u64>,
}

impl Builder {
    /// A builder for about `num_rows` rows.
    pub fn new(binning: Arc<Binning>, num_rows: usize) -> Result<Self> {
        if binning.query_ranks() {
            return Err(Error::param("query_ranks", "rows that come in batches cannot be ranked")
                .hint("ranks within queries need all rows at once"));
        }
        let matrix = BinnedMatrix::with_capacity(binning.layout().width(), num_rows)?;
        Ok(Self { binning, matrix, hashes: Vec::with_capacity(num_rows) })
    }

    /// The bins in use.
    pub fn binning(&self) -> &Arc<Binning> {
        &self.binning
    }

    /// The number of rows so far.
    pub fn num_rows(&self) -> usize {
        self.hashes.len()
    }

    /// A number for all rows so far, in any order: that of a
    /// [`Sample`](crate::bins::Sample::content) which has seen the same rows.
    pub fn content(&self) -> u64 {
        self.hashes.iter().fold(0, |sum, &hash| sum.wrapping_add(hash))
    }

    /// Bins a batch of rows.
    pub fn push(&mut self, table: &dyn CellSource, interrupt: &Interrupt) -> Result<()> {
        check_features(table, &self.binning)?;
        let rows = self.num_rows();
        self.binning
            .append(table, &mut self.matrix, &mut self.hashes, interrupt)
            .map_err(|error| error.rows_after(rows))
    }

    /// Checks labels, queries and weights and ends the work.
    pub fn finish(self, rows: RowData) -> Result<Dataset> {
        rows.check_for(self.num_rows())?;
        Dataset::of_binned(self.binning, self.matrix, &self.hashes, rows)
    }
}
