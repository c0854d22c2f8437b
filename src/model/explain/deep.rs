//! Shapley values of a deep tree, eight docs side by side.
//!
//! The way to each leaf, as `paths` has it, takes memory with the square of the depth, and time with its cube. Here the
//! edges of a tree are kept, of which each knows the player's conditions above it: at each point of the quadrature one
//! pass down multiplies the factors of players, and one up adds the leaves. Whatever lies below an edge has the
//! player's factor in it, and is divided by it: where the factor is 0, so is what lies below.
//!
//! The integrand is a product of `d` linear factors whose roots are real and outside of the interval. So its Chebyshev
//! series falls as `exp(-n * n / d)`, and a few times the square root of `d` points give what `d / 2` would to the last bits.
#![expect(clippy::inline_always, reason = "compiled with the features of each level")]

use super::StopCheck;
use super::kernel::{LANES, Lanes};
use super::paths::{PathTest, Shares, binomial};
use super::quadrature::rule;
use crate::error::Result;
use crate::model::tree::{Child, Split, Tree};
use crate::simd::{Level, for_levels};

/// Work between looks at the check, in splits.
const BETWEEN_CHECKS: usize = 1 << 14;

/// A tree by its splits and the edges below them: of split `i` to the left `2 * i`, and to the right the next.
#[derive(Debug)]
pub(super) struct DeepTree {
    pub(super) tests: Vec<PathTest>,
    splits: Vec<DeepSplit>,
    /// The share of the player of each edge, with all its splits above.
    shares: Vec<f64>,
    /// The values of leaves, times the weight of the forest.
    leaves: Vec<f64>,
    /// Points and weights of the quadrature.
    rule: Vec<(f64, f64)>,
    /// What the leaves add to the score of a doc of which nothing is known.
    pub(super) base: f64,
}

#[derive(Debug)]
struct DeepSplit {
    /// The place of its feature among those that are explained.
    player: u32,
    /// The last edge above with the same player.
    before: Option<u32>,
    children: [Child; 2],
}

/// What a thread needs for deep trees.
#[derive(Debug, Default)]
pub(super) struct DeepScratch {
    /// For each edge, 1 for docs that its player lets through.
    through: Vec<Lanes>,
    /// For each edge, its player's factor.
    factors: Vec<Lanes>,
    /// For each split, the product of the factors above, and then the sum of the leaves below.
    nodes: Vec<Lanes>,
}

/// Where a walk over a tree goes on.
enum WalkStep {
    Enter(usize),
    /// The edge of a player that holds from here on.
    Set(usize, Option<u32>),
    /// A player is in the way, or no longer.
    Count(isize),
}

impl DeepTree {
    /// The edges of a tree, leaf values times `weight`; `player` gives the place of a split's feature.
    pub(super) fn of(
        (tree, shares, weight): (&Tree, &Shares, f64),
        tests: Vec<PathTest>,
        (num_players, player): (usize, impl Fn(usize) -> u32),
    ) -> Self {
        let leaves: Vec<f64> = tree.leaves().iter().map(|leaf| weight * leaf.value).collect();
        let split = |(at, split): (usize, &Split)| DeepSplit {
            player: player(at),
            before: None,
            children: [split.left, split.right],
        };
        let splits = tree.splits().iter().enumerate().map(split).collect();
        let mut made =
            Self { tests, splits, shares: Vec::new(), leaves, rule: Vec::new(), base: 0.0 };
        let players = made.connect(num_players);
        made.rule = rule(num_points(players));
        made.share(shares);
        made
    }

    /// Finds the edges above with the same player; returns the most players on the way to a leaf.
    fn connect(&mut self, num_players: usize) -> usize {
        let mut last: Vec<Option<u32>> = vec![None; num_players];
        let (mut players, mut most) = (0, 0);
        let mut open = vec![WalkStep::Enter(0)];
        while let Some(step) = open.pop() {
            match step {
                WalkStep::Set(player, edge) => last[player] = edge,
                WalkStep::Count(change) => players += change,
                WalkStep::Enter(at) => {
                    let split = &mut self.splits[at];
                    let player = split.player as usize;
                    split.before = last[player];
                    let more = isize::from(split.before.is_none());
                    players += more;
                    most = most.max(players);
                    open.extend([WalkStep::Count(-more), WalkStep::Set(player, split.before)]);
                    for (edge, child) in (2 * at as u32..).zip(split.children) {
                        if let Child::Split(below) = child {
                            let set = WalkStep::Set(player, Some(edge));
                            open.extend([WalkStep::Enter(below as usize), set]);
                        }
                    }
                }
            }
        }
        most.unsigned_abs()
    }

    /// Works out the shares of edges, and the base.
    fn share(&mut self, shares: &Shares) {
        // The part of the training docs that come to a split.
        let mut parts = vec![1.0; self.splits.len()];
        for (at, split) in self.splits.iter().enumerate() {
            let before = split.before.map_or(1.0, |edge| self.shares[edge as usize]);
            for (child, left) in split.children.into_iter().zip([true, false]) {
                let share = shares.of_side(at, left);
                self.shares.push(before * share);
                let part = parts[at] * share;
                match child {
                    Child::Split(below) => parts[below as usize] = part,
                    Child::Leaf(leaf) => self.base += self.leaves[leaf as usize] * part,
                }
            }
        }
    }

    /// Adds the values of the tree to the sums.
    pub(super) fn explain(
        &self,
        level: Level,
        (cells, scratch): (&[Lanes], &mut DeepScratch),
        sums: &mut [Lanes],
        check: &StopCheck<'_>,
    ) -> Result<()> {
        scratch.through.resize(self.shares.len(), [0.0; LANES]);
        scratch.factors.resize(self.shares.len(), [0.0; LANES]);
        scratch.nodes.resize(self.splits.len(), [0.0; LANES]);
        pass(level, self, cells, scratch);
        for &point in &self.rule {
            check()?;
            down(level, self, point, scratch);
            check()?;
            up(level, self, scratch, sums);
        }
        Ok(())
    }

    /// Adds, for each feature, what it does to the score to go from doc 1 to doc 0.
    ///
    /// `sides` says which doc goes left at each split. What only the one doc meets, or only the other, is counted on
    /// the way down, and the leaves below are added on the way up.
    pub(super) fn contrast(
        &self,
        sides: &[[bool; 2]],
        check: &StopCheck<'_>,
        mut add: impl FnMut(u32, f64),
    ) -> Result<()> {
        let Meeting { met, counts, mut ends } = self.meet(sides, check)?;
        for (at, split) in self.splits.iter().enumerate().rev() {
            if counts[at].is_none() {
                continue;
            }
            let before = split.before.map_or([true; 2], |edge| met[edge as usize]);
            for (edge, child) in (2 * at..).zip(split.children) {
                if let Child::Split(below) = child {
                    let [left, right] = [0, 1].map(|side| ends[2 * below as usize + side]);
                    ends[edge] = [left[0] + right[0], left[1] + right[1]];
                }
                for (doc, sign) in [(0, 1.0), (1, -1.0)] {
                    if is_alone(met[edge], doc) && !is_alone(before, doc) {
                        add(split.player, sign * ends[edge][doc]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Where mixtures of two docs go.
    fn meet(&self, sides: &[[bool; 2]], check: &StopCheck<'_>) -> Result<Meeting> {
        let mut met = vec![[false; 2]; self.shares.len()];
        let mut ends = vec![[0.0; 2]; self.shares.len()];
        let mut counts = vec![None; self.splits.len()];
        counts[0] = Some([0u32; 2]);
        for (at, split) in self.splits.iter().enumerate() {
            if at.is_multiple_of(BETWEEN_CHECKS) {
                check()?;
            }
            let Some(above) = counts[at] else { continue };
            let before = split.before.map_or([true; 2], |edge| met[edge as usize]);
            for ((edge, child), left) in (2 * at..).zip(split.children).zip([true, false]) {
                let now = [0, 1].map(|doc| before[doc] && sides[at][doc] == left);
                met[edge] = now;
                if now == [false; 2] {
                    continue;
                }
                let [one, other] = [0, 1].map(|doc| {
                    above[doc] + u32::from(is_alone(now, doc)) - u32::from(is_alone(before, doc))
                });
                match child {
                    Child::Split(below) => counts[below as usize] = Some([one, other]),
                    Child::Leaf(leaf) => {
                        let orders = binomial(one + other, one.min(other));
                        let each =
                            |count: u32| self.leaves[leaf as usize] / (f64::from(count) * orders);
                        ends[edge] = [one, other].map(|n| if n == 0 { 0.0 } else { each(n) });
                    }
                }
            }
        }
        Ok(Meeting { met, counts, ends })
    }
}

/// What mixtures of two docs meet in a tree.
struct Meeting {
    /// For each edge, whether its player lets the one doc by, and the other, with all its splits above.
    met: Vec<[bool; 2]>,
    /// For each split to which a mixture comes, how many players let only the one doc by, and only the other.
    counts: Vec<Option<[u32; 2]>>,
    /// For each edge to a leaf that a mixture comes to, what each such player gets of it.
    ends: Vec<[f64; 2]>,
}

/// Whether only this doc of the two meets the conditions.
fn is_alone(met: [bool; 2], doc: usize) -> bool {
    met[doc] && !met[1 - doc]
}

/// How many points integrate a product of so many factors, but for one.
fn num_points(players: usize) -> usize {
    let enough = (3.5 * (players as f64).sqrt()) as usize + 16;
    players.div_ceil(2).min(enough).max(1)
}

// Loops and no closures, as in `kernel`.
for_levels! {
    /// Which docs the players let through.
    fn pass(tree: &DeepTree, cells: &[Lanes], scratch: &mut DeepScratch) {
        for (at, (split, test)) in tree.splits.iter().zip(&tree.tests).enumerate() {
            let cells = cells[test.column as usize];
            let mut before = [1.0; LANES];
            if let Some(edge) = split.before {
                before = scratch.through[edge as usize];
            }
            let (mut left, mut right) = (before, before);
            for i in 0..LANES {
                let side = f64::from(u8::from(test.goes_left(cells[i])));
                left[i] *= side;
                right[i] *= 1.0 - side;
            }
            scratch.through[2 * at] = left;
            scratch.through[2 * at + 1] = right;
        }
    }

    /// The products of factors above each split, at a point.
    fn down(tree: &DeepTree, point: (f64, f64), scratch: &mut DeepScratch) {
        let (t, weight) = point;
        let DeepScratch { through, factors, nodes } = scratch;
        nodes[0] = [weight; LANES];
        for (at, split) in tree.splits.iter().enumerate() {
            let mut others = nodes[at];
            if let Some(edge) = split.before {
                others = without(others, factors[edge as usize]);
            }
            for i in 0..2 {
                let edge = 2 * at + i;
                let (unknown, through) = (tree.shares[edge] * (1.0 - t), through[edge]);
                let mut factor = [unknown; LANES];
                for i in 0..LANES {
                    factor[i] += through[i] * t;
                }
                factors[edge] = factor;
                if let Child::Split(below) = split.children[i] {
                    let mut product = others;
                    for i in 0..LANES {
                        product[i] *= factor[i];
                    }
                    nodes[below as usize] = product;
                }
            }
        }
    }

    /// What the leaves below say of each player, at a point.
    fn up(tree: &DeepTree, scratch: &mut DeepScratch, sums: &mut [Lanes]) {
        let DeepScratch { through, factors, nodes } = scratch;
        for (at, split) in tree.splits.iter().enumerate().rev() {
            let mut others = nodes[at];
            if let Some(edge) = split.before {
                others = without(others, factors[edge as usize]);
            }
            let (mut sum, mut all) = (sums[split.player as usize], [0.0; LANES]);
            for i in 0..2 {
                let edge = 2 * at + i;
                let mut below = others;
                match split.children[i] {
                    Child::Split(split) => below = nodes[split as usize],
                    Child::Leaf(leaf) => {
                        let (value, factor) = (tree.leaves[leaf as usize], factors[edge]);
                        for i in 0..LANES {
                            below[i] *= factor[i] * value;
                        }
                    }
                }
                let (share, through) = (tree.shares[edge], through[edge]);
                let rest = without(below, factors[edge]);
                for i in 0..LANES {
                    sum[i] += (through[i] - share) * rest[i];
                    all[i] += below[i];
                }
            }
            if let Some(edge) = split.before {
                // The edges above have counted these leaves by what was known there.
                let (share, through) = (tree.shares[edge as usize], through[edge as usize]);
                let rest = without(all, factors[edge as usize]);
                for i in 0..LANES {
                    sum[i] -= (through[i] - share) * rest[i];
                }
            }
            sums[split.player as usize] = sum;
            nodes[at] = all;
        }
    }
}

/// A product without one of its factors; where that is 0, so are the products that matter.
#[inline(always)]
fn without(product: Lanes, factor: Lanes) -> Lanes {
    let mut rest = [0.0; LANES];
    for i in 0..LANES {
        rest[i] = if factor[i] > 0.0 { product[i] / factor[i] } else { 0.0 };
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_integrate_as_all_do() {
        for (players, seed) in [(1, 1), (40, 2), (300, 3), (2000, 4), (2000, 5)] {
            let factor = |at: usize, t: f64| {
                let draw = (at * 7919 + seed * 104_729) % 1009;
                let share = if seed == 5 { 1e-3 } else { draw as f64 / 1008.0 };
                share * (1.0 - t) + if draw.is_multiple_of(seed) { t } else { 0.0 }
            };
            let integral = |points: usize| {
                let product = |t: f64| (1..players).map(|at| factor(at, t)).product::<f64>();
                rule(points).iter().map(|&(t, weight)| weight * product(t)).sum::<f64>()
            };
            let (few, all) = (integral(num_points(players)), integral(players.div_ceil(2)));
            assert!((few - all).abs() <= 1e-15 + 1e-12 * all, "{players}: {few} {all}");
        }
        assert_eq!([1, 2, 40, 65, 2000].map(num_points), [1, 1, 20, 33, 172]);
    }
}
