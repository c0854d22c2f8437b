//! Workers as threads of one process, for tests without MPI.
//!
//! Each worker deposits its message, waits for all others, and takes a copy of all messages. Slow,
//! and simple.

use super::Communicator;
use crate::error::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Runs workers as threads.
#[derive(Debug, Clone, Copy)]
pub struct ThreadWorkers {
    size: usize,
    deadline: Duration,
}

impl ThreadWorkers {
    /// This many workers, none of which waits longer than `deadline` for the others.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn new(size: usize, deadline: Duration) -> Self {
        assert!(size > 0, "a team of nobody");
        Self { size, deadline }
    }

    /// The communicators of all workers.
    pub fn ranks(&self) -> Vec<ThreadCommunicator> {
        let (brought, gone) = (vec![None; self.size], vec![false; self.size]);
        let state = ExchangeState { brought, gone, ..ExchangeState::default() };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let table = Arc::new(Exchange { state, changed, deadline: self.deadline });
        (0..self.size)
            .map(|rank| ThreadCommunicator { rank, size: self.size, table: table.clone() })
            .collect()
    }

    /// Runs `work` for each worker in a thread of its own, and returns the results.
    ///
    /// # Panics
    /// If one of them does.
    pub fn run<T: Send>(&self, work: impl Fn(ThreadCommunicator) -> T + Sync) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let ranks = self.ranks().into_iter();
            let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || work(rank))).collect();
            threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    }
}

/// The communicator of one of [`ThreadWorkers`]. When it is dropped, the others stop waiting for
/// it.
#[derive(Debug)]
pub struct ThreadCommunicator {
    rank: usize,
    size: usize,
    table: Arc<Exchange>,
}

#[derive(Debug)]
struct Exchange {
    state: Mutex<ExchangeState>,
    changed: Condvar,
    deadline: Duration,
}

/// The operation, and the length of its buffer if all must agree on it.
type Operation = (&'static str, Option<usize>);

#[derive(Debug, Default)]
struct ExchangeState {
    /// The number of completed collectives.
    number: u64,
    brought: Vec<Option<(Operation, Vec<u8>)>>,
    /// The messages of the latest completed collective.
    outcome: Arc<Vec<Vec<u8>>>,
    /// The number of workers that have not taken them yet.
    left: usize,
    gone: Vec<bool>,
    /// The error of all further collectives, and its text.
    broken: Option<(fn(String) -> Error, String)>,
}

impl ExchangeState {
    fn check(&self) -> Result<()> {
        self.broken.as_ref().map_or(Ok(()), |(error, what)| Err(error(what.clone())))
    }

    fn breaks(&mut self, error: fn(String) -> Error, what: String) {
        self.broken.get_or_insert((error, what));
    }

    /// Completes the collective if all workers are present.
    fn settle(&mut self) {
        let kinds: Vec<Operation> = self.brought.iter().flatten().map(|(kind, _)| *kind).collect();
        if kinds.len() < self.brought.len() {
            return;
        }
        if let Some(rank) = kinds.iter().position(|kind| *kind != kinds[0]) {
            let described = |(operation, length): Operation| match length {
                Some(length) => format!("{operation} of {length}"),
                None => operation.to_owned(),
            };
            let (first, other) = (described(kinds[0]), described(kinds[rank]));
            let what = format!("the ranks do not do the same: rank 0 {first}, rank {rank} {other}");
            return self.breaks(|what| Error::comm("comm.order", what), what);
        }
        let brought = self.brought.iter_mut().filter_map(Option::take);
        self.outcome = Arc::new(brought.map(|(_, bytes)| bytes).collect());
        (self.left, self.number) = (self.outcome.len(), self.number + 1);
    }
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `done`, at most until the deadline.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, ExchangeState>,
        done: impl Fn(&ExchangeState) -> bool,
    ) -> Result<MutexGuard<'a, ExchangeState>> {
        let until = Instant::now() + self.deadline;
        while !done(&state) {
            state.check()?;
            let brought = state.brought.iter().enumerate();
            let absent: Vec<usize> =
                brought.filter(|(_, brought)| brought.is_none()).map(|(rank, _)| rank).collect();
            let now = Instant::now();
            if let Some(&rank) = absent.iter().find(|&&rank| state.gone[rank]) {
                let what = format!("rank {rank} has left");
                state.breaks(|what| Error::comm("comm.gone", what), what);
            } else if now >= until {
                let seconds = self.deadline.as_secs_f64();
                let what = format!("waited {seconds} s for ranks {absent:?}");
                state.breaks(Error::comm_timeout, what);
            } else {
                let waited = self.changed.wait_timeout(state, until - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            self.changed.notify_all();
        }
        Ok(state)
    }
}

impl ThreadCommunicator {
    /// The messages of all workers.
    fn exchange(&self, kind: Operation, bytes: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>> {
        let state = self.table.lock();
        // All workers must have taken the latest messages first.
        let mut state = self.table.wait(state, |state| state.left == 0)?;
        state.check()?;
        let number = state.number;
        state.brought[self.rank] = Some((kind, bytes));
        state.settle();
        self.table.changed.notify_all();
        let mut state = self.table.wait(state, |state| state.number > number)?;
        state.left -= 1;
        self.table.changed.notify_all();
        Ok(state.outcome.clone())
    }

    /// Reduces the buffers of all workers into this worker's.
    fn fold<T: bytemuck::Pod>(
        &self,
        operation: &'static str,
        values: &mut [T],
        join: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let bytes = bytemuck::cast_slice(values).to_vec();
        let all = self.exchange((operation, Some(values.len())), bytes)?;
        for (rank, bytes) in all.iter().enumerate() {
            let theirs = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned);
            for (value, theirs) in values.iter_mut().zip(theirs) {
                *value = if rank == 0 { theirs } else { join(*value, theirs) };
            }
        }
        Ok(())
    }
}

impl Communicator for ThreadCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        self.fold("sums", values, i64::wrapping_add)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        self.fold("takes largest values", values, f64::max)
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(self.exchange(("gathers", None), own.to_vec())?.to_vec())
    }
}

impl Drop for ThreadCommunicator {
    fn drop(&mut self) {
        self.table.lock().gone[self.rank] = true;
        self.table.changed.notify_all();
    }
}
