//! Text parsed in parallel, with results and faults in the order of the file.
//!
//! A thread that is free reads the next piece and parses it while others read, so that a text is
//! parsed where it was read, in one core's cache, and nobody waits for the end of a round of pieces
//! but once a wave. What a piece gives is handed over in the order of the file; so is the first
//! fault, together with what came before it in its piece: neither depends on the number of threads,
//! nor on how the text is cut. Lines are counted where they are parsed, for nobody else could read
//! meanwhile: so a piece counts its own from 1, and learns how many are before it when it is handed
//! over. Memory: a block a thread, and what parsing a wave of blocks gives.

use super::line_source::{BlockBuffer, LineSource, TextBlock, after_lines};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use rayon::prelude::*;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many pieces a thread takes in a wave, about.
const PIECES: usize = 16;

/// Parses all of `source`, which is at its begin, on the current pool and hands over what the pieces give.
///
/// `parse` gives what it made of the lines before the first fault, and that fault; it looks at all
/// lines that are before one. `take` sees this, with the number of lines before the piece, before the
/// fault is reported, so a fault of its own in an earlier line comes first.
pub fn parse_blocks<T: Send>(
    source: &mut LineSource,
    interrupt: &Interrupt,
    parse: impl Fn(&TextBlock<'_>) -> (T, Result<()>) + Sync,
    mut take: impl FnMut(T, u64) -> Result<()>,
) -> Result<()> {
    let wave = PIECES * rayon::current_num_threads();
    let blocks = Mutex::new(Vec::new());
    let (mut ended, mut before) = (false, 0);
    while !ended {
        interrupt.check()?;
        let queue = Mutex::new(BlockQueue { source, taken: 0, ended: false });
        let work = |_| {
            let mut block = lock(&blocks).pop().unwrap_or_default();
            let (turn, read) = lock(&queue).next(&mut block)?;
            let (value, outcome) = match read {
                Ok(()) => {
                    let piece = block.piece();
                    let (value, outcome) = parse(&piece);
                    (Some((value, piece.seen())), outcome)
                }
                Err(fault) => (None, Err(fault)),
            };
            if outcome.is_err() {
                lock(&queue).ended = true;
            }
            lock(&blocks).push(block);
            Some((turn, value, outcome))
        };
        let mut parsed: Vec<_> =
            (0..wave).into_par_iter().with_max_len(1).filter_map(work).collect();
        ended = lock(&queue).ended;
        parsed.sort_unstable_by_key(|(turn, ..)| *turn);
        for (_, value, outcome) in parsed {
            let outcome = outcome.map_err(|error| after_lines(error, before));
            let taken = value.map_or(Ok(()), |(value, lines)| {
                let taken = take(value, before);
                before += lines;
                taken
            });
            taken.and(outcome).map_err(|error| in_file(error, source.path()))?;
        }
    }
    Ok(())
}

/// The text that is left, and how many pieces of it were taken in this wave.
struct BlockQueue<'a> {
    source: &'a mut LineSource,
    taken: usize,
    ended: bool,
}

impl BlockQueue<'_> {
    /// Reads the next piece, or the fault that ends the text, and gives its turn.
    fn next(&mut self, block: &mut BlockBuffer) -> Option<(usize, Result<()>)> {
        if self.ended {
            return None;
        }
        let read = match self.source.next_block(block) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.ended = true;
                return None;
            }
            Err(fault) => Err(fault),
        };
        self.taken += 1;
        Some((self.taken, read))
    }
}

/// A thread that panicked leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error with its file, if it lies in a text.
fn in_file(error: Error, path: &Path) -> Error {
    let in_text = error.fault().is_some_and(|fault| fault.place.line.is_some());
    if in_text { error.path(path) } else { error }
}
