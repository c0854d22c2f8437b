//! The fast path through the cells of a LETOR line.
//!
//! Parsing cell by cell would be a chain of dependent steps three times as long as the work itself. So
//! `Separators` finds the ends of tokens in 64 bytes at once, and a kernel for each instruction set reads
//! the numbers between them with few branches that depend on their lengths. Any cell of an unusual form,
//! faulty ones included, ends the fast path.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::number;
use crate::simd::Level;
use std::ops::RangeInclusive;

/// A receiver of parsed cells.
pub trait CellSink {
    /// Takes a cell.
    fn cell(&mut self, index: u32, value: f32);

    /// Takes the cells of indices without gaps.
    fn run(&mut self, first: u32, values: &[f32]) {
        for (index, &value) in (first..).zip(values) {
            self.cell(index, value);
        }
    }
}

/// A function as a sink.
#[derive(Debug)]
pub struct CellFn<F>(pub F);

impl<F: FnMut(u32, f32)> CellSink for CellFn<F> {
    #[inline]
    fn cell(&mut self, index: u32, value: f32) {
        self.0(index, value);
    }
}

/// The bytes of a block: as many as a mask has bits.
const BLOCK: usize = 64;

/// An iterator over the places of blanks, colons and control characters, and then the end of the line.
struct Separators<'a> {
    line: &'a [u8],
    /// Where the block starts.
    base: usize,
    /// The rest of the block: bit `i` is a separator at `base + i`.
    left: u64,
}

impl<'a> Separators<'a> {
    /// The separators from byte `from` on.
    #[inline]
    fn new(line: &'a [u8], from: usize) -> Self {
        Self { line, base: from, left: block(line, from) }
    }

    /// The next one. The end of the line is returned once; after that, `None` or any place.
    #[expect(clippy::inline_always, reason = "twice a cell")]
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.base = self.base.wrapping_add(BLOCK);
            if self.base > self.line.len() {
                return None;
            }
            self.left = block(self.line, self.base);
        }
        let at = self.base.wrapping_add(self.left.trailing_zeros() as usize);
        self.left &= self.left.wrapping_sub(1);
        Some(at)
    }
}

/// The separators of the block at `from`; behind the line there are only blanks.
#[inline]
fn block(line: &[u8], from: usize) -> u64 {
    let rest = line.get(from..).unwrap_or_default();
    if let Some(block) = rest.first_chunk::<BLOCK>() {
        return separators(block);
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    separators(&block)
}

/// Bit `i` is set if byte `i` is a colon, a blank or a control character.
#[inline]
fn separators(block: &[u8; BLOCK]) -> u64 {
    // Whole vectors of bytes: each separator becomes the bit that it is to be in its word's byte.
    let bits: [u8; BLOCK] = std::array::from_fn(|i| {
        let byte = block[i];
        if byte <= b' ' || byte == b':' { 1 << (i % 8) } else { 0 }
    });
    let (words, _) = bits.as_chunks::<8>();
    let mut mask = 0;
    for &word in words {
        // The bytes add up in the highest one.
        let byte = u64::from_le_bytes(word).wrapping_mul(0x0101_0101_0101_0101) >> 56;
        mask = (mask >> 8) | (byte << 56);
    }
    mask
}

/// A kernel that reads lines, with its buffers.
#[derive(Debug)]
pub struct CellScanner {
    level: Level,
    #[cfg(target_arch = "x86_64")]
    wide: avx512::ScanBuffers,
}

impl Default for CellScanner {
    fn default() -> Self {
        Self::at(Level::best())
    }
}

impl CellScanner {
    /// On a given level.
    pub fn at(level: Level) -> Self {
        Self {
            level,
            #[cfg(target_arch = "x86_64")]
            wide: avx512::ScanBuffers::default(),
        }
    }

    /// Takes the usual cells of a line from the blank at `at` on, their indices rising within
    /// `indices`; gives the place after them and the lowest index that may follow.
    ///
    /// Levels agree on what a cell is, not on which cells are usual.
    #[inline]
    pub fn usual_cells(
        &mut self,
        line: &[u8],
        at: usize,
        indices: RangeInclusive<u32>,
        sink: &mut impl CellSink,
    ) -> (usize, u32) {
        if !line.get(at).is_some_and(|&byte| is_blank(byte)) {
            return (at, *indices.start());
        }
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if self.level.is_available() => {
                avx512::usual_cells(line, at, indices, &mut self.wide, sink)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if self.level.is_available() => avx2::usual_cells(line, at, indices, sink),
            _ => portable::usual_cells(line, at, indices, sink),
        }
    }
}

/// The loop of all levels; `usual_value(line, colon, end)` reads a value of the usual form.
#[expect(
    clippy::inline_always,
    reason = "`usual_value` must be compiled with its level's features"
)]
#[inline(always)]
fn cells_with(
    line: &[u8],
    mut at: usize,
    indices: RangeInclusive<u32>,
    sink: &mut impl CellSink,
    usual_value: impl Fn(&[u8], usize, usize) -> Option<f32>,
) -> (usize, u32) {
    let (mut next, highest) = indices.into_inner();
    let mut separators = Separators::new(line, at + 1);
    while let Some(colon) = separators.next()
        && let Some(end) = separators.next()
        && let Some(index) = usual_index(line, at, colon, next)
        && next <= index
        && index <= highest
        && let Some(value) = usual_value(line, colon, end)
    {
        sink.cell(index, value);
        next = index.wrapping_add(1);
        at = end;
    }
    (at, next)
}

/// Whether a value may end at `end`.
#[inline]
fn ends_token(line: &[u8], end: usize) -> bool {
    line.get(end).is_none_or(|&byte| is_blank(byte))
}

/// Whether a byte is between tokens.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The index of a cell, if it is 1 to 8 digits; `next` is what it is in a line without gaps.
#[inline]
fn usual_index(line: &[u8], blank: usize, colon: usize, next: u32) -> Option<u32> {
    let text = last_bytes(line, colon)?;
    if let Some(mask) = EXPECTED.masks.get(next as usize)
        && let Some(expected) = EXPECTED.texts.get(next as usize)
        && u64::from_le_bytes(text) & mask == *expected
    {
        return Some(next);
    }
    number::integer(text, colon.wrapping_sub(blank).wrapping_sub(1))
}

/// ` 17` in the last of eight bytes, and which bytes those are, for each index `17`: in a line
/// without gaps the next index needs not be read, only compared.
struct ExpectedIndices {
    masks: [u64; EXPECTED_INDICES],
    texts: [u64; EXPECTED_INDICES],
}

const EXPECTED_INDICES: usize = 1024;

static EXPECTED: ExpectedIndices = {
    let mut expected =
        ExpectedIndices { masks: [0; EXPECTED_INDICES], texts: [0; EXPECTED_INDICES] };
    let mut index = 0;
    while index < EXPECTED_INDICES {
        let (mut mask, mut text, mut shift, mut left) = (0, 0, 64, index);
        while shift == 64 || left > 0 {
            shift -= 8;
            mask |= 0xff << shift;
            text |= (b'0' as u64 + left as u64 % 10) << shift;
            left /= 10;
        }
        shift -= 8;
        expected.masks[index] = mask | (0xff << shift);
        expected.texts[index] = text | ((b' ' as u64) << shift);
        index += 1;
    }
    expected
};

/// The last bytes before `end`; the head of a line has more than eight.
#[inline]
fn last_bytes<const N: usize>(line: &[u8], end: usize) -> Option<[u8; N]> {
    line.get(end.wrapping_sub(N)..end)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::nearest;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// A blank and a value: most of them usual.
    fn token() -> impl Strategy<Value = (&'static str, String)> {
        let blank = prop::sample::select(vec![" ", " ", " ", " ", " ", " ", " ", "\t", "  "]);
        let value = prop_oneof![
            4 => "[0-9]",
            4 => "-?[0-9]{1,7}\\.[0-9]{0,8}",
            1 => "[0-9]{1,16}",
            1 => "-?\\.[0-9]{1,15}",
            1 => "-?[0-9]\\.[0-9]{1,4}e-?[0-9]",
            1 => Just("nan".to_owned()),
        ];
        (blank, value)
    }

    /// The cells of a line after its first seven bytes, and where they end, up to the first token
    /// that is none.
    fn naive(line: &str) -> Vec<(u32, u32, usize)> {
        let (mut cells, mut at, mut next) = (Vec::new(), 7, 1);
        for token in line[7..].split([' ', '\t']) {
            let end = at + token.len();
            let cell = || {
                let (index, value) = token.split_once(':')?;
                let digits = index.bytes().all(|b| b.is_ascii_digit());
                let index: u32 = index.parse().ok().filter(|i| digits && *i >= next)?;
                Some((index, value.parse().ok().filter(|v: &f64| !v.is_infinite())?))
            };
            match cell() {
                Some((index, value)) => {
                    cells.push((index, nearest(value).to_bits(), end));
                    next = index + 1;
                }
                None if token.is_empty() => {}
                None => break,
            }
            at = end + 1;
        }
        cells
    }

    fn agrees(level: Level, line: &str) {
        let mut scan = CellScanner::at(level);
        let expected = naive(line);
        let (mut at, mut next, mut taken) = (7, 1, 0);
        loop {
            let before = taken;
            let (end, highest) = (at, 1 << 20);
            let mut take = |index, value: f32| {
                let (expected, bits, _) = expected[taken];
                assert_eq!((index, value.to_bits()), (expected, bits), "{level:?} {line:?}");
                taken += 1;
            };
            (at, next) =
                scan.usual_cells(line.as_bytes(), at, next..=highest, &mut CellFn(&mut take));
            let stands =
                taken.checked_sub(1).map_or((7, 1), |i| (expected[i].2, expected[i].0 + 1));
            if taken > before {
                assert_eq!((at, next), stands, "{level:?} {line:?}");
                continue;
            }
            assert_eq!(at, end, "{level:?} {line:?}");
            // As the long way does: over one cell, or to the end.
            let Some(&(index, _, end)) = expected.get(taken) else { break };
            (at, next, taken) = (end, index + 1, taken + 1);
        }
    }

    #[test]
    fn usual_cells_are_taken_to_the_end() {
        let value = |i: usize| ["0", "-3", "0.25", "1234567.5", "-12.", ".5", "12345678"][i % 7];
        for cells in (0..30).chain([136, 300, 1000]) {
            // Values that begin in the first sixteen bytes may take the long way.
            let start = "1 qid:123456789".to_owned();
            let at = start.len();
            let line = (1..=cells).fold(start, |line, i| line + &format!(" {i}:{}", value(i)));
            for level in Level::available() {
                let mut taken = 0;
                let mut take = |_, _| taken += 1;
                let (at, next) = CellScanner::at(level).usual_cells(
                    line.as_bytes(),
                    at,
                    1..=1 << 20,
                    &mut CellFn(&mut take),
                );
                assert_eq!((at, next as usize, taken), (line.len(), cells + 1, cells), "{level:?}");
            }
        }
    }

    #[test]
    fn an_index_above_the_highest_ends_the_short_way() {
        let line = (1..=200).fold("1 qid:1".to_owned(), |line, i| line + &format!(" {i}:{i}"));
        for highest in 0..=200 {
            for level in Level::available() {
                let mut taken = 0;
                let mut take = CellFn(|_, _| taken += 1);
                let (_, next) =
                    CellScanner::at(level).usual_cells(line.as_bytes(), 7, 1..=highest, &mut take);
                assert!(next <= highest + 1 && taken == next - 1, "{level:?} {highest}");
            }
        }
    }

    #[test]
    fn any_place_of_any_line_may_be_the_start() {
        // What one line leaves behind must not be seen by the next, shorter or longer.
        let mut scans: Vec<_> = Level::available().into_iter().map(CellScanner::at).collect();
        let line = b" :::: 1:2 :3 4: 5:6 7:8 9:1 10:2 11:3 12:4:: 13 14:5 15:6 16:7";
        for at in 0..=line.len() + 1 {
            for length in 0..=line.len() {
                for scan in &mut scans {
                    let mut kept = Vec::new();
                    let mut keep = CellFn(|index, value| kept.push((index, value)));
                    let (end, next) = scan.usual_cells(&line[..length], at, 0..=99, &mut keep);
                    let mut fresh = Vec::new();
                    let mut take = CellFn(|index, value| fresh.push((index, value)));
                    let found = CellScanner::at(scan.level).usual_cells(
                        &line[..length],
                        at,
                        0..=99,
                        &mut take,
                    );
                    assert_eq!((found, fresh), ((end, next), kept));
                    assert!(at <= end && end <= length.max(at));
                }
            }
        }
    }

    #[test]
    fn every_byte_in_every_place_is_told_apart() {
        let good = "1 qid:1 1:2.5 2:-31 3:0 4:17.25 5:1 6:2 7:3 8:4 9:-0.5 10:123456.7 11:0";
        for at in 7..good.len() {
            for byte in 1..128u8 {
                let mut line = good.as_bytes().to_vec();
                line[at] = byte;
                let line = String::from_utf8(line).unwrap();
                for level in Level::available() {
                    agrees(level, &line);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_levels_read_what_is_there(tokens in prop::collection::vec(token(), 0..120), gap in 1u32..3) {
            let (mut line, mut index) = (String::from("1 qid:1"), 0);
            for (blank, value) in &tokens {
                index += gap;
                write!(line, "{blank}{index}:{value}").unwrap();
            }
            for level in Level::available() {
                agrees(level, &line);
            }
        }

        #[test]
        fn all_levels_stop_before_what_is_wrong(
            usual in 0usize..20, wrong in "[ \t:0-9e.#+\u{1}-]{0,12}", more in 0usize..10
        ) {
            let mut line = String::from("1 qid:1");
            for i in (0..usual).chain(20..20 + more) {
                if i == 20 {
                    line += &wrong;
                }
                write!(line, " {}:{i}.5", i + 1).unwrap();
            }
            line += if more == 0 { &wrong } else { "" };
            for level in Level::available() {
                agrees(level, &line);
            }
        }

        #[test]
        fn separators_are_found_in_order(
            line in prop::collection::vec(prop::sample::select(b"0. :\t#\x80\xff;!".to_vec()), 0..200),
            from in 0usize..200,
        ) {
            let mut found = Separators::new(&line, from);
            let length = line.len();
            let expected = (from..length).filter(|&at| line[at] <= b' ' || line[at] == b':');
            for at in expected.chain((from <= length).then_some(length)) {
                prop_assert_eq!(found.next(), Some(at));
            }
        }
    }

    #[test]
    fn the_table_holds_each_index_and_the_blank_before_it() {
        for (index, (mask, text)) in EXPECTED.masks.iter().zip(&EXPECTED.texts).enumerate() {
            let last = last_bytes(
                format!("1 qid:12345678 {index}").as_bytes(),
                15 + index.to_string().len(),
            );
            assert_eq!(u64::from_le_bytes(last.unwrap()) & mask, *text);
            assert_eq!(mask.count_ones() as usize, 8 * (index.to_string().len() + 1));
        }
    }
}
