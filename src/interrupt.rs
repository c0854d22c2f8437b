//! A flag with which a caller ends long work.
//!
//! Long loops call [`Interrupt::check`] every few milliseconds. The Python extension raises the
//! flag on Ctrl-C. Checking costs two relaxed loads.

use crate::error::{Error, Result};
use crate::memory_reserve;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag; clones are the same flag. The default is one that is never raised.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all work with this flag to end with [`ErrorKind::Interrupted`](crate::ErrorKind).
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the flag is raised, or the process is at the limit of its memory
    /// ([`MemoryReserve`](crate::MemoryReserve)).
    pub fn check(&self) -> Result<()> {
        memory_reserve::check()?;
        if self.0.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }
}
