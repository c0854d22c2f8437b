//! The loops over pairs and docs, sixteen at a step, at each level of instructions.
//!
//! Each loop is written once, in plain Rust over arrays of sixteen, and compiled for each level; no
//! operation is fused or reordered by a level, so all levels give the same bits. No exponential is
//! computed per pair: with `e = exp(sigma (s - best))` once a doc, the probability that the worse of
//! two docs is ahead is `e_worse / (e_better + e_worse)`. Where a query's scores spread so far that
//! `e` would vanish, the exponential of each pair's gap takes its place ([`WIDE`]).
//!
//! The weight of a pair, upper doc i and lower doc j by rank, is `(gain_i - gain_j) x`, where
//! `x = above_i - share_i below_j`: what the metrics need fits that form (see `weight.rs`).

mod column;
mod lanes;
mod math;
mod pairs;
#[cfg(target_arch = "x86_64")]
mod sort;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use column::{Column, LANES};
pub(super) use pairs::Pairs;

use crate::simd::Level;

/// The weight is the sign of the gains' difference times x, not the difference.
pub(super) const SIGN: usize = 1;
/// Pairs in the wrong order have tables of their own.
pub(super) const TWO: usize = 2;
/// Divide by `gap_offset + |s_i - s_j|`.
pub(super) const GAP: usize = 4;
/// One exponential a pair.
pub(super) const WIDE: usize = 8;

/// Scores that spread further than this, times sigma, are [`WIDE`]: `exp(-80)` is a normal number.
pub(super) const WIDEST: f32 = 80.0;

/// The kernels of a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    level: Level,
}

impl Kernels {
    /// Those of a level, or the portable ones if the machine does not have it.
    pub(super) fn new(level: Level) -> Self {
        Self { level: if level.is_available() { level } else { Level::Portable } }
    }

    /// Adds the lambdas of pairs of `shape` (a sum of the constants above) to `grad` and `hess`, but
    /// for the factor sigma, and returns the sum of their magnitudes.
    pub(super) fn pairs(self, shape: usize, pairs: &mut Pairs<'_>) -> f32 {
        const SHAPES: [fn(Level, &mut Pairs<'_>) -> f32; 16] = [
            dispatch::<0>,
            dispatch::<1>,
            dispatch::<2>,
            dispatch::<2>,
            dispatch::<4>,
            dispatch::<5>,
            dispatch::<6>,
            dispatch::<6>,
            dispatch::<8>,
            dispatch::<9>,
            dispatch::<10>,
            dispatch::<10>,
            dispatch::<12>,
            dispatch::<13>,
            dispatch::<14>,
            dispatch::<14>,
        ];
        SHAPES[shape](self.level, pairs)
    }

    /// Scores below the best one, the worst of them, and whether all are finite.
    pub(super) fn shift(self, scores: &[f64], clean: &mut [f32]) -> (f32, bool) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => x86::avx512::shift(scores, clean),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => x86::avx2::shift(scores, clean),
            _ => math::shift(scores, clean),
        }
    }

    /// `exps[i] = exp(sigma * scores[i])`; scores are at most 0.
    pub(super) fn exps(self, sigma: f32, scores: &[f32], exps: &mut [f32]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => x86::avx512::exps(sigma, scores, exps),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => x86::avx2::exps(sigma, scores, exps),
            _ => math::exps::<[f32; LANES]>(sigma, scores, exps),
        }
    }

    /// `perturbed[i] = scores[i] + scale * g`, with `g` the Gumbel draw of doc i in `stream`, a
    /// prepared stream of [`crate::hash`].
    pub(super) fn perturb(self, noise: (f32, u64), docs: (&[u64], &[f32]), perturbed: &mut [f32]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => x86::avx512::perturb(noise, docs, perturbed),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => x86::avx2::perturb(noise, docs, perturbed),
            _ => math::perturb(noise, docs, perturbed),
        }
    }

    /// Whether [`Self::order`] takes less time than counting.
    pub(super) fn has_network(self) -> bool {
        cfg!(target_arch = "x86_64") && self.level == Level::Avx512
    }

    /// Writes the docs by falling score into the low 8 bits of `keys`, near enough: where scores
    /// share their upper 24 bits, by number. As many steps as there are, a power of two up to 16.
    pub(super) fn order(self, scores: &[f32], keys: &mut [[u32; LANES]]) {
        debug_assert!(self.has_network());
        #[cfg(target_arch = "x86_64")]
        sort::order(scores, keys);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (scores, keys);
    }

    /// `counts[i]`: how many docs have a higher score than doc i.
    pub(super) fn above(self, scores: &[f32], counts: &mut [f32]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => x86::avx512::above(scores, counts),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => x86::avx2::above(scores, counts),
            _ => math::above::<[f32; LANES]>(scores, counts),
        }
    }
}

fn dispatch<const SHAPE: usize>(level: Level, pairs: &mut Pairs<'_>) -> f32 {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::avx512::pairs::<SHAPE>(pairs),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::avx2::pairs::<SHAPE>(pairs),
        _ => pairs::run::<[f32; LANES], SHAPE>(pairs),
    }
}
