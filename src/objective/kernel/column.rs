//! A row of numbers that starts on a cache line and is padded to whole steps.

use std::ops::{Deref, DerefMut};

/// The docs of a step.
pub(in crate::objective) const LANES: usize = 16;
const CACHE_LINE: usize = 64;

/// Numbers for the docs of one query; keeps its room from query to query.
#[derive(Debug, Default)]
pub(in crate::objective) struct Column<T> {
    room: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Column<T> {
    /// Makes place for `docs` numbers, rounded up to whole steps; what they are is not said.
    pub(in crate::objective) fn reserve(&mut self, docs: usize) {
        self.len = docs.next_multiple_of(LANES);
        let needed = self.len + CACHE_LINE / size_of::<T>();
        if self.room.len() < needed {
            self.room.resize(needed.next_power_of_two(), T::default());
            self.start =
                self.room.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE / size_of::<T>());
        }
    }

    /// As [`Self::reserve`], those that only pad the last step `value`.
    pub(in crate::objective) fn reset_tail(&mut self, docs: usize, value: T) {
        self.reserve(docs);
        self[docs..].fill(value);
    }

    /// As [`Self::reserve`], all of them `value`.
    pub(in crate::objective) fn reset(&mut self, docs: usize, value: T) {
        self.reserve(docs);
        (**self).fill(value);
    }
}

impl<T> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.room[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Column<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.room[self.start..self.start + self.len]
    }
}
