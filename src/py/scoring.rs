//! Scores or explains the rows of raw tables, in parallel and without copies where possible.
//!
//! A table in row order is read where it is; any other, and one in which a value stands for "missing", is
//! copied some rows at a time, in its own precision.

use super::arrays::{ColumnArg, ReadArgs, TableArg};
use super::dataset::QueryArg;
use crate::Grouping;
use crate::Interrupt;
use crate::binning;
use crate::data::{FeatureValue, Infinite, MissingPolicy, TableColumn, refuse_infinite};
use crate::error::{Result, check_features, check_finite, room_for};
use crate::model::{ClassScorer, Explainer, Scorer, Value};
use numpy::Element;
use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::fmt::Display;
use std::ops::Range;

/// Rows per task; a single task runs on the calling thread.
pub(super) const ROWS_OF_TASK: usize = 1 << 12;
/// About how many rows of whole queries are copied at a time.
const GATHERED: usize = 1 << 16;

/// A number of either precision.
pub(super) trait RawValue: Value + FeatureValue + Element + Into<f64> + Display {}

impl RawValue for f32 {}

impl RawValue for f64 {}

/// A computation on rows.
#[derive(Clone, Copy)]
pub(super) enum RowTask<'a> {
    /// A score.
    Score(&'a Scorer),
    /// The probability of each class.
    Classes(&'a ClassScorer),
    /// The contribution of each feature to the score, and the base value.
    Explain(&'a Explainer),
    /// The contribution of each feature to the difference of the scores of two rows; it is written to the
    /// first.
    Contrast(&'a Explainer),
}

impl RowTask<'_> {
    /// The number of values in a row, and of its results.
    fn widths(self) -> (usize, usize) {
        match self {
            Self::Score(scorer) => (scorer.num_features(), 1),
            Self::Classes(scorer) => (scorer.num_features(), scorer.classes().len()),
            Self::Explain(by) => (by.num_raw_features(), by.num_features() + 1),
            Self::Contrast(by) => (by.num_raw_features(), by.num_raw_features()),
        }
    }

    /// The results of rows; `bounds` are where queries begin and end, if that is known.
    fn run<T: RawValue>(
        self,
        rows: &[T],
        bounds: Option<&[usize]>,
        results: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.compute(rows, bounds, results, interrupt)?;
        check_finite(results)
    }

    fn compute<T: RawValue>(
        self,
        rows: &[T],
        bounds: Option<&[usize]>,
        results: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<()> {
        match (self, bounds) {
            (Self::Score(scorer), Some(bounds)) => scorer.score_queries(rows, bounds, results),
            (Self::Score(scorer), None) => scorer.score(rows, results),
            (Self::Classes(scorer), _) => scorer.probabilities(rows, results),
            (Self::Explain(by), _) => {
                by.explain_until(&|| interrupt.check(), rows, bounds, results)
            }
            (Self::Contrast(by), _) => {
                let width = by.num_raw_features();
                let (above, below) = rows.split_at(rows.len().min(width));
                results[..width].copy_from_slice(&by.contrast_until(
                    &|| interrupt.check(),
                    above,
                    below,
                )?);
                Ok(())
            }
        }
    }
}

/// Rows that can be copied, in their own precision.
trait RawRows: Sync {
    type Cell: RawValue;
    /// The number of rows and of features.
    fn shape(&self) -> (usize, usize);
    /// All values, if they are in row order.
    fn in_row_order(&self) -> Option<&[Self::Cell]>;
    /// Adds the values of some rows to the end of a tile.
    fn copy(&self, rows: impl Iterator<Item = usize> + Clone, tile: &mut Vec<Self::Cell>);
}

impl<T: RawValue> RawRows for ArrayView2<'_, T> {
    type Cell = T;

    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn in_row_order(&self) -> Option<&[T]> {
        self.as_slice()
    }

    fn copy(&self, rows: impl Iterator<Item = usize> + Clone, tile: &mut Vec<T>) {
        rows.for_each(|row| tile.extend(self.row(row)));
    }
}

/// Columns of any precision.
impl RawRows for Vec<TableColumn<'_>> {
    type Cell = f64;

    fn shape(&self) -> (usize, usize) {
        (self.first().map_or(0, TableColumn::len), self.len())
    }

    fn in_row_order(&self) -> Option<&[f64]> {
        None
    }

    fn copy(&self, rows: impl Iterator<Item = usize> + Clone, tile: &mut Vec<f64>) {
        let start = tile.len();
        tile.resize(start + rows.clone().count() * self.len(), 0.0);
        for (at, column) in self.iter().enumerate() {
            let cells = rows.clone().zip(tile.iter_mut().skip(start + at).step_by(self.len()));
            match column {
                TableColumn::F32(values) => cells.for_each(|(row, to)| *to = values[row].into()),
                TableColumn::F64(values) => cells.for_each(|(row, to)| *to = values[row]),
            }
        }
    }
}

/// A table of raw values, and which of them are missing.
pub(super) struct RawTable<'a> {
    values: RawValues<'a>,
    policy: MissingPolicy,
}

enum RawValues<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
    Columns(Vec<TableColumn<'a>>),
}

impl<'a> RawTable<'a> {
    /// The values of a table argument.
    pub(super) fn of(table: &'a TableArg<'_>, reading: &ReadArgs) -> PyResult<Self> {
        let policy = reading.policy()?;
        let values = match table {
            TableArg::F32(array) => RawValues::F32(array.as_array()),
            TableArg::F64(array) => RawValues::F64(array.as_array()),
            TableArg::Columns(columns) => {
                RawValues::Columns(columns.iter().map(ColumnArg::column).collect::<PyResult<_>>()?)
            }
        };
        Ok(Self { values, policy })
    }

    pub(super) fn num_rows(&self) -> usize {
        match &self.values {
            RawValues::F32(table) => table.nrows(),
            RawValues::F64(table) => table.nrows(),
            RawValues::Columns(columns) => columns.shape().0,
        }
    }

    /// The rows of each query, if there are queries.
    pub(super) fn grouping(&self, queries: Option<QueryArg>) -> Result<Option<Grouping>> {
        queries.map(|queries| queries.grouping(self.num_rows())).transpose()
    }

    /// The results of each row, on the current rayon pool if there is more than one task; with a
    /// grouping, those of rows of its queries.
    pub(super) fn work(
        &self,
        task: RowTask<'_>,
        grouping: Option<&Grouping>,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let work = RowWork { task, grouping, policy: self.policy, interrupt };
        match &self.values {
            RawValues::F32(table) => work.results(table),
            RawValues::F64(table) => work.results(table),
            RawValues::Columns(columns) => work.results(columns),
        }
    }
}

/// What is computed of the rows of a table.
struct RowWork<'a> {
    task: RowTask<'a>,
    grouping: Option<&'a Grouping>,
    policy: MissingPolicy,
    interrupt: &'a Interrupt,
}

impl RowWork<'_> {
    fn results<R: RawRows>(&self, table: &R) -> Result<Vec<f64>> {
        let ((_, got), (expected, _)) = (table.shape(), self.task.widths());
        check_features("the table has another number of features than the model", got, expected)?;
        if let Some(grouping) = self.grouping {
            return self.by_queries(table, grouping);
        }
        let in_place = table.in_row_order().filter(|_| self.policy.missing.is_none() && got > 0);
        if let Some(values) = in_place {
            let done = self.by_tasks(table, |rows, results| {
                let values = &values[rows.start * got..rows.end * got];
                refuse_infinite(values, got, |at| rows.start + at)?;
                self.task.run(values, None, results, self.interrupt)
            });
            // If infinite values are missing ones, they must be replaced in a copy.
            if done.is_ok() || self.policy.infinite == Infinite::Error {
                return done;
            }
        }
        self.by_tasks(table, |rows, results| {
            let mut tile = Vec::new();
            table.copy(rows.clone(), &mut tile);
            mark_missing(&mut tile, self.policy);
            refuse_infinite(&tile, got, |at| rows.start + at)?;
            self.task.run(&tile, None, results, self.interrupt)
        })
    }

    /// The results of all rows in their own order, computed query by query.
    fn by_queries<R: RawRows>(&self, table: &R, grouping: &Grouping) -> Result<Vec<f64>> {
        let (num_features, width) = self.task.widths();
        let mut all = results_of(grouping.rows.len(), width)?;
        let (mut tile, mut results, mut bounds) = (Vec::new(), Vec::new(), vec![0]);
        let mut first = 0;
        for docs in grouping.queries.ranges() {
            bounds.push(docs.end - first);
            if docs.end - first < GATHERED && docs.end < grouping.rows.len() {
                continue;
            }
            self.interrupt.check()?;
            let rows = &grouping.rows[first..docs.end];
            tile.clear();
            table.copy(rows.iter().map(|&row| row as usize), &mut tile);
            mark_missing(&mut tile, self.policy);
            refuse_infinite(&tile, num_features, |at| rows[at] as usize)?;
            results.clear();
            results.resize(rows.len() * width, 0.0);
            self.task.run(&tile, Some(&bounds), &mut results, self.interrupt)?;
            for (&row, result) in rows.iter().zip(results.chunks_exact(width)) {
                all[row as usize * width..][..width].copy_from_slice(result);
            }
            first = docs.end;
            bounds.truncate(1);
        }
        Ok(all)
    }

    /// The results of all rows, by tasks; a single task runs on the calling thread.
    fn by_tasks<R: RawRows>(
        &self,
        table: &R,
        run: impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync,
    ) -> Result<Vec<f64>> {
        let ((num_rows, _), (_, width)) = (table.shape(), self.task.widths());
        let mut all = results_of(num_rows, width)?;
        if num_rows <= ROWS_OF_TASK {
            run(0..num_rows, &mut all)?;
            return Ok(all);
        }
        all.par_chunks_mut(ROWS_OF_TASK * width).enumerate().try_for_each(|(at, results)| {
            self.interrupt.check()?;
            run(at * ROWS_OF_TASK..at * ROWS_OF_TASK + results.len() / width, results)
        })?;
        Ok(all)
    }
}

/// Zeros for the results of all rows, or an error without room for them.
fn results_of(num_rows: usize, width: usize) -> Result<Vec<f64>> {
    room_for("the list of results", (8 * num_rows as u64).saturating_mul(width as u64))?;
    Ok(vec![0.0; num_rows * width])
}

/// Replaces the values that stand for missing ones by NaN. Both are compared as cells, as a dataset does.
fn mark_missing<T: RawValue>(tile: &mut [T], policy: MissingPolicy) {
    let missing = policy.missing.map(binning::nearest);
    let is_missing = |x: T| {
        missing == Some(x.cell()) || (policy.infinite == Infinite::Missing && x.is_infinite())
    };
    tile.iter_mut().filter(|x| is_missing(**x)).for_each(|x| *x = T::NAN);
}
