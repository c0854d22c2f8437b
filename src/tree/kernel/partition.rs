//! Partitions documents by a split, keeping the order on both sides.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "a kernel behind a run-time check")
)]

#[cfg(target_arch = "x86_64")]
use super::avx512;
use crate::simd::Level;

/// A set of bytes, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ByteSet(pub(super) [u32; 8]);

impl ByteSet {
    #[inline]
    pub(crate) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 32)] >> (byte % 32) & 1 == 1
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<T: IntoIterator<Item = u8>>(bytes: T) -> Self {
        let mut set = Self::default();
        bytes.into_iter().for_each(|byte| set.0[usize::from(byte / 32)] |= 1 << (byte % 32));
        set
    }
}

/// Moves the documents that go left to the front of `docs`, and copies the others to the front of
/// `right`, which is as long. Returns how many go left. `docs` is ascending; `cells` are the bytes
/// of a column with at least three more after the last.
pub(crate) fn partition(
    level: Level,
    cells: &[u8],
    side: &ByteSet,
    docs: &mut [u32],
    right: &mut [u32],
) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is available, and stands for all features that the kernel is compiled for.
        Level::Avx512 if level.is_available() && avx512::fits(cells) => unsafe {
            avx512::partition(cells, side, docs, right)
        },
        _ => plain(cells, side, docs, right),
    }
}

/// Writes each document to both sides and advances only one of them, which avoids a branch.
pub(super) fn plain(cells: &[u8], side: &ByteSet, docs: &mut [u32], right: &mut [u32]) -> usize {
    let mut left = 0;
    for i in 0..docs.len() {
        let doc = docs[i];
        let is_left = usize::from(side.contains(cells[doc as usize]));
        docs[left] = doc;
        right[i - left] = doc;
        left += is_left;
    }
    left
}
