//! Histograms: the sums of gradients by column and byte, over the docs of a node.
//!
//! A histogram has a run of `stride` sums for each column of the matrix, `stride` being the least
//! power of two that all bytes of the table stay below. Sums are packed integers, so that neither
//! the order of docs nor the cut into parts can be seen in them, and `parent - child` is exactly
//! the sibling.
//!
//! Docs are taken in blocks and columns in tiles whose sums stay in the first-level cache: a block
//! of rows is read once, and each addition is one instruction on one cache line. Threads take
//! groups of columns, or, where there are more threads than columns to share out, parts of the docs
//! with sums of their own.

use super::kernel::{self, Block};
use crate::bins::Matrix;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Docs of a block: their gradients are gathered once for all tiles.
const BLOCK: usize = 512;
/// The bytes of a cache line.
const LINE: usize = 64;
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

    /// The columns of a tile: as many as fit the first-level cache with room for rows.
    fn tile(&self) -> usize {
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

/// Fills a histogram, a run for each column; runs of columns outside `columns` hold anything.
pub(super) fn fill(source: &Source<'_>, shape: &Shape, columns: &[Range<usize>], to: &mut [u64]) {
    let num_columns: usize = columns.iter().map(Range::len).sum();
    let cells = num_columns * source.docs.len();
    let threads = if cells < FEW_CELLS { 1 } else { rayon::current_num_threads() };
    let mut jobs = Vec::new();
    let most_jobs = if threads == 1 { 1 } else { 2 * threads };
    let per_job = num_columns.div_ceil(most_jobs).max(8);
    let mut rest = to;
    let mut at = 0;
    for range in columns {
        let jobs_of_range = range.len().div_ceil(per_job).max(1);
        for job in 0..jobs_of_range {
            let start = range.start + range.len() * job / jobs_of_range;
            let end = range.start + range.len() * (job + 1) / jobs_of_range;
            let (_, after) = std::mem::take(&mut rest).split_at_mut((start - at) * shape.stride);
            let (sums, after) = after.split_at_mut((end - start) * shape.stride);
            (rest, at) = (after, end);
            jobs.push((start..end, sums));
        }
    }
    if threads == 1 {
        for (columns, sums) in jobs {
            fill_columns(source, shape, columns, sums);
        }
        return;
    }
    jobs.into_par_iter().for_each(|(columns, sums)| fill_columns(source, shape, columns, sums));
}

/// The sums of neighbouring columns, block after block of docs, tile after tile.
fn fill_columns(source: &Source<'_>, shape: &Shape, columns: Range<usize>, sums: &mut [u64]) {
    sums.fill(0);
    if columns.is_empty() {
        return;
    }
    let num_tiles = columns.len().div_ceil(shape.tile());
    let mut gathered = [0u64; BLOCK];
    let mut blocks = source.docs.chunks(BLOCK).peekable();
    while let Some(docs) = blocks.next() {
        let next = blocks.peek().copied().unwrap_or_default();
        let gradients = &mut gathered[..docs.len()];
        for (to, &doc) in gradients.iter_mut().zip(docs) {
            *to = source.packed[doc as usize];
        }
        let mut rest = &mut *sums;
        for tile in 0..num_tiles {
            let start = columns.len() * tile / num_tiles;
            let end = columns.len() * (tile + 1) / num_tiles;
            let (sums, after) = rest.split_at_mut((end - start) * shape.stride);
            rest = after;
            // Each tile asks for another line of the next rows: a row has fewer lines than tiles.
            let next_byte = columns.start + (LINE * tile).min(columns.len() - 1);
            let column = columns.start + start;
            let block = Block { matrix: source.matrix, docs, gradients, column, next, next_byte };
            kernel::add(block, shape.stride, sums);
        }
    }
}
