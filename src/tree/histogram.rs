//! Histograms: sums of packed gradients by column and byte value, over the documents of a node.
//!
//! A histogram has `stride` sums for each column, position after position. `stride` is the smallest
//! power of two above all bytes of the table, plus a gap. Sums are integers, so they depend neither
//! on the order of documents nor on how they are divided, and `parent - child` is exactly the
//! sibling.
//!
//! Documents are added in blocks, and the columns of a strip in tiles whose sums stay in the
//! first-level cache: each cell is read once, and each addition is one instruction on one cache
//! line. In a [sparse run](super::sparse_runs) only the active documents are added.

use super::column_strips::Strip;
use super::kernel::{self, ROOM, StripBlock};
use super::sparse_runs::SparseRun;
use crate::error::{Error, Result};
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// Documents per block: their bytes of a strip stay in or near the first-level cache.
pub(super) const BLOCK: usize = 512;

/// With fewer documents, one thread is faster than waking another.
const FEW: usize = 1 << 14;
/// Documents whose data one task gathers.
const DOCS_A_TASK: usize = 1 << 12;
/// With fewer documents, adding the inactive ones is faster than computing their sum.
pub(super) const MIN_DOCS_FOR_RUNS: usize = 512;

/// The size of a table's histograms.
#[derive(Debug, Clone, Copy)]
pub(super) struct HistogramShape {
    pub(super) stride: usize,
    pub(super) width: usize,
}

impl HistogramShape {
    /// The number of sums in a histogram.
    pub(super) fn len(&self) -> usize {
        self.stride * self.width
    }

    /// The fewest documents of a node whose histogram is kept. For smaller nodes it is faster to sum both children
    /// from their documents.
    pub(super) fn least_kept(&self) -> usize {
        2 * self.stride
    }

    /// The number of columns in a tile: as many as fit the first-level cache.
    pub(super) fn tile(&self) -> usize {
        (kernel::TILE_SUMS / self.stride).min(kernel::MOST_COLUMNS)
    }
}

/// Reuses the memory of histograms.
#[derive(Debug)]
pub(super) struct HistogramPool {
    pub(super) shape: HistogramShape,
    free: Vec<Box<[u64]>>,
}

impl HistogramPool {
    pub(super) fn new(shape: HistogramShape) -> Self {
        Self { shape, free: Vec::new() }
    }

    /// A histogram with arbitrary content.
    pub(super) fn acquire(&mut self) -> Result<Box<[u64]>> {
        let len = self.shape.len();
        self.free
            .pop()
            .map_or_else(|| bytemuck::allocation::try_zeroed_slice_box(len), Ok)
            .map_err(|()| Error::resource("the histograms of a tree", 8 * len as u64))
    }

    pub(super) fn release(&mut self, histogram: Box<[u64]>) {
        self.free.push(histogram);
    }
}

/// The documents of a node with their data, as many of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NodeDocs<'a> {
    pub(super) docs: &'a [u32],
    /// The packed gradient of each document.
    pub(super) packed: &'a [u64],
    /// The runs in which each document is active; empty if runs are not used.
    pub(super) active_runs: &'a [u32],
}

/// Buffers for the data of the documents of some nodes, one node after another.
#[derive(Debug, Default)]
pub(super) struct GatheredDocs {
    packed: Vec<u64>,
    active_runs: Vec<u32>,
}

impl GatheredDocs {
    /// The documents of some nodes, with copies of their data in the table.
    pub(super) fn look_up<'s>(
        &'s mut self,
        lists: &[&'s [u32]],
        packed: &'s [u64],
        active_runs: &'s [u32],
    ) -> Vec<NodeDocs<'s>> {
        // All documents are in ascending order.
        let has_all = lists.iter().any(|docs| docs.len() == packed.len());
        // For few documents, runs are not used.
        let has_runs =
            !active_runs.is_empty() && lists.iter().any(|docs| docs.len() >= MIN_DOCS_FOR_RUNS);
        let (packed, active_runs) = match (has_all, has_runs) {
            (true, _) => (packed, active_runs),
            (_, true) => (
                look_up(lists, packed, &mut self.packed),
                look_up(lists, active_runs, &mut self.active_runs),
            ),
            (_, false) => (look_up(lists, packed, &mut self.packed), &[][..]),
        };
        let mut rest = NodeDocs { docs: &[], packed, active_runs };
        lists.iter().map(|docs| rest.take(docs)).collect()
    }
}

/// Buffers that are reused from node to node.
#[derive(Debug, Default)]
pub(super) struct HistogramScratch {
    pub(super) gathered: GatheredDocs,
    /// For sums that are not kept.
    pub(super) spare: Vec<u64>,
}

/// Copies the elements of `from` for the documents of some lists, one list after another.
fn look_up<'t, T: Copy + Default + Send + Sync>(
    lists: &[&[u32]],
    from: &[T],
    to: &'t mut Vec<T>,
) -> &'t [T] {
    let num_docs = lists.iter().map(|docs| docs.len()).sum();
    if to.len() < num_docs {
        to.resize(num_docs, T::default());
    }
    let copy = |(docs, to): (&[u32], &mut [T])| {
        to.iter_mut().zip(docs).for_each(|(to, &doc)| *to = from[doc as usize]);
    };
    let most = if num_docs < FEW { usize::MAX } else { DOCS_A_TASK };
    let mut rest = &mut to[..num_docs];
    let tasks = lists.iter().flat_map(|docs| docs.chunks(most)).map(|docs| {
        let own;
        (own, rest) = std::mem::take(&mut rest).split_at_mut(docs.len());
        (docs, own)
    });
    if num_docs < FEW {
        tasks.for_each(copy);
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().for_each(copy);
    }
    &to[..num_docs]
}

impl<'a> NodeDocs<'a> {
    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    /// Takes the data of the next documents.
    fn take(&mut self, docs: &'a [u32]) -> Self {
        let packed = self.packed.split_off(..docs.len()).unwrap_or_default();
        let active_runs = self.active_runs.split_off(..docs.len()).unwrap_or_default();
        Self { docs, packed, active_runs }
    }

    /// Chunks of this many documents; the last may be smaller.
    pub(super) fn chunks(mut self, num_docs: usize) -> impl Iterator<Item = NodeDocs<'a>> {
        self.docs.chunks(num_docs).map(move |docs| self.take(docs))
    }
}

/// Divides a range into parts of about equal length, which is at most `most`.
pub(super) fn even_parts(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let num_parts = range.len().div_ceil(most);
    let bound = move |part| range.start + range.len() * part / num_parts;
    (0..num_parts).map(move |part| bound(part)..bound(part + 1))
}

/// Some columns of one strip.
#[derive(Debug, Clone, Copy)]
pub(super) struct StripColumns<'a> {
    pub(super) strip: Strip<'a>,
    /// The positions of the columns, ascending.
    pub(super) positions: &'a [u32],
    pub(super) level: Level,
    /// The sparse runs of the table.
    pub(super) runs: &'a [SparseRun],
    /// Whether the cells have not been prefetched.
    pub(super) is_cold: bool,
    /// The strip whose cells are needed next.
    pub(super) next: Option<Strip<'a>>,
}

/// Columns that are summed together.
#[derive(Debug, Clone)]
struct ColumnTile {
    /// Indices among the columns of the part.
    columns: Range<usize>,
    /// The run of the columns, if only its active documents are added.
    run: Option<usize>,
}

impl StripColumns<'_> {
    /// Sums the documents, block after block and tile after tile.
    pub(super) fn fill(&self, docs: NodeDocs<'_>, shape: &HistogramShape, sums: &mut [u64]) {
        let &Self { strip, positions, is_cold, next, .. } = self;
        if docs.docs.is_empty() {
            return sums.fill(0);
        }
        let first = &docs.docs[..BLOCK.min(docs.len())];
        let tiles = self.tiles(docs, shape);
        if let (true, Some(&position)) = (is_cold, positions.first()) {
            kernel::fetch(strip, first, (position - strip.first) as usize);
        }
        let mut active_runs = ActiveDocs::default();
        let mut is_first = true;
        let mut blocks = docs.chunks(BLOCK).peekable();
        while let Some(block) = blocks.next() {
            // The first tile prefetches the cells of the next block, or of the next strip.
            let (mut ahead, next_strip) = match (blocks.peek(), next) {
                (Some(next), _) => (next.docs, strip),
                (None, Some(next)) => (first, next),
                (None, None) => (&first[..0], strip),
            };
            active_runs.run = None;
            let mut rest = &mut *sums;
            for tile in &tiles {
                let (sums, after) = rest.split_at_mut(tile.columns.len() * shape.stride);
                rest = after;
                if is_first {
                    // Cleared only now, so that they are still in the cache when they are added to.
                    sums.fill(0);
                }
                let (docs, gradients) = match tile.run {
                    Some(run) => active_runs.of(self.level, block, run),
                    None => (block.docs, block.packed),
                };
                let positions = &positions[tile.columns.clone()];
                let next = &ahead[..ahead.len().min(docs.len())];
                ahead = &ahead[next.len()..];
                let block = StripBlock { strip, docs, gradients, positions, next, next_strip };
                kernel::accumulate(block, shape.stride, sums);
            }
            is_first = false;
        }
        self.add_inactive(docs, &tiles, shape, sums);
    }

    /// Divides the columns into tiles, with tiles of their own for runs that save time.
    fn tiles(&self, docs: NodeDocs<'_>, shape: &HistogramShape) -> Vec<ColumnTile> {
        let mut tiles = Vec::new();
        let mut cut = |columns: Range<usize>, run: Option<usize>| {
            let parts = even_parts(columns, shape.tile());
            tiles.extend(parts.map(|columns| ColumnTile { columns, run }));
        };
        let mut start = 0;
        if docs.len() >= MIN_DOCS_FOR_RUNS && !docs.active_runs.is_empty() {
            for (number, run) in self.runs.iter().enumerate() {
                let bound = |end: u32| self.positions.partition_point(|&position| position < end);
                let columns = bound(run.positions.start)..bound(run.positions.end);
                if !columns.is_empty() && run.pays(columns.len()) {
                    cut(start..columns.start, None);
                    cut(columns.clone(), Some(number));
                    start = columns.end;
                }
            }
        }
        cut(start..self.positions.len(), None);
        tiles
    }

    /// Adds the inactive documents of each run to the dominant bytes.
    fn add_inactive(
        &self,
        docs: NodeDocs<'_>,
        tiles: &[ColumnTile],
        shape: &HistogramShape,
        sums: &mut [u64],
    ) {
        if tiles.iter().all(|tile| tile.run.is_none()) {
            return;
        }
        let total = kernel::total(self.level, docs.packed);
        for tile in tiles {
            let Some(run) = tile.run.and_then(|run| self.runs.get(run)) else { continue };
            let sums = &mut sums[tile.columns.start * shape.stride..];
            let positions = &self.positions[tile.columns.clone()];
            for (sums, &position) in sums.chunks_exact_mut(shape.stride).zip(positions) {
                let missing = total.wrapping_sub(kernel::total(self.level, sums));
                let dominant = &mut sums[run.dominant(position)];
                *dominant = dominant.wrapping_add(missing);
            }
        }
    }
}

/// The active documents of a block in one run.
#[derive(Debug)]
struct ActiveDocs {
    run: Option<usize>,
    len: usize,
    docs: [u32; BLOCK + ROOM],
    gradients: [u64; BLOCK + ROOM],
}

impl Default for ActiveDocs {
    fn default() -> Self {
        Self { run: None, len: 0, docs: [0; BLOCK + ROOM], gradients: [0; BLOCK + ROOM] }
    }
}

impl ActiveDocs {
    /// Selects them for the first tile of a run, and reuses them for the others.
    fn of(&mut self, level: Level, block: NodeDocs<'_>, run: usize) -> (&[u32], &[u64]) {
        if self.run.replace(run) != Some(run) {
            let (docs, gradients) = (&mut self.docs, &mut self.gradients);
            self.len = kernel::select_active(level, block, run, docs, gradients);
        }
        (&self.docs[..self.len], &self.gradients[..self.len])
    }
}
