//! Calibrated boosters, for Python.

use super::booster::Booster;
use super::door::detached;
use crate::model::Calibrated;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// A booster whose score is the probability of being relevant, fitted to scores and labels.
#[pyfunction]
pub(super) fn calibrated(
    py: Python<'_>,
    booster: &Booster,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, f64>,
    relevant_from: f64,
) -> PyResult<Booster> {
    let (scores, labels) = (scores.as_array().to_vec(), labels.as_array().to_vec());
    let model = booster.model().clone();
    let calibrated = detached(py, Some(1), move |_| {
        Calibrated::fit(model, &scores, &labels, relevant_from)?.into_model()
    })?;
    Ok(Booster::of(calibrated))
}
