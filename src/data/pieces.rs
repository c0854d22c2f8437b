//! Text parsed in parallel, with results and faults in the order of the file.
//!
//! While the pieces of one block are parsed, the next block is read. What a piece gives is handed
//! over in the order of the file; so is the first fault, together with what came before it in its
//! piece: neither depends on the number of threads, nor on how the text is cut. Memory: two blocks,
//! and what parsing a block gives.

use super::lines::{Block, LineSource, Piece};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use rayon::prelude::*;
use std::path::Path;

/// Parses all that is left of `source` on the current pool and hands over what the pieces give.
///
/// `parse` gives what it made of the lines before the first fault, and that fault. `take` sees this
/// before the fault is reported, so a fault of its own in an earlier line comes first.
pub fn for_each_piece<T: Send>(
    source: &mut LineSource,
    interrupt: &Interrupt,
    parse: impl Fn(Piece<'_>) -> (T, Result<()>) + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (mut block, mut next) = (Block::default(), Block::default());
    let mut more = source.next_block(&mut block)?;
    while more {
        interrupt.check()?;
        let pieces: Vec<_> = block.pieces().collect();
        let (parsed, read) = rayon::join(
            || pieces.into_par_iter().map(&parse).collect::<Vec<_>>(),
            || source.next_block(&mut next),
        );
        for (value, outcome) in parsed {
            take(value).and(outcome).map_err(|error| in_file(error, source.path()))?;
        }
        more = read?;
        std::mem::swap(&mut block, &mut next);
    }
    Ok(())
}

/// The error with its file, if it lies in a text.
fn in_file(error: Error, path: &Path) -> Error {
    let in_text = error.fault().is_some_and(|fault| fault.place.line.is_some());
    if in_text { error.path(path) } else { error }
}
