//! Parameters for Python: the schema of each kind of training, and mappings of what a caller gave.

use crate::error::Error;
use crate::schema::{ParamKind, ParamValue, Parameter, Parameters};
use crate::settings::{
    FeatureTrainOptions, NetPreset, NetTrainOptions, Preset, RefitTrainOptions, StepKind,
    TrainOptions,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use serde::Serialize;
use std::collections::BTreeMap;

/// The parameters of a mapping from names to values, with defaults for those that it does not have.
pub(super) fn parsed<P: Parameters>(given: &Bound<'_, PyDict>) -> PyResult<P> {
    let mut params = P::default();
    let schema = P::schema();
    for (name, value) in given {
        let name: String = name.extract()?;
        let known = schema.iter().find(|known| known.name == name);
        let known =
            known.ok_or_else(|| Error::internal(format!("there is no parameter {name}")))?;
        if !is_foreign(known) {
            params.set(&name, &read(&value)?)?;
        }
    }
    Ok(params)
}

fn is_foreign(parameter: &Parameter) -> bool {
    parameter.kind == ParamKind::Foreign.name()
}

fn read(value: &Bound<'_, PyAny>) -> PyResult<ParamValue> {
    let all = |values: Vec<Bound<'_, PyAny>>| values.iter().map(read).collect::<PyResult<_>>();
    Ok(if value.is_none() {
        ParamValue::None
    } else if value.is_instance_of::<PyBool>() {
        ParamValue::Flag(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        ParamValue::Text(value.extract()?)
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        ParamValue::List(all(value.extract()?)?)
    } else if let Ok(number) = value.extract::<i128>() {
        ParamValue::Integer(number)
    } else if let Ok(number) = value.extract::<f64>() {
        ParamValue::Real(number)
    } else if value.hasattr("tolist")? {
        // An array.
        read(&value.call_method0("tolist")?)?
    } else {
        let shown = value.py().import("rustrank.errors")?.getattr("shown")?;
        ParamValue::Other(shown.call1((value,))?.extract()?)
    })
}

fn written<'py>(py: Python<'py>, value: &ParamValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ParamValue::None | ParamValue::Other(_) => py.None().into_bound(py),
        ParamValue::Flag(is) => PyBool::new(py, *is).to_owned().into_any(),
        ParamValue::Integer(number) => number.into_pyobject(py)?.into_any(),
        ParamValue::Real(number) => number.into_pyobject(py)?.into_any(),
        ParamValue::Text(text) => text.into_pyobject(py)?.into_any(),
        ParamValue::List(values) => {
            let values: Vec<_> =
                values.iter().map(|one| written(py, one)).collect::<PyResult<_>>()?;
            PyList::new(py, values)?.into_any()
        }
    })
}

fn checked_as<'py, P: Parameters>(given: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let (py, params) = (given.py(), parsed::<P>(given)?);
    params.check_ranges()?;
    let all = PyDict::new(py);
    for (parameter, (name, value)) in P::schema().iter().zip(params.values()) {
        match given.get_item(name)? {
            Some(value) if is_foreign(parameter) => all.set_item(name, value)?,
            _ => all.set_item(name, written(py, &value)?)?,
        }
    }
    Ok(all)
}

/// All parameters of a kind of training: those given, checked, and the defaults of the others.
#[pyfunction]
pub(super) fn checked<'py>(
    training: &str,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    match training {
        "train" => checked_as::<TrainOptions>(given),
        "net" => checked_as::<NetTrainOptions>(given),
        "features" => checked_as::<FeatureTrainOptions>(given),
        _ => checked_as::<RefitTrainOptions>(given),
    }
}

/// What is known of the parameters of each kind of training, and the defaults that presets and steps change, as JSON.
#[pyfunction]
pub(super) fn schema() -> PyResult<String> {
    let defaults = |values: Vec<(_, _)>| values.into_iter().collect();
    let all = Schema {
        trainings: BTreeMap::from([
            ("train", TrainOptions::schema()),
            ("net", NetTrainOptions::schema()),
            ("features", FeatureTrainOptions::schema()),
            ("refit", RefitTrainOptions::schema()),
        ]),
        presets: Preset::ALL.iter().map(|one| (one.name(), defaults(one.values()))).collect(),
        net_presets: NetPreset::ALL
            .iter()
            .map(|one| (one.name(), defaults(one.values())))
            .collect(),
        steps: StepKind::ALL.iter().map(|one| (one.name(), defaults(one.values()))).collect(),
    };
    Ok(serde_json::to_string(&all).map_err(|error| Error::internal(error.to_string()))?)
}

/// Defaults of parameters, by name, that another parameter's value changes.
type Defaults = BTreeMap<&'static str, ParamValue>;

#[derive(Serialize)]
struct Schema {
    trainings: BTreeMap<&'static str, Vec<Parameter>>,
    presets: Vec<(&'static str, Defaults)>,
    net_presets: Vec<(&'static str, Defaults)>,
    steps: Vec<(&'static str, Defaults)>,
}
