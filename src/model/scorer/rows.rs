//! Rows of values, `f32` or `f64`, as callers pass them.

use super::super::parts::{is_zero, nearest};

/// A value of a feature: `f32` or `f64`.
pub trait Value: Copy + Send + Sync + From<f32> + Into<f64> + sealed::Sealed + 'static {
    /// The nearest `f32`; the largest finite one for any finite value beyond.
    fn nearest(self) -> f32;
}

impl Value for f32 {
    #[inline]
    fn nearest(self) -> f32 {
        self
    }
}

impl Value for f64 {
    #[inline]
    fn nearest(self) -> f32 {
        nearest(self)
    }
}

mod sealed {
    pub trait Sealed: Sized {
        /// The values if they are `f32`.
        fn singles(_values: &[Self]) -> Option<&[f32]> {
            None
        }
    }
    impl Sealed for f32 {
        fn singles(values: &[f32]) -> Option<&[f32]> {
            Some(values)
        }
    }
    impl Sealed for f64 {}
}

/// Whether every value of the type is an `f32`.
pub(super) const fn is_f32<T: Value>() -> bool {
    size_of::<T>() == size_of::<f32>()
}

/// Rows, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScorerRows<'a, T> {
    pub(super) values: &'a [T],
    pub(super) width: usize,
}

impl<'a, T: Value> ScorerRows<'a, T> {
    /// The values of the first `rows`, if they are `f32`.
    pub(super) fn singles(self, rows: usize) -> Option<&'a [f32]> {
        sealed::Sealed::singles(&self.values[..rows * self.width])
    }

    /// Without the first `rows`.
    pub(super) fn skip(self, rows: usize) -> Self {
        Self { values: &self.values[rows * self.width..], width: self.width }
    }

    /// One value.
    #[inline]
    pub(super) fn value(self, row: usize, feature: u32) -> T {
        self.values[row * self.width + feature as usize]
    }

    /// The values of one feature in the first rows, as many as `column` has room for.
    #[inline]
    pub(super) fn gather<C>(self, feature: u32, column: &mut [C], cell: impl Fn(T) -> C) {
        let values = self.values[feature as usize..].iter().step_by(self.width);
        for (to, &value) in column.iter_mut().zip(values) {
            *to = cell(value);
        }
    }
}

/// The value, or missing if it is zero.
#[inline]
pub(super) fn zero_as_missing(value: f64) -> f64 {
    if is_zero(value) { f64::NAN } else { value }
}
