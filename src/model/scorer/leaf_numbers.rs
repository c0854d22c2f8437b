//! Numbers the leaves of a tree so that the bits of a number are cheap to compute, for `bit_circuit`.
//!
//! The highest bit divides the leaves in two halves, each half is a tree again (without the splits
//! that are settled), and the other bits come from these: from one half where the bit is set, from
//! the other where it is not. So trees of all shapes become full ones, in which each place asks for a
//! bit: a test of the tree if the division is that of its root, else the result of some ops.
//!
//! Leaves are divided along the *path*: from the root to the child with more leaves, again and
//! again, until the leaves left and some of the smaller children passed by are a half. A child passed
//! by has at most as many leaves as come after it, so every sum can be had; the shortest path wins. A
//! full tree is divided by its root's test alone.
//!
//! Numbers need not be dense. Where there are more numbers than leaves, the halves may be unequal,
//! a leaf that is alone takes all numbers of its half, and its bits are whatever is at hand.

use super::super::tree::{Child, Tree};
use super::plan::CodeTest;

/// Of leaf numbers at most.
pub(super) const MOST_BITS: usize = 8;

/// A bit of each doc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bit {
    /// The same for all docs.
    Fixed(bool),
    /// Whether the code in that column is above the threshold.
    Test(CodeTest),
    /// The result of that op of the tree.
    Result(u32),
}

/// Where `by` is set, `set`; elsewhere `unset`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) by: Bit,
    pub(super) set: Bit,
    pub(super) unset: Bit,
}

/// A tree with numbered leaves.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    /// In an order that they can be evaluated in.
    pub(super) choices: Vec<Choice>,
    /// What the places of the full tree ask, each before all below it, first those where the answer
    /// is no: one less than there are numbers. If all of each level ask the same: one of each level,
    /// from the root down.
    pub(super) asked: Vec<Bit>,
    /// A leaf for each number.
    pub(super) leaves: Vec<u32>,
}

impl Numbered {
    /// Numbers the leaves with at least `fewest` bits; `places` are the column and code of each
    /// split. `None` for a tree with too many leaves.
    pub(super) fn new(tree: &Tree, places: &[CodeTest], fewest: usize) -> Option<Self> {
        let bits = (tree.leaves().len().next_power_of_two().ilog2() as usize).max(fewest);
        if bits > MOST_BITS {
            return None;
        }
        let mut numbered = Self { leaves: vec![0; 1 << bits], ..Self::default() };
        let mut asked = Vec::with_capacity(1 << bits);
        numbered.number(whole(tree, places), bits, 0, &mut asked);
        numbered.sort(&mut asked);
        let mut levels = vec![None; bits];
        let is_symmetric = asked.iter().all(|&(level, bit)| {
            let of_level = &mut levels[bits - level];
            bit.is_none() || *of_level.get_or_insert(bit) == bit
        });
        let bit = |bit: Option<Bit>| bit.unwrap_or(Bit::Fixed(false));
        numbered.asked = if is_symmetric {
            levels.into_iter().map(|level| bit(level.flatten())).collect()
        } else {
            asked.into_iter().map(|(_, asked)| bit(asked)).collect()
        };
        Some(numbered)
    }

    /// Puts choices that wait for others as far behind them as can be.
    fn sort(&mut self, asked: &mut [(usize, Option<Bit>)]) {
        let mut waits = vec![0; self.choices.len()];
        for (at, choice) in self.choices.iter().enumerate() {
            for bit in [choice.by, choice.set, choice.unset] {
                if let Bit::Result(op) = bit {
                    waits[at] = waits[at].max(waits[op as usize] + 1);
                }
            }
        }
        let mut order: Vec<usize> = (0..waits.len()).collect();
        order.sort_by_key(|&at| waits[at]);
        let mut new = vec![0; order.len()];
        for (to, &at) in order.iter().enumerate() {
            new[at] = to as u32;
        }
        let moved = |bit| match bit {
            Bit::Result(op) => Bit::Result(new[op as usize]),
            bit => bit,
        };
        let choice = |&at: &usize| {
            let Choice { by, set, unset } = self.choices[at];
            Choice { by: moved(by), set: moved(set), unset: moved(unset) }
        };
        self.choices = order.iter().map(choice).collect();
        for (_, bit) in asked {
            *bit = bit.map(moved);
        }
    }

    /// Numbers the leaves of `part` by the numbers from `first` on that fit so many bits; `asked` gets
    /// the bits with their levels, `None` where they do not matter.
    fn number(
        &mut self,
        part: Subtree,
        bits: usize,
        first: usize,
        asked: &mut Vec<(usize, Option<Bit>)>,
    ) {
        if bits == 0 {
            if let Subtree::Leaf(leaf) = part {
                self.leaves[first] = leaf;
            }
            return;
        }
        let half = 1 << (bits - 1);
        let (by, unset, set) = match part {
            Subtree::Leaf(leaf) => (None, Subtree::Leaf(leaf), Subtree::Leaf(leaf)),
            Subtree::Split(split) => {
                let (by, unset, set) = self.divide(split, half);
                (Some(by), unset, set)
            }
        };
        asked.push((bits, by));
        self.number(unset, bits - 1, first, asked);
        self.number(set, bits - 1, first + half, asked);
    }

    fn push(&mut self, by: Bit, unset: Bit, set: Bit) -> Bit {
        self.choices.push(Choice { by, set, unset });
        Bit::Result(self.choices.len() as u32 - 1)
    }

    /// Divides leaves into two parts of at most `half` leaves each, and the bit that says which.
    fn divide(&mut self, split: Box<SubtreeSplit>, half: usize) -> (Bit, Subtree, Subtree) {
        let all = split.leaves;
        let (path, last) = Path::of(split, half);
        let on_last_side = path.choose(last.larger().leaves(), all, half);
        // The bit is the last split's test: what is to the right of it is set.
        let last_side = last.larger_is_right();
        let mut bit = Bit::Test(last.test);
        let mut parts = [last.left, last.right];
        for (step, with_last) in path.steps.into_iter().zip(on_last_side).rev() {
            let side = with_last == last_side;
            let fixed = Bit::Fixed(side);
            let PathStep { test, smaller, smaller_is_right } = step;
            let leaf = Subtree::Leaf(0);
            let part = &mut parts[usize::from(side)];
            let rest = std::mem::replace(part, leaf);
            let (left, right, unset, set) = if smaller_is_right {
                (rest, smaller, bit, fixed)
            } else {
                (smaller, rest, fixed, bit)
            };
            bit = self.push(Bit::Test(test), unset, set);
            *part = SubtreeSplit::join(test, left, right);
        }
        let [unset, set] = parts;
        (bit, unset, set)
    }
}

/// A part of a tree: some leaves, and the splits that are needed to tell them apart.
#[derive(Debug)]
enum Subtree {
    Leaf(u32),
    Split(Box<SubtreeSplit>),
}

#[derive(Debug)]
struct SubtreeSplit {
    test: CodeTest,
    left: Subtree,
    right: Subtree,
    leaves: usize,
}

impl Subtree {
    fn leaves(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Split(split) => split.leaves,
        }
    }
}

impl SubtreeSplit {
    fn join(test: CodeTest, left: Subtree, right: Subtree) -> Subtree {
        let leaves = left.leaves() + right.leaves();
        Subtree::Split(Box::new(Self { test, left, right, leaves }))
    }

    fn larger_is_right(&self) -> bool {
        self.right.leaves() > self.left.leaves()
    }

    fn larger(&self) -> &Subtree {
        if self.larger_is_right() { &self.right } else { &self.left }
    }
}

/// A whole tree as a part.
fn whole(tree: &Tree, places: &[CodeTest]) -> Subtree {
    let mut parts: Vec<Option<Subtree>> = tree.splits().iter().map(|_| None).collect();
    // Children stand after their parents.
    for (at, split) in tree.splits().iter().enumerate().rev() {
        let mut part = |child| match child {
            Child::Leaf(leaf) => Subtree::Leaf(leaf),
            Child::Split(at) => parts[at as usize].take().unwrap_or(Subtree::Leaf(0)),
        };
        let (left, right) = (part(split.left), part(split.right));
        parts[at] = Some(SubtreeSplit::join(places[at], left, right));
    }
    parts.first_mut().and_then(Option::take).unwrap_or(Subtree::Leaf(0))
}

/// The way to the larger child until what is passed by suffices to divide the leaves.
struct Path {
    steps: Vec<PathStep>,
    /// Before each step, which sums of the smaller children passed by can be had: a bit a sum.
    sums: Vec<[u128; 2]>,
}

/// A split on the path, without its larger child.
struct PathStep {
    test: CodeTest,
    smaller: Subtree,
    smaller_is_right: bool,
}

impl Path {
    /// The path, and the split at its end, whose children fall into different halves.
    fn of(mut split: Box<SubtreeSplit>, half: usize) -> (Self, Box<SubtreeSplit>) {
        let all = split.leaves;
        let mut path = Self { steps: Vec::new(), sums: vec![[1, 0]] };
        while path.sum(split.larger().leaves(), all, half).is_none() {
            let smaller_is_right = !split.larger_is_right();
            let SubtreeSplit { test, left, right, .. } = *split;
            let (smaller, larger) = if smaller_is_right { (right, left) } else { (left, right) };
            let Subtree::Split(next) = larger else { unreachable!("two leaves are a half each") };
            let sums = path.sums[path.sums.len() - 1];
            path.sums.push(plus(sums, smaller.leaves()));
            path.steps.push(PathStep { test, smaller, smaller_is_right });
            split = next;
        }
        (path, split)
    }

    /// A sum of smaller children that makes a half of the `last` leaves, the nearest to the middle.
    fn sum(&self, last: usize, all: usize, half: usize) -> Option<usize> {
        let sums = self.sums[self.sums.len() - 1];
        (all.saturating_sub(half).max(last)..=half.min(all - 1))
            .map(|number| number - last)
            .filter(|&sum| has(sums, sum))
            .min_by_key(|sum| (2 * (sum + last)).abs_diff(all))
    }

    /// Whether the smaller child of each step is in the half of the `last` leaves.
    fn choose(&self, last: usize, all: usize, half: usize) -> Vec<bool> {
        let mut rest = self.sum(last, all, half).unwrap_or_default();
        let mut chosen: Vec<bool> = (0..self.steps.len())
            .rev()
            .map(|at| {
                let is_in = !has(self.sums[at], rest);
                if is_in {
                    rest -= self.steps[at].smaller.leaves();
                }
                is_in
            })
            .collect();
        chosen.reverse();
        chosen
    }
}

/// The sums with and without so many more.
fn plus(sums: [u128; 2], more: usize) -> [u128; 2] {
    // A smaller child has at most 128 leaves, and sums beyond 255 are not asked for.
    let [low, high] = sums;
    let (low_up, high_up) = match more {
        0 => (low, high),
        1..128 => (low << more, high << more | low >> (128 - more)),
        _ => (0, low),
    };
    [low | low_up, high | high_up]
}

fn has(sums: [u128; 2], sum: usize) -> bool {
    sums[sum / 128] >> (sum % 128) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::super::super::tree::{Leaf, Split};
    use super::*;

    /// A tree whose splits each take a random leaf's place, or the last one's.
    fn grown(leaves: usize, seed: u64, is_chain: bool) -> Tree {
        let mut state = seed;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        let mut open: Vec<Option<(usize, bool)>> = vec![None];
        let mut splits: Vec<Split> = Vec::new();
        let hang = |splits: &mut Vec<Split>, place: Option<(usize, bool)>, child| match place {
            Some((parent, true)) => splits[parent].right = child,
            Some((parent, false)) => splits[parent].left = child,
            None => {}
        };
        for at in 0..leaves - 1 {
            let last = open.len() - 1;
            let place = open.swap_remove(if is_chain { last } else { below(last + 1) });
            hang(&mut splits, place, Child::Split(at as u32));
            splits.push(Split {
                feature: at as u32,
                threshold: 0.0,
                missing_left: false,
                left: Child::Leaf(0),
                right: Child::Leaf(0),
                reduction: 0.0,
                cover: 0.0,
                docs: 0,
            });
            let side = below(2) == 1;
            open.extend([Some((at, side)), Some((at, !side))]);
        }
        for (leaf, place) in open.into_iter().enumerate() {
            hang(&mut splits, place, Child::Leaf(leaf as u32));
        }
        Tree::new(splits, vec![Leaf { value: 0.0, cover: 0.0, docs: 0 }; leaves])
    }

    /// A test that is told from others by its column.
    fn test(column: u32) -> CodeTest {
        CodeTest { column, threshold: 0 }
    }

    /// The number that a doc gets if it is to the right of the splits where `right` says so.
    fn number(numbered: &Numbered, right: impl Fn(u32) -> bool) -> usize {
        let mut results = Vec::new();
        let value = |bit, results: &[bool]| match bit {
            Bit::Fixed(set) => set,
            Bit::Test(CodeTest { column, .. }) => right(column),
            Bit::Result(op) => results[op as usize],
        };
        for choice in &numbered.choices {
            let by = value(choice.by, &results);
            results.push(value(if by { choice.set } else { choice.unset }, &results));
        }
        let bits = numbered.leaves.len().ilog2() as usize;
        let (mut at, mut found) = (0, 0);
        for left in (0..bits).rev() {
            let is_set = value(numbered.asked[at], &results);
            found = 2 * found + usize::from(is_set);
            at += if is_set && numbered.asked.len() > bits { 1 << left } else { 1 };
        }
        found
    }

    #[test]
    fn a_number_leads_to_the_leaf_that_the_tree_finds() {
        for leaves in [2, 3, 5, 8, 31, 32, 33, 64, 100, 255, 256] {
            for seed in 0..8 {
                let tree = grown(leaves, seed, seed < 2);
                let places: Vec<_> = (0..leaves as u32 - 1).map(test).collect();
                let numbered = Numbered::new(&tree, &places, 2).unwrap();
                for doc in 0..300u64 {
                    let right = |split: u32| {
                        let mixed =
                            (doc + 300 * u64::from(split)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                        // Chains are followed to their ends only by docs that go one way.
                        if doc < 2 { doc == 1 } else { mixed >> 40 & 1 == 1 }
                    };
                    let cell = |feature: u32| if right(feature) { 1.0 } else { -1.0 };
                    let found = numbered.leaves[number(&numbered, right)] as usize;
                    assert_eq!(found, tree.leaf_of(cell), "{leaves} leaves, tree {seed}");
                }
            }
        }
    }

    #[test]
    fn a_full_tree_is_divided_by_its_own_tests_and_a_symmetric_one_asks_each_level_once() {
        let child = |at: usize| {
            if at < 31 { Child::Split(at as u32) } else { Child::Leaf(at as u32 - 31) }
        };
        let mut tree = grown(32, 0, true);
        let splits = (0..31).map(|at| {
            let (left, right) = (child(2 * at + 1), child(2 * at + 2));
            Split { feature: at as u32, left, right, ..tree.splits()[0] }
        });
        tree = Tree::new(splits.collect(), tree.leaves().to_vec());
        let places: Vec<_> = (0..31).map(test).collect();
        let levels: Vec<_> = (1..32u32).map(|place| test(place.ilog2())).collect();
        for (places, asked) in [(places, 31), (levels, 5)] {
            let numbered = Numbered::new(&tree, &places, 5).unwrap();
            assert_eq!((numbered.choices.len(), numbered.asked.len()), (0, asked));
        }
    }
}
