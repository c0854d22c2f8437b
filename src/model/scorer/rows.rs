//! Rows of values, `f32` or `f64`, as callers pass them.

use super::super::parts::{is_zero, nearest};

/// A value of a feature: `f32` or `f64`.
pub trait Value: Copy + Send + Sync + Into<f64> + sealed::Sealed + 'static {
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
    pub trait Sealed {
        /// Whether `nearest` is the value itself.
        const IS_F32: bool;
        /// An `f32` as a value.
        fn of_single(single: f32) -> Self;
        /// The values if they are `f32`.
        fn singles(values: &[Self]) -> Option<&[f32]>
        where
            Self: Sized;
    }
    impl Sealed for f32 {
        const IS_F32: bool = true;
        fn of_single(single: f32) -> Self {
            single
        }
        fn singles(values: &[f32]) -> Option<&[f32]> {
            Some(values)
        }
    }
    impl Sealed for f64 {
        const IS_F32: bool = false;
        fn of_single(single: f32) -> Self {
            f64::from(single)
        }
        fn singles(_: &[f64]) -> Option<&[f32]> {
            None
        }
    }
}

/// Whether every value of the type is an `f32`.
pub(super) const fn is_f32<T: Value>() -> bool {
    <T as sealed::Sealed>::IS_F32
}

/// A value that is always single, such as a rank within a query, beside others.
pub(in crate::model) fn of_single<T: Value>(single: f32) -> T {
    <T as sealed::Sealed>::of_single(single)
}

/// Rows, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScorerRows<'a, T> {
    values: &'a [T],
    width: usize,
}

impl<'a, T: Value> ScorerRows<'a, T> {
    pub(super) fn new(values: &'a [T], width: usize) -> Self {
        Self { values, width }
    }

    pub(super) fn values(self) -> &'a [T] {
        self.values
    }

    pub(super) fn width(self) -> usize {
        self.width
    }

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
