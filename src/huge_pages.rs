//! Large memory that is read here and there: in huge pages, where the system has them.
//!
//! A doc's cells are fetched from all over a table, and each fetch has to find out where the page lies;
//! with pages of 4 KB the processor knows those of 16 MB by heart and looks up the others. Pages of
//! 2 MB take 1 to 7 % off the time of a tree, most on wide tables. Many systems give them only to
//! those who ask.

use crate::error::{Error, Result};
use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::MmapMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers that begin a page, all zero at first; their memory is not touched before they are.
#[derive(Debug)]
pub(crate) struct HugePageVec<T> {
    bytes: MmapMut,
    /// In numbers: a map cannot be empty.
    len: usize,
    numbers: PhantomData<T>,
}

impl<T: AnyBitPattern + NoUninit> HugePageVec<T> {
    /// So many zeros; `what` needs them.
    pub(crate) fn zeros(what: &'static str, len: usize) -> Result<Self> {
        let size = len.saturating_mul(size_of::<T>());
        let bytes = MmapMut::map_anon(size.max(1));
        let bytes = bytes.map_err(|_| Error::resource(what, size as u64))?;
        // A wish: without huge pages all is as before, but slower.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Ok(Self { bytes, len, numbers: PhantomData })
    }
}

impl<T: AnyBitPattern + NoUninit> Deref for HugePageVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes[..self.len * size_of::<T>()])
    }
}

impl<T: AnyBitPattern + NoUninit> DerefMut for HugePageVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes[..self.len * size_of::<T>()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_is_written() {
        for len in [0, 1, 5000, 1 << 20] {
            let mut pages = HugePageVec::<u64>::zeros("a test", len).unwrap();
            assert_eq!(pages.len(), len);
            assert!(pages.iter().all(|&number| number == 0));
            assert!(pages.as_ptr().cast::<u8>().align_offset(4096) == 0, "begins a page");
            pages.iter_mut().zip(7..).for_each(|(number, i)| *number = i);
            assert!(pages.iter().copied().eq(7..7 + len as u64));
        }
    }

    #[test]
    fn too_much_is_an_error() {
        for len in [usize::MAX, usize::MAX / 16] {
            let error = HugePageVec::<u64>::zeros("a test", len).unwrap_err();
            assert!(error.to_string().contains("a test"), "{error}");
        }
    }
}
