//! Histograms: the sums of gradients by column and byte, over the docs of a node.
//!
//! A histogram has a run of `stride` sums for each column of the matrix, `stride` being the least
//! power of two that all bytes of the table stay below, and a gap. Sums are packed integers, so that neither
//! the order of docs nor the cut into parts can be seen in them, and `parent - child` is exactly
//! the sibling.
//!
//! Docs are taken in blocks and the columns of a strip in tiles whose sums stay in the first-level
//! cache: cells are read once, and each addition is one instruction on one cache line.

use super::kernel::{self, Block};
use super::lines::Strip;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Docs of a block: their cells of a strip stay in the first-level cache, or near it.
pub(super) const BLOCK: usize = 512;

/// Docs below which one thread is faster than waking another.
const FEW: usize = 1 << 16;

/// How the columns of a table are summed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) stride: usize,
    pub(super) width: usize,
}

impl Shape {
    /// The sums of one histogram.
    pub(super) fn len(&self) -> usize {
        self.stride * self.width
    }

    /// The fewest docs whose histogram is kept.
    pub(super) fn least_kept(&self) -> usize {
        2 * self.stride
    }

    /// The columns of a tile: as many as fit the first-level cache.
    pub(super) fn tile(&self) -> usize {
        (kernel::TILE_SUMS / self.stride).min(kernel::MOST_COLUMNS)
    }
}

/// Histograms that are handed out and given back: memory is taken once.
#[derive(Debug)]
pub(super) struct Pool {
    shape: Shape,
    free: Vec<Box<[u64]>>,
}

impl Pool {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, free: Vec::new() }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the histogram of so many docs is worth its memory: else it takes less time to make
    /// those of both children from their docs.
    pub(super) fn is_kept(&self, num_docs: usize) -> bool {
        num_docs >= self.shape.least_kept()
    }

    /// A histogram that holds anything, for docs that are enough.
    pub(super) fn take_for(&mut self, num_docs: usize) -> Result<Option<Box<[u64]>>> {
        if !self.is_kept(num_docs) {
            return Ok(None);
        }
        if let Some(histogram) = self.free.pop() {
            return Ok(Some(histogram));
        }
        let len = self.shape.len();
        let histogram = bytemuck::allocation::try_zeroed_slice_box(len)
            .map_err(|()| Error::resource("the histograms of a tree", 8 * len as u64))?;
        Ok(Some(histogram))
    }

    pub(super) fn give(&mut self, histogram: Box<[u64]>) {
        self.free.push(histogram);
    }
}

/// The docs of a node and the packed gradient of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Docs<'a> {
    pub(super) docs: &'a [u32],
    pub(super) gradients: &'a [u64],
}

impl<'a> Docs<'a> {
    /// Looks up the gradients of some docs, in a table of those of all; `to` has room for them.
    pub(super) fn of(docs: &'a [u32], packed: &'a [u64], to: &'a mut Vec<u64>) -> Self {
        if docs.len() == packed.len() {
            // All docs, and they are rising.
            return Self { docs, gradients: packed };
        }
        to.clear();
        if docs.len() < FEW {
            to.extend(docs.iter().map(|&doc| packed[doc as usize]));
        } else {
            docs.par_iter().map(|&doc| packed[doc as usize]).collect_into_vec(to);
        }
        Self { docs, gradients: to }
    }

    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }
}

/// Some columns of a strip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) strip: Strip<'a>,
    /// Rising.
    pub(super) columns: &'a [u32],
    /// Whether these cells have not been asked for.
    pub(super) is_cold: bool,
    /// Where the cells are that are needed next.
    pub(super) next: Option<Strip<'a>>,
}

impl Part<'_> {
    /// Sums up its columns, block after block of docs, tile after tile.
    pub(super) fn fill(&self, docs: Docs<'_>, shape: &Shape, sums: &mut [u64]) {
        let &Self { strip, columns, is_cold, next } = self;
        if docs.docs.is_empty() {
            return sums.fill(0);
        }
        let first = &docs.docs[..BLOCK.min(docs.len())];
        let num_tiles = columns.len().div_ceil(shape.tile());
        let bounds = |tile: usize| columns.len() * tile / num_tiles;
        if let (true, Some(&column)) = (is_cold, columns.first()) {
            kernel::fetch(strip, first, (column - strip.first) as usize);
        }
        let mut is_first = true;
        let mut blocks = docs.docs.chunks(BLOCK).zip(docs.gradients.chunks(BLOCK)).peekable();
        while let Some((docs, gradients)) = blocks.next() {
            // The first tile asks for the cells of the next block, or of the next strip.
            let (mut ahead, next_strip) = match (blocks.peek(), next) {
                (Some((docs, _)), _) => (*docs, strip),
                (None, Some(next)) => (first, next),
                (None, None) => (&first[..0], strip),
            };
            let mut rest = &mut *sums;
            for tile in 0..num_tiles {
                let columns = &columns[bounds(tile)..bounds(tile + 1)];
                let (sums, after) = rest.split_at_mut(columns.len() * shape.stride);
                rest = after;
                if is_first {
                    // Not before: they are still in the cache when they are added to.
                    sums.fill(0);
                }
                let block = Block { strip, docs, gradients, columns, next: ahead, next_strip };
                kernel::add(block, shape.stride, sums);
                ahead = &[];
            }
            is_first = false;
        }
    }
}
