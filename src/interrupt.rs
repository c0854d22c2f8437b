//! A flag by which a caller ends long work.
//!
//! Long loops call [`Interrupt::check`] once a block (some milliseconds); the Python door raises the
//! flag when Ctrl-C arrives. A flag that nobody raises costs one relaxed load a block.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag; clones are the same flag. The default is one that nobody raises.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is down.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all work that holds this flag to end with [`ErrorKind::Interrupted`](crate::ErrorKind).
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// An error once the flag is up.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }
}
