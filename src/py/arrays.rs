//! NumPy arrays as arguments and results of the core, and tables as slices without conversions.

use crate::binning::CellSource;
use crate::data::{ColumnTable, MissingPolicy, StridedTable, TableColumn};
use crate::error::Result;
use crate::schema::{ParamField, ParamValue};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods, ToPyArray,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::convert::Infallible;

/// A copy of an array: Python may change the original while the core uses it.
pub(super) struct ArrayArg<T>(pub(super) Vec<T>);

impl<'py, T: Element + Copy> FromPyObject<'_, 'py> for ArrayArg<T> {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(array.extract::<PyReadonlyArray1<'py, T>>()?.as_array().to_vec()))
    }
}

/// From so many numbers on, an array takes over their memory; to copy fewer takes less time.
const FEW: usize = 1 << 13;

/// Numbers that become an array.
pub(super) struct NewArray<T>(pub(super) Vec<T>);

impl<'py, T: Element + Copy> IntoPyObject<'py> for NewArray<T> {
    type Target = PyArray1<T>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        let is_small = self.0.len() < FEW;
        Ok(if is_small { self.0.to_pyarray(py) } else { PyArray1::from_vec(py, self.0) })
    }
}

/// Numbers that become an array with that shape.
pub(super) struct NewMatrix<T>(pub(super) Vec<T>, pub(super) [usize; 2]);

impl<'py, T: Element + Copy> IntoPyObject<'py> for NewMatrix<T> {
    type Target = PyArray2<T>;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyArray1::from_vec(py, self.0).reshape(self.1)
    }
}

/// A dictionary of some fields of a struct, by their names.
macro_rules! fields_of {
    ($py:expr, $from:expr, $($field:ident)+) => {{
        let fields = PyDict::new($py);
        $(fields.set_item(stringify!($field), $from.$field)?;)+
        fields
    }};
}
pub(super) use fields_of;

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
    pub(super) fn policy(&self) -> Result<MissingPolicy> {
        let missing = self.missing.filter(|missing| !missing.is_nan());
        let infinite = ParamField { name: "infinite", range: None };
        let infinite = infinite.read(&ParamValue::Text(self.infinite.clone()))?;
        Ok(MissingPolicy { missing, infinite })
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
            Box::new(ColumnTable::by_column(values, num_features, $policy))
        })
    }};
}

impl TableArg<'_> {
    /// The table as the core reads it.
    pub(super) fn cells(&self, policy: MissingPolicy) -> PyResult<Box<dyn CellSource + Send + '_>> {
        match self {
            Self::F32(array) => strided!(array, policy),
            Self::F64(array) => strided!(array, policy),
            Self::Columns(arrays) => {
                let columns = arrays.iter().map(ColumnArg::column).collect::<PyResult<_>>()?;
                Ok(Box::new(ColumnTable::new(columns, policy)?))
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
