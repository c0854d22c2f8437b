//! Losses and metrics that are Python functions.
//!
//! They are called for one query at a time, with its documents in the dataset's order, on a thread of
//! the pool that takes the GIL for the call. Their exceptions are kept and raised again when the core
//! has returned; the Python package wraps the functions so that their results have the right type and
//! length.

use crate::boosting::CustomMetric;
use crate::data;
use crate::error::{Error, Result, lock};
use crate::objective::{GradientCall, Objective};
use crate::{Gradient, Interrupt};
use numpy::{PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The exception of a function, until it is raised again.
#[derive(Debug, Clone, Default)]
pub(super) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception of a function if there is one, else the error of the core.
    pub(super) fn or(&self, error: PyErr) -> PyErr {
        lock(&self.0).take().unwrap_or(error)
    }

    fn keep(&self, error: PyErr) -> Error {
        *lock(&self.0) = Some(error);
        Error::interrupted()
    }
}

/// A Python function of scores, labels, rows and the number of the query.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) called: Py<PyAny>,
    pub(super) raised: Raised,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.name).finish()
    }
}

impl Function {
    /// Calls the function for each query and passes its result to `take`.
    fn each_query(
        &self,
        dataset: &data::Dataset,
        scores: &[f64],
        interrupt: &Interrupt,
        mut take: impl FnMut(usize, Range<usize>, &Bound<'_, PyAny>) -> PyResult<()>,
    ) -> Result<()> {
        for (query, docs) in dataset.queries().ranges().enumerate() {
            interrupt.check()?;
            let called = Python::attach(|py| {
                let arguments = (
                    scores[docs.clone()].to_pyarray(py),
                    dataset.labels()[docs.clone()].to_pyarray(py),
                    dataset.rows()[docs.clone()].to_pyarray(py),
                    dataset.query_of()[query],
                );
                take(query, docs, self.called.bind(py).call1(arguments)?.as_any())
            });
            called.map_err(|error| self.raised.keep(error))?;
        }
        Ok(())
    }
}

/// A loss; its function returns gradients and hessians.
#[derive(Debug)]
pub(super) struct FunctionObjective {
    pub(super) function: Function,
    pub(super) dataset: Arc<data::Dataset>,
}

impl Objective for FunctionObjective {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let target = call.target;
        let take = |query: usize, docs: Range<usize>, given: &Bound<'_, PyAny>| {
            let (grad, hess): (PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>) =
                given.extract()?;
            let pairs = grad.as_array().into_iter().zip(hess.as_array()).map(|(&g, &h)| (g, h));
            let of_query = target.query_weight.map_or(1.0, |weight| weight[query]);
            for (doc, (grad, hess)) in docs.zip(pairs.collect::<Vec<_>>()) {
                let weight = of_query * target.row_weight.map_or(1.0, |weight| weight[doc]);
                gradients[doc] =
                    Gradient { grad: (weight * grad) as f32, hess: (weight * hess) as f32 };
            }
            Ok(())
        };
        self.function.each_query(&self.dataset, call.state.scores, call.interrupt, take)?;
        match gradients.iter().position(|gradient| !gradient.is_finite()) {
            None => Ok(()),
            Some(doc) => {
                Err(Error::data("gradient", "a gradient is too large for single precision")
                    .row(self.dataset.rows()[doc] as usize))
            }
        }
    }
}

/// A metric; its function returns the value of a query.
#[derive(Debug)]
pub(super) struct FunctionMetric(pub(super) Function);

impl CustomMetric for FunctionMetric {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn per_query(
        &self,
        dataset: &data::Dataset,
        scores: &[f64],
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let mut values = Vec::with_capacity(dataset.queries().len());
        self.0.each_query(dataset, scores, interrupt, |_, _, given| {
            values.push(given.extract()?);
            Ok(())
        })?;
        Ok(values)
    }
}
