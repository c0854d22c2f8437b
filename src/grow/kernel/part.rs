//! Cutting the docs of a node in two, each side in the order it was.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use crate::simd::Level;

/// The bytes of a column that go left: one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Side([u32; 8]);

impl Side {
    pub(crate) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte / 32)] |= 1 << (byte % 32);
    }

    #[inline]
    pub(crate) fn is_left(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 32)] >> (byte % 32) & 1 == 1
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn words(&self) -> &[u32; 8] {
        &self.0
    }
}

/// The bytes of one column.
#[derive(Clone, Copy)]
pub(crate) enum Cells<'a> {
    /// One after the other, with at least three bytes after the last.
    Column(&'a [u8]),
    /// In rows of `width` bytes.
    Rows { bytes: &'a [u8], width: usize, column: usize },
}

impl Cells<'_> {
    /// The byte of a doc.
    #[inline]
    pub(crate) fn get(&self, doc: u32) -> u8 {
        match *self {
            Cells::Column(bytes) => bytes[doc as usize],
            Cells::Rows { bytes, width, column } => bytes[doc as usize * width + column],
        }
    }
}

/// Moves the docs that go left to the front of `docs`, and the others to the front of `right`,
/// which is as long. Returns how many go left.
pub(crate) fn part(
    level: Level,
    cells: Cells<'_>,
    side: &Side,
    docs: &mut [u32],
    right: &mut [u32],
) -> usize {
    match cells {
        #[cfg(target_arch = "x86_64")]
        Cells::Column(bytes) if level == Level::Avx512 && avx512::fits(bytes) => {
            avx512::part(bytes, side, docs, right)
        }
        Cells::Column(bytes) => plain(|doc| bytes[doc as usize], side, docs, right),
        Cells::Rows { bytes, width, column } => {
            plain(|doc| bytes[doc as usize * width + column], side, docs, right)
        }
    }
}

/// Writes each doc to both sides and goes on at one: no branch to guess.
pub(super) fn plain(
    cell: impl Fn(u32) -> u8,
    side: &Side,
    docs: &mut [u32],
    right: &mut [u32],
) -> usize {
    let mut left = 0;
    for i in 0..docs.len() {
        let doc = docs[i];
        let is_left = usize::from(side.is_left(cell(doc)));
        docs[left] = doc;
        right[i - left] = doc;
        left += is_left;
    }
    left
}
