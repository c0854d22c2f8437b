//! Workers as threads of one process, for tests without MPI.
//!
//! Each worker sends its message to all, and waits for those of all. Slow, and simple. Faults can be
//! injected into collectives.

#![allow(dead_code, reason = "each test file uses a part")]

use rustrank::distributed::Communicator;
use rustrank::{Error, Result};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Runs workers as threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadWorkers {
    size: usize,
    deadline: Duration,
}

impl ThreadWorkers {
    /// This many workers, none of which waits longer than `deadline` for the others.
    ///
    /// # Panics
    /// If `size` is 0.
    pub(crate) fn new(size: usize, deadline: Duration) -> Self {
        assert!(size > 0, "a team of nobody");
        Self { size, deadline }
    }

    /// The communicators of all workers.
    pub(crate) fn ranks(&self) -> Vec<ThreadCommunicator> {
        let worker = |rank| ThreadCommunicator {
            rank,
            deadline: self.deadline,
            to_ranks: Vec::new(),
            from_ranks: Mutex::default(),
            fault: None,
            calls: AtomicU64::new(0),
        };
        let mut workers: Vec<_> = (0..self.size).map(worker).collect();
        for from in 0..self.size {
            for to in 0..self.size {
                let (sender, receiver) = channel();
                workers[from].to_ranks.push(sender);
                let from_ranks = workers[to].from_ranks.get_mut();
                from_ranks.unwrap_or_else(PoisonError::into_inner).push(receiver);
            }
        }
        workers
    }

    /// Runs `work` for each worker in a thread of its own, and returns the results.
    ///
    /// # Panics
    /// If one of them does.
    pub(crate) fn run<T: Send>(&self, work: impl Fn(ThreadCommunicator) -> T + Sync) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let ranks = self.ranks().into_iter();
            let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || work(rank))).collect();
            let joined = threads.into_iter().map(ScopedJoinHandle::join);
            joined.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }
}

/// The communicator of one of [`ThreadWorkers`]. When it is dropped, the others stop waiting for
/// it.
#[derive(Debug)]
pub(crate) struct ThreadCommunicator {
    rank: usize,
    deadline: Duration,
    to_ranks: Vec<Sender<WorkerMessage>>,
    from_ranks: Mutex<Vec<Receiver<WorkerMessage>>>,
    /// What goes wrong, and in which collective, from 0.
    fault: Option<(InjectedFault, u64)>,
    calls: AtomicU64,
}

/// What goes wrong in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// The call fails, and this worker does not take part.
    Fail,
    /// This worker is late.
    Delay(Duration),
    /// This worker skips the collective without noticing.
    Drop,
    /// One bit of this worker's message is flipped.
    Corrupt,
}

/// What a worker brings to a collective.
#[derive(Debug, Clone)]
struct WorkerMessage {
    /// The operation, with the length of its buffer if all must agree on it.
    operation: String,
    bytes: Vec<u8>,
}

impl ThreadCommunicator {
    /// The same communicator with a fault in collective `at`, counted from 0.
    #[must_use]
    pub(crate) fn with_fault(self, fault: InjectedFault, at: u64) -> Self {
        Self { fault: Some((fault, at)), ..self }
    }

    /// The messages of all workers.
    fn exchange(&self, mut own: WorkerMessage) -> Result<Vec<Vec<u8>>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault.filter(|(_, at)| *at == call).map(|(fault, _)| fault) {
            Some(InjectedFault::Fail) => {
                return Err(Error::comm("comm.fault", "a fault on purpose"));
            }
            Some(InjectedFault::Delay(time)) => std::thread::sleep(time),
            Some(InjectedFault::Drop) => return Ok(vec![own.bytes]),
            Some(InjectedFault::Corrupt) => {
                let middle = own.bytes.len() / 2;
                own.bytes.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 4);
            }
            None => {}
        }
        let gone = |rank: usize| Error::comm("comm.gone", format!("rank {rank} has left"));
        for (rank, to) in self.to_ranks.iter().enumerate() {
            to.send(own.clone()).map_err(|_| gone(rank))?;
        }
        let until = Instant::now() + self.deadline;
        let (mut all, mut absent) = (Vec::with_capacity(self.size()), Vec::new());
        let from_ranks = self.from_ranks.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, from) in from_ranks.iter().enumerate() {
            match from.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => all.push(message),
                Err(RecvTimeoutError::Timeout) => absent.push(rank),
                Err(RecvTimeoutError::Disconnected) => return Err(gone(rank)),
            }
        }
        if !absent.is_empty() {
            let seconds = self.deadline.as_secs_f64();
            let what = format!("waited {seconds} s for ranks {absent:?}");
            return Err(Error::comm_timeout(what));
        }
        if let Some(rank) = all.iter().position(|other| other.operation != all[0].operation) {
            let (first, other) = (&all[0].operation, &all[rank].operation);
            let what = format!("the ranks do not do the same: rank 0 {first}, rank {rank} {other}");
            return Err(Error::comm("comm.order", what));
        }
        Ok(all.into_iter().map(|message| message.bytes).collect())
    }

    /// Reduces the buffers of all workers into this worker's.
    fn fold<T: bytemuck::Pod>(
        &self,
        operation: &'static str,
        values: &mut [T],
        join: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let bytes = bytemuck::cast_slice(values).to_vec();
        let operation = format!("{operation} of {}", values.len());
        let all = self.exchange(WorkerMessage { operation, bytes })?;
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
        self.to_ranks.len()
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        self.fold("sums", values, i64::wrapping_add)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        self.fold("takes largest values", values, f64::max)
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.exchange(WorkerMessage { operation: "gathers".to_owned(), bytes: own.to_vec() })
    }
}
