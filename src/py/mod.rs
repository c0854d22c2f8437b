//! The Python extension module: each method takes arrays, releases the GIL, calls the core and wraps the
//! result.
//!
//! The only folder that uses `pyo3`. Defaults, conversions and documentation are in the Python package;
//! arguments here are arrays of the right type already, or are refused. Structs called `Py*` are Python
//! classes, `*Args` and `*Arg` are arguments that are read from Python objects.
#![expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]

mod arrays;
mod booster;
mod calibration;
mod callables;
mod combine;
mod comm;
mod dataset;
mod errors;
mod gil;
mod metrics;
mod neural;
mod params;
mod pool;
mod raw_plan;
mod rounds;
mod scoring;
mod stack;
mod text_files;
mod trainer;

use crate::MemoryReserve;
use pyo3::prelude::*;

/// Ends work with an error, not the process, where memory cannot be had.
#[global_allocator]
static ALLOCATOR: MemoryReserve = MemoryReserve::of_system();

/// The extension module of the package rustrank.
#[pymodule(gil_used = false)]
mod _rustrank {
    #[pymodule_export]
    use super::{
        booster::PyBooster,
        calibration::calibrated,
        combine::{combine_rankers, mix, sweep, untied, values_of_weights},
        comm::PyTcpListening,
        comm::PyTeam,
        dataset::{PyBinning, PyDataset, PyDatasetBuilder, PySampler},
        gil::num_threads,
        gil::watch_by,
        metrics::{
            bootstrap, evaluate, mean, measures, named_metric, objectives, significance_tests,
        },
        neural::{PyRawDataset, net_weights, with_net_weights},
        params::{checked, schema},
        pool::forked,
        rounds::PyTrainer,
        stack::{derive, normalised},
        text_files::{
            inspect_letor, read_labels, read_scores, read_table, read_trec, replace_file,
        },
    };

    use super::{Bound, PyModule, PyModuleMethods, PyResult};
    use crate::simd::{LEVEL_VARIABLE, Level};
    use pyo3::exceptions::PyImportError;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("simd_level", simd_level()?)
    }

    /// The name of the level of SIMD instructions in use.
    fn simd_level() -> PyResult<&'static str> {
        match std::env::var(LEVEL_VARIABLE) {
            Ok(name) if Level::by_name(&name).is_none() => Err(PyImportError::new_err(format!(
                "{LEVEL_VARIABLE}: got {name:?}, expected portable, avx2 or avx512"
            ))),
            _ => Ok(Level::best().name()),
        }
    }
}
