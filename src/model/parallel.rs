//! Loops that run on the current rayon pool with the feature `parallel`, and on the calling thread
//! without it.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// The number of threads that a loop runs on. Asking for it may start the pool.
pub(super) fn num_threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Calls `work` with each chunk of `size` values and its number.
pub(super) fn for_each_chunk<T: Send>(
    values: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    #[cfg(feature = "parallel")]
    values.par_chunks_mut(size).enumerate().for_each(|(at, chunk)| work(at, chunk));
    #[cfg(not(feature = "parallel"))]
    values.chunks_mut(size).enumerate().for_each(|(at, chunk)| work(at, chunk));
}

/// Calls `work` with each item; an error of one ends the loop.
pub(super) fn try_for_each<T: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    if items.len() > 1 {
        // A single item does not start the pool.
        return items.into_par_iter().try_for_each(&work);
    }
    items.into_iter().try_for_each(work)
}
