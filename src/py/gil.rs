//! Runs the core's work with or without the GIL, and turns signals and panics into exceptions.

use super::pool;
use crate::error::{Error, Result};
use crate::{Interrupt, MemoryReserve};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often the calling thread checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// What is asked besides signals, which only the main thread of Python hears of.
static WATCH: OnceLock<Py<PyAny>> = OnceLock::new();

/// Has a function called, on the thread that waits for work, some times a second; what it raises ends the work.
#[pyfunction]
pub(super) fn watch_by(function: Py<PyAny>) {
    // The first stays: the package calls this once.
    let _ = WATCH.set(function);
}

/// An error if there is a signal, or whoever has started this thread has ended its work.
fn check_caller(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    WATCH.get().map_or(Ok(()), |watch| watch.call0(py).map(|_| ()))
}

/// Runs `work` on this process's thread pool without the GIL, which the calling thread has.
///
/// The calling thread checks for signals meanwhile: Ctrl-C raises the flag that `work` checks, and
/// becomes a `KeyboardInterrupt` once `work` has ended. A panic becomes an `InternalError`. On a thread of
/// a pool, `work` runs right there.
pub(super) fn detached<T: Send>(
    num_threads: Option<usize>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    detached_watching(num_threads, |_| Ok(()), work)
}

/// [`detached`] on a pool of a team, by its number, for work that waits for other workers.
pub(super) fn detached_for<T: Send>(
    team: Option<u64>,
    num_threads: Option<usize>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    detached_on(&*pool::get_for(team, num_threads)?, |_| Ok(()), work)
}

/// [`detached`] that calls `watch` some times a second; an exception in it ends the work, too.
pub(super) fn detached_watching<T: Send>(
    num_threads: Option<usize>,
    watch: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    detached_on(&*pool::get(num_threads)?, watch, work)
}

fn detached_on<T: Send>(
    pool: &ThreadPool,
    watch: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    if rayon::current_thread_index().is_some() {
        // A function of the caller's, such as a metric, is called by a thread of a pool and calls us. To wait
        // for a pool here may be to wait for this very thread. Whoever called the function looks for signals.
        return Ok(detached_inline(|| work(&Interrupt::new()))?);
    }
    let (outcome, signal) = Python::attach(|py| py.detach(|| run(pool, watch, work)));
    signal.map_or_else(|| Ok(outcome?), Err)
}

/// Runs `work` without the GIL on a thread of its own: for work that looks at no flag, such as reading a model.
///
/// It owns what it works on. On a signal the caller does not wait for it: it ends by itself, and its result is
/// dropped. So it must change nothing that others see.
pub(super) fn detached_owned<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    if rayon::current_thread_index().is_some() {
        return Ok(detached_inline(work)?);
    }
    let pool = pool::get(Some(1))?;
    let (done, finished) = sync_channel(1);
    pool.spawn(move || {
        // Whoever waits may have been interrupted.
        let _ = done.send(attached(work));
    });
    let (outcome, signal) = Python::attach(|py| py.detach(move || watched(finished)));
    if signal.is_some() {
        pool::give_up(&pool);
    }
    signal.map_or_else(|| Ok(outcome?), Err)
}

/// Waits for a result, or for a signal.
fn watched<T>(finished: Receiver<Result<T>>) -> (Result<T>, Option<PyErr>) {
    loop {
        match finished.recv_timeout(SIGNAL_INTERVAL) {
            Ok(outcome) => return (outcome, None),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(Err(signal)) = Python::try_attach(check_caller) {
                    return (Err(Error::interrupted()), Some(signal));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return (Err(Error::internal("a worker went away")), None);
            }
        }
    }
}

/// Runs `work` on the calling thread with the GIL: for work that takes less time than releasing it.
///
/// The work must not use rayon: outside of our pools it would use rayon's global pool, which does not
/// survive a fork. A panic becomes an `InternalError`.
pub(super) fn attached<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    MemoryReserve::fill()?;
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(from_panic(&*panic)))
}

/// Runs `work` on the calling thread without the GIL: for work that takes less time than its start on a
/// pool. Otherwise as [`attached`].
pub(super) fn detached_inline<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    Python::attach(|py| py.detach(|| attached(work)))
}

fn run<T: Send>(
    pool: &ThreadPool,
    mut watch: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> (Result<T>, Option<PyErr>) {
    let interrupt = Interrupt::new();
    let flag = interrupt.clone();
    let (done, finished) = sync_channel(1);
    pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            // The receiver lives until this scope ends, so sending cannot fail.
            let _ = done.send(attached(|| work(&flag)));
        });
        let mut signal = None;
        loop {
            match finished.recv_timeout(SIGNAL_INTERVAL) {
                Ok(outcome) => return (outcome, signal),
                Err(RecvTimeoutError::Timeout) => {
                    let looked = Python::try_attach(|py| check_caller(py).and_then(|()| watch(py)));
                    if let Some(Err(error)) = looked {
                        interrupt.raise();
                        signal = Some(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return (Err(Error::internal("a worker went away")), signal);
                }
            }
        }
    })
}

fn from_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::internal(text.unwrap_or_else(|| "a panic without a message".to_owned()))
}

/// The number of threads that work uses when none is given.
#[pyfunction]
pub(super) fn num_threads() -> usize {
    pool::default_threads()
}
