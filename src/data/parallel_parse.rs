//! Parses text in parallel, with results and faults in the order of the file.
//!
//! A free thread reads the next block and parses it while others read, so that a block is parsed in the
//! cache of the core that read it; threads wait for each other once a wave of blocks. Results are passed
//! on in the order of the file, and so is the first fault, after the results before it in its block:
//! neither depends on the number of threads or the size of blocks. A block numbers its lines from 1, and
//! gets the number of lines before it when its result is passed on. Memory: a block per thread, and the
//! results of a wave of blocks.

use super::line_source::{BlockBuffer, LineSource, TextBlock, TextLine, after_lines};
use crate::error::{Error, Result, lock};
use crate::interrupt::Interrupt;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Mutex;

/// About how many blocks a thread takes in a wave.
const BLOCKS_A_THREAD: usize = 16;

/// Parses all of `source`, which is at its start, on the current pool.
///
/// `parse` returns the result of the lines before the first fault, and that fault; it must read all lines
/// of a block without a fault. `take` gets the result, with the number of lines before the block, before
/// the fault is reported, so that a fault that it finds in an earlier line comes first.
pub fn parse_blocks<T: Send>(
    source: &mut LineSource,
    interrupt: &Interrupt,
    parse: impl Fn(&TextBlock<'_>) -> (T, Result<()>) + Sync,
    mut take: impl FnMut(T, u64) -> Result<()>,
) -> Result<()> {
    let wave = BLOCKS_A_THREAD * rayon::current_num_threads();
    let idle_buffers = Mutex::new(Vec::new());
    let (mut ended, mut before) = (false, 0);
    while !ended {
        interrupt.check()?;
        let queue = Mutex::new(BlockQueue { source, taken: 0, ended: false });
        let work = |_| {
            let mut buffer = lock(&idle_buffers).pop().unwrap_or_default();
            let (turn, read) = lock(&queue).next(&mut buffer)?;
            let (value, outcome) = match read {
                Ok(()) => {
                    let block = buffer.block();
                    let (value, outcome) = parse(&block);
                    (Some((value, block.lines_read())), outcome)
                }
                Err(fault) => (None, Err(fault)),
            };
            if outcome.is_err() {
                lock(&queue).ended = true;
            }
            lock(&idle_buffers).push(buffer);
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

/// [`parse_blocks`] line by line: `parse` adds a line to the result of its block, in which it has that
/// number.
pub fn parse_lines<T: Default + Send>(
    source: &mut LineSource,
    interrupt: &Interrupt,
    parse: impl Fn(&mut T, u64, TextLine<'_>) -> Result<()> + Sync,
    take: impl FnMut(T, u64) -> Result<()>,
) -> Result<()> {
    let parse_block = |block: &TextBlock<'_>| {
        let mut value = T::default();
        let outcome = block.each(|number, line| parse(&mut value, number, line));
        (value, outcome)
    };
    parse_blocks(source, interrupt, parse_block, take)
}

/// The rest of the text, and the number of its blocks taken in this wave.
struct BlockQueue<'a> {
    source: &'a mut LineSource,
    taken: usize,
    ended: bool,
}

impl BlockQueue<'_> {
    /// Reads the next block, or the fault that ends the text, and returns its place in the wave.
    fn next(&mut self, block: &mut BlockBuffer) -> Option<(usize, Result<()>)> {
        if self.ended {
            return None;
        }
        let read = self.source.next_block(block);
        if matches!(read, Ok(false)) {
            self.ended = true;
            return None;
        }
        self.taken += 1;
        Some((self.taken, read.map(|_| ())))
    }
}

/// The error with its file, if it has a line.
fn in_file(error: Error, path: &Path) -> Error {
    let in_text = error.fault().is_some_and(|fault| fault.place.line.is_some());
    if in_text { error.path(path) } else { error }
}
