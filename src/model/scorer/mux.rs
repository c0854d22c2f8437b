//! Trees as circuits of multiplexers.
//!
//! A *slot* holds a byte a doc: how many leaves stand to the left of the doc's leaf below some node.
//! For a leaf that is 0, and slot 0 holds nothing else. A split with `n` leaves on its left finds it
//! from its children's slots: `code > threshold ? right + n : left`. Children come before parents,
//! the child that needs more slots first, so that nine slots are enough for any tree of 256 leaves.

use super::super::tree::{Child, Tree};
use super::kernel::{Op, ROOT};

/// The circuits of some trees.
#[derive(Debug, Default)]
pub(super) struct Circuits {
    ops: Vec<Op>,
    /// Leaf values from left to right, each tree's padded to a length of [`table_size`].
    values: Vec<f64>,
}

/// One tree's part.
#[derive(Debug)]
pub(super) struct Circuit {
    ops: std::ops::Range<usize>,
    values: std::ops::Range<usize>,
}

/// Table lengths that kernels know: 32, 64, 128, 256.
fn table_size(leaves: usize) -> usize {
    leaves.next_power_of_two().max(32)
}

impl Circuits {
    /// A leaf's number must fit a byte.
    pub(super) const MOST_LEAVES: usize = 256;

    /// Adds a tree of 2 to 256 leaves; `places` are the column and code of each split.
    pub(super) fn push(&mut self, tree: &Tree, places: &[(u32, u8)]) -> Circuit {
        let (ops, values) = (self.ops.len(), self.values.len());
        let mut wiring =
            Wiring { tree, places, below: Below::of(tree), circuits: self, free: u16::MAX - 1 };
        let root = wiring.node(Child::Split(0));
        debug_assert_eq!(root, ROOT);
        wiring.leaves(Child::Split(0));
        self.values.resize(values + table_size(tree.leaves().len()), 0.0);
        Circuit { ops: ops..self.ops.len(), values: values..self.values.len() }
    }

    pub(super) fn ops(&self, circuit: &Circuit) -> &[Op] {
        &self.ops[circuit.ops.clone()]
    }

    pub(super) fn values(&self, circuit: &Circuit) -> &[f64] {
        &self.values[circuit.values.clone()]
    }
}

/// The leaves below each split, and the slots that its evaluation needs.
struct Below {
    leaves: Vec<u16>,
    slots: Vec<u8>,
}

impl Below {
    fn of(tree: &Tree) -> Self {
        let count = tree.splits().len();
        let mut below = Self { leaves: vec![0; count], slots: vec![0; count] };
        // Children stand after their parents.
        for (at, split) in tree.splits().iter().enumerate().rev() {
            let (left, right) = (below.slots(split.left), below.slots(split.right));
            below.leaves[at] = below.leaves(split.left) + below.leaves(split.right);
            // One result waits while the other child is evaluated.
            below.slots[at] = if left == right { left + 1 } else { left.max(right) };
        }
        below
    }

    fn leaves(&self, child: Child) -> u16 {
        match child {
            Child::Leaf(_) => 1,
            Child::Split(at) => self.leaves[at as usize],
        }
    }

    fn slots(&self, child: Child) -> u8 {
        match child {
            Child::Leaf(_) => 0,
            Child::Split(at) => self.slots[at as usize],
        }
    }
}

struct Wiring<'a> {
    tree: &'a Tree,
    places: &'a [(u32, u8)],
    below: Below,
    circuits: &'a mut Circuits,
    /// A bit for each of the kernels' sixteen slots.
    free: u16,
}

impl Wiring<'_> {
    /// Appends the ops below a node; the slot of its result. At most 255 calls deep.
    fn node(&mut self, node: Child) -> u8 {
        let Child::Split(at) = node else { return 0 };
        let split = &self.tree.splits()[at as usize];
        let (left, right) = if self.below.slots(split.left) >= self.below.slots(split.right) {
            let left = self.node(split.left);
            (left, self.node(split.right))
        } else {
            let right = self.node(split.right);
            (self.node(split.left), right)
        };
        // Slot 0 is never free. An op reads before it writes, so it may write where it read.
        self.free |= (1 << left | 1 << right) & !1;
        let to = self.free.trailing_zeros() as u8;
        self.free &= !(1 << to);
        let (column, threshold) = self.places[at as usize];
        let add = self.below.leaves(split.left) as u8;
        self.circuits.ops.push(Op { column, threshold, add, left, right, to });
        to
    }

    fn leaves(&mut self, node: Child) {
        match node {
            Child::Leaf(at) => self.circuits.values.push(self.tree.leaves()[at as usize].value),
            Child::Split(at) => {
                let split = &self.tree.splits()[at as usize];
                self.leaves(split.left);
                self.leaves(split.right);
            }
        }
    }
}
