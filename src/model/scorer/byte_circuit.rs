//! Evaluation of trees as circuits of multiplexers on bytes: a byte a doc, without branches.
//!
//! Of the two children of a split, the one with more leaves is its *carry* and the other its *side*.
//! Leaves are numbered carry first: below a split whose carry has `n` leaves, the number of a doc's
//! leaf is the one that the carry found, or `n` plus the one that the side found. The carry's is at
//! hand from the split evaluated just before. The side's is 0 if the side is a leaf; else it waits
//! in a *slot*, put there by an earlier *chain*: the ops of a split, its carry, the carry's carry and
//! so on, from the lowest up. All ops are of one form, and nothing branches on data or on the tree.
//!
//! Where all splits of each level ask the same, as in CatBoost's symmetric trees, one op a level
//! will do: the answers are the bits of a leaf's number.

use super::super::tree::{Child, Tree};
use super::bit_circuit::value_table;
use super::kernel::{DUMP, Lane, Op, ROOT, SLOTS};
use super::plan::CodeTest;
use std::ops::Range;

/// The circuits of some trees.
#[derive(Debug, Default)]
pub(super) struct ByteCircuits {
    ops: Vec<Op>,
    /// Leaf values by number, each tree's padded to a length that kernels know.
    values: Vec<f64>,
    /// The same as [`value_table`]s, eight values a lane; where the level has planes.
    tables: Vec<Lane>,
}

/// One tree's part.
#[derive(Debug)]
pub(super) struct ByteCircuit {
    ops: Range<usize>,
    values: Range<usize>,
}

impl ByteCircuits {
    /// A leaf's number must fit a byte.
    const MOST_LEAVES: usize = 256;

    /// Adds a tree, unless it has too many leaves or an odd shape that needs too many slots.
    ///
    /// `places` are the column and code of each split.
    pub(super) fn push(
        &mut self,
        tree: &Tree,
        places: &[CodeTest],
        has_planes: bool,
    ) -> Option<ByteCircuit> {
        if tree.leaves().len() > Self::MOST_LEAVES {
            return None;
        }
        let (ops, leaves) = match symmetric(tree, places) {
            Some(circuit) => circuit,
            None => Wiring::new(tree, places).circuit()?,
        };
        let (first_op, first) = (self.ops.len(), self.values.len());
        self.ops.extend(ops);
        self.values.extend(leaves.iter().map(|&leaf| tree.leaves()[leaf as usize].value));
        // Kernels know 32, 64, 128 and 256.
        self.values.resize(first + leaves.len().next_power_of_two().max(32), 0.0);
        if has_planes {
            self.tables.extend(value_table(&self.values[first..]));
        }
        Some(ByteCircuit { ops: first_op..self.ops.len(), values: first..self.values.len() })
    }

    pub(super) fn ops(&self, circuit: &ByteCircuit) -> &[Op] {
        &self.ops[circuit.ops.clone()]
    }

    pub(super) fn values(&self, circuit: &ByteCircuit) -> &[f64] {
        &self.values[circuit.values.clone()]
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn table(&self, circuit: &ByteCircuit) -> &[Lane] {
        &self.tables[circuit.values.start / 8..circuit.values.end / 8]
    }
}

/// The slot that holds 0, the number of a leaf.
const ZERO: u8 = 0;

/// The ops of a full tree in which all splits of a level ask the same, and its leaves by the number whose bit `l`
/// says whether a doc went right at level `l`.
fn symmetric(tree: &Tree, places: &[CodeTest]) -> Option<(Vec<Op>, Vec<u32>)> {
    let mut ops = Vec::new();
    let mut nodes = vec![Child::Split(0)];
    while let Child::Split(first) = nodes[0] {
        let place = places[first as usize];
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for node in nodes {
            match node {
                Child::Split(at) if places[at as usize] == place => {
                    left.push(tree.splits()[at as usize].left);
                    right.push(tree.splits()[at as usize].right);
                }
                _ => return None,
            }
        }
        // The number so far is the carry, and waits in the root's slot too: a level adds its bit to it
        // or does not.
        let CodeTest { column, threshold } = place;
        let (keep, slot) = if ops.is_empty() { (0, ZERO) } else { (u8::MAX, ROOT) };
        ops.push(Op { column, threshold, add: 1 << ops.len(), flip: 0, keep, slot, to: ROOT });
        nodes = [left, right].concat();
    }
    let leaf = |node| match node {
        Child::Leaf(leaf) => Some(leaf),
        Child::Split(_) => None,
    };
    Some((ops, nodes.into_iter().map(leaf).collect::<Option<_>>()?))
}

struct Wiring<'a> {
    tree: &'a Tree,
    places: &'a [CodeTest],
    /// The number of leaves below each split.
    below: Vec<u16>,
    /// A bit a slot.
    free: u64,
    ops: Vec<Op>,
    /// By their numbers.
    leaves: Vec<u32>,
}

impl<'a> Wiring<'a> {
    fn new(tree: &'a Tree, places: &'a [CodeTest]) -> Self {
        let free = !(1 << ZERO | 1 << DUMP);
        let below = vec![0; tree.splits().len()];
        let mut wiring = Self { tree, places, below, free, ops: Vec::new(), leaves: Vec::new() };
        // Children stand after their parents.
        for (at, split) in tree.splits().iter().enumerate().rev() {
            wiring.below[at] = wiring.below(split.left) + wiring.below(split.right);
        }
        wiring
    }

    /// The ops and the leaves by their numbers, if slots suffice.
    fn circuit(mut self) -> Option<(Vec<Op>, Vec<u32>)> {
        let last = self.chain(0)?;
        debug_assert_eq!(last, ROOT);
        self.number(Child::Split(0));
        Some((self.ops, self.leaves))
    }

    /// Appends the ops of split `top` and all below; the slot of its number, if slots suffice.
    ///
    /// Calls itself only for the smaller side of a split, so at most eight deep.
    fn chain(&mut self, top: u32) -> Option<u8> {
        let mut path = Vec::new();
        let mut next = Child::Split(top);
        while let Child::Split(at) = next {
            path.push(at);
            next = self.carry_and_side(at).0;
        }
        let mut waiting = Vec::with_capacity(path.len());
        for &at in &path {
            waiting.push(match self.carry_and_side(at).1 {
                Child::Leaf(_) => ZERO,
                Child::Split(side) => self.chain(side)?,
            });
        }
        for (i, (&at, &slot)) in path.iter().zip(&waiting).enumerate().rev() {
            let CodeTest { column, threshold } = self.places[at as usize];
            let carry = self.carry_and_side(at).0;
            let keep = if i + 1 < path.len() { u8::MAX } else { 0 };
            let add = self.below(carry) as u8;
            let op = Op { column, threshold, add, flip: 0, keep, slot, to: DUMP };
            // The carry stays where the code is not above. Where it comes from the right, codes are
            // turned over: code <= t iff !code > !t - 1.
            let flipped = Op { threshold: u8::MAX - 1 - threshold, flip: u8::MAX, ..op };
            let is_left = carry == self.tree.splits()[at as usize].left;
            self.ops.push(if is_left { op } else { flipped });
            self.free |= 1 << slot & !(1 << ZERO);
        }
        let to = self.free.trailing_zeros() as u8;
        if usize::from(to) >= SLOTS {
            return None;
        }
        self.free &= !(1 << to);
        if let Some(last) = self.ops.last_mut() {
            last.to = to;
        }
        Some(to)
    }

    fn below(&self, child: Child) -> u16 {
        match child {
            Child::Leaf(_) => 1,
            Child::Split(at) => self.below[at as usize],
        }
    }

    fn carry_and_side(&self, at: u32) -> (Child, Child) {
        let split = &self.tree.splits()[at as usize];
        if self.below(split.left) >= self.below(split.right) {
            (split.left, split.right)
        } else {
            (split.right, split.left)
        }
    }

    /// Appends all leaves below in the order of their numbers.
    ///
    /// Calls itself at most 255 deep.
    fn number(&mut self, node: Child) {
        match node {
            Child::Leaf(at) => self.leaves.push(at),
            Child::Split(at) => {
                let (carry, side) = self.carry_and_side(at);
                self.number(carry);
                self.number(side);
            }
        }
    }
}
