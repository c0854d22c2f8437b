//! The lambdas of pairs of docs.
//!
//! Upper docs one by one against sixteen lower docs at a step. The sums of an upper doc have sixteen
//! lanes and one order of adding them up; those of a lower doc are added to in the order of the upper
//! docs. The steps are aligned, so that a lower doc's sums are read from where they were written.

use super::math::{exp, sum};
use super::{GAP, LANES, SIGN, TWO, WIDE};
use std::ops::Range;

/// The columns of one query by rank, padded to whole steps with finite numbers.
#[derive(Debug)]
pub(in crate::objective) struct Pairs<'a> {
    /// The upper docs.
    pub(in crate::objective) uppers: Range<usize>,
    /// How many docs the query has.
    pub(in crate::objective) num_docs: usize,
    pub(in crate::objective) sigma: f32,
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

/// An upper doc.
#[derive(Clone, Copy)]
struct Upper {
    score: f32,
    exp: f32,
    gain: f32,
    above: [f32; 2],
    share: f32,
    sigma: f32,
}

/// Its sums: grad, hess and |lambda|.
type Sums = [[f32; LANES]; 3];

#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
pub(super) fn run<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
    let last = (pairs.num_docs.max(1) - 1) / LANES;
    let end = window(2 * LANES - (pairs.num_docs - last * LANES));
    let mut total = [0.0; LANES];
    for i in pairs.uppers.clone() {
        let from = pairs.lower_from[i] as usize;
        if from >= pairs.num_docs {
            break;
        }
        let upper = Upper {
            score: pairs.score[i],
            exp: pairs.exp[i],
            gain: pairs.gain[i],
            above: pairs.above.map(|above| above[i]),
            share: pairs.share[i],
            sigma: pairs.sigma,
        };
        let mut sums = [[0.0; LANES]; 3];
        let first = from / LANES;
        let mut begin = window(LANES - from % LANES);
        if first == last {
            for lane in 0..LANES {
                begin[lane] *= end[lane];
            }
        }
        step::<SHAPE, true>(pairs, first, upper, (&begin, &mut sums));
        for at in first + 1..last {
            step::<SHAPE, false>(pairs, at, upper, (&begin, &mut sums));
        }
        if first < last {
            step::<SHAPE, true>(pairs, last, upper, (&end, &mut sums));
        }
        pairs.grad[i] -= sum(&sums[0]);
        pairs.hess[i] += sum(&sums[1]);
        for lane in 0..LANES {
            total[lane] += sums[2][lane];
        }
    }
    sum(&total)
}

fn window(start: usize) -> [f32; LANES] {
    *EDGES[start..].first_chunk().unwrap_or(&[0.0; LANES])
}

#[expect(clippy::inline_always, reason = "compiled with the features of its level")]
#[inline(always)]
fn step<const SHAPE: usize, const MASKED: bool>(
    pairs: &mut Pairs<'_>,
    at: usize,
    upper: Upper,
    (mask, sums): (&[f32; LANES], &mut Sums),
) {
    let score = &pairs.score.as_chunks::<LANES>().0[at];
    let exps = &pairs.exp.as_chunks::<LANES>().0[at];
    let gain = &pairs.gain.as_chunks::<LANES>().0[at];
    let below = &pairs.below[0].as_chunks::<LANES>().0[at];
    let below_wrong = &pairs.below[1].as_chunks::<LANES>().0[at];
    let grad = &mut pairs.grad.as_chunks_mut::<LANES>().0[at];
    let hess = &mut pairs.hess.as_chunks_mut::<LANES>().0[at];
    for lane in 0..LANES {
        let difference = upper.gain - gain[lane];
        let right = difference > 0.0;
        let signed = if SHAPE & SIGN == 0 {
            difference
        } else if right {
            1.0
        } else if difference < 0.0 {
            -1.0
        } else {
            0.0
        };
        let mut x = upper.above[0] - upper.share * below[lane];
        if SHAPE & TWO != 0 {
            let wrong = upper.above[1] - upper.share * below_wrong[lane];
            x = if right { x } else { wrong };
        }
        if MASKED {
            x *= mask[lane];
        }
        let weight = signed * x;
        let gap = upper.score - score[lane];
        let (mut of_upper, mut of_lower) = (upper.exp, exps[lane]);
        if SHAPE & WIDE != 0 {
            let odds = exp(-(upper.sigma * gap.abs()));
            of_upper = if gap < 0.0 { odds } else { 1.0 };
            of_lower = if gap < 0.0 { 1.0 } else { odds };
        }
        let mut divisor = of_upper + of_lower;
        let scale = 0.01 + gap.abs();
        if SHAPE & GAP != 0 {
            divisor *= scale;
        }
        let inverse = 1.0 / divisor;
        let worse = if right { of_lower } else { of_upper };
        let lambda = weight * (worse * inverse);
        let mut curve = weight.abs() * ((of_upper * inverse) * (of_lower * inverse));
        if SHAPE & GAP != 0 {
            curve *= scale;
        }
        sums[0][lane] += lambda;
        sums[1][lane] += curve;
        sums[2][lane] += lambda.abs();
        grad[lane] += lambda;
        hess[lane] += curve;
    }
}
