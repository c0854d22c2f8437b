//! The AVX-512 kernel: parses four cells at once. Blanks and colons are found by compression, indices and
//! values are parsed in the lanes of a vector.
//!
//! ```text
//!   " 7:12.5 9:-3 "     a cell lies between two neighbouring blanks and has one colon
//!   blank 0   blank 1   colon 0 is between them
//!   index               the bytes after the blank, in the last of eight before the colon
//!   value               the bytes after the colon, in the last of sixteen before the next blank
//! ```
//! Blanks and colons are listed separately. If a token has no colon, or two, some colon is not between
//! its blanks, or a byte is no digit; this ends the fast path, as every unusual form does. So do places
//! that are no cells.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

mod numbers;

use self::numbers::{COUNTING, Places};
use super::{BLOCK, CellSink, EXPECTED, EXPECTED_INDICES, last_bytes};
use crate::binning::nearest;
use crate::data::number;
use crate::simd::Level;
use bytemuck::cast;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_cmplt_epu32_mask, _mm_loadu_si128, _mm_set1_epi32, _mm_sub_epi32,
    _mm256_and_si256, _mm256_cmpneq_epu64_mask, _mm256_set_epi64x, _mm512_add_epi32,
    _mm512_alignr_epi64, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32,
    _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi32,
};
use std::ops::RangeInclusive;

pub(super) fn usual_cells(
    line: &[u8],
    at: usize,
    indices: RangeInclusive<u32>,
    scratch: &mut ScanBuffers,
    sink: &mut impl CellSink,
) -> (usize, u32) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: the caller has checked that the level is available, which has the features of `run`.
    unsafe { run(line, at, indices, scratch, sink) }
}

/// The places and cells of a line on their way to a sink. Kept from line to line, because clearing takes
/// longer than filling.
#[derive(Debug)]
pub(super) struct ScanBuffers {
    window: TokenWindow,
    cells: CellBuffer,
}

impl Default for ScanBuffers {
    fn default() -> Self {
        Self { window: TokenWindow::new(), cells: CellBuffer::new() }
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
)]
fn run(
    line: &[u8],
    mut at: usize,
    indices: RangeInclusive<u32>,
    ScanBuffers { window, cells }: &mut ScanBuffers,
    sink: &mut impl CellSink,
) -> (usize, u32) {
    let (mut next, highest) = indices.into_inner();
    // Places and indices are compared as signed numbers.
    let highest = highest.min(i32::MAX as u32);
    if line.len() >= i32::MAX as usize {
        return (at, next);
    }
    let mut without_gaps = true;
    while next <= highest && window.look(line, at) {
        while window.read < window.count && next <= highest {
            let mut odd = false;
            if without_gaps {
                let found;
                (found, odd) = window.read_run(line, next..=highest, cells);
                sink.run(next, &cells.values[..found]);
                next += found as u32;
            }
            if !odd && window.read < window.count {
                // A run ends at a gap or at the end of the window.
                let many = if without_gaps { LANES } else { CellBuffer::MANY };
                let found = window.read(line, next..=highest, cells, many);
                for (&index, &value) in cells.indices.iter().zip(&cells.values).take(found) {
                    sink.cell(index, value);
                }
                if let Some(&last) = cells.indices[..found].last() {
                    without_gaps = last - next < found as u32 && last < EXPECTED_INDICES as u32;
                    next = last + 1;
                }
                odd = found < many;
            }
            if odd && window.read < window.count {
                let Some((index, value)) = window.odd_value(line, next..=highest) else {
                    return (window.at(), next);
                };
                sink.cell(index, value);
                next = index + 1;
            }
        }
        at = window.at();
    }
    (at, next)
}

/// The cells that are parsed at once.
const LANES: usize = 4;

/// The places of the cells in a part of a line.
#[derive(Debug)]
struct TokenWindow {
    /// The places of blanks, in order; the end of the line counts as one. All places, also those beyond
    /// the count that a vector load reads, are within the line.
    blanks: [u32; Self::SIZE],
    /// The places of colons.
    colons: [u32; Self::SIZE],
    /// The number of cells, at most.
    count: usize,
    /// The number of cells already parsed.
    read: usize,
}

/// Parsed cells.
#[derive(Debug)]
struct CellBuffer {
    indices: [u32; Self::MANY + LANES],
    values: [f32; TokenWindow::SIZE],
}

impl CellBuffer {
    /// The cells that are passed to the sink at once.
    const MANY: usize = 64;

    fn new() -> Self {
        Self { indices: [0; Self::MANY + LANES], values: [0.0; TokenWindow::SIZE] }
    }
}

impl TokenWindow {
    /// A window ends with the block in which it reaches so many blanks or colons.
    const MARKS: usize = 160;
    /// Room for another block, and for vector loads beyond the last place.
    const SIZE: usize = Self::MARKS + BLOCK + 16;

    fn new() -> Self {
        Self { blanks: [0; Self::SIZE], colons: [0; Self::SIZE], count: 0, read: 0 }
    }

    /// The blank before the next cell to parse.
    fn at(&self) -> usize {
        self.blanks[self.read] as usize
    }

    /// Finds the places from the blank at `at` on; false if there are no cells.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    #[inline]
    fn look(&mut self, line: &[u8], at: usize) -> bool {
        let (mut blanks, mut colons, mut base) = (0, 0, at);
        while blanks.max(colons) < Self::MARKS
            && let Some(rest) = line.get(base..)
        {
            let whole = rest.first_chunk::<BLOCK>();
            let text: __m512i = whole.map_or_else(|| cast(padded(rest)), |block| cast(*block));
            let within = if whole.is_some() { u64::MAX } else { u64::MAX >> (63 - rest.len()) };
            let is = |byte: u8| _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(byte.cast_signed()));
            let blank = (is(b' ') | is(b'\t')) & within;
            blanks += write_places(&mut self.blanks[blanks..], blank, base);
            colons += write_places(&mut self.colons[colons..], is(b':'), base);
            base += BLOCK;
        }
        // The places beyond belong to earlier lines, which may have been longer.
        let last = |places: &[u32]| places.last().map_or(at, |&place| place as usize);
        let ends = [last(&self.blanks[..blanks]), last(&self.colons[..colons])];
        write_places(&mut self.blanks[blanks..], 0, ends[0]);
        write_places(&mut self.colons[colons..], 0, ends[1]);
        (self.count, self.read) = (colons.min(blanks.saturating_sub(1)), 0);
        self.count > 0
    }

    /// Parses usual cells whose indices have no gaps. Returns their number, and whether the next cell has
    /// the expected index but an unusual value.
    ///
    /// An expected index is compared and not parsed.
    // Not inlined: one copy for all sinks.
    #[inline(never)]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
    )]
    fn read_run(
        &mut self,
        line: &[u8],
        range: RangeInclusive<u32>,
        cells: &mut CellBuffer,
    ) -> (usize, bool) {
        let (next, highest) = range.into_inner();
        let (from, next) = (self.read, next as usize);
        let most = (self.count - from).min((highest as usize + 1).saturating_sub(next));
        if self.blanks[from] < 16 || self.colons[from] < 8 {
            return (0, false);
        }
        let (mut found, mut odd) = (0, false);
        // Of the last four, some may have been parsed before, and some may be no cells.
        let mut at = 0;
        while found < most
            && let Some(ends) = self.blanks[from + at + 1..].first_chunk::<LANES>()
            && let Some(colons) = self.colons[from + at..].first_chunk::<LANES>()
            && let Some(values) = cells.values[at..].first_chunk_mut::<LANES>()
            && let Some(masks) = EXPECTED.masks.get(next + at..)
            && let Some(masks) = masks.first_chunk::<LANES>()
            && let Some(texts) = EXPECTED.texts.get(next + at..)
            && let Some(texts) = texts.first_chunk::<LANES>()
        {
            // SAFETY: places do not fall and are within the line; the first ones are at 16 and at 8
            // or more.
            let (text, words) = unsafe {
                (ends.map(|end| text_before(line, end)), colons.map(|end| word_before(line, end)))
            };
            let words = words.map(u64::cast_signed);
            let words = _mm256_set_epi64x(words[3], words[2], words[1], words[0]);
            let others =
                _mm256_cmpneq_epu64_mask(_mm256_and_si256(words, cast(*masks)), cast(*texts));
            let one = _mm_set1_epi32(1);
            let lengths = _mm_sub_epi32(_mm_sub_epi32(cast(*ends), cast(*colons)), one);
            let fits = _mm_cmplt_epu32_mask(_mm_sub_epi32(lengths, one), _mm_set1_epi32(15));
            let (read, no_value) = numbers::values(text, lengths);
            *values = cast(read);
            // A branch, so that the next cells need not wait for the check of these.
            if no_value != 0 || others != 0 || fits != 15 {
                let expected = others.trailing_zeros();
                let usual = fits.trailing_ones().min(no_value.trailing_zeros() / 16);
                found = most.min(at + usual.min(expected) as usize);
                odd = usual < expected && found < most;
                break;
            }
            found = most.min(at + LANES);
            at = found.min(most.saturating_sub(LANES));
        }
        self.read += found;
        (found, odd)
    }

    /// Parses usual cells, about `many` at most, and returns their number.
    // Not inlined: one copy for all sinks.
    #[inline(never)]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
    )]
    fn read(
        &mut self,
        line: &[u8],
        range: RangeInclusive<u32>,
        cells: &mut CellBuffer,
        many: usize,
    ) -> usize {
        let (mut next, highest) = range.into_inner();
        let (from, count) = (self.read, self.count);
        let mut found = 0;
        while found < many
            && from + found < count
            && let Some(blanks) = self.blanks[from + found..].first_chunk::<5>()
            && let Some(colons) = self.colons[from + found..].first_chunk::<LANES>()
            && let Some(indices) = cells.indices[found..].first_chunk_mut::<LANES>()
            && let Some(values) = cells.values[found..].first_chunk_mut::<LANES>()
        {
            let [start, ends @ ..] = blanks;
            let left = count - from - found;
            let (texts, words) = if *start >= 16 && colons[0] >= 8 && left >= LANES {
                // SAFETY: places rise and are within the line; there are so many blanks behind
                // `start`, which is at 16 or more, and so many colons, of which none is below 8.
                unsafe {
                    (
                        ends.map(|end| text_before(line, end)),
                        colons.map(|end| word_before(line, end)),
                    )
                }
            } else {
                let text = |end| cast(before::<16>(line, end));
                let word = |colon| u64::from_le_bytes(before(line, colon));
                (ends.map(text), colons.map(word))
            };
            let starts = blanks.first_chunk().unwrap_or(ends);
            let places = Places { blanks: cast(*starts), colons: cast(*colons), ends: cast(*ends) };
            let usual;
            (*indices, *values, usual) = places.read(texts, words, next, highest);
            next = indices[LANES - 1].wrapping_add(1);
            // A branch, so that the next cells need not wait for the check of these.
            if usual < LANES || left < LANES {
                found += usual.min(left);
                break;
            }
            found += LANES;
        }
        self.read += found;
        found
    }

    /// The next cell if only its value is unusual: it has an exponent or many digits, or is `nan`.
    #[inline(never)]
    fn odd_value(&mut self, line: &[u8], range: RangeInclusive<u32>) -> Option<(u32, f32)> {
        let [blank, colon, end] =
            [self.blanks[self.read], self.colons[self.read], self.blanks[self.read + 1]];
        let length = colon.checked_sub(blank)?.checked_sub(1)?;
        let index = number::integer(before(line, colon), length as usize)?;
        let text = line.get(colon as usize + 1..end as usize)?;
        let value = match text {
            b"nan" => f64::NAN,
            [mantissa @ .., b'e', b'-', b'0', digit @ b'0'..=b'9'] => {
                let power = u32::from(digit - b'0');
                number::decimal_over(before(line, end - 4), mantissa.len(), power)
                    .or_else(|| number::parse_all(text))?
            }
            _ => number::parse_all(text)?,
        };
        let usual = range.contains(&index) && !value.is_infinite();
        self.read += usize::from(usual);
        usual.then(|| (index, nearest(value)))
    }
}

/// Writes the places of the bits of a mask and returns their number.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
#[inline]
fn write_places(to: &mut [u32], mask: u64, base: usize) -> usize {
    let count = mask.count_ones() as usize;
    let base = _mm512_set1_epi32((base as u32).cast_signed());
    let mut packed = _mm512_maskz_compress_epi8(mask, cast(COUNTING));
    let mut written = 0;
    loop {
        let places = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed));
        if let Some(slot) = to[written..].first_chunk_mut::<16>() {
            *slot = cast(_mm512_add_epi32(base, places));
        }
        written += 16;
        if written >= count {
            return count;
        }
        packed = _mm512_alignr_epi64::<2>(packed, packed);
    }
}

/// Up to sixteen bytes before a place, with zeros before the line.
#[inline]
fn before<const N: usize>(line: &[u8], end: u32) -> [u8; N] {
    const { assert!(N <= 16) }
    let end = end as usize;
    if let Some(bytes) = last_bytes(line, end) {
        return bytes;
    }
    // There are fewer bytes before the place: they go to the end.
    let first = line.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; 16];
        first[..end].copy_from_slice(&line[..end]);
        first
    });
    let moved = u128::from_le_bytes(first).checked_shl(8 * (N - end) as u32).unwrap_or_default();
    moved.to_le_bytes().first_chunk().copied().unwrap_or([0; N])
}

/// The rest of a line, padded with blanks.
fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// The sixteen bytes before a place.
///
/// # Safety
/// The place is in `16..=line.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn text_before(line: &[u8], end: u32) -> __m128i {
    debug_assert!((16..=line.len()).contains(&(end as usize)));
    // SAFETY: the unaligned load reads the sixteen bytes before `end`, which are within the line.
    unsafe { _mm_loadu_si128(line.as_ptr().add(end as usize).sub(16).cast()) }
}

/// The eight bytes before a place.
///
/// # Safety
/// The place is in `8..=line.len()`.
#[inline]
unsafe fn word_before(line: &[u8], end: u32) -> u64 {
    debug_assert!((8..=line.len()).contains(&(end as usize)));
    // SAFETY: the read takes the eight bytes before `end`, which are within the line.
    unsafe { line.as_ptr().add(end as usize).sub(8).cast::<u64>().read_unaligned() }
}
