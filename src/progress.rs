//! A counter from which a caller sees the progress of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared counter; clones are the same counter. Its unit depends on the work: bytes of text, or
/// rounds.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// A counter at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to the counter.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The value of the counter.
    pub fn done(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
