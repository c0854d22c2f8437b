//! Counts the traffic of a communicator.

use super::Communicator;
use crate::error::Result;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the collectives of a worker, and the bytes that it contributes.
#[derive(Debug)]
pub struct CountingCommunicator<C> {
    inner: C,
    calls: AtomicU64,
    bytes: AtomicU64,
}

/// The counts of a [`CountingCommunicator`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectiveCounts {
    /// The number of collectives.
    pub calls: u64,
    /// The bytes of this worker's buffers. The traffic is a multiple of that, depending on the
    /// algorithm of the communicator.
    pub bytes: u64,
}

impl<C: Communicator> CountingCommunicator<C> {
    /// Counts the traffic of another communicator.
    pub fn new(inner: C) -> Self {
        Self { inner, calls: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// The counts so far.
    pub fn counts(&self) -> CollectiveCounts {
        let [calls, bytes] = [&self.calls, &self.bytes].map(|count| count.load(Ordering::Relaxed));
        CollectiveCounts { calls, bytes }
    }

    fn count(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<C: Communicator> Communicator for CountingCommunicator<C> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        self.count(size_of_val(values));
        self.inner.sum_i64(values)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        self.count(size_of_val(values));
        self.inner.max_f64(values)
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.count(own.len());
        self.inner.allgather(own)
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        self.count(if root == self.rank() { bytes.len() } else { 0 });
        self.inner.broadcast(root, bytes)
    }

    fn barrier(&self) -> Result<()> {
        self.count(0);
        self.inner.barrier()
    }

    fn abort(&self, code: i32, message: &str) -> Result<()> {
        self.inner.abort(code, message)
    }
}
