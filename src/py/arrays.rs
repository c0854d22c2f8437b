//! NumPy arrays as slices of the core, without conversions or copies.

use super::errors::to_python;
use crate::binning::CellSource;
use crate::data::{ColumnTable, MissingPolicy, StridedTable, TableColumn};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A feature table: one array of two dimensions, or a list of columns.
#[derive(FromPyObject)]
pub(super) enum TableArg<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    Columns(Vec<ColumnArg<'py>>),
}

/// A column of a table.
#[derive(FromPyObject)]
pub(super) enum ColumnArg<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// How raw values are read and on how many threads: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct ReadArgs {
    missing: Option<f64>,
    infinite: String,
    pub(super) num_threads: Option<usize>,
}

impl ReadArgs {
    /// Which values are missing.
    pub(super) fn policy(&self, py: Python<'_>) -> PyResult<MissingPolicy> {
        let infinite = self.infinite.parse().map_err(|error| to_python(py, &error))?;
        Ok(MissingPolicy { missing: self.missing.filter(|m| !m.is_nan()), infinite })
    }
}

macro_rules! strided {
    ($array:expr, $policy:expr) => {{
        let (array, num_features) = ($array, $array.shape()[1]);
        let values = array.as_slice().map_err(|_| not_contiguous())?;
        // A one-column array is contiguous in both orders, which read it alike.
        Ok(if array.is_c_contiguous() {
            Box::new(StridedTable::by_row(values, num_features, $policy))
        } else {
            Box::new(StridedTable::by_column(values, num_features, $policy))
        })
    }};
}

impl TableArg<'_> {
    /// The table as the core reads it.
    pub(super) fn cells(
        &self,
        py: Python<'_>,
        policy: MissingPolicy,
    ) -> PyResult<Box<dyn CellSource + Send + '_>> {
        match self {
            Self::F32(array) => strided!(array, policy),
            Self::F64(array) => strided!(array, policy),
            Self::Columns(arrays) => {
                let columns = arrays.iter().map(ColumnArg::column).collect::<PyResult<_>>()?;
                let columns = ColumnTable::new(columns, policy);
                Ok(Box::new(columns.map_err(|error| to_python(py, &error))?))
            }
        }
    }
}

impl ColumnArg<'_> {
    /// The column as the core reads it.
    pub(super) fn column(&self) -> PyResult<TableColumn<'_>> {
        Ok(match self {
            Self::F32(array) => TableColumn::F32(array.as_slice().map_err(|_| not_contiguous())?),
            Self::F64(array) => TableColumn::F64(array.as_slice().map_err(|_| not_contiguous())?),
        })
    }
}

fn not_contiguous() -> PyErr {
    PyTypeError::new_err("an array must be contiguous, in C or Fortran order")
}

/// A copy of an optional array: Python may change the original while the core uses it.
pub(super) fn copied<T: numpy::Element + Copy>(
    array: Option<&PyReadonlyArray1<'_, T>>,
) -> Option<Vec<T>> {
    array.map(|values| values.as_array().to_vec())
}
