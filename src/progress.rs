//! A count by which a caller sees how far long work has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared count; clones are the same count. What it counts, the work says: bytes of text, rounds.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// A count of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// More is done.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How much is done.
    pub fn done(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
