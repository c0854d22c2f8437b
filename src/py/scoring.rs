//! Scores or explains the rows of raw tables, in parallel and without copies where possible.
//!
//! A table in row order is read where it is; any other, and one in which a value stands for "missing", is
//! copied some rows at a time, in its own precision.

use super::arrays::{ColumnArg, TableArg};
use crate::Grouping;
use crate::Interrupt;
use crate::data::{Infinite, MissingPolicy, TableColumn};
use crate::error::{Error, Result};
use crate::model::{ClassScorer, Explainer, Scorer, Value};
use numpy::Element;
use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::ops::Range;

/// Rows per task.
const ROWS: usize = 1 << 12;
/// About how many rows of whole queries are copied at a time.
const GATHERED: usize = 1 << 16;

/// A number of either precision.
pub(super) trait RawValue: Value + Element + Copy + Into<f64> {
    const NAN: Self;
    fn is_infinite(self) -> bool;
}

impl RawValue for f32 {
    const NAN: Self = f32::NAN;
    fn is_infinite(self) -> bool {
        f32::is_infinite(self)
    }
}

impl RawValue for f64 {
    const NAN: Self = f64::NAN;
    fn is_infinite(self) -> bool {
        f64::is_infinite(self)
    }
}

/// A computation on rows: scores, probabilities or explanations.
pub(super) trait RowTask: Sync {
    /// The number of values in a row.
    fn num_features(&self) -> usize;
    /// The number of results of a row.
    fn width(&self) -> usize;
    fn run<T: RawValue>(&self, rows: &[T], results: &mut [f64]) -> Result<()>;
    /// As `run`, for rows of queries with these bounds.
    fn run_queries<T: RawValue>(
        &self,
        rows: &[T],
        bounds: &[usize],
        results: &mut [f64],
    ) -> Result<()>;
}

impl RowTask for Scorer {
    fn num_features(&self) -> usize {
        self.num_features()
    }

    fn width(&self) -> usize {
        1
    }

    fn run<T: RawValue>(&self, rows: &[T], results: &mut [f64]) -> Result<()> {
        self.score(rows, results)
    }

    fn run_queries<T: RawValue>(
        &self,
        rows: &[T],
        bounds: &[usize],
        results: &mut [f64],
    ) -> Result<()> {
        self.score_queries(rows, bounds, results)
    }
}

impl RowTask for ClassScorer {
    fn num_features(&self) -> usize {
        self.num_features()
    }

    fn width(&self) -> usize {
        self.classes().len()
    }

    fn run<T: RawValue>(&self, rows: &[T], results: &mut [f64]) -> Result<()> {
        self.probabilities(rows, results)
    }

    fn run_queries<T: RawValue>(&self, rows: &[T], _: &[usize], results: &mut [f64]) -> Result<()> {
        self.run(rows, results)
    }
}

impl RowTask for Explainer {
    fn num_features(&self) -> usize {
        self.num_raw_features()
    }

    fn width(&self) -> usize {
        self.num_features() + 1
    }

    fn run<T: RawValue>(&self, rows: &[T], results: &mut [f64]) -> Result<()> {
        self.explain(rows, results)
    }

    fn run_queries<T: RawValue>(
        &self,
        rows: &[T],
        bounds: &[usize],
        results: &mut [f64],
    ) -> Result<()> {
        self.explain_queries(rows, bounds, results)
    }
}

/// Explains the difference of the scores of two rows; the result is written to the first.
pub(super) struct RowContrast<'a>(pub(super) &'a Explainer);

impl RowTask for RowContrast<'_> {
    fn num_features(&self) -> usize {
        self.0.num_raw_features()
    }

    fn width(&self) -> usize {
        self.0.num_raw_features()
    }

    fn run<T: RawValue>(&self, rows: &[T], results: &mut [f64]) -> Result<()> {
        let width = self.width();
        let (above, below) = rows.split_at(rows.len().min(width));
        results[..width].copy_from_slice(&self.0.contrast(above, below)?);
        Ok(())
    }

    fn run_queries<T: RawValue>(&self, rows: &[T], _: &[usize], results: &mut [f64]) -> Result<()> {
        self.run(rows, results)
    }
}

/// A table of raw values.
pub(super) enum RawTable<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
    /// Columns of any precision.
    Columns(Vec<TableColumn<'a>>),
}

impl<'a> RawTable<'a> {
    /// The values of a table argument.
    pub(super) fn of(table: &'a TableArg<'_>) -> PyResult<Self> {
        Ok(match table {
            TableArg::F32(array) => Self::F32(array.as_array()),
            TableArg::F64(array) => Self::F64(array.as_array()),
            TableArg::Columns(columns) => {
                Self::Columns(columns.iter().map(ColumnArg::column).collect::<PyResult<_>>()?)
            }
        })
    }

    pub(super) fn num_rows(&self) -> usize {
        match self {
            Self::F32(table) => table.nrows(),
            Self::F64(table) => table.nrows(),
            Self::Columns(columns) => columns.first().map_or(0, TableColumn::len),
        }
    }

    /// Whether it takes only one task, which runs on the calling thread.
    pub(super) fn is_one_task(&self) -> bool {
        self.num_rows() <= ROWS
    }

    fn num_features(&self) -> usize {
        match self {
            Self::F32(table) => table.ncols(),
            Self::F64(table) => table.ncols(),
            Self::Columns(columns) => columns.len(),
        }
    }

    /// The results of each row, on the current rayon pool if there is more than one task.
    pub(super) fn work(
        &self,
        work: &impl RowTask,
        policy: MissingPolicy,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        self.check_features(work)?;
        match self {
            Self::F32(table) => results(work, table, policy, interrupt),
            Self::F64(table) => results(work, table, policy, interrupt),
            Self::Columns(columns) => {
                let fill = |rows: Range<usize>, tile: &mut Vec<f64>| {
                    tile.resize(rows.len() * columns.len(), 0.0);
                    for (at, column) in columns.iter().enumerate() {
                        let cells = tile[at..].iter_mut().step_by(columns.len());
                        match column {
                            TableColumn::F32(values) => {
                                let values = values[rows.clone()].iter();
                                values.zip(cells).for_each(|(&x, cell)| *cell = f64::from(x));
                            }
                            TableColumn::F64(values) => {
                                let values = values[rows.clone()].iter();
                                values.zip(cells).for_each(|(&x, cell)| *cell = x);
                            }
                        }
                    }
                };
                copied(work, self.num_rows(), policy, interrupt, fill)
            }
        }
    }

    /// [`work`](Self::work) for rows of queries, in any order.
    pub(super) fn work_queries(
        &self,
        work: &impl RowTask,
        policy: MissingPolicy,
        grouping: &Grouping,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        self.check_features(work)?;
        let gathering = QueryGathering { work, policy, grouping, interrupt };
        match self {
            Self::F32(table) => gathering.results(|rows, tile: &mut Vec<f32>| {
                let rows = rows.iter().map(|&row| table.row(row as usize));
                rows.for_each(|row| tile.extend(row.iter()));
            }),
            Self::F64(table) => gathering.results(|rows, tile: &mut Vec<f64>| {
                let rows = rows.iter().map(|&row| table.row(row as usize));
                rows.for_each(|row| tile.extend(row.iter()));
            }),
            Self::Columns(columns) => gathering.results(|rows, tile: &mut Vec<f64>| {
                for &row in rows {
                    tile.extend(columns.iter().map(|column| match column {
                        TableColumn::F32(values) => f64::from(values[row as usize]),
                        TableColumn::F64(values) => values[row as usize],
                    }));
                }
            }),
        }
    }

    fn check_features(&self, work: &impl RowTask) -> Result<()> {
        if self.num_features() == work.num_features() {
            return Ok(());
        }
        let what = "the table has another number of features than the model";
        Err(Error::data("features", what).got(self.num_features()).expected(work.num_features()))
    }
}

/// Rows being gathered query by query.
struct QueryGathering<'a, W> {
    work: &'a W,
    policy: MissingPolicy,
    grouping: &'a Grouping,
    interrupt: &'a Interrupt,
}

impl<W: RowTask> QueryGathering<'_, W> {
    /// The results of all rows in their own order; `fill` copies rows to the end of a tile.
    fn results<T: RawValue>(&self, fill: impl Fn(&[u32], &mut Vec<T>)) -> Result<Vec<f64>> {
        let Self { work, policy, grouping, interrupt } = self;
        let width = work.width();
        let mut all = vec![0.0; grouping.rows.len() * width];
        let (mut tile, mut results, mut bounds) = (Vec::new(), Vec::new(), vec![0]);
        let mut first = 0;
        for docs in grouping.queries.ranges() {
            bounds.push(docs.end - first);
            if docs.end - first < GATHERED && docs.end < grouping.rows.len() {
                continue;
            }
            interrupt.check()?;
            let rows = &grouping.rows[first..docs.end];
            tile.clear();
            fill(rows, &mut tile);
            mark_missing(&mut tile, *policy);
            refuse_infinite(&tile, work.num_features(), |at| rows[at] as usize)?;
            results.clear();
            results.resize(rows.len() * width, 0.0);
            work.run_queries(&tile, &bounds, &mut results)?;
            for (&row, result) in rows.iter().zip(results.chunks_exact(width)) {
                all[row as usize * width..][..width].copy_from_slice(result);
            }
            first = docs.end;
            bounds.truncate(1);
        }
        Ok(all)
    }
}

fn results<T: RawValue>(
    work: &impl RowTask,
    table: &ArrayView2<'_, T>,
    policy: MissingPolicy,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let width = table.ncols();
    if let Some(values) = table.as_slice().filter(|_| policy.missing.is_none() && width > 0) {
        let done = by_tasks(work, table.nrows(), interrupt, |task, results| {
            let rows = &values[task.start * width..task.end * width];
            refuse_infinite(rows, width, |at| task.start + at)?;
            work.run(rows, results)
        });
        // If infinite values are missing ones, they must be replaced in a copy.
        if done.is_ok() || policy.infinite == Infinite::Error {
            return done;
        }
    }
    let fill = |rows: Range<usize>, tile: &mut Vec<T>| {
        tile.clear();
        tile.extend(rows.flat_map(|row| table.row(row).into_iter().copied()));
    };
    copied(work, table.nrows(), policy, interrupt, fill)
}

/// The results of rows that `fill` copies, under a policy.
fn copied<T: RawValue>(
    work: &impl RowTask,
    num_rows: usize,
    policy: MissingPolicy,
    interrupt: &Interrupt,
    fill: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) -> Result<Vec<f64>> {
    by_tasks(work, num_rows, interrupt, |task, results| {
        let mut tile = Vec::new();
        fill(task.clone(), &mut tile);
        mark_missing(&mut tile, policy);
        refuse_infinite(&tile, work.num_features(), |at| task.start + at)?;
        work.run(&tile, results)
    })
}

/// The results of all rows, by tasks; a single task runs on the calling thread.
fn by_tasks(
    work: &impl RowTask,
    num_rows: usize,
    interrupt: &Interrupt,
    task: impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<Vec<f64>> {
    let width = work.width();
    let mut all = vec![0.0; num_rows * width];
    if num_rows <= ROWS {
        task(0..num_rows, &mut all)?;
        return Ok(all);
    }
    all.par_chunks_mut(ROWS * width).enumerate().try_for_each(|(at, results)| {
        interrupt.check()?;
        task(at * ROWS..at * ROWS + results.len() / width, results)
    })?;
    Ok(all)
}

/// Replaces the values that stand for missing ones by NaN.
fn mark_missing<T: RawValue>(tile: &mut [T], policy: MissingPolicy) {
    let is_missing = |x: T| {
        policy.missing == Some(x.into())
            || (policy.infinite == Infinite::Missing && x.is_infinite())
    };
    tile.iter_mut().filter(|x| is_missing(**x)).for_each(|x| *x = T::NAN);
}

/// `row_of` tells the caller's row of each of `rows`.
fn refuse_infinite<T: RawValue>(
    rows: &[T],
    width: usize,
    row_of: impl Fn(usize) -> usize,
) -> Result<()> {
    // One pass without a branch, since there is nearly never one.
    if !rows.iter().fold(false, |any, x| any | x.is_infinite()) {
        return Ok(());
    }
    let at = rows.iter().position(|x| x.is_infinite()).unwrap_or_default();
    Err(Error::data("feature.infinite", "a feature value is infinite")
        .row(row_of(at / width))
        .feature(at % width)
        .expected("a finite number, or NaN for a missing one")
        .hint("infinite=\"missing\" treats infinite values as missing"))
}
