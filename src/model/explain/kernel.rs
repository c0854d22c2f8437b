//! Shapley values of leaves, eight docs side by side.
//!
//! A player `j` of a leaf lets a doc through by its value (`o = 1`) or not (`o = 0`), and the share
//! `z` of docs if its value is not known. Its Shapley value is `(o - z)` times the leaf's value and
//! the integral over `t` from 0 to 1 of the product of `z (1 - t) + o t` over the other players.
#![expect(clippy::inline_always, reason = "compiled with the features of each level")]

use super::deep::DeepScratch;
use super::paths::{Way, Ways};
use super::quadrature::Quadrature;
use crate::simd::for_levels;

/// Docs side by side.
pub(super) const LANES: usize = 8;
/// A number for each of them.
pub(super) type Lanes = [f64; LANES];

/// What a thread needs beside the explainer.
#[derive(Debug, Default)]
pub(super) struct ExplainScratch {
    /// A doc's values.
    pub(super) row: Vec<f64>,
    /// The cells of a forest's columns.
    pub(super) cells: Vec<Lanes>,
    /// The values of the features that are explained.
    pub(super) sums: Vec<Lanes>,
    /// For each split of a tree, 1 for docs that go right, and 1 for docs that go left.
    sides: Vec<[Lanes; 2]>,
    players: Players,
    pub(super) deep: DeepScratch,
}

/// For each player of a leaf:
#[derive(Debug, Default)]
struct Players {
    /// 1 for docs that it lets through.
    through: Vec<Lanes>,
    /// The product of the factors of the players before.
    before: Vec<Lanes>,
    /// The integral of the product of the others.
    others: Vec<Lanes>,
}

for_levels! {
    /// Which docs go where at the splits of a tree.
    pub(crate) fn sides(tree: &Ways, scratch: &mut ExplainScratch) {
        let ExplainScratch { cells, sides, .. } = scratch;
        sides.clear();
        sides.resize(tree.tests.len(), [[0.0; LANES]; 2]);
        for (sides, test) in sides.iter_mut().zip(&tree.tests) {
            let cells = cells[test.column as usize];
            let mut left = [0.0; LANES];
            let mut right = [0.0; LANES];
            for i in 0..LANES {
                left[i] = f64::from(u8::from(test.goes_left(cells[i])));
                right[i] = 1.0 - left[i];
            }
            *sides = [right, left];
        }
    }

    /// Adds the values of some leaves of a tree to the sums.
    pub(crate) fn leaves(tree: &Ways, some: &[Way], quadrature: &Quadrature, scratch: &mut ExplainScratch) {
        let ExplainScratch { sums, sides, players: kept, .. } = scratch;
        for way in some {
            leaf(tree, way, sides, quadrature, kept);
            let values = kept.through.iter().zip(&kept.others);
            for (player, (through, others)) in tree.players(way).iter().zip(values) {
                let (through, others) = (*through, *others);
                let mut sum = sums[player.place as usize];
                for i in 0..LANES {
                    sum[i] += way.value * (through[i] - player.share) * others[i];
                }
                sums[player.place as usize] = sum;
            }
        }
    }
}

// Loops and no closures: what a closure does may be compiled without the instructions of the level.
// On copies: a loop over what two references lead to is no vector, for fear that they overlap.
/// What a leaf says of each of its players.
#[inline(always)]
fn leaf(tree: &Ways, way: &Way, sides: &[[Lanes; 2]], quadrature: &Quadrature, kept: &mut Players) {
    let players = tree.players(way);
    let count = players.len();
    if kept.others.len() < count {
        for list in [&mut kept.through, &mut kept.before, &mut kept.others] {
            list.resize(count, [0.0; LANES]);
        }
    }
    let Players { through, before, others } = kept;
    let (through, before, others) =
        (&mut through[..count], &mut before[..count], &mut others[..count]);
    if players.is_empty() {
        return;
    }
    for ((through, others), player) in through.iter_mut().zip(&mut *others).zip(players) {
        *others = [0.0; LANES];
        let mut product = [1.0; LANES];
        for condition in tree.conditions(player) {
            let side = sides[condition.test as usize][usize::from(condition.left)];
            for i in 0..LANES {
                product[i] *= side[i];
            }
        }
        *through = product;
    }
    for &(t, weight) in quadrature.rule(count) {
        let mut product = [weight; LANES];
        for ((before, through), player) in before.iter_mut().zip(&*through).zip(players) {
            *before = product;
            let (unknown, through) = (player.share * (1.0 - t), *through);
            for i in 0..LANES {
                product[i] *= unknown + through[i] * t;
            }
        }
        let mut after = [1.0; LANES];
        let each = others.iter_mut().zip(&*before).zip(through.iter().zip(players));
        for ((others, before), (through, player)) in each.rev() {
            let (unknown, through, before) = (player.share * (1.0 - t), *through, *before);
            let mut sum = *others;
            for i in 0..LANES {
                sum[i] += before[i] * after[i];
                after[i] *= unknown + through[i] * t;
            }
            *others = sum;
        }
    }
}
