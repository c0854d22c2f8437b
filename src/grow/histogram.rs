//! Histograms: the sums of gradients by column and byte, over the docs of a node.
//!
//! A histogram has a run of `stride` sums for each column of the matrix, `stride` being the least
//! power of two that all bytes of the table stay below. Sums are packed integers, so that neither
//! the order of docs nor the cut into parts can be seen in them, and `parent - child` is exactly
//! the sibling.
//!
//! Docs are taken in blocks and columns in tiles whose sums stay in the first-level cache: a block
//! of rows is read once, and each addition is one instruction on one cache line. Threads take
//! groups of columns, so that none waits for another's sums.

use super::kernel::{self, Block, LINE};
use crate::bins::Matrix;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Docs of a block: their gradients are gathered once for all tiles.
const BLOCK: usize = 512;
/// The cells of a node below which one thread is faster than waking another.
const FEW_CELLS: usize = 1 << 16;

/// How the columns of a table are summed.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) stride: usize,
    pub(super) width: usize,
}

impl Shape {
    /// The sums of one histogram.
    pub(super) fn len(&self) -> usize {
        self.stride * self.width
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

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A histogram that holds anything.
    pub(super) fn take(&mut self) -> Result<Box<[u64]>> {
        if let Some(histogram) = self.free.pop() {
            return Ok(histogram);
        }
        let len = self.shape.len();
        bytemuck::allocation::try_zeroed_slice_box(len)
            .map_err(|()| Error::resource("the histograms of a tree", 8 * len as u64))
    }

    pub(super) fn give(&mut self, histogram: Box<[u64]>) {
        self.free.push(histogram);
    }
}

/// Docs whose gradients are summed, on some columns.
pub(super) struct Source<'a> {
    pub(super) matrix: &'a Matrix,
    /// The packed gradient of each doc of the table.
    pub(super) packed: &'a [u64],
    pub(super) docs: &'a [u32],
}

/// The docs of a small node, whose sums are made where they are needed: a tile at a time.
pub(super) struct Few<'a> {
    matrix: &'a Matrix,
    docs: &'a [u32],
    gradients: Vec<u64>,
}

impl<'a> Few<'a> {
    /// The docs of a source, if they are few enough that each tile may go over all of them.
    pub(super) fn of(source: &Source<'a>) -> Option<Self> {
        const MOST: usize = 1 << 9;
        let &Source { matrix, packed, docs } = source;
        (docs.len() <= MOST).then(|| {
            let gradients = docs.iter().map(|&doc| packed[doc as usize]).collect();
            Self { matrix, docs, gradients }
        })
    }

    /// The sums of the columns of a tile.
    pub(super) fn fill(&self, columns: &[u32], stride: usize, sums: &mut [u64]) {
        /// How many docs ahead a row is asked for.
        const AHEAD: usize = 64;
        sums.fill(0);
        let Some(&next_byte) = columns.first() else { return };
        let &Self { matrix, docs, ref gradients } = self;
        let next = docs.get(AHEAD..).unwrap_or_default();
        let next_byte = next_byte as usize;
        kernel::add(Block { matrix, docs, gradients, columns, next, next_byte }, stride, sums);
    }
}

/// Sums up some columns, rising: a run of `to` for each.
pub(super) fn fill(source: &Source<'_>, shape: &Shape, columns: &[u32], to: &mut [u64]) {
    let cells = columns.len() * source.docs.len();
    let threads = if cells < FEW_CELLS { 1 } else { rayon::current_num_threads() };
    let to = &mut to[..columns.len() * shape.stride];
    if threads == 1 {
        return fill_columns(source, shape, columns, to);
    }
    // Twice as many jobs as threads: a thread that is held up does not hold up the others.
    let per_job = columns.len().div_ceil(2 * threads).max(8);
    let jobs = columns.par_chunks(per_job).zip(to.par_chunks_mut(per_job * shape.stride));
    jobs.for_each(|(columns, sums)| fill_columns(source, shape, columns, sums));
}

/// The sums of some columns, block after block of docs, tile after tile.
fn fill_columns(source: &Source<'_>, shape: &Shape, columns: &[u32], sums: &mut [u64]) {
    let (Some(&first), Some(&last)) = (columns.first(), columns.last()) else { return };
    if source.docs.is_empty() {
        return sums.fill(0);
    }
    let num_tiles = columns.len().div_ceil(shape.tile());
    let bounds = |tile: usize| columns.len() * tile / num_tiles;
    let lines = (last - first) as usize / LINE + 1;
    let mut gathered = [0u64; BLOCK];
    let mut blocks = source.docs.chunks(BLOCK).peekable();
    let mut is_first = true;
    kernel::fetch(source.matrix, &source.docs[..BLOCK.min(source.docs.len())], first..last + 1);
    while let Some(docs) = blocks.next() {
        let next = blocks.peek().copied().unwrap_or_default();
        let gradients = &mut gathered[..docs.len()];
        for (to, &doc) in gradients.iter_mut().zip(docs) {
            *to = source.packed[doc as usize];
        }
        let mut rest = &mut *sums;
        for tile in 0..num_tiles {
            let columns = &columns[bounds(tile)..bounds(tile + 1)];
            let (sums, after) = rest.split_at_mut(columns.len() * shape.stride);
            rest = after;
            if is_first {
                // Not before: a small node's sums are still in the cache when they are added to.
                sums.fill(0);
            }
            // Each tile asks for its share of the lines of the next rows: mostly one or none.
            let next = if tile < lines { next } else { &[] };
            let next_byte = first as usize + LINE * tile;
            let block = Block { matrix: source.matrix, docs, gradients, columns, next, next_byte };
            kernel::add(block, shape.stride, sums);
        }
        is_first = false;
    }
}
