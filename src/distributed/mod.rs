//! Processes that work on one training together.
//!
//! The library opens no sockets and knows no MPI: it asks a [`Communicator`] for a few collective
//! operations, and whoever starts the processes brings one. [`SingleProcess`] is one process, [`ThreadWorkers`]
//! are some in one process, for tests; [`CountingCommunicator`] and [`FaultyCommunicator`] wrap others. The Python door has
//! one of call-backs, which `mpi4py` answers.
//!
//! The processes are a *team*, each with a *rank* from 0 on (the word of MPI; not the rank of a doc).
//! A *collective* is an operation that all ranks call, in the same order. What stands above speaks
//! to a [`WorkerGroup`], which puts a frame around each message: which collective this is, whether the
//! sender has failed, and a checksum. So a collective that one rank has skipped, a rank that has
//! other parameters and a message that was damaged end in an error on all ranks, before anything is
//! made of what was received.
//!
//! Sums are of integers, which have one result in any order and on any number of ranks: this is what
//! makes a model trained by a team equal to that of one process.
//!
//! Cost: a frame is four words; checking it is two additions a word of the message.

mod counting;
mod data_facts;
mod faulty;
mod feature_parallel;
mod global_binning;
mod histogram_reducer;
mod selection;
mod single_process;
mod thread_workers;
mod training;
mod workers;

pub use counting::{CollectiveCounts, CountingCommunicator};
pub use faulty::{FaultyCommunicator, InjectedFault};
pub use global_binning::{NamedQueries, check_queries, choose_global_bins, load_shard};
pub use single_process::SingleProcess;
pub use thread_workers::{ThreadCommunicator, ThreadWorkers};
pub use training::{DistributedTraining, WorkerMode};
pub use workers::{Collective, FRAME, WorkerGroup};

use crate::error::Result;
use std::fmt::Debug;
use std::sync::Arc;

/// What carries messages between the ranks of a team.
///
/// All ranks call the same operations in the same order, with buffers of the same length; an
/// operation returns once all have. It fails rather than wait for ever: after a failure the
/// communicator need not be of use any more. Operations are never called by two threads at once, but
/// by different ones.
pub trait Communicator: Send + Sync + Debug {
    /// The number of this process: from 0, below [`size`](Self::size).
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Makes each value the sum of those of all ranks, modulo 2^64.
    fn sum_i64(&self, values: &mut [i64]) -> Result<()>;

    /// Makes each value the largest of those of all ranks; none is NaN.
    fn max_f64(&self, values: &mut [f64]) -> Result<()>;

    /// The bytes of each rank, in the order of ranks. They need not be of one length.
    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Makes the bytes those of rank `root`.
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()>;

    /// Returns once all ranks have come here.
    fn barrier(&self) -> Result<()>;

    /// Ends the work of all ranks, which cannot be asked any more; `code` is that of the process, if
    /// it ends too.
    fn abort(&self, code: i32, message: &str) -> Result<()>;

    /// As [`sum_i64`](Self::sum_i64), of numbers without a sign.
    fn sum_u64(&self, values: &mut [u64]) -> Result<()> {
        self.sum_i64(bytemuck::cast_slice_mut(values))
    }
}

impl<C: Communicator + ?Sized> Communicator for Arc<C> {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn size(&self) -> usize {
        (**self).size()
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        (**self).sum_i64(values)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        (**self).max_f64(values)
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        (**self).allgather(own)
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        (**self).broadcast(root, bytes)
    }

    fn barrier(&self) -> Result<()> {
        (**self).barrier()
    }

    fn abort(&self, code: i32, message: &str) -> Result<()> {
        (**self).abort(code, message)
    }
}
