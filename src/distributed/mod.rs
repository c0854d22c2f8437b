//! Training of one model by several processes.
//!
//! Training needs a [`Communicator`] with a few collective operations. The library has one over TCP,
//! [`TcpCommunicator`], for workers that an engine such as Spark or Dask starts; it does not depend on MPI.
//! The Python extension has a communicator of call-backs besides, which `mpi4py` implements.
//!
//! A *worker* is one process of a distributed training; its number, from 0, is its *rank*. A
//! *collective* is an operation that all workers call in the same order. Training uses a
//! [`WorkerGroup`], which adds a frame to each message: which collective it belongs to, whether the
//! sender has failed, and a checksum. So a skipped collective, different parameters or a damaged
//! message end in an error on all workers before any data is used.
//!
//! [`DistributedTraining`] makes the trainer of each worker. Trees and boosting know other workers
//! only as the traits `GrowthReducer` and `RoundReducer`, which this module implements for each
//! [`WorkerMode`].
//!
//! Sums are sums of integers, which do not depend on the order or the number of workers. That is
//! why a model trained by several workers equals that of one process.
//!
//! Cost: a frame has four words; checking it takes two additions per word of the message.

mod data_facts;
mod feature_parallel;
mod global_binning;
mod reducer;
mod selection;
mod tcp;
mod training;
mod workers;

pub use global_binning::{NamedQueries, check_queries, choose_global_bins, load_shard};
pub use tcp::{TcpCommunicator, TcpGroup, TcpListening, Token};
pub use training::{DistributedTraining, WorkerMode};
pub use workers::{Collective, CollectiveCounts, FRAME, WorkerGroup};

use crate::Interrupt;
use crate::error::Result;
use std::fmt::Debug;

/// Collective operations between the workers of a group.
///
/// All workers call the same operations in the same order, with buffers of the same length; an
/// operation returns when all have called it. It fails rather than wait for ever, and after a
/// failure the communicator need not work any more. Operations are called by different threads, but
/// never by two at once.
pub trait Communicator: Send + Sync + Debug {
    /// The number of this worker: from 0, below [`size`](Self::size).
    fn rank(&self) -> usize;

    /// The number of workers.
    fn size(&self) -> usize;

    /// All-reduce: replaces each value by the sum over all workers, modulo 2^64.
    fn sum_i64(&self, values: &mut [i64]) -> Result<()>;

    /// All-reduce: replaces each value by the largest over all workers; none is NaN.
    fn max_f64(&self, values: &mut [f64]) -> Result<()>;

    /// All-gather: the bytes of each worker, by rank. Their lengths may differ.
    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Tells the other workers that this one takes part no more, and why. By default they find out by themselves.
    fn leave(&self, why: &str) {
        let _ = why;
    }

    /// Has operations from now on end when a flag is raised. By default they only end at their deadline.
    fn watch(&self, interrupt: &Interrupt) {
        let _ = interrupt;
    }
}
