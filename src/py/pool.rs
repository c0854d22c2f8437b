//! Thread pools that survive a fork.
//!
//! A forked child has this process's memory but none of its threads, so a pool made before the fork
//! would wait for ever. Pools are kept by process id and by the number of forks that led to the process,
//! since a grandchild may have its grandparent's id: the child makes its own, and never touches the
//! parent's copy, not even to drop it. Callers look up a pool while they hold the GIL, as `os.fork`
//! does, so no fork can happen while the table is locked.
//!
//! A process keeps few pools: the least recently used of the idle ones is dropped.

use crate::error::{Error, Result, lock};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The pools, the most recently used last.
static POOLS: Mutex<Vec<CachedPool>> = Mutex::new(Vec::new());

/// How many threads a pool may have at most.
pub(super) const MAX_THREADS: usize = 1024;
/// How many pools a process keeps, besides those in use.
const MAX_POOLS: usize = 4;

/// How many forks led to this process: the package raises it in each child.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// A process: its id, and how many forks led to it.
type Process = (u32, u64);

struct CachedPool {
    process: Process,
    num_threads: usize,
    /// The team whose work alone it does, if there is one.
    team: Option<u64>,
    pool: Arc<ThreadPool>,
}

/// Says that this process is the child of a fork, and has none of the threads that its memory knows.
#[pyfunction]
pub(super) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// This process's pool of `num_threads` threads; all cores by default.
pub(super) fn get(num_threads: Option<usize>) -> Result<Arc<ThreadPool>> {
    get_for(None, num_threads)
}

/// The pool of a team, by a number of its own: work that waits for other workers, who may be threads of this process,
/// must not keep them from working.
pub(super) fn get_for(team: Option<u64>, num_threads: Option<usize>) -> Result<Arc<ThreadPool>> {
    let num_threads = num_threads.unwrap_or_else(default_threads);
    if !(1..=MAX_THREADS).contains(&num_threads) {
        return Err(Error::param("num_threads", "num_threads is out of range")
            .got(num_threads)
            .expected(format!("1 to {MAX_THREADS}, or None for all cores")));
    }
    let mut pools = lock(&POOLS);
    let process = (std::process::id(), FORKS.load(Ordering::Relaxed));
    let key = (process, num_threads, team);
    let known = pools.iter().position(|k| (k.process, k.num_threads, k.team) == key);
    let kept = match known {
        Some(at) => pools.remove(at),
        None => CachedPool { process, num_threads, team, pool: Arc::new(made(num_threads)?) },
    };
    let pool = kept.pool.clone();
    pools.push(kept);
    make_room(&mut pools, process);
    Ok(pool)
}

/// Gives up a pool that is busy with work that nobody waits for any more; its threads end with the work.
pub(super) fn give_up(pool: &Arc<ThreadPool>) {
    lock(&POOLS).retain(|kept| !Arc::ptr_eq(&kept.pool, pool));
}

fn made(num_threads: usize) -> Result<ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new()
        .num_threads(num_threads)
        .thread_name(|i| format!("rustrank-{i}"));
    builder.build().map_err(|e| Error::threads(num_threads, &e))
}

/// Drops idle pools beyond the limit. Pools are given out under the lock, so one that only the table
/// refers to stays idle meanwhile; its threads end by themselves.
fn make_room(pools: &mut Vec<CachedPool>, process: Process) {
    let own = pools.iter().filter(|kept| kept.process == process).count();
    for _ in MAX_POOLS..own {
        let idle =
            |kept: &CachedPool| kept.process == process && Arc::strong_count(&kept.pool) == 1;
        let Some(at) = pools.iter().position(idle) else { return };
        pools.remove(at);
    }
}

/// The number of cores this process may use.
pub(super) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}
