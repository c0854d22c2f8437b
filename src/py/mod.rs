//! The Python door: takes arrays, leaves the interpreter, calls the core, wraps the answer.
//!
//! The only place that knows Python. Defaults, conversions and documentation live in the Python
//! package in front; what comes in here is already an array of the right type, or is refused.
#![expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]

mod arrays;
mod booster;
mod calibration;
mod callables;
mod combine;
mod comm;
mod dataset;
mod door;
mod errors;
mod features;
mod metrics;
mod neural;
mod pool;
mod scoring;
mod stack;
mod text;
mod trainer;

use pyo3::prelude::*;

/// The compiled half of rustrank; the package in front of it is what people use.
#[pymodule(gil_used = false)]
mod _rustrank {
    #[pymodule_export]
    use super::booster::Booster;
    #[pymodule_export]
    use super::calibration::calibrated;
    #[pymodule_export]
    use super::combine::{combine_rankers, mix, sweep, untied, values_of_weights};
    #[pymodule_export]
    use super::comm::Team;
    #[pymodule_export]
    use super::dataset::{Binning, Builder, Dataset, Sampler};
    #[pymodule_export]
    use super::door::num_threads;
    #[pymodule_export]
    use super::features::FeatureTrainer;
    #[pymodule_export]
    use super::metrics::{bootstrap, evaluate, mean, measures, randomisation_test, t_test, tally};
    #[pymodule_export]
    use super::neural::{NetTrainer, RawDataset, net_weights, with_net_weights};
    #[pymodule_export]
    use super::stack::{derive, normalised};
    #[pymodule_export]
    use super::text::{inspect_letor, read_labels, read_scores, read_table, read_trec};
    #[pymodule_export]
    use super::trainer::Trainer;

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
