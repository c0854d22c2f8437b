//! Injects faults into collectives, for tests.

use super::Communicator;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What goes wrong in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// The call fails, and this worker does not take part.
    Fail,
    /// This worker is late.
    Delay(Duration),
    /// This worker skips the collective without noticing.
    Drop,
    /// One bit of this worker's message is flipped.
    Corrupt,
}

/// A communicator with a fault.
#[derive(Debug)]
pub struct FaultyCommunicator<C> {
    inner: C,
    fault: InjectedFault,
    /// The number of the faulty collective, from 0.
    at: u64,
    calls: AtomicU64,
}

impl<C: Communicator> FaultyCommunicator<C> {
    /// Injects a fault into collective `at`, counted from 0, of another communicator.
    pub fn new(inner: C, fault: InjectedFault, at: u64) -> Self {
        Self { inner, fault, at, calls: AtomicU64::new(0) }
    }

    /// The fault of this collective, if it is the faulty one. Failures and delays happen here.
    fn fault(&self) -> Result<Option<InjectedFault>> {
        if self.calls.fetch_add(1, Ordering::Relaxed) != self.at {
            return Ok(None);
        }
        match self.fault {
            InjectedFault::Fail => Err(Error::comm("comm.fault", "a fault on purpose")),
            InjectedFault::Delay(time) => {
                std::thread::sleep(time);
                Ok(None)
            }
            fault => Ok(Some(fault)),
        }
    }
}

impl<C: Communicator> Communicator for FaultyCommunicator<C> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        match self.fault()? {
            Some(InjectedFault::Drop) => return Ok(()),
            Some(_) => {
                let middle = values.len() / 2;
                values.iter_mut().skip(middle).take(1).for_each(|value| *value ^= 1 << 17);
            }
            None => {}
        }
        self.inner.sum_i64(values)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        match self.fault()? {
            Some(InjectedFault::Drop) => return Ok(()),
            Some(_) => values.iter_mut().take(1).for_each(|value| *value = 2.0 * *value + 1.0),
            None => {}
        }
        self.inner.max_f64(values)
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        match self.fault()? {
            Some(InjectedFault::Drop) => Ok(vec![own.to_vec(); self.size()]),
            Some(_) => {
                let mut own = own.to_vec();
                let middle = own.len() / 2;
                own.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 4);
                self.inner.allgather(&own)
            }
            None => self.inner.allgather(own),
        }
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        match self.fault()? {
            Some(InjectedFault::Drop) => return Ok(()),
            Some(_) if root == self.rank() => {
                let middle = bytes.len() / 2;
                bytes.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 4);
            }
            _ => {}
        }
        self.inner.broadcast(root, bytes)
    }

    fn barrier(&self) -> Result<()> {
        match self.fault()? {
            Some(InjectedFault::Drop) => Ok(()),
            _ => self.inner.barrier(),
        }
    }

    fn abort(&self, code: i32, message: &str) -> Result<()> {
        self.inner.abort(code, message)
    }
}
