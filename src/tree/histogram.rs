//! Histograms: the sums of gradients by column and byte, over the docs of a node.
//!
//! A histogram has `stride` sums for each column, place after place, `stride` being the least
//! power of two that all bytes of the table stay below, and a gap. Sums are packed integers, so that neither
//! the order of docs nor the cut into parts can be seen in them, and `parent - child` is exactly
//! the sibling.
//!
//! Docs are taken in blocks and the columns of a strip in tiles whose sums stay in the first-level
//! cache: cells are read once, and each addition is one instruction on one cache line. In a
//! [run](super::quiet) of columns only the loud docs are added.

use super::column_strips::Strip;
use super::kernel::{self, Block, Crowd, ROOM};
use super::sparse_runs::Run;
use crate::error::{Error, Result};
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// Docs of a block: their cells of a strip stay in the first-level cache, or near it.
pub(super) const BLOCK: usize = 512;

/// Docs below which one thread is faster than waking another.
const FEW: usize = 1 << 14;
/// Docs that are looked up by one task.
const DOCS_A_TASK: usize = 1 << 12;
/// Docs below which it takes longer to find out what quiet docs add than to add it.
pub(super) const LEAST_LOUD: usize = 512;

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

/// The docs of a node and what is known of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Docs<'a> {
    pub(super) docs: &'a [u32],
    pub(super) known: Known<'a>,
}

/// What is known of each of some docs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Its packed gradient.
    pub(super) packed: &'a [u64],
    /// The runs that it is loud in; empty where no doc is quiet in any.
    pub(super) loud: &'a [u32],
}

/// What is known of the docs of some nodes, one after another.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    gradients: Vec<u64>,
    loud: Vec<u32>,
}

impl Gathered {
    /// Looks up what is known of the docs of some nodes.
    pub(super) fn look_up(&mut self, lists: &[&[u32]], known: Known<'_>) -> Known<'_> {
        let packed = look_up(lists, known.packed, &mut self.gradients);
        let none_is_quiet = known.loud.is_empty();
        let loud = if none_is_quiet { &[] } else { look_up(lists, known.loud, &mut self.loud) };
        Known { packed, loud }
    }
}

/// What is kept from node to node, to take no memory anew.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) gathered: Gathered,
    /// Sums that are not kept.
    pub(super) spare: Vec<u64>,
}

/// What is at the places of the docs of some lists, one list after another.
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

impl Known<'_> {
    /// What is known of the first docs, and of those after.
    pub(super) fn split(self, num_docs: usize) -> (Self, Self) {
        let (packed, rest_packed) = self.packed.split_at(num_docs);
        let (loud, rest_loud) = self.loud.split_at(num_docs.min(self.loud.len()));
        (Self { packed, loud }, Self { packed: rest_packed, loud: rest_loud })
    }
}

impl<'a> Docs<'a> {
    /// Looks up what is known of some docs; `to` has room for it.
    pub(super) fn of(docs: &'a [u32], known: Known<'a>, to: &'a mut Gathered) -> Self {
        if docs.len() == known.packed.len() {
            // All docs, and they are rising.
            return Self { docs, known };
        }
        // Of few docs all are added.
        let loud = if docs.len() < LEAST_LOUD { &[] } else { known.loud };
        Self { docs, known: to.look_up(&[docs], Known { loud, ..known }) }
    }

    /// Of no docs the sums are none.
    pub(super) fn none() -> Self {
        Self { docs: &[], known: Known { packed: &[], loud: &[] } }
    }

    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    fn blocks(self) -> impl Iterator<Item = Docs<'a>> {
        self.chunks(BLOCK)
    }

    /// So many docs at a time; fewer at the end.
    pub(super) fn chunks(self, num_docs: usize) -> impl Iterator<Item = Docs<'a>> {
        let mut rest = self.known;
        self.docs.chunks(num_docs).map(move |docs| {
            let known;
            (known, rest) = rest.split(docs.len());
            Docs { docs, known }
        })
    }
}

/// Some columns of a strip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) strip: Strip<'a>,
    /// Their places, rising.
    pub(super) places: &'a [u32],
    pub(super) level: Level,
    /// The runs that they may belong to.
    pub(super) runs: &'a [Run],
    /// Whether these cells have not been asked for.
    pub(super) is_cold: bool,
    /// Where the cells are that are needed next.
    pub(super) next: Option<Strip<'a>>,
}

/// Columns that are added to together.
#[derive(Debug, Clone)]
struct Tile {
    /// Among those of the part.
    columns: Range<usize>,
    /// The run that they belong to, if only its loud docs are added.
    run: Option<usize>,
}

impl Part<'_> {
    /// Sums up its columns, block after block of docs, tile after tile.
    pub(super) fn fill(&self, docs: Docs<'_>, shape: &Shape, sums: &mut [u64]) {
        let &Self { strip, places, is_cold, next, .. } = self;
        if docs.docs.is_empty() {
            return sums.fill(0);
        }
        let first = &docs.docs[..BLOCK.min(docs.len())];
        let tiles = self.tiles(docs, shape);
        if let (true, Some(&place)) = (is_cold, places.first()) {
            kernel::fetch(strip, first, (place - strip.first) as usize);
        }
        let mut loud = Loud::default();
        let mut is_first = true;
        let mut blocks = docs.blocks().peekable();
        while let Some(block) = blocks.next() {
            // The first tile asks for the cells of the next block, or of the next strip.
            let (mut ahead, next_strip) = match (blocks.peek(), next) {
                (Some(next), _) => (next.docs, strip),
                (None, Some(next)) => (first, next),
                (None, None) => (&first[..0], strip),
            };
            loud.run = None;
            let mut rest = &mut *sums;
            for tile in &tiles {
                let (sums, after) = rest.split_at_mut(tile.columns.len() * shape.stride);
                rest = after;
                if is_first {
                    // Not before: they are still in the cache when they are added to.
                    sums.fill(0);
                }
                let (docs, gradients) = match tile.run {
                    Some(run) => loud.of(self.level, block, run),
                    None => (block.docs, block.known.packed),
                };
                let places = &places[tile.columns.clone()];
                let next = &ahead[..ahead.len().min(docs.len())];
                ahead = &ahead[next.len()..];
                let block = Block { strip, docs, gradients, places, next, next_strip };
                kernel::add(block, shape.stride, sums);
            }
            is_first = false;
        }
        self.add_quiet(docs, &tiles, shape, sums);
    }

    /// Cuts the columns into tiles, those of a run apart where that pays.
    fn tiles(&self, docs: Docs<'_>, shape: &Shape) -> Vec<Tile> {
        let mut tiles = Vec::new();
        let mut cut = |columns: Range<usize>, run: Option<usize>| {
            let num_tiles = columns.len().div_ceil(shape.tile());
            let bound = |tile: usize| columns.start + columns.len() * tile / num_tiles;
            let parts = (0..num_tiles).map(|tile| bound(tile)..bound(tile + 1));
            tiles.extend(parts.map(|columns| Tile { columns, run }));
        };
        let mut start = 0;
        if docs.len() >= LEAST_LOUD && !docs.known.loud.is_empty() {
            for (number, run) in self.runs.iter().enumerate() {
                let bound = |end: u32| self.places.partition_point(|&place| place < end);
                let columns = bound(run.places().start)..bound(run.places().end);
                if !columns.is_empty() && run.pays(columns.len()) {
                    cut(start..columns.start, None);
                    cut(columns.clone(), Some(number));
                    start = columns.end;
                }
            }
        }
        cut(start..self.places.len(), None);
        tiles
    }

    /// Adds what the quiet docs of runs have in the commonest bytes: what is missing from the sum.
    fn add_quiet(&self, docs: Docs<'_>, tiles: &[Tile], shape: &Shape, sums: &mut [u64]) {
        if tiles.iter().all(|tile| tile.run.is_none()) {
            return;
        }
        let total = kernel::total(self.level, docs.known.packed);
        for tile in tiles {
            let Some(run) = tile.run.and_then(|run| self.runs.get(run)) else { continue };
            let sums = &mut sums[tile.columns.start * shape.stride..];
            let places = &self.places[tile.columns.clone()];
            for (sums, &place) in sums.chunks_exact_mut(shape.stride).zip(places) {
                let missing = total.wrapping_sub(kernel::total(self.level, sums));
                let common = &mut sums[run.common(place)];
                *common = common.wrapping_add(missing);
            }
        }
    }
}

/// The loud docs of a block in one run.
#[derive(Debug)]
struct Loud {
    run: Option<usize>,
    len: usize,
    docs: [u32; BLOCK + ROOM],
    gradients: [u64; BLOCK + ROOM],
}

impl Default for Loud {
    fn default() -> Self {
        Self { run: None, len: 0, docs: [0; BLOCK + ROOM], gradients: [0; BLOCK + ROOM] }
    }
}

impl Loud {
    /// Picks them out, but for the first tile of a run only.
    fn of(&mut self, level: Level, block: Docs<'_>, run: usize) -> (&[u32], &[u64]) {
        if self.run.replace(run) != Some(run) {
            let Docs { docs, known: Known { packed: gradients, loud } } = block;
            let crowd = Crowd { docs, gradients, loud };
            self.len = kernel::pick(level, crowd, run, &mut self.docs, &mut self.gradients);
        }
        (&self.docs[..self.len], &self.gradients[..self.len])
    }
}
