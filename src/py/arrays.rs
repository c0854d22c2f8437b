//! Arrays as slices: looked at, never converted and never kept.

use crate::bins::Cells;
use crate::data::{ColumnTable, MissingPolicy, StridedTable, TableColumn};
use crate::error::Result;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A batch of rows: one array of two dimensions, or a list of columns.
#[derive(FromPyObject)]
pub(super) enum TableArg<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    Columns(Vec<ColumnArg<'py>>),
}

#[derive(FromPyObject)]
pub(super) enum ColumnArg<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// What Python says of missing and infinite values.
pub(super) fn policy(missing: Option<f64>, infinite: &str) -> Result<MissingPolicy> {
    Ok(MissingPolicy { missing: missing.filter(|m| !m.is_nan()), infinite: infinite.parse()? })
}

macro_rules! strided {
    ($array:expr, $policy:expr) => {{
        let (array, num_features) = ($array, $array.shape()[1]);
        let values = array.as_slice().map_err(|_| not_contiguous())?;
        // A one-column array is contiguous both ways, and both readings agree.
        Ok(if array.is_c_contiguous() {
            Box::new(StridedTable::by_row(values, num_features, $policy))
        } else {
            Box::new(StridedTable::by_column(values, num_features, $policy))
        })
    }};
}

impl TableArg<'_> {
    /// The batch as the core reads it.
    pub(super) fn cells(
        &self,
        py: Python<'_>,
        policy: MissingPolicy,
    ) -> PyResult<Box<dyn Cells + Send + '_>> {
        match self {
            Self::F32(array) => strided!(array, policy),
            Self::F64(array) => strided!(array, policy),
            Self::Columns(arrays) => {
                let columns = arrays.iter().map(ColumnArg::column).collect::<PyResult<_>>()?;
                let columns = ColumnTable::new(columns, policy);
                Ok(Box::new(columns.map_err(|error| super::errors::to_python(py, &error))?))
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

/// A copy of an optional array of doubles: what the core keeps must not change under it.
pub(super) fn copied<T: numpy::Element + Copy>(
    array: Option<&PyReadonlyArray1<'_, T>>,
) -> Option<Vec<T>> {
    array.map(|values| values.as_array().to_vec())
}
