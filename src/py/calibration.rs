//! Calibrated boosters, for Python.

use super::arrays::ArrayArg;
use super::booster::PyBooster;
use super::gil::detached;
use crate::model::Calibrated;
use pyo3::prelude::*;

/// A booster whose score is the probability of being relevant, fitted to scores and labels.
#[pyfunction]
pub(super) fn calibrated(
    booster: &PyBooster,
    scores: ArrayArg<f64>,
    labels: ArrayArg<f64>,
    relevant_from: f64,
) -> PyResult<PyBooster> {
    let model = booster.model().clone();
    let calibrated = detached(Some(1), move |_| {
        Calibrated::fit(model, &scores.0, &labels.0, relevant_from)?.into_model()
    })?;
    Ok(PyBooster::of(calibrated))
}
