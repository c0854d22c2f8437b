//! Sixteen numbers at once, for the loops that do nearly all the work of nets and of pairs of documents.
//!
//! A compiler left alone turns these loops into lanes in one crate and not in the next. An operation
//! is the same IEEE operation on each lane at every level, so all levels give the same bits.
#![expect(unsafe_code, reason = "a kernel: instructions behind a run-time check")]
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

/// How many numbers go side by side.
pub(crate) const LANES: usize = 16;

/// Sixteen numbers.
pub(crate) trait Lanes: Copy {
    /// The same number sixteen times.
    fn splat(value: f32) -> Self;
    /// Reads sixteen.
    fn load(values: &[f32; LANES]) -> Self;
    /// Writes them.
    fn store(self, values: &mut [f32; LANES]);
    /// The sums.
    fn plus(self, other: Self) -> Self;
    /// The products.
    fn times(self, other: Self) -> Self;
}

/// What every machine has.
#[derive(Clone, Copy)]
pub(crate) struct Plain(pub(crate) [f32; LANES]);

impl Plain {
    /// An operation lane by lane.
    #[inline(always)]
    pub(crate) fn each(mut self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        for lane in 0..LANES {
            self.0[lane] = operation(self.0[lane], other.0[lane]);
        }
        self
    }
}

impl Lanes for Plain {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        Self(*values)
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        *values = self.0;
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.each(other, |a, b| a + b)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.each(other, |a, b| a * b)
    }
}

#[cfg(all(target_arch = "x86_64", feature = "train"))]
pub(crate) use x86::by_instructions;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Halves, Wide};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Lanes};
    use std::arch::x86_64::{
        __m256, __m512, _mm256_add_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_set1_ps,
        _mm256_storeu_ps, _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps,
        _mm512_storeu_ps,
    };

    /// One register of AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(pub(crate) __m512);

    /// Two of AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Halves(pub(crate) __m256, pub(crate) __m256);

    /// Functions of [`Lanes`] and of traits above it by instructions.
    macro_rules! by_instructions {
        ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
            #[inline(always)]
            fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: only loops compiled for this level have such lanes, and they run only where
                // the level is available; loads and stores are of sixteen `f32`, unaligned.
                unsafe { $body }
            }
        )*};
    }
    #[cfg(feature = "train")]
    pub(crate) use by_instructions;

    impl Lanes for Wide {
        by_instructions! {
            splat(value: f32) -> Self = Self(_mm512_set1_ps(value));
            load(values: &[f32; LANES]) -> Self = Self(_mm512_loadu_ps(values.as_ptr()));
            store(self: Self, values: &mut [f32; LANES]) =
                _mm512_storeu_ps(values.as_mut_ptr(), self.0);
            plus(self: Self, other: Self) -> Self = Self(_mm512_add_ps(self.0, other.0));
            times(self: Self, other: Self) -> Self = Self(_mm512_mul_ps(self.0, other.0));
        }
    }

    impl Lanes for Halves {
        by_instructions! {
            splat(value: f32) -> Self = Self(_mm256_set1_ps(value), _mm256_set1_ps(value));
            load(values: &[f32; LANES]) -> Self = Self(
                _mm256_loadu_ps(values.as_ptr()),
                _mm256_loadu_ps(values.as_ptr().add(LANES / 2)),
            );
            store(self: Self, values: &mut [f32; LANES]) = {
                _mm256_storeu_ps(values.as_mut_ptr(), self.0);
                _mm256_storeu_ps(values.as_mut_ptr().add(LANES / 2), self.1);
            };
            plus(self: Self, other: Self) -> Self =
                Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1));
            times(self: Self, other: Self) -> Self =
                Self(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1));
        }
    }
}
