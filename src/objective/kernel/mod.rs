//! The loops over pairs and docs, sixteen at a step, at each level of instructions.
//!
//! Each loop is written once, in plain Rust over arrays of sixteen, and compiled for each level; no
//! operation is fused or reordered by a level, so all levels give the same bits. No exponential is
//! computed per pair: with `e = exp(sigma (s - best))` once a doc, the probability that the worse of
//! two docs is ahead is `e_worse / (e_better + e_worse)`. Where a query's scores spread so far that
//! `e` would vanish, the exponential of each pair's gap takes its place ([`WIDE`]).
//!
//! The weight of a pair, upper doc i and lower doc j by rank, is `(gain_i - gain_j) x`, where
//! `x = above_i - share_i below_j`: what the metrics need fits that form (see `pair_weights.rs`).

mod column;
mod lanes;
mod math;
mod pairs;
#[cfg(target_arch = "x86_64")]
mod sort;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use column::{Column, LANES};
pub(super) use math::{above, exps, perturb, shift};
pub(super) use pairs::{Pairs, pairs};

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

/// Whether [`order`] takes less time than counting at this level.
pub(super) fn has_network(level: Level) -> bool {
    level == Level::Avx512 && level.is_available()
}

/// Writes the docs by falling score into the low 8 bits of `keys`, near enough: where scores
/// share their upper 24 bits, by number. As many steps as there are, a power of two up to 16.
pub(super) fn order(scores: &[f32], keys: &mut [[u32; LANES]]) {
    #[cfg(target_arch = "x86_64")]
    sort::order(scores, keys);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (scores, keys);
}
