//! Evaluation of trees by walking from the root to a leaf: for one to a few docs, and for trees with many leaves.
//!
//! The two children of a split stand side by side, so that a step is a sum without a branch; a leaf
//! leads to itself, so that all walks of a group take as many steps as the longest. Eight walks go
//! side by side and hide each other's waits.

use super::super::tree::{Child, Tree};
use super::plan::CodeTest;

/// The walks of some trees.
#[derive(Debug, Default)]
pub(super) struct Walks {
    nodes: Vec<WalkNode>,
    /// The value of each node that is a leaf.
    values: Vec<f64>,
    /// All trees: the shortest first, so that a group's walks are about equally long.
    order: Vec<Walk>,
}

/// One tree: its root, the steps to its deepest leaf, and its place among the trees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    root: u32,
    steps: u32,
    /// To a leaf on the average.
    mean_steps: u32,
    tree: u32,
}

impl Walk {
    /// The steps that a doc takes on the average, and those after it until its group has arrived.
    pub(super) fn steps(self) -> usize {
        self.mean_steps as usize + 2
    }
}

#[derive(Debug, Clone, Copy)]
struct WalkNode {
    /// The left child; the right one is next. A leaf's is itself.
    left: u32,
    /// The column, and the largest code that goes left, 255 in a leaf.
    column: u32,
    threshold: u8,
}

/// Walks that go side by side.
const WIDE: usize = 8;

impl Walks {
    /// Adds a tree; `places` are the tests of its splits.
    pub(super) fn push(&mut self, tree: &Tree, places: &[CodeTest]) -> Walk {
        let root = self.nodes.len() as u32;
        let leaf = WalkNode { left: 0, column: 0, threshold: u8::MAX };
        self.nodes.push(leaf);
        self.values.push(0.0);
        // Splits that have a node, with its place and its depth.
        let mut open = vec![(Child::Split(0), root, 0)];
        let (mut steps, mut all_steps) = (0, 0);
        while let Some((child, node, depth)) = open.pop() {
            match child {
                Child::Leaf(at) => {
                    self.nodes[node as usize].left = node;
                    self.values[node as usize] = tree.leaves()[at as usize].value;
                    steps = steps.max(depth);
                    all_steps += u64::from(depth);
                }
                Child::Split(at) => {
                    let left = self.nodes.len() as u32;
                    let CodeTest { column, threshold } = places[at as usize];
                    self.nodes[node as usize] = WalkNode { left, column, threshold };
                    self.nodes.extend([leaf; 2]);
                    self.values.extend([0.0; 2]);
                    let split = &tree.splits()[at as usize];
                    open.push((split.right, left + 1, depth + 1));
                    open.push((split.left, left, depth + 1));
                }
            }
        }
        let mean_steps = (all_steps / tree.leaves().len() as u64) as u32;
        let walk = Walk { root, steps, mean_steps, tree: self.order.len() as u32 };
        self.order.push(walk);
        walk
    }

    /// Ends the adding of trees.
    pub(super) fn sort(&mut self) {
        self.order.sort_by_key(|walk| walk.steps);
    }

    /// Writes each tree's leaf value for a doc to its place in `found`.
    #[inline]
    pub(super) fn all(&self, code: impl Fn(u32) -> u8, found: &mut [f64]) {
        for group in self.order.chunks(WIDE) {
            let mut at = [group[0].root; WIDE];
            for (at, walk) in at.iter_mut().zip(group) {
                *at = walk.root;
            }
            let steps = group[group.len() - 1].steps;
            self.descend(&mut at, steps, |column, _| code(column));
            for (walk, at) in group.iter().zip(at) {
                found[walk.tree as usize] = self.values[at as usize];
            }
        }
    }

    /// Adds the leaf values of one tree to the sums of docs `0..sums.len()`.
    #[inline]
    pub(super) fn one(&self, walk: Walk, code: impl Fn(u32, usize) -> u8, sums: &mut [f64]) {
        for (group, sums) in sums.chunks_mut(WIDE).enumerate() {
            let last = sums.len() - 1;
            let mut at = [walk.root; WIDE];
            self.descend(&mut at, walk.steps, |column, i| code(column, WIDE * group + i.min(last)));
            for (sum, at) in sums.iter_mut().zip(at) {
                *sum += self.values[at as usize];
            }
        }
    }

    /// Walks until all have arrived, which `steps` are enough for; `code` is of the column and the
    /// walk.
    #[inline]
    fn descend(&self, at: &mut [u32; WIDE], steps: u32, code: impl Fn(u32, usize) -> u8) {
        // Most leaves are much nearer than the deepest, but asking costs as much as half a step.
        for _ in 0..steps.div_ceil(3) {
            for _ in 0..2 {
                for (i, at) in at.iter_mut().enumerate() {
                    *at = self.step(*at, |column| code(column, i));
                }
            }
            let mut moved = 0;
            for (i, at) in at.iter_mut().enumerate() {
                let next = self.step(*at, |column| code(column, i));
                moved |= next ^ *at;
                *at = next;
            }
            if moved == 0 {
                break;
            }
        }
    }

    #[inline]
    fn step(&self, at: u32, code: impl Fn(u32) -> u8) -> u32 {
        let node = self.nodes[at as usize];
        node.left.wrapping_add(u32::from(code(node.column) > node.threshold))
    }

    /// The number of trees.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}
