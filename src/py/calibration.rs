//! Calibrated boosters, for Python.

use super::booster::PyBooster;
use super::gil::detached;
use crate::model::Calibrated;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// A booster whose score is the probability of being relevant, fitted to scores and labels.
#[pyfunction]
pub(super) fn calibrated(
    py: Python<'_>,
    booster: &PyBooster,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, f64>,
    relevant_from: f64,
) -> PyResult<PyBooster> {
    let (scores, labels) = (scores.as_array().to_vec(), labels.as_array().to_vec());
    let model = booster.model().clone();
    let calibrated = detached(py, Some(1), move |_| {
        Calibrated::fit(model, &scores, &labels, relevant_from)?.into_model()
    })?;
    Ok(PyBooster::of(calibrated))
}
