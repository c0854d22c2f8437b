//! The lambdas of pairs of docs.
//!
//! Upper docs one by one against sixteen lower docs at a step. The sums of an upper doc have sixteen
//! lanes and one order of adding them up; those of a lower doc are added to in the order of the upper
//! docs. The steps are aligned, so that a lower doc's sums are read from where they were written.
#![expect(clippy::inline_always, reason = "compiled with the features of its level")]

use super::lanes::{PairLanes, exp};
use super::{GAP, LANES, SIGN, TWO, WIDE};
use crate::simd::for_levels;
use std::ops::Range;

/// The columns of one query by rank, padded to whole steps with finite numbers.
#[derive(Debug)]
pub(in crate::objective) struct Pairs<'a> {
    /// The upper docs.
    pub(in crate::objective) uppers: Range<usize>,
    /// How many docs the query has.
    pub(in crate::objective) num_docs: usize,
    pub(in crate::objective) sigma: f32,
    pub(in crate::objective) gap_offset: f32,
    /// The first lower doc of each upper one.
    pub(in crate::objective) lower_from: &'a [u32],
    /// Clean scores.
    pub(in crate::objective) score: &'a [f32],
    /// `exp(sigma * score)`; not read if wide.
    pub(in crate::objective) exp: &'a [f32],
    pub(in crate::objective) gain: &'a [f32],
    /// Of pairs in the right order and, if there are two tables, in the wrong one.
    pub(in crate::objective) above: [&'a [f32]; 2],
    pub(in crate::objective) below: [&'a [f32]; 2],
    pub(in crate::objective) share: &'a [f32],
    pub(in crate::objective) grad: &'a mut [f32],
    pub(in crate::objective) hess: &'a mut [f32],
}

/// Zeros, ones and zeros: a window of it masks the first or the last lanes of a step.
const EDGES: [f32; 3 * LANES] = {
    let mut edges = [0.0; 3 * LANES];
    let mut at = LANES;
    while at < 2 * LANES {
        edges[at] = 1.0;
        at += 1;
    }
    edges
};

fn window(start: usize) -> [f32; LANES] {
    *EDGES[start..].first_chunk().unwrap_or(&[0.0; LANES])
}

/// The columns in steps, all as long as the first.
struct Steps<'a> {
    score: &'a [[f32; LANES]],
    exp: &'a [[f32; LANES]],
    gain: &'a [[f32; LANES]],
    below: [&'a [[f32; LANES]]; 2],
    grad: &'a mut [[f32; LANES]],
    hess: &'a mut [[f32; LANES]],
}

impl<'a> Steps<'a> {
    #[inline(always)]
    fn of<'b: 'a>(pairs: &'a mut Pairs<'b>, len: usize) -> Self {
        let steps = |column: &'a [f32]| &column.as_chunks::<LANES>().0[..len];
        Self {
            score: steps(pairs.score),
            exp: steps(pairs.exp),
            gain: steps(pairs.gain),
            below: pairs.below.map(steps),
            grad: &mut pairs.grad.as_chunks_mut::<LANES>().0[..len],
            hess: &mut pairs.hess.as_chunks_mut::<LANES>().0[..len],
        }
    }
}

/// An upper doc.
#[derive(Clone, Copy)]
struct Upper<L> {
    score: L,
    exp: L,
    gain: L,
    above: [L; 2],
    share: L,
    sigma: L,
    gap_offset: L,
}

/// Its sums.
#[derive(Clone, Copy)]
struct Sums<L> {
    grad: L,
    hess: L,
    magnitude: L,
}

for_levels! {
    /// Adds the lambdas of pairs of `shape` (a sum of [`SIGN`] or [`TWO`], [`GAP`] and [`WIDE`]) to
    /// `grad` and `hess`, but for the factor sigma, and returns the sum of their magnitudes.
    pub(crate) fn pairs(shape: usize, pairs: &mut Pairs<'_>) -> f32 = pairs_of_shape<Lanes>
}

#[inline(always)]
fn pairs_of_shape<L: PairLanes>(shape: usize, pairs: &mut Pairs<'_>) -> f32 {
    match shape {
        0 => L::run::<0>(pairs),
        1 => L::run::<1>(pairs),
        2 => L::run::<2>(pairs),
        4 => L::run::<4>(pairs),
        5 => L::run::<5>(pairs),
        6 => L::run::<6>(pairs),
        8 => L::run::<8>(pairs),
        9 => L::run::<9>(pairs),
        10 => L::run::<10>(pairs),
        12 => L::run::<12>(pairs),
        13 => L::run::<13>(pairs),
        _ => L::run::<14>(pairs),
    }
}

#[inline(always)]
pub(super) fn run<L: PairLanes, const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
    let num_docs = pairs.num_docs;
    let len = num_docs.div_ceil(LANES);
    let last = len.max(1) - 1;
    let end = L::load(&window(2 * LANES - (num_docs - last * LANES)));
    let mut total = L::splat(0.0);
    for i in pairs.uppers.clone() {
        let from = pairs.lower_from[i] as usize;
        if from >= num_docs {
            break;
        }
        let upper = Upper {
            score: L::splat(pairs.score[i]),
            exp: L::splat(pairs.exp[i]),
            gain: L::splat(pairs.gain[i]),
            above: pairs.above.map(|above| L::splat(above[i])),
            share: L::splat(pairs.share[i]),
            sigma: L::splat(pairs.sigma),
            gap_offset: L::splat(pairs.gap_offset),
        };
        let mut steps = Steps::of(pairs, len);
        let zero = L::splat(0.0);
        let mut sums = Sums { grad: zero, hess: zero, magnitude: total };
        let first = from / LANES;
        let begin = L::load(&window(LANES - from % LANES));
        if first == last {
            sums = step::<L, SHAPE>(&mut steps, first, upper, (Some(begin.times(end)), sums));
        } else {
            sums = step::<L, SHAPE>(&mut steps, first, upper, (Some(begin), sums));
            for at in first + 1..last {
                sums = step::<L, SHAPE>(&mut steps, at, upper, (None, sums));
            }
            sums = step::<L, SHAPE>(&mut steps, last, upper, (Some(end), sums));
        }
        pairs.grad[i] -= sums.grad.sum();
        pairs.hess[i] += sums.hess.sum();
        total = sums.magnitude;
    }
    total.sum()
}

#[inline(always)]
fn step<L: PairLanes, const SHAPE: usize>(
    steps: &mut Steps<'_>,
    at: usize,
    upper: Upper<L>,
    (mask, sums): (Option<L>, Sums<L>),
) -> Sums<L> {
    let one = L::splat(1.0);
    let difference = upper.gain.minus(L::load(&steps.gain[at]));
    let mut x = upper.above[0].minus(upper.share.times(L::load(&steps.below[0][at])));
    if SHAPE & TWO != 0 {
        let wrong = upper.above[1].minus(upper.share.times(L::load(&steps.below[1][at])));
        x = difference.if_positive(x, wrong);
    }
    if let Some(mask) = mask {
        x = x.times(mask);
    }
    let mut signed = difference;
    if SHAPE & SIGN != 0 {
        let zero = L::splat(0.0);
        let negative = zero.minus(difference).if_positive(zero.minus(one), zero);
        signed = difference.if_positive(one, negative);
    }
    let weight = signed.times(x);
    let (mut of_upper, mut of_lower) = (upper.exp, L::load(&steps.exp[at]));
    let gap = upper.score.minus(L::load(&steps.score[at]));
    if SHAPE & WIDE != 0 {
        let odds = exp(L::splat(0.0).minus(upper.sigma.times(gap.abs())));
        of_upper = gap.if_positive(one, odds);
        of_lower = gap.if_positive(odds, one);
    }
    let mut divisor = of_upper.plus(of_lower);
    let scale = gap.abs().plus(upper.gap_offset);
    if SHAPE & GAP != 0 {
        divisor = divisor.times(scale);
    }
    let inverse = one.over(divisor);
    let (of_upper, of_lower) = (of_upper.times(inverse), of_lower.times(inverse));
    let lambda = weight.times(difference.if_positive(of_lower, of_upper));
    let mut curve = weight.abs().times(of_upper.times(of_lower));
    if SHAPE & GAP != 0 {
        curve = curve.times(scale);
    }
    let (grad, hess) = (&mut steps.grad[at], &mut steps.hess[at]);
    L::load(grad).plus(lambda).store(grad);
    L::load(hess).plus(curve).store(hess);
    Sums {
        grad: sums.grad.plus(lambda),
        hess: sums.hess.plus(curve),
        magnitude: sums.magnitude.plus(lambda.abs()),
    }
}
