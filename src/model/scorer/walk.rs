//! Trees as nodes to walk down: for one to a few docs, and for trees of many leaves.
//!
//! The two children of a split stand side by side, so that a step is a sum without a branch; a leaf
//! leads to itself, so that all walks of a group take as many steps as the longest. Eight walks go
//! side by side and hide each other's waits.

use super::super::tree::{Child, Tree};
use std::ops::Range;

/// The walks of some trees.
#[derive(Debug, Default)]
pub(super) struct Walks {
    nodes: Vec<Node>,
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
    tree: u32,
}

impl Walk {
    /// The steps to the deepest leaf.
    pub(super) fn steps(self) -> usize {
        self.steps as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The left child; the right one is next. A leaf's is itself.
    left: u32,
    /// The column, and the largest code that goes left, 255 in a leaf.
    column: u32,
    threshold: u8,
}

/// Walks that go side by side.
const WIDE: usize = 8;

impl Walks {
    /// Adds a tree; `places` are the column and code of each split.
    pub(super) fn push(&mut self, tree: &Tree, places: &[(u32, u8)]) -> Walk {
        let root = self.nodes.len() as u32;
        let leaf = Node { left: 0, column: 0, threshold: u8::MAX };
        self.nodes.push(leaf);
        self.values.push(0.0);
        // Splits that have a node, with its place and its depth.
        let mut open = vec![(Child::Split(0), root, 0)];
        let mut steps = 0;
        while let Some((child, node, depth)) = open.pop() {
            match child {
                Child::Leaf(at) => {
                    self.nodes[node as usize].left = node;
                    self.values[node as usize] = tree.leaves()[at as usize].value;
                    steps = steps.max(depth);
                }
                Child::Split(at) => {
                    let left = self.nodes.len() as u32;
                    let (column, threshold) = places[at as usize];
                    self.nodes[node as usize] = Node { left, column, threshold };
                    self.nodes.extend([leaf; 2]);
                    self.values.extend([0.0; 2]);
                    let split = &tree.splits()[at as usize];
                    open.push((split.right, left + 1, depth + 1));
                    open.push((split.left, left, depth + 1));
                }
            }
        }
        let walk = Walk { root, steps, tree: self.order.len() as u32 };
        let at = self.order.partition_point(|other| other.steps <= steps);
        self.order.insert(at, walk);
        walk
    }

    /// Writes each tree's leaf value for a doc to its place in `found`.
    #[inline]
    pub(super) fn all(&self, code: impl Fn(u32) -> u8, found: &mut [f64]) {
        let (groups, rest) = self.order.as_chunks::<WIDE>();
        for group in groups {
            let mut at = group.map(|walk| walk.root);
            for _ in 0..group[WIDE - 1].steps {
                for at in &mut at {
                    *at = self.step(*at, &code);
                }
            }
            for (walk, at) in group.iter().zip(at) {
                found[walk.tree as usize] = self.values[at as usize];
            }
        }
        for walk in rest {
            let leaf = (0..walk.steps).fold(walk.root, |at, _| self.step(at, &code));
            found[walk.tree as usize] = self.values[leaf as usize];
        }
    }

    /// Adds the leaf values of one tree to the sums of docs `0..sums.len()`.
    #[inline]
    pub(super) fn one(&self, walk: Walk, code: impl Fn(u32, usize) -> u8, sums: &mut [f64]) {
        for (group, sums) in sums.chunks_mut(WIDE).enumerate() {
            let docs: Range<usize> = group * WIDE..group * WIDE + sums.len();
            let mut at = [walk.root; WIDE];
            for _ in 0..walk.steps {
                for (at, doc) in at.iter_mut().zip(docs.clone()) {
                    *at = self.step(*at, |column| code(column, doc));
                }
            }
            for (sum, at) in sums.iter_mut().zip(at) {
                *sum += self.values[at as usize];
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
