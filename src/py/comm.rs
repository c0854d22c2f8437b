//! Teams of workers for Python: over TCP, or with a communicator whose collectives are Python call-backs, such as
//! those of `mpi4py`.
//!
//! Sums and maxima are passed to Python without a copy, as memory views of bytes that are released when
//! the call-back returns. A call-back that keeps a buffer, as an unfinished request does, ends the
//! process: it could overwrite the memory later.
#![expect(unsafe_code, reason = "memory is lent to Python without a copy")]

use super::dataset::PyDataset;
use super::gil::detached_for;
use crate::distributed::{
    self, Collective, Communicator, NamedQueries, TcpGroup, TcpListening, Token, check_queries,
};
use crate::error::{Error, Result, lock};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTimeoutError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// That a memory view may be written to: `PyBUF_WRITE` of Python's headers.
const WRITE: i32 = 0x200;

/// A communicator that calls the methods of a Python object.
#[derive(Debug)]
struct CallbackCommunicator {
    ranks: Py<PyAny>,
    rank: usize,
    size: usize,
}

impl CallbackCommunicator {
    fn new(ranks: &Bound<'_, PyAny>) -> PyResult<Self> {
        let rank = ranks.getattr("rank")?.extract()?;
        let size = ranks.getattr("size")?.extract()?;
        Ok(Self { ranks: ranks.clone().unbind(), rank, size })
    }

    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| work(self.ranks.bind(py)).map_err(|error| from_python(py, &error)))
    }

    /// Calls a method with a view of the bytes, and releases the view.
    fn lend(&self, method: &str, bytes: &mut [u8]) -> Result<()> {
        self.call(|ranks| {
            let py = ranks.py();
            let (start, len) = (bytes.as_mut_ptr().cast(), bytes.len().cast_signed());
            // SAFETY: the bytes live, and nobody else looks at them, until this function returns, and
            // then the view is released; the owned reference is checked for null.
            let view = unsafe {
                let view = ffi::PyMemoryView_FromMemory(start, len, WRITE);
                Bound::from_owned_ptr_or_err(py, view)?
            };
            let called = ranks.call_method1(method, (&view,)).map(|_| ());
            // The traceback of a call-back that failed keeps its variables alive, and with them the view.
            let called = called.inspect_err(|error| {
                let value = error.value(py);
                for name in ["__traceback__", "__context__", "__cause__"] {
                    let _ = value.setattr(name, py.None());
                }
            });
            if view.call_method0("release").is_err() {
                // Not a panic: unwinding would free the memory while Python can still write to it.
                std::process::abort();
            }
            called
        })
    }
}

/// The exception of a call-back as an error of the core.
fn from_python(py: Python<'_>, error: &PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::interrupted();
    }
    let text = error.value(py).to_string();
    if error.is_instance_of::<PyTimeoutError>(py) {
        return Error::comm_timeout(text);
    }
    let name = error.get_type(py).name().map_or_else(|_| String::new(), |name| name.to_string());
    Error::comm("comm.failed", format!("the communicator has failed: {name}: {text}"))
}

impl Communicator for CallbackCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        self.lend("sum_i64", bytemuck::cast_slice_mut(values))
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        self.lend("max_f64", bytemuck::cast_slice_mut(values))
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.call(|ranks| {
            let own = PyBytes::new(ranks.py(), own);
            ranks.call_method1("allgather", (own,))?.extract()
        })
    }
}

/// Processes that train together.
#[pyclass(frozen, name = "Team")]
pub(super) struct PyTeam {
    pub(super) inner: distributed::WorkerGroup,
    /// Of this process: which pool does its work.
    pub(super) number: u64,
}

/// The number of the next team.
static NEXT_TEAM: AtomicU64 = AtomicU64::new(0);

impl PyTeam {
    fn of(comm: Box<dyn Communicator>) -> Self {
        let number = NEXT_TEAM.fetch_add(1, Ordering::Relaxed);
        Self { inner: distributed::WorkerGroup::new(comm), number }
    }
}

#[pymethods]
impl PyTeam {
    #[new]
    fn new(ranks: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::of(Box::new(CallbackCommunicator::new(ranks)?)))
    }

    #[getter]
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    #[getter]
    fn size(&self) -> usize {
        self.inner.size()
    }

    /// The number of collectives of this worker, and the bytes that it sent.
    #[getter]
    fn counts(&self) -> (u64, u64) {
        let counts = self.inner.counts();
        (counts.calls, counts.bytes)
    }

    /// Tells the others that this worker takes part no more, and why.
    fn leave(&self, why: &str) {
        self.inner.leave(why);
    }

    /// The bytes of all workers; the failure of one of them is an error on all.
    #[pyo3(signature = (own, failure=None))]
    fn gather<'py>(
        &self,
        py: Python<'py>,
        own: Vec<u8>,
        failure: Option<String>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let own = failure.map_or(Ok(own), |text| Err(Error::comm("comm.failure", text)));
        let call = Collective::at_start("a message of the Python side");
        let all = detached_for(Some(self.number), Some(1), |interrupt| {
            self.inner.watch(interrupt);
            self.inner.gather(call, own)
        })?;
        Ok(all.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// An error on all workers if two shards have a query, or have it with different documents.
    fn check_queries(
        &self,
        dataset: &PyDataset,
        ids: Vec<String>,
        may_overlap: bool,
    ) -> PyResult<()> {
        detached_for(Some(self.number), Some(1), |interrupt| {
            self.inner.watch(interrupt);
            let queries = NamedQueries { dataset: &dataset.inner, ids: &ids, may_overlap };
            check_queries(&self.inner, &queries)
        })
    }
}

/// A port on which a worker waits for the others.
#[pyclass(frozen, name = "TcpListening")]
pub(super) struct PyTcpListening {
    /// Taken by the first who connects.
    inner: Mutex<Option<TcpListening>>,
    #[pyo3(get)]
    port: u16,
}

#[pymethods]
impl PyTcpListening {
    #[new]
    fn new(host: &str, port: u16) -> PyResult<Self> {
        let listening = TcpListening::on(host, port)?;
        Ok(Self { port: listening.port()?, inner: Mutex::new(Some(listening)) })
    }

    /// The team of this worker and those at the other addresses, by rank.
    fn connect(
        &self,
        rank: usize,
        addresses: Vec<String>,
        token: [u8; 32],
        deadline: f64,
    ) -> PyResult<PyTeam> {
        let deadline = Duration::try_from_secs_f64(deadline).map_err(|_| {
            Error::param("deadline", "deadline is out of range").got(deadline).expected("seconds")
        })?;
        let used_up = || Error::param("port", "the port was used before, expected a new one");
        let listening = lock(&self.inner).take().ok_or_else(used_up)?;
        let number = NEXT_TEAM.fetch_add(1, Ordering::Relaxed);
        let connected = detached_for(Some(number), Some(1), |interrupt| {
            let interrupt = interrupt.clone();
            let group = TcpGroup { addresses, token: Token(token), deadline, interrupt };
            listening.connect(rank, &group)
        })?;
        Ok(PyTeam { inner: distributed::WorkerGroup::new(Box::new(connected)), number })
    }
}

/// The number of the team of an argument.
pub(super) fn number_of(team: Option<&Bound<'_, PyTeam>>) -> Option<u64> {
    team.map(|team| team.get().number)
}

/// The team of an argument; without one, a team of a single process.
pub(super) fn team_of(team: Option<&Bound<'_, PyTeam>>) -> distributed::WorkerGroup {
    team.map_or_else(distributed::WorkerGroup::default, |team| team.get().inner.clone())
}
