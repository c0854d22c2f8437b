//! Adding the gradients of docs to the sums of their cells.
//!
//! Scalar on purpose: one addition to memory a cell, 1.1 cycles, where gathering and scattering
//! vectors takes twice as long. The number of columns is known to the compiler, so that the loop over
//! them disappears, and the sums of a column are an array that a byte cannot leave.
#![expect(unsafe_code, reason = "a kernel: asks for rows before they are needed")]

use crate::bins::Matrix;

/// The most columns of a tile.
pub(crate) const MOST_COLUMNS: usize = 24;
/// The most sums of a tile: 48 KB, the first-level cache.
pub(crate) const TILE_SUMS: usize = 24 * 256;

/// Some docs of a table, from one column on.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) matrix: &'a Matrix,
    pub(crate) docs: &'a [u32],
    /// The packed gradient of each of `docs`.
    pub(crate) gradients: &'a [u64],
    pub(crate) column: usize,
    /// The docs of the next block, and the byte of their rows to ask for meanwhile.
    pub(crate) next: &'a [u32],
    pub(crate) next_byte: usize,
}

/// Adds the gradients to the sums of the columns: `stride` sums each, as many columns as `sums` has
/// room for.
pub(crate) fn add(block: Block<'_>, stride: usize, sums: &mut [u64]) {
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
    let columns = sums.as_chunks_mut::<STRIDE>().0;
    macro_rules! widths {
        ($($width:literal)*) => {
            match columns.len() {
                $($width => {
                    if let Ok(columns) = columns.try_into() {
                        unrolled::<STRIDE, $width>(block, columns);
                    }
                })*
                _ => plain(block, STRIDE, sums),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
}

fn unrolled<const STRIDE: usize, const WIDTH: usize>(
    block: Block<'_>,
    sums: &mut [[u64; STRIDE]; WIDTH],
) {
    let (width, bytes) = (block.matrix.width(), block.matrix.bytes());
    for (i, (&doc, &gradient)) in block.docs.iter().zip(block.gradients).enumerate() {
        if let Some(&next) = block.next.get(i) {
            prefetch(bytes, (next as usize).wrapping_mul(width).wrapping_add(block.next_byte));
        }
        let at = doc as usize * width + block.column;
        let cells = &bytes[at..at + WIDTH];
        for (sums, &cell) in sums.iter_mut().zip(cells) {
            // Bytes are below the stride: the mask is for the compiler.
            let sum = &mut sums[usize::from(cell) & (STRIDE - 1)];
            *sum = sum.wrapping_add(gradient);
        }
    }
}

/// The same without knowing the numbers.
pub(crate) fn plain(block: Block<'_>, stride: usize, sums: &mut [u64]) {
    for (&doc, &gradient) in block.docs.iter().zip(block.gradients) {
        let cells = &block.matrix.row(doc as usize)[block.column..];
        for (sums, &cell) in sums.chunks_exact_mut(stride).zip(cells) {
            sums[usize::from(cell)] = sums[usize::from(cell)].wrapping_add(gradient);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(bytes: &[u8], at: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let address = bytes.as_ptr().wrapping_add(at).cast();
    // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, wherever it points.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(_bytes: &[u8], _at: usize) {}
