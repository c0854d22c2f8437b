//! Feature tables in the caller's memory: one array in row or column order, or separate columns.

use crate::binning::{CellSource, nearest};
use crate::error::{Error, Result};
use crate::schema::choices;
use std::fmt::Display;
use std::ops::Range;

choices! {
    /// How infinite values are treated.
    #[derive(Default)]
    pub enum Infinite {
        /// They are an error.
        #[default]
        Error = "error",
        /// They are missing values.
        Missing = "missing",
    }
}

/// Which values are missing besides NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MissingPolicy {
    /// A number that stands for a missing value.
    pub missing: Option<f64>,
    /// How infinite values are treated.
    pub infinite: Infinite,
}

/// The types of raw values; callers convert all others exactly.
pub trait FeatureValue: Copy + Sync {
    /// The value of a missing one.
    const NAN: Self;

    /// The value as a cell: see [`nearest`].
    fn cell(self) -> f32;

    /// Whether the value is infinite.
    fn is_infinite(self) -> bool;

    /// Values as a column.
    fn column(values: &[Self]) -> TableColumn<'_>;
}

macro_rules! feature_values {
    ($($float:ident as $column:ident: $cell:expr;)+) => {
        $(impl FeatureValue for $float {
            const NAN: Self = $float::NAN;

            #[inline]
            fn cell(self) -> f32 {
                $cell(self)
            }

            #[inline]
            fn is_infinite(self) -> bool {
                $float::is_infinite(self)
            }

            fn column(values: &[Self]) -> TableColumn<'_> {
                TableColumn::$column(values)
            }
        })+
    };
}

feature_values! {
    f32 as F32: |value| value + 0.0;
    f64 as F64: nearest;
}

/// A table in one array, in row order (C order).
#[derive(Debug, Clone, Copy)]
pub struct StridedTable<'a, T> {
    values: &'a [T],
    num_features: usize,
    policy: MissingPolicy,
}

impl<'a, T: FeatureValue> StridedTable<'a, T> {
    /// A table in row order.
    pub fn by_row(values: &'a [T], num_features: usize, policy: MissingPolicy) -> Self {
        Self { values, num_features, policy }
    }
}

impl<T: FeatureValue> CellSource for StridedTable<'_, T> {
    fn num_rows(&self) -> usize {
        self.values.len().checked_div(self.num_features).unwrap_or(0)
    }

    fn num_features(&self) -> usize {
        self.num_features
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let values = &self.values[rows.start * self.num_features..rows.end * self.num_features];
        copy(self.policy.missing, values.iter(), tile.iter_mut());
        treat_infinite(tile, self.num_features, rows.start, self.policy)
    }

    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let width = features.len().max(1);
        for (&row, to) in rows.iter().zip(tile.chunks_exact_mut(width)) {
            let values = &self.values[row as usize * self.num_features..][features.clone()];
            copy(self.policy.missing, values.iter(), to.iter_mut());
        }
        // Reading whole rows has reported any fault before, with its place.
        treat_infinite(tile, width, 0, self.policy)
    }
}

/// One column of a [`ColumnTable`].
#[derive(Debug, Clone, Copy)]
pub enum TableColumn<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl TableColumn<'_> {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }
}

/// A table whose columns are separate arrays, as in Arrow.
#[derive(Debug, Clone)]
pub struct ColumnTable<'a> {
    list: Vec<TableColumn<'a>>,
    num_rows: usize,
    policy: MissingPolicy,
}

impl<'a> ColumnTable<'a> {
    /// A table of columns, which must have one length.
    pub fn new(columns: Vec<TableColumn<'a>>, policy: MissingPolicy) -> Result<Self> {
        let num_rows = columns.first().map_or(0, TableColumn::len);
        if let Some(feature) = columns.iter().position(|c| c.len() != num_rows) {
            return Err(Error::data("columns.length", "a column has another length")
                .feature(feature)
                .got(columns[feature].len())
                .expected(num_rows));
        }
        Ok(Self { list: columns, num_rows, policy })
    }

    /// A table in one array, in column order (Fortran order).
    pub fn by_column<T: FeatureValue>(
        values: &'a [T],
        num_features: usize,
        policy: MissingPolicy,
    ) -> Self {
        let num_rows = values.len().checked_div(num_features).unwrap_or(0);
        let column = |feature| T::column(&values[feature * num_rows..][..num_rows]);
        Self { list: (0..num_features).map(column).collect(), num_rows, policy }
    }

    /// Writes the cells of some features of some rows to `tile`, row after row.
    fn copy(
        &self,
        rows: &(impl Iterator<Item = usize> + Clone),
        features: Range<usize>,
        tile: &mut [f32],
    ) {
        let (width, missing) = (features.len(), self.policy.missing);
        for (at, column) in self.list[features].iter().enumerate() {
            let (rows, to) = (rows.clone(), tile.iter_mut().skip(at).step_by(width));
            match column {
                TableColumn::F32(values) => copy(missing, rows.map(|row| &values[row]), to),
                TableColumn::F64(values) => copy(missing, rows.map(|row| &values[row]), to),
            }
        }
    }
}

impl CellSource for ColumnTable<'_> {
    fn num_rows(&self) -> usize {
        self.num_rows
    }

    fn num_features(&self) -> usize {
        self.list.len()
    }

    fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
        self.copy(&rows, 0..self.list.len(), tile);
        treat_infinite(tile, self.list.len(), rows.start, self.policy)
    }

    fn read_features(&self, rows: &[u32], features: Range<usize>, tile: &mut [f32]) -> Result<()> {
        let width = features.len().max(1);
        self.copy(&rows.iter().map(|&row| row as usize), features, tile);
        // Reading whole rows has reported any fault before, with its place.
        treat_infinite(tile, width, 0, self.policy)
    }
}

/// Copies values as cells. The value that stands for a missing one is compared as a cell, so that it is
/// found in both types.
fn copy<'a, T: FeatureValue + 'a>(
    missing: Option<f64>,
    values: impl Iterator<Item = &'a T>,
    tile: impl Iterator<Item = &'a mut f32>,
) {
    let one_nan = |cell: f32| if cell.is_nan() { f32::NAN } else { cell };
    if let Some(missing) = missing.map(nearest) {
        for (cell, to) in values.map(|value| value.cell()).zip(tile) {
            *to = if cell == missing { f32::NAN } else { one_nan(cell) };
        }
    } else {
        for (&value, to) in values.zip(tile) {
            *to = one_nan(value.cell());
        }
    }
}

fn treat_infinite(
    tile: &mut [f32],
    width: usize,
    first_row: usize,
    policy: MissingPolicy,
) -> Result<()> {
    if policy.infinite == Infinite::Missing {
        tile.iter_mut().filter(|cell| cell.is_infinite()).for_each(|cell| *cell = f32::NAN);
    }
    refuse_infinite(tile, width, |at| first_row + at)
}

/// Refuses infinite values; `row_of` tells the caller's row of each of `rows`.
pub fn refuse_infinite<T: FeatureValue + Display>(
    rows: &[T],
    width: usize,
    row_of: impl Fn(usize) -> usize,
) -> Result<()> {
    // One pass without a branch, since there is nearly never one.
    if !rows.iter().fold(false, |any, value| any | value.is_infinite()) {
        return Ok(());
    }
    let at = rows.iter().position(|value| value.is_infinite()).unwrap_or_default();
    Err(Error::data("feature.infinite", "a feature value is infinite")
        .row(row_of(at / width))
        .feature(at % width)
        .got(rows[at])
        .expected("a finite number, or NaN for a missing one")
        .hint("infinite=\"missing\" treats infinite values as missing"))
}
