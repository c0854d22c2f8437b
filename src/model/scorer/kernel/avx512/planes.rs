//! Chunks of trees: 512 docs an instruction, but for what happens to single codes and sums.
//!
//! Bits are turned by `gf2p8affineqb`, which transposes eight times eight of them; what is left is to
//! move bytes. The place of doc `64 r + 16 l + 8 q + j` in a plane is bit `7 - j` of byte `16 l + 2 r + q`:
//! then each move stays within 16 bytes.

use super::super::super::bit_circuit::{ChunkColumn, FIXED, Four, TreeChunk};
use super::super::{Lane, Sheet};
use super::{load, store, values};
use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_mask_blend_epi8, _mm512_movepi8_mask,
    _mm512_permutex2var_epi8, _mm512_set1_epi64, _mm512_set4_epi32, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

/// Adds to each doc's sum the values of its leaves, tree by tree; there are up to eight lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni,bmi1,bmi2")]
pub(in super::super) fn chunk(
    sheet: Sheet<'_>,
    chunk: &TreeChunk,
    planes: &mut [Lane],
    sums: &mut [f64],
) {
    let planes = &mut planes[..chunk.planes];
    planes[0] = Lane([0; 64]);
    planes[1] = Lane([u8::MAX; 64]);
    let mut first = FIXED;
    for column in &chunk.columns {
        test(sheet, column, &mut planes[first..]);
        first += column.tests as usize;
    }
    for tree in chunk.trees() {
        run(tree.ops, planes, chunk.results);
        let numbers = numbers(&asked(tree.asked, planes));
        values::add(&numbers, tree.table, sums);
    }
}

/// All tests of a column, and up to fifteen planes more that are anything.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn test(sheet: Sheet<'_>, column: &ChunkColumn, planes: &mut [Lane]) {
    let bits = bits(sheet, column);
    let low = above([bits[0], bits[1], bits[2], bits[3]]);
    let high = above([bits[4], bits[5], bits[6], bits[7]]);
    // In the digits of base sixteen.
    let mut at_least = _mm512_set1_epi64(-1);
    let sixteens = (column.tests as usize).div_ceil(16);
    for (planes, above) in planes.as_chunks_mut::<16>().0[..sixteens].iter_mut().zip(high) {
        for (plane, low) in planes.iter_mut().zip(low) {
            store(plane, or_and(above, at_least, low));
        }
        at_least = above;
    }
}

/// The planes of the numbers of a column's thresholds below, from the lowest bit on.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn bits(sheet: Sheet<'_>, column: &ChunkColumn) -> [__m512i; 8] {
    let codes = &sheet.lanes[column.at as usize * sheet.wide..][..sheet.wide];
    let below: [__m512i; 4] = std::array::from_fn(|i| load(&column.below[i]));
    // Byte `k` selects bit `k`, of eight docs, the last doc first.
    let select = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
    // The eight docs of a half side by side, bit by bit.
    let halves = _mm512_set4_epi32(0x0f07_0e06, 0x0d05_0c04, 0x0b03_0a02, 0x0901_0800);
    let mut turned = [_mm512_setzero_si512(); 8];
    for (turned, code) in turned.iter_mut().zip(codes) {
        let code = load(code);
        let low = _mm512_permutex2var_epi8(below[0], code, below[1]);
        let high = _mm512_permutex2var_epi8(below[2], code, below[3]);
        let number = _mm512_mask_blend_epi8(_mm512_movepi8_mask(code), low, high);
        let bits = _mm512_gf2p8affine_epi64_epi8::<0>(select, number);
        *turned = _mm512_shuffle_epi8(bits, halves);
    }
    let [a, b, c, d, e, f, g, h] = turned;
    let words = |a, b| [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
    let dwords = |a, b| [_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)];
    let qwords = |a, b| [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)];
    let (ab, cd, ef, gh) = (words(a, b), words(c, d), words(e, f), words(g, h));
    let mut bits = [_mm512_setzero_si512(); 8];
    for i in 0..2 {
        let (ad, eh) = (dwords(ab[i], cd[i]), dwords(ef[i], gh[i]));
        for j in 0..2 {
            let [low, high] = qwords(ad[j], eh[j]);
            (bits[4 * i + 2 * j], bits[4 * i + 2 * j + 1]) = (low, high);
        }
    }
    bits
}

/// Whether a number of four bits is above 0, 1 .. 15.
#[target_feature(enable = "avx512f")]
#[inline]
fn above(bits: [__m512i; 4]) -> [__m512i; 16] {
    let (none, all) = (_mm512_setzero_si512(), _mm512_set1_epi64(-1));
    let two = |low, high| [or_and(high, all, low), high, or_and(none, high, low), none];
    let (low, high) = (two(bits[0], bits[1]), two(bits[2], bits[3]));
    let at_least = [all, high[0], high[1], high[2]];
    std::array::from_fn(|i| or_and(high[i / 4], at_least[i / 4], low[i % 4]))
}

/// `a | b & c`.
#[target_feature(enable = "avx512f")]
#[inline]
fn or_and(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xf8>(a, b, c)
}

/// Planes, as the `Four`s of a chunk name them: those are right.
#[derive(Clone, Copy)]
struct Planes(*mut Lane);

impl Planes {
    /// # Safety
    ///
    /// `four` is of the chunk whose planes these are.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn at<const I: u32>(self, four: Four) -> __m512i {
        // SAFETY: a chunk names planes that it has.
        unsafe { load(&*self.0.byte_add(four.place::<I>())) }
    }
}

/// The choices of a tree; each writes the next plane from `first` on.
#[target_feature(enable = "avx512f")]
#[inline]
fn run(ops: &[Four], planes: &mut [Lane], first: usize) {
    assert!(ops.len() <= planes.len() - first);
    let planes = Planes(planes.as_mut_ptr());
    for (to, &op) in (first..).zip(ops) {
        // SAFETY: a chunk's ops read its planes; those that they write are `planes[first..]`.
        unsafe {
            let (by, set, unset) = (planes.at::<0>(op), planes.at::<1>(op), planes.at::<2>(op));
            store(&mut *planes.0.add(to), _mm512_ternarylogic_epi64::<0xca>(by, set, unset));
        }
    }
}

/// The bits of leaf numbers from what the places of a full tree ask, from the lowest on.
macro_rules! full_tree {
    ($name:ident, $bits:literal, $fours:literal, $half:ident) => {
        #[target_feature(enable = "avx512f")]
        #[inline]
        fn $name(planes: Planes, asked: &[Four; $fours]) -> [__m512i; $bits] {
            let [unset, set] = asked.as_chunks::<{ $fours / 2 }>().0 else { unreachable!() };
            let (unset, set) = ($half(planes, unset), $half(planes, set));
            // SAFETY: these are of the chunk of the planes.
            let by = unsafe { planes.at::<3>(asked[$fours / 2 - 1]) };
            let mut bits = [by; $bits];
            for i in 0..$bits - 1 {
                bits[i] = _mm512_ternarylogic_epi64::<0xca>(by, set[i], unset[i]);
            }
            bits
        }
    };
}

#[target_feature(enable = "avx512f")]
#[inline]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as for larger trees")]
fn of_4(planes: Planes, asked: &[Four; 1]) -> [__m512i; 2] {
    let four = asked[0];
    // SAFETY: it is of the chunk of the planes.
    let (by, unset, set) =
        unsafe { (planes.at::<0>(four), planes.at::<1>(four), planes.at::<2>(four)) };
    [_mm512_ternarylogic_epi64::<0xca>(by, set, unset), by]
}

full_tree!(of_8, 3, 2, of_4);
full_tree!(of_16, 4, 4, of_8);
full_tree!(of_32, 5, 8, of_16);
full_tree!(of_64, 6, 16, of_32);
full_tree!(of_128, 7, 32, of_64);
full_tree!(of_256, 8, 64, of_128);

/// The bits of leaf numbers, the last first: those beyond the number's are any.
#[target_feature(enable = "avx512f")]
#[inline]
fn asked(asked: &[Four], planes: &mut [Lane]) -> [__m512i; 8] {
    let planes = Planes(planes.as_mut_ptr());
    if let Some(asked) = asked.first_chunk::<64>() {
        last_first(of_256(planes, asked))
    } else if let Some(asked) = asked.first_chunk::<32>() {
        last_first(of_128(planes, asked))
    } else if let Some(asked) = asked.first_chunk::<16>() {
        last_first(of_64(planes, asked))
    } else if let Some(asked) = asked.first_chunk::<8>() {
        last_first(of_32(planes, asked))
    } else {
        let mut bits = [[_mm512_setzero_si512(); 4]; 2];
        for (bits, &four) in bits.iter_mut().zip(asked) {
            // SAFETY: these are of the chunk of the planes.
            *bits = unsafe {
                [
                    planes.at::<0>(four),
                    planes.at::<1>(four),
                    planes.at::<2>(four),
                    planes.at::<3>(four),
                ]
            };
        }
        let [[a, b, c, d], [e, f, g, h]] = bits;
        [a, b, c, d, e, f, g, h]
    }
}

fn last_first<const BITS: usize>(bits: [__m512i; BITS]) -> [__m512i; 8] {
    std::array::from_fn(|i| bits[(7 - i).min(BITS - 1)])
}

/// The numbers of leaves.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
#[inline]
fn numbers(bits: &[__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = *bits;
    let bytes = |a, b| [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)];
    let words = |a, b| [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
    let dwords = |a, b| [_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)];
    let (ab, cd, ef, gh) = (bytes(a, b), bytes(c, d), bytes(e, f), bytes(g, h));
    // Byte `j` takes what bit `7 - j` is in eight planes.
    let select = _mm512_set1_epi64(0x0102_0408_1020_4080);
    let mut numbers = [_mm512_setzero_si512(); 8];
    for i in 0..2 {
        let (ad, eh) = (words(ab[i], cd[i]), words(ef[i], gh[i]));
        for j in 0..2 {
            for (k, turned) in dwords(ad[j], eh[j]).into_iter().enumerate() {
                numbers[4 * i + 2 * j + k] = _mm512_gf2p8affine_epi64_epi8::<0>(select, turned);
            }
        }
    }
    numbers
}
