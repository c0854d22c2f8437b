//! From the core's error to Python's exceptions, which are defined in `rustrank/errors.py`.

use crate::error::{Error, ErrorKind, Fault};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error of the core.
pub(super) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.to_string();
    let made = match error.kind() {
        ErrorKind::Data(fault) => exception(py, "DataError", &text, Some(fault)),
        ErrorKind::Param(fault) => exception(py, "ParamError", &text, Some(fault)),
        ErrorKind::ParamKind(fault) => exception(py, "ParamKindError", &text, Some(fault)),
        ErrorKind::UnknownName(fault) => exception(py, "UnknownNameError", &text, Some(fault)),
        ErrorKind::ModelFormat(fault) => exception(py, "ModelFormatError", &text, Some(fault)),
        ErrorKind::ModelVersion(fault) => exception(py, "ModelVersionError", &text, Some(fault)),
        ErrorKind::Resource(fault) => exception(py, "ResourceError", &text, Some(fault)),
        ErrorKind::Comm(fault) => exception(py, "CommError", &text, Some(fault)),
        ErrorKind::CommTimeout(fault) => exception(py, "CommTimeout", &text, Some(fault)),
        ErrorKind::Internal(_) => exception(py, "InternalError", &text, None),
        ErrorKind::Interrupted => Ok(PyKeyboardInterrupt::new_err(())),
        ErrorKind::Io { path, source } => {
            // Python picks FileNotFoundError, IsADirectoryError ... by the number.
            let number = source.raw_os_error();
            let text = match number {
                Some(number) => os_text(py, number),
                None => Ok(source.to_string()),
            };
            text.map(|text| PyOSError::new_err((number, text, path.clone())))
        }
    };
    made.unwrap_or_else(|failed| failed)
}

/// What the system calls the error of this number.
fn os_text(py: Python<'_>, number: i32) -> PyResult<String> {
    py.import("os")?.call_method1("strerror", (number,))?.extract()
}

fn exception(py: Python<'_>, class: &str, text: &str, fault: Option<&Fault>) -> PyResult<PyErr> {
    let class = py.import("rustrank.errors")?.getattr(class)?;
    let facts = PyDict::new(py);
    if let Some(fault) = fault {
        facts.set_item("code", fault.code)?;
        facts.set_item("row", fault.place.row)?;
        facts.set_item("query", fault.place.query.map(|query| query.to_string()))?;
        facts.set_item("feature", &fault.place.feature)?;
        facts.set_item("path", fault.place.path.as_ref().map(|p| p.display().to_string()))?;
        facts.set_item("line", fault.place.line)?;
        facts.set_item("column", fault.place.column)?;
    }
    Ok(PyErr::from_value(class.call((text,), Some(&facts))?))
}
