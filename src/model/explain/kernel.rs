//! Shapley values of leaves, eight docs side by side.
//!
//! A player `j` of a leaf lets a doc through by its value (`o = 1`) or not (`o = 0`), and the share
//! `z` of docs if its value is not known. Its Shapley value is `(o - z)` times the leaf's value and
//! the integral over `t` from 0 to 1 of the product of `z (1 - t) + o t` over the other players.
#![expect(unsafe_code, reason = "a kernel: the same code with more instructions")]
#![expect(clippy::inline_always, reason = "compiled with the features of each level")]

use super::paths::{Paths, Way, Ways};
use super::quadrature::Quadrature;
use crate::simd::Level;

/// Docs side by side.
pub(super) const LANES: usize = 8;
/// A number for each of them.
pub(super) type Lanes = [f64; LANES];

/// What a thread needs beside the explainer.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// A doc's values.
    pub(super) row: Vec<f64>,
    /// The cells of a forest's columns.
    pub(super) cells: Vec<Lanes>,
    /// The values of the features.
    pub(super) sums: Vec<Lanes>,
    /// For each split of a tree, 1 for docs that go left.
    lefts: Vec<Lanes>,
    players: Players,
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

/// Adds the values of all trees to the sums.
pub(super) fn forest(level: Level, paths: &Paths, quadrature: &Quadrature, scratch: &mut Scratch) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an explainer's level is one that this machine has.
        Level::Avx512 => unsafe { avx512(paths, quadrature, scratch) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an explainer's level is one that this machine has.
        Level::Avx2 => unsafe { avx2(paths, quadrature, scratch) },
        _ => portable(paths, quadrature, scratch),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(paths: &Paths, quadrature: &Quadrature, scratch: &mut Scratch) {
    portable(paths, quadrature, scratch);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn avx512(paths: &Paths, quadrature: &Quadrature, scratch: &mut Scratch) {
    portable(paths, quadrature, scratch);
}

#[inline(always)]
fn portable(paths: &Paths, quadrature: &Quadrature, scratch: &mut Scratch) {
    let Scratch { cells, sums, lefts, players, .. } = scratch;
    for tree in &paths.trees {
        lefts.clear();
        lefts.extend(tree.tests.iter().map(|test| {
            cells[test.column as usize].map(|cell| f64::from(u8::from(test.goes_left(cell))))
        }));
        for way in &tree.leaves {
            leaf(tree, way, lefts, quadrature, players);
            let values = players.through.iter().zip(&players.others);
            for (player, (through, others)) in tree.players(way).iter().zip(values) {
                let sums = &mut sums[player.feature as usize];
                for i in 0..LANES {
                    sums[i] += way.value * (through[i] - player.share) * others[i];
                }
            }
        }
    }
}

/// What a leaf says of each of its players.
#[inline(always)]
fn leaf(tree: &Ways, way: &Way, lefts: &[Lanes], quadrature: &Quadrature, kept: &mut Players) {
    let players = tree.players(way);
    let Players { through, before, others } = kept;
    through.clear();
    before.resize(players.len(), [0.0; LANES]);
    others.clear();
    others.resize(players.len(), [0.0; LANES]);
    if players.is_empty() {
        return;
    }
    through.extend(players.iter().map(|player| {
        tree.conditions(player).iter().fold([1.0; LANES], |through, condition| {
            let left = &lefts[condition.test as usize];
            std::array::from_fn(|i| {
                through[i] * if condition.left { left[i] } else { 1.0 - left[i] }
            })
        })
    }));
    for &(t, weight) in quadrature.rule(players.len()) {
        let factor = |share: f64, through: &Lanes| through.map(|o| share * (1.0 - t) + o * t);
        let mut product = [weight; LANES];
        for ((before, through), player) in before.iter_mut().zip(&*through).zip(players) {
            *before = product;
            let factor = factor(player.share, through);
            product = std::array::from_fn(|i| product[i] * factor[i]);
        }
        let mut after = [1.0; LANES];
        let each = others.iter_mut().zip(&*before).zip(through.iter().zip(players));
        for ((others, before), (through, player)) in each.rev() {
            *others = std::array::from_fn(|i| others[i] + before[i] * after[i]);
            let factor = factor(player.share, through);
            after = std::array::from_fn(|i| after[i] * factor[i]);
        }
    }
}
