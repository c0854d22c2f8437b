//! Nets for Python: raw datasets and weights.

use super::arrays::{ArrayArg, NewArray, ReadArgs, TableArg};
use super::booster::PyBooster;
use super::dataset::RowArgs;
use super::gil::detached;
use crate::data;
use crate::error::{Error, Result, lock};
use crate::model::{Component, Mlp, Model, Part};
use pyo3::prelude::*;
use std::sync::Mutex;

/// Documents with raw values, until a trainer takes them.
#[pyclass(frozen, name = "RawDataset")]
pub(super) struct PyRawDataset {
    inner: Mutex<Option<data::RawDataset>>,
}

#[pymethods]
impl PyRawDataset {
    #[new]
    fn new(block: TableArg<'_>, rows: RowArgs, reading: ReadArgs) -> PyResult<Self> {
        let (cells, rows) = (block.cells(reading.policy()?)?, rows.data()?);
        let inner = detached(reading.num_threads, |interrupt| {
            data::RawDataset::new(&*cells, rows, interrupt)
        })?;
        Ok(Self { inner: Mutex::new(Some(inner)) })
    }
}

impl PyRawDataset {
    pub(super) fn take(&self) -> Result<data::RawDataset> {
        lock(&self.inner).take().ok_or_else(|| Error::internal("a set of values was used twice"))
    }
}

/// The net of a model that has nothing else.
fn only_net(model: &Model) -> Result<(&Component, &Mlp)> {
    match model.components() {
        [component @ Component { part: Part::Mlp(mlp), .. }] => Ok((component, mlp)),
        _ => Err(Error::param("model.net", "the model is not a net alone")),
    }
}

/// All weights of a net: of each layer the biases, then the weights.
#[pyfunction]
pub(super) fn net_weights(booster: &PyBooster) -> PyResult<NewArray<f32>> {
    let (_, mlp) = only_net(booster.model())?;
    Ok(NewArray(mlp.weights()))
}

/// The same net with other weights.
#[pyfunction]
pub(super) fn with_net_weights(booster: &PyBooster, weights: ArrayArg<f32>) -> PyResult<PyBooster> {
    let model = booster.model();
    let (component, mlp) = only_net(model)?;
    let part = Part::Mlp(mlp.with_weights(&weights.0)?);
    let mut other = Model::new(model.num_features());
    other.set_feature_names(model.feature_names().map(<[String]>::to_vec))?;
    other.set_intercept(model.intercept())?;
    other.add(Component { part, ..component.clone() })?;
    Ok(PyBooster::of(other))
}
