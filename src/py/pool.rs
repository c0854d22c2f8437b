//! Thread pools that survive a fork.
//!
//! A forked child has this process's memory but none of its threads, so a pool made before the fork
//! would wait for ever. Pools are kept by process id: the child makes its own, and the parent's copy
//! is never touched again, not even to drop it. Callers look up a pool while they hold the
//! interpreter, as `os.fork` does, so a fork cannot come while the table is locked.

use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

static POOLS: Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// How many threads a pool may have at most.
pub(super) const MAX_THREADS: usize = 1024;

/// This process's pool of `num_threads` threads; all cores by default.
pub(super) fn get(num_threads: Option<usize>) -> Result<Arc<ThreadPool>> {
    let num_threads = num_threads.unwrap_or_else(default_threads);
    if !(1..=MAX_THREADS).contains(&num_threads) {
        return Err(Error::param("num_threads", "num_threads is out of range")
            .got(num_threads)
            .expected(format!("1 to {MAX_THREADS}, or None for all cores")));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), num_threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let builder = rayon::ThreadPoolBuilder::new()
        .num_threads(num_threads)
        .thread_name(|i| format!("rustrank-{i}"));
    let pool = builder.build().map_err(|e| Error::internal(format!("no thread pool: {e}")))?;
    let pool = Arc::new(pool);
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// The number of cores this process may use.
pub(super) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}
