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

    /// Whether this worker takes part in this collective. Its message is damaged here if it should be.
    fn takes_part(&self, message: &mut [u8]) -> Result<bool> {
        if self.calls.fetch_add(1, Ordering::Relaxed) != self.at {
            return Ok(true);
        }
        match self.fault {
            InjectedFault::Fail => return Err(Error::comm("comm.fault", "a fault on purpose")),
            InjectedFault::Delay(time) => std::thread::sleep(time),
            InjectedFault::Drop => return Ok(false),
            InjectedFault::Corrupt => {
                let middle = message.len() / 2;
                message.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 4);
            }
        }
        Ok(true)
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
        let takes_part = self.takes_part(bytemuck::cast_slice_mut(values))?;
        if takes_part { self.inner.sum_i64(values) } else { Ok(()) }
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        let takes_part = self.takes_part(bytemuck::cast_slice_mut(values))?;
        if takes_part { self.inner.max_f64(values) } else { Ok(()) }
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut own = own.to_vec();
        if self.takes_part(&mut own)? {
            self.inner.allgather(&own)
        } else {
            Ok(vec![own; self.size()])
        }
    }
}
