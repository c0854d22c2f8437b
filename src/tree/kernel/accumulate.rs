//! Adds the gradients of documents to the sums of their cells.
//!
//! Scalar on purpose: one addition to memory per cell takes 1.1 cycles; gathering and scattering
//! vectors takes twice as long. The number of columns is a compile-time constant, so the loop over
//! them is unrolled, and the sums of a column are an array that a byte index cannot leave.
#![expect(unsafe_code, reason = "a kernel: asks for rows before they are needed")]

use crate::tree::column_strips::Strip;
use std::ops::Range;

/// The most columns of a tile.
pub(crate) const MOST_COLUMNS: usize = 24;
/// The most sums of a tile: 48 KB, the first-level cache.
pub(crate) const TILE_SUMS: usize = 24 * 256;
/// Sums of a column that stay zero: one cache line. Without the gap, the sums of one byte value in
/// all columns would be in two sets of the first-level cache, and many columns share their dominant
/// byte.
pub(crate) const GAP: usize = 8;

/// How many documents ahead a row is prefetched into the first-level cache.
const AHEAD: usize = 8;

/// Some documents, and some columns of one strip.
#[derive(Clone, Copy)]
pub(crate) struct StripBlock<'a> {
    pub(crate) strip: Strip<'a>,
    pub(crate) docs: &'a [u32],
    /// The packed gradient of each document.
    pub(crate) gradients: &'a [u64],
    /// The positions of the columns, ascending.
    pub(crate) positions: &'a [u32],
    /// Documents to prefetch meanwhile, and their strip.
    pub(crate) next: &'a [u32],
    pub(crate) next_strip: Strip<'a>,
}

/// Adds the gradients to the sums of the columns, `stride` sums each.
///
/// # Panics
/// If the number of sums is not `stride` times the number of columns, which is at most
/// [`MOST_COLUMNS`].
pub(crate) fn accumulate(block: StripBlock<'_>, stride: usize, sums: &mut [u64]) {
    assert_eq!(sums.len(), block.positions.len() * stride, "the sums of a block");
    match stride {
        264 => by_width::<264>(block, sums),
        136 => by_width::<136>(block, sums),
        72 => by_width::<72>(block, sums),
        40 => by_width::<40>(block, sums),
        _ => unreachable!("a stride has a gap after a power of two up to 256"),
    }
}

#[expect(clippy::cognitive_complexity, reason = "one arm a width")]
fn by_width<const STRIDE: usize>(block: StripBlock<'_>, sums: &mut [u64]) {
    macro_rules! widths {
        ($($width:literal)*) => {
            match block.positions.len() {
                $($width => {
                    let positions = block.positions.try_into();
                    let sums = sums.as_chunks_mut::<STRIDE>().0.try_into();
                    if let (Ok(positions), Ok(sums)) = (positions, sums) {
                        by_kind::<STRIDE, $width>(block, positions, sums);
                    }
                })*
                width => unreachable!("a tile of {width} columns"),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
}

fn by_kind<const STRIDE: usize, const WIDTH: usize>(
    block: StripBlock<'_>,
    positions: &[u32; WIDTH],
    sums: &mut [[u64; STRIDE]; WIDTH],
) {
    let positions = positions.map(|position| position.wrapping_sub(block.strip.first) as usize);
    let (first, end) = (positions[0], positions[WIDTH - 1] + 1);
    if end - first == WIDTH {
        // Neighbouring columns have constant offsets.
        let run: [usize; WIDTH] = std::array::from_fn(|i| i);
        unrolled(block, first..end, &run, sums);
    } else {
        unrolled(block, 0..end, &positions, sums);
    }
}

#[expect(clippy::inline_always, reason = "compiled anew for columns that the compiler knows")]
#[inline(always)]
fn unrolled<const STRIDE: usize, const WIDTH: usize>(
    block: StripBlock<'_>,
    part: Range<usize>,
    columns: &[usize; WIDTH],
    sums: &mut [[u64; STRIDE]; WIDTH],
) {
    let Strip { bytes, pitch, .. } = block.strip;
    let StripBlock { docs, next, next_strip, .. } = block;
    let num_docs = docs.len().min(block.gradients.len());
    let (docs, gradients) = (&docs[..num_docs], &block.gradients[..num_docs]);
    let first = part.start.wrapping_add(columns[0]);
    // Indices instead of iterators, which would spill to the stack.
    for i in 0..num_docs {
        if i < next.len() {
            let at = (next[i] as usize).wrapping_mul(next_strip.pitch);
            prefetch::<false>(next_strip.bytes, at);
        }
        let soon = docs[i.wrapping_add(AHEAD).min(num_docs - 1)];
        prefetch::<true>(bytes, (soon as usize).wrapping_mul(pitch).wrapping_add(first));
        let at = (docs[i] as usize).wrapping_mul(pitch);
        let cells = &bytes[at.wrapping_add(part.start)..at.wrapping_add(part.end)];
        let gradient = gradients[i];
        for (sums, &column) in sums.iter_mut().zip(columns) {
            // Bytes are below the power of two before the gap; the mask only tells the compiler so.
            let sum = &mut sums[usize::from(cells[column]) & (STRIDE - GAP - 1)];
            *sum = sum.wrapping_add(gradient);
        }
    }
}

/// The same loop without compile-time sizes.
#[cfg(test)]
pub(crate) fn plain(block: StripBlock<'_>, stride: usize, sums: &mut [u64]) {
    let Strip { bytes, pitch, first } = block.strip;
    for (&doc, &gradient) in block.docs.iter().zip(block.gradients) {
        let cells = &bytes[doc as usize * pitch..];
        for (sums, &position) in sums.chunks_exact_mut(stride).zip(block.positions) {
            let sum = &mut sums[usize::from(cells[(position - first) as usize])];
            *sum = sum.wrapping_add(gradient);
        }
    }
}

/// Prefetches the cells of some documents.
pub(crate) fn fetch(strip: Strip<'_>, docs: &[u32], byte: usize) {
    for &doc in docs {
        let row = (doc as usize).wrapping_mul(strip.pitch);
        prefetch::<false>(strip.bytes, row.wrapping_add(byte));
    }
}

/// Prefetches a byte into the first-level cache, or into the second if the first is full of sums.
#[inline]
fn prefetch<const IS_NEAR: bool>(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, wherever it points.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = bytes.as_ptr().wrapping_add(at).cast();
        if IS_NEAR {
            _mm_prefetch::<_MM_HINT_T0>(address);
        } else {
            _mm_prefetch::<_MM_HINT_T1>(address);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
