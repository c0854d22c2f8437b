//! The short way through the cells of a LETOR line: where they lie, and the usual ones among them.
//!
//! Reading a cell to its end before one can start the next would make a chain of dependent steps
//! that is three times as long as the work. So [`Separators`] finds the ends of 64 bytes at once,
//! and [`usual_cells`] reads the numbers between them with few branches that depend on their lengths. What is not of the usual form, faults included, ends the short way.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use super::number;
use std::ops::RangeInclusive;

/// As many bytes as a mask has bits.
const BLOCK: usize = 64;

/// The places of blanks and colons (and of control characters), in order, and then the end.
struct Separators<'a> {
    line: &'a [u8],
    /// Where the block starts.
    base: usize,
    /// What is left of the block: bit `i` is a separator at `base + i`.
    left: u64,
}

impl<'a> Separators<'a> {
    /// Those from byte `from` on.
    #[inline]
    fn new(line: &'a [u8], from: usize) -> Self {
        Self { line, base: from, left: block(line, from) }
    }

    /// The next one; the end of the line counts once, and it is `None` or nonsense after that.
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

/// Takes the usual cells from the blank at `at` on, their indices rising within `indices`; gives
/// the place after them and the lowest index that may follow.
#[inline]
pub(super) fn usual_cells(
    line: &[u8],
    at: usize,
    indices: RangeInclusive<u32>,
    sink: &mut impl FnMut(u32, f32),
) -> (usize, u32) {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_available() {
        return avx2::usual_cells(line, at, indices, sink);
    }
    portable::usual_cells(line, at, indices, sink)
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
    sink: &mut impl FnMut(u32, f32),
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
        sink(index, value);
        next = index.wrapping_add(1);
        at = end;
    }
    (at, next)
}

/// Whether a value may end at `end`.
#[inline]
fn ends_token(line: &[u8], end: usize) -> bool {
    line.get(end).is_none_or(|&byte| byte == b' ' || byte == b'\t')
}

/// The index of a cell, if it is 1 to 8 digits; `next` is what it is in a line without gaps.
#[inline]
fn usual_index(line: &[u8], blank: usize, colon: usize, next: u32) -> Option<u32> {
    let text = last_bytes(line, colon)?;
    if let Some((mask, expected)) = INDICES.get(next as usize)
        && u64::from_le_bytes(text) & mask == *expected
    {
        return Some(next);
    }
    number::integer(text, colon.wrapping_sub(blank).wrapping_sub(1))
}

/// ` 17` in the last of eight bytes, and which bytes those are, for each index `17`: in a line
/// without gaps the next index needs not be read, only compared.
static INDICES: [(u64, u64); 1024] = {
    let mut indices = [(0, 0); 1024];
    let mut index = 0;
    while index < indices.len() {
        let (mut mask, mut text, mut shift, mut left) = (0, 0, 64, index);
        while shift == 64 || left > 0 {
            shift -= 8;
            mask |= 0xff << shift;
            text |= (b'0' as u64 + left as u64 % 10) << shift;
            left /= 10;
        }
        shift -= 8;
        indices[index] = (mask | (0xff << shift), text | ((b' ' as u64) << shift));
        index += 1;
    }
    indices
};

/// The last bytes before `end`; the head of a line has more than eight.
#[inline]
fn last_bytes<const N: usize>(line: &[u8], end: usize) -> Option<[u8; N]> {
    line.get(end.wrapping_sub(N)..end)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
        for (index, (mask, text)) in INDICES.iter().enumerate() {
            let last = last_bytes(
                format!("1 qid:12345678 {index}").as_bytes(),
                15 + index.to_string().len(),
            );
            assert_eq!(u64::from_le_bytes(last.unwrap()) & mask, *text);
            assert_eq!(mask.count_ones() as usize, 8 * (index.to_string().len() + 1));
        }
    }
}
