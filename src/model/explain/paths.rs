//! Trees as the ways to their leaves, feature by feature.
//!
//! On the way to a leaf each feature is a *player* with all its conditions. The *share* of a
//! player is the part of the training docs at its splits that went on towards the leaf. Deep trees are not taken apart
//! so: `deep` says why.

use super::super::parts::Forest;
use super::super::tree::{Child, Split, Tree};
use super::StopCheck;
use super::deep::DeepTree;
use crate::error::{Error, Result};
use std::ops::Range;

/// All trees of a forest.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// What splits look at: features and sets, in the order of their numbers.
    pub(super) columns: Vec<u32>,
    pub(super) trees: Vec<ExplainedTree>,
    /// What all leaves add to the score of a doc of which nothing is known.
    pub(super) base: f64,
    /// The most players on a way.
    pub(super) longest: usize,
}

/// A tree as it is explained.
#[derive(Debug)]
pub(super) enum ExplainedTree {
    Ways(Ways),
    Deep(DeepTree),
}

/// A tree is taken apart into ways as long as none has more splits.
const DEEPEST: u32 = 64;
/// Leaves between checks: of at most `DEEPEST` players each.
pub(super) const BETWEEN_CHECKS: usize = 1 << 10;

/// The ways to the leaves of a tree.
#[derive(Debug, Default)]
pub(super) struct Ways {
    pub(super) tests: Vec<PathTest>,
    pub(super) leaves: Vec<Way>,
    pub(super) players: Vec<Player>,
    pub(super) conditions: Vec<Condition>,
}

/// What a split asks.
#[derive(Debug)]
pub(super) struct PathTest {
    /// The place of its feature among the columns.
    pub(super) column: u32,
    pub(super) threshold: f64,
    pub(super) missing_left: bool,
}

/// The way to a leaf.
#[derive(Debug)]
pub(super) struct Way {
    /// What the leaf adds, times the weight of the forest.
    pub(super) value: f64,
    pub(super) players: Range<u32>,
}

/// A feature on the way to a leaf.
#[derive(Debug)]
pub(super) struct Player {
    /// The place of its feature among those that are explained.
    pub(super) place: u32,
    /// The part of the training docs that went on, over all its splits.
    pub(super) share: f64,
    pub(super) conditions: Range<u32>,
}

/// A split, and the side to take there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) test: u32,
    pub(super) left: bool,
}

impl Paths {
    /// The ways of a forest, leaf values times `weight`. All its features are among `features`, which rise.
    pub(super) fn of(
        (forest, weight): (&Forest, f64),
        features: &[u32],
        check: &StopCheck<'_>,
    ) -> Result<Self> {
        let splits = || forest.trees().iter().flat_map(Tree::splits);
        let mut columns: Vec<u32> = splits().map(|split| split.feature).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut paths = Self { columns, ..Self::default() };
        for (number, tree) in forest.trees().iter().enumerate() {
            let shares = Shares::of(tree, forest.is_native(), number)?;
            check()?;
            paths.push((forest, features), (tree, &shares, weight), check)?;
        }
        Ok(paths)
    }

    fn push(
        &mut self,
        (forest, features): (&Forest, &[u32]),
        (tree, shares, weight): (&Tree, &Shares, f64),
        check: &StopCheck<'_>,
    ) -> Result<()> {
        let column = |feature| self.columns.binary_search(&feature).unwrap_or_default() as u32;
        let test = |split: &Split| PathTest {
            column: column(split.feature),
            threshold: split.threshold,
            missing_left: split.missing_left,
        };
        let tests = tree.splits().iter().map(test).collect();
        // Sets of a feature's categories are the same player as the feature.
        let place = |test: usize| {
            let feature = forest.feature_of(tree.splits()[test].feature);
            features.binary_search(&feature).unwrap_or_default() as u32
        };
        if depth(tree) > DEEPEST {
            let deep = DeepTree::of((tree, shares, weight), tests, (features.len(), place));
            self.base += deep.base;
            self.trees.push(ExplainedTree::Deep(deep));
            return Ok(());
        }
        let mut ways = Ways { tests, ..Ways::default() };
        // The conditions on the way to where the walk stands, and how many there were at a node.
        let mut way: Vec<Condition> = Vec::new();
        let mut open = vec![(tree.root(), None, 0)];
        while let Some((child, condition, depth)) = open.pop() {
            way.truncate(depth);
            way.extend(condition);
            match child {
                Child::Split(test) => {
                    let split = &tree.splits()[test as usize];
                    let to = |left| Some(Condition { test, left });
                    open.push((split.right, to(false), way.len()));
                    open.push((split.left, to(true), way.len()));
                }
                Child::Leaf(leaf) => {
                    if ways.leaves.len().is_multiple_of(BETWEEN_CHECKS) {
                        check()?;
                    }
                    let value = weight * tree.leaves()[leaf as usize].value;
                    self.base += value * ways.leaf(value, &way, place, shares);
                    let players = &ways.leaves[ways.leaves.len() - 1].players;
                    self.longest = self.longest.max(players.len());
                }
            }
        }
        self.trees.push(ExplainedTree::Ways(ways));
        Ok(())
    }

    /// Adds, for each feature by its place, what it does to the score to go from doc 1 to doc 0, whose cells
    /// `cell` knows.
    pub(super) fn contrast(
        &self,
        cell: impl Fn(u32, usize) -> f64,
        values: &mut [f64],
        check: &StopCheck<'_>,
    ) -> Result<()> {
        let cells: Vec<[f64; 2]> =
            self.columns.iter().map(|&feature| [cell(feature, 0), cell(feature, 1)]).collect();
        let mut sides = Vec::new();
        for tree in &self.trees {
            check()?;
            sides.clear();
            let of = |test: &PathTest| cells[test.column as usize].map(|cell| test.goes_left(cell));
            match tree {
                ExplainedTree::Ways(ways) => {
                    sides.extend(ways.tests.iter().map(of));
                    for some in ways.leaves.chunks(BETWEEN_CHECKS) {
                        check()?;
                        for way in some {
                            ways.contrast(way, &sides, values);
                        }
                    }
                }
                ExplainedTree::Deep(deep) => {
                    sides.extend(deep.tests.iter().map(of));
                    let add = |place: u32, value| values[place as usize] += value;
                    deep.contrast(&sides, check, add)?;
                }
            }
        }
        Ok(())
    }
}

/// The most splits on the way to a leaf.
fn depth(tree: &Tree) -> u32 {
    let mut depths = vec![1; tree.splits().len()];
    for (at, split) in tree.splits().iter().enumerate() {
        // Children come after their parents.
        for child in [split.left, split.right] {
            if let Child::Split(below) = child {
                depths[below as usize] = depths[at] + 1;
            }
        }
    }
    depths.into_iter().max().unwrap_or_default()
}

impl PathTest {
    #[inline]
    pub(super) fn goes_left(&self, cell: f64) -> bool {
        // Both asked, so that docs side by side need no branch.
        (cell <= self.threshold) | (self.missing_left & cell.is_nan())
    }
}

impl Ways {
    /// Adds a leaf; returns the part of all training docs that its players' shares say.
    fn leaf(
        &mut self,
        value: f64,
        way: &[Condition],
        place: impl Fn(usize) -> u32,
        shares: &Shares,
    ) -> f64 {
        let place = |condition: &Condition| place(condition.test as usize);
        let mut sorted = way.to_vec();
        sorted.sort_by_cached_key(place);
        let first = self.players.len() as u32;
        let mut part = 1.0;
        for same in sorted.chunk_by(|a, b| place(a) == place(b)) {
            let from = self.conditions.len() as u32;
            self.conditions.extend_from_slice(same);
            let share = same.iter().map(|c| shares.of_side(c.test as usize, c.left)).product();
            part *= share;
            self.players.push(Player {
                place: place(&same[0]),
                share,
                conditions: from..from + same.len() as u32,
            });
        }
        self.leaves.push(Way { value, players: first..self.players.len() as u32 });
        part
    }

    pub(super) fn players(&self, way: &Way) -> &[Player] {
        &self.players[way.players.start as usize..way.players.end as usize]
    }

    pub(super) fn conditions(&self, player: &Player) -> &[Condition] {
        &self.conditions[player.conditions.start as usize..player.conditions.end as usize]
    }

    /// The leaf is reached by those mixtures of the two docs that have all features of the one that
    /// only the one meets, and all of the other that only the other meets.
    fn contrast(&self, way: &Way, sides: &[[bool; 2]], values: &mut [f64]) {
        let meets = |player: &Player, doc: usize| {
            let conditions = self.conditions(player).iter();
            conditions.copied().all(|c| sides[c.test as usize][doc] == c.left)
        };
        let (mut above, mut below) = (0u32, 0u32);
        for player in self.players(way) {
            match (meets(player, 0), meets(player, 1)) {
                (false, false) => return,
                (true, false) => above += 1,
                (false, true) => below += 1,
                (true, true) => {}
            }
        }
        // Of all orders of so many features, those in which the others of its side come before.
        let orders = binomial(above + below, above.min(below));
        let up = way.value / (f64::from(above) * orders);
        let down = way.value / (f64::from(below) * orders);
        for player in self.players(way) {
            match (meets(player, 0), meets(player, 1)) {
                (true, false) => values[player.place as usize] += up,
                (false, true) => values[player.place as usize] -= down,
                _ => {}
            }
        }
    }
}

/// Infinity where it is more than a double can hold, which it is after a thousand steps at most.
pub(super) fn binomial(n: u32, k: u32) -> f64 {
    let mut product = 1.0;
    for i in 0..k.min(n - k) {
        product = product * f64::from(n - i) / f64::from(i + 1);
        if product == f64::INFINITY {
            break;
        }
    }
    product
}

/// How far apart, relative to the larger, what came to a split and what left it may be in trees of other
/// libraries.
const MOST_OFF: f64 = 0.5;

/// The part of the training docs that went left at each split.
pub(super) struct Shares(Vec<f64>);

impl Shares {
    /// By the numbers of docs or, where there are none, by the sums of hessians. An error if there is
    /// neither, or if the two sides of a split have not what came to it: exactly the docs, in trees of our
    /// own training, which are `native`; in those of other libraries, whose sums are rounded, about as much.
    fn of(tree: &Tree, native: bool, number: usize) -> Result<Self> {
        let by_docs = tree.leaves().iter().any(|leaf| leaf.docs > 0);
        let by_cover = tree.leaves().iter().any(|leaf| leaf.cover > 0.0)
            && tree.leaves().iter().all(|leaf| leaf.cover >= 0.0)
            && tree.splits().iter().all(|split| split.cover >= 0.0);
        if !by_docs && !by_cover && !tree.splits().is_empty() {
            let what = format!("tree {number} does not say how many docs came to its nodes");
            return Err(Error::model("explain.cover", what));
        }
        let pick = |docs: u64, cover: f64| if by_docs { docs as f64 } else { cover };
        let size = |child| match child {
            Child::Split(at) => {
                pick(tree.splits()[at as usize].docs, tree.splits()[at as usize].cover)
            }
            Child::Leaf(at) => {
                pick(tree.leaves()[at as usize].docs, tree.leaves()[at as usize].cover)
            }
        };
        let share = |(at, split): (usize, &Split)| {
            let (left, own) = (size(split.left), pick(split.docs, split.cover));
            let all = left + size(split.right);
            let off = if native && by_docs { 0.0 } else { MOST_OFF * own.max(all) };
            if (own - all).abs() <= off {
                // Where no doc came, neither side says more.
                return Ok(if all > 0.0 { left / all } else { 0.5 });
            }
            let noun = if by_docs { "docs" } else { "sum of hessians" };
            let what = format!("tree {number} is inconsistent: its nodes' {noun} do not add up");
            Err(Error::model("explain.cover", what)
                .got(format!("{all} on both sides of split {at} together"))
                .expected(format!("{own}, as many as came to it"))
                .hint("the model cannot be explained, but it scores"))
        };
        tree.splits().iter().enumerate().map(share).collect::<Result<_>>().map(Self)
    }

    /// The part that went on at a split, to the left or to the right.
    pub(super) fn of_side(&self, split: usize, left: bool) -> f64 {
        if left { self.0[split] } else { 1.0 - self.0[split] }
    }
}
