//! Adding the gradients of docs to the sums of their cells.
//!
//! Scalar on purpose: one addition to memory a cell, 1.1 cycles, where gathering and scattering
//! vectors takes twice as long. The number of columns is known to the compiler, so that the loop over
//! them disappears, and the sums of a column are an array that a byte cannot leave.
#![expect(unsafe_code, reason = "a kernel: asks for rows before they are needed")]

use crate::bins::Matrix;
use std::ops::Range;

/// The most columns of a tile.
pub(crate) const MOST_COLUMNS: usize = 24;
/// The most sums of a tile: 48 KB, the first-level cache.
pub(crate) const TILE_SUMS: usize = 24 * 256;

/// How many docs ahead a row is brought into the first-level cache.
const AHEAD: usize = 8;

/// The bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Some docs of a table, and some of its columns.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) matrix: &'a Matrix,
    pub(crate) docs: &'a [u32],
    /// The packed gradient of each of `docs`.
    pub(crate) gradients: &'a [u64],
    /// Rising.
    pub(crate) columns: &'a [u32],
    /// The docs of the next block, and the byte of their rows to ask for meanwhile.
    pub(crate) next: &'a [u32],
    pub(crate) next_byte: usize,
}

/// Adds the gradients to the sums of the columns, `stride` each.
///
/// # Panics
/// If there are other sums than these.
pub(crate) fn add(block: Block<'_>, stride: usize, sums: &mut [u64]) {
    assert_eq!(sums.len(), block.columns.len() * stride, "the sums of a block");
    match stride {
        256 => by_width::<256>(block, sums),
        128 => by_width::<128>(block, sums),
        64 => by_width::<64>(block, sums),
        32 => by_width::<32>(block, sums),
        _ => plain(block, stride, sums),
    }
}

#[expect(clippy::cognitive_complexity, reason = "one arm a width")]
fn by_width<const STRIDE: usize>(block: Block<'_>, sums: &mut [u64]) {
    macro_rules! widths {
        ($($width:literal)*) => {
            match block.columns.len() {
                $($width => {
                    let columns = block.columns.try_into();
                    let sums = sums.as_chunks_mut::<STRIDE>().0.try_into();
                    if let (Ok(columns), Ok(sums)) = (columns, sums) {
                        by_kind::<STRIDE, $width>(block, columns, sums);
                    }
                })*
                _ => plain(block, STRIDE, sums),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
}

fn by_kind<const STRIDE: usize, const WIDTH: usize>(
    block: Block<'_>,
    columns: &[u32; WIDTH],
    sums: &mut [[u64; STRIDE]; WIDTH],
) {
    let first = columns[0] as usize;
    if columns[WIDTH - 1] as usize - first == WIDTH - 1 {
        // Neighbours: where they are is known when the first is.
        let run: [usize; WIDTH] = std::array::from_fn(|i| i);
        unrolled(block, first..first + WIDTH, &run, sums);
    } else {
        let picked = columns.map(|column| column as usize);
        unrolled(block, 0..block.matrix.width(), &picked, sums);
    }
}

#[expect(clippy::inline_always, reason = "compiled anew for columns that the compiler knows")]
#[inline(always)]
fn unrolled<const STRIDE: usize, const WIDTH: usize>(
    block: Block<'_>,
    part: Range<usize>,
    columns: &[usize; WIDTH],
    sums: &mut [[u64; STRIDE]; WIDTH],
) {
    let (width, bytes) = (block.matrix.width(), block.matrix.bytes());
    let soon = if is_run(block.docs) { &[] } else { block.docs.get(AHEAD..).unwrap_or_default() };
    for (i, (&doc, &gradient)) in block.docs.iter().zip(block.gradients).enumerate() {
        if let Some(&next) = block.next.get(i) {
            prefetch_far(bytes, (next as usize).wrapping_mul(width).wrapping_add(block.next_byte));
        }
        if let Some(&soon) = soon.get(i) {
            let row = (soon as usize).wrapping_mul(width);
            prefetch_near(bytes, row.wrapping_add(part.start + columns[0]));
            prefetch_near(bytes, row.wrapping_add(part.start + columns[WIDTH - 1]));
        }
        let at = doc as usize * width;
        let cells = &bytes[at + part.start..at + part.end];
        for (sums, &column) in sums.iter_mut().zip(columns) {
            // Bytes are below the stride: the mask is for the compiler.
            let sum = &mut sums[usize::from(cells[column]) & (STRIDE - 1)];
            *sum = sum.wrapping_add(gradient);
        }
    }
}

/// The same without knowing the numbers.
pub(crate) fn plain(block: Block<'_>, stride: usize, sums: &mut [u64]) {
    for (&doc, &gradient) in block.docs.iter().zip(block.gradients) {
        let cells = block.matrix.row(doc as usize);
        for (sums, &column) in sums.chunks_exact_mut(stride).zip(block.columns) {
            let sum = &mut sums[usize::from(cells[column as usize])];
            *sum = sum.wrapping_add(gradient);
        }
    }
}

/// Asks for the cells of some columns of some docs, which lie anywhere in the table.
pub(crate) fn fetch(matrix: &Matrix, docs: &[u32], columns: Range<u32>) {
    for &doc in docs {
        let row = (doc as usize).wrapping_mul(matrix.width());
        for column in columns.clone().step_by(LINE).chain([columns.end - 1]) {
            prefetch_far(matrix.bytes(), row.wrapping_add(column as usize));
        }
    }
}

/// Whether docs are neighbours: then the machine sees by itself which rows come next.
fn is_run(docs: &[u32]) -> bool {
    docs.first().zip(docs.last()).is_some_and(|(&a, &b)| (b - a) as usize + 1 == docs.len())
}

/// Asks for a byte in the second-level cache: the first is full of sums.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_far(bytes: &[u8], at: usize) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    let address = bytes.as_ptr().wrapping_add(at).cast();
    // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, wherever it points.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address) }
}

/// Asks for a byte in the first-level cache.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_near(bytes: &[u8], at: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let address = bytes.as_ptr().wrapping_add(at).cast();
    // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, wherever it points.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_far(_bytes: &[u8], _at: usize) {}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_near(_bytes: &[u8], _at: usize) {}
