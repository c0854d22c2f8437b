//! From the core's error to Python's exceptions, which are defined in `rustrank/errors.py`.

use crate::error::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

/// So that `?` turns an error of the core into its exception.
impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| exception(py, &error).unwrap_or_else(|failed| failed))
    }
}

/// The exception for an error of the core.
fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = match error.kind() {
        ErrorKind::Data(_) => "DataError",
        ErrorKind::Param(_) => "ParamError",
        ErrorKind::ParamKind(_) => "ParamKindError",
        ErrorKind::UnknownName(_) => "UnknownNameError",
        ErrorKind::ModelFormat(_) => "ModelFormatError",
        ErrorKind::ModelVersion(_) => "ModelVersionError",
        ErrorKind::Resource(_) => "ResourceError",
        ErrorKind::Comm(_) => "CommError",
        ErrorKind::CommTimeout(_) => "CommTimeout",
        ErrorKind::Internal(_) => "InternalError",
        ErrorKind::Interrupted => return Ok(PyKeyboardInterrupt::new_err(())),
        ErrorKind::Io { path, source } => {
            // Python picks FileNotFoundError, IsADirectoryError ... by the number.
            let number = source.raw_os_error();
            if number.is_none() && source.kind() == std::io::ErrorKind::InvalidInput {
                // Such as a NUL in the name, which Python calls a ValueError, too.
                let class = py.import("rustrank.errors")?.getattr("ParamError")?;
                let facts = [("code", "path")].into_py_dict(py)?;
                let message = format!("path: got {:?}: {source}", path.to_string_lossy());
                return Ok(PyErr::from_value(class.call((message,), Some(&facts))?));
            }
            let text = match number {
                Some(number) => py.import("os")?.call_method1("strerror", (number,))?.extract()?,
                None => source.to_string(),
            };
            return Ok(PyOSError::new_err((number, text, path.as_os_str().to_owned())));
        }
    };
    let facts = PyDict::new(py);
    if let Some(fault) = error.fault() {
        facts.set_item("code", fault.code)?;
        facts.set_item("row", fault.place.row)?;
        facts.set_item("query", fault.place.query.map(|query| query.to_string()))?;
        facts.set_item("feature", &fault.place.feature)?;
        facts.set_item("path", fault.place.path.as_ref().map(|p| p.display().to_string()))?;
        facts.set_item("line", fault.place.line)?;
        facts.set_item("column", fault.place.column)?;
    }
    let class = py.import("rustrank.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&facts))?))
}
