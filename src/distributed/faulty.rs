//! Faults on purpose: what a test does to a team.

use super::Communicator;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What becomes of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// It fails on this rank, which takes no part in it.
    Fail,
    /// This rank comes late.
    Delay(Duration),
    /// This rank skips it, and does not know.
    Drop,
    /// A bit of what this rank brings is another.
    Corrupt,
}

/// A communicator with a fault.
#[derive(Debug)]
pub struct FaultyCommunicator<C> {
    inner: C,
    fault: InjectedFault,
    /// The number of the collective that it is in, from 0.
    at: u64,
    calls: AtomicU64,
}

impl<C: Communicator> FaultyCommunicator<C> {
    /// Puts a fault into collective `at`, counted from 0, of another communicator.
    pub fn new(inner: C, fault: InjectedFault, at: u64) -> Self {
        Self { inner, fault, at, calls: AtomicU64::new(0) }
    }

    /// The fault of this collective, if it is the one: those that need no buffer are over then.
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
