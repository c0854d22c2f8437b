//! A regression tree.

use crate::error::{Error, Result};

/// Where a split sends a doc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// To the split of this number.
    Split(u32),
    /// To the leaf of this number.
    Leaf(u32),
}

impl Default for Child {
    fn default() -> Self {
        Self::Leaf(0)
    }
}

/// An inner node: a doc goes left iff its value is at most the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Split {
    /// The feature that is compared.
    pub feature: u32,
    /// The largest cell that goes left.
    pub threshold: f64,
    /// Whether a missing cell goes left.
    pub missing_left: bool,
    /// Where cells at or below the threshold go.
    pub left: Child,
    /// Where cells above the threshold go.
    pub right: Child,
    /// By how much the split reduced the loss in training.
    pub reduction: f64,
    /// The sum of the hessians of the training docs that came here.
    pub cover: f64,
    /// The number of training docs that came here.
    pub docs: u64,
}

impl Split {
    /// Swaps its sides.
    #[cfg(feature = "interop")]
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.left, &mut self.right);
        self.missing_left = !self.missing_left;
    }
}

/// A leaf of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Leaf {
    /// What is added to the score.
    pub value: f64,
    /// The sum of the hessians of the training docs that came here.
    pub cover: f64,
    /// The number of training docs that came here.
    pub docs: u64,
}

/// A tree whose root is split 0, or a single leaf where there is no split.
///
/// Children come after their parents, so one pass over `splits` meets every node from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    splits: Vec<Split>,
    leaves: Vec<Leaf>,
}

impl Tree {
    /// A tree of one leaf more than splits.
    pub fn new(splits: Vec<Split>, leaves: Vec<Leaf>) -> Self {
        debug_assert_eq!(splits.len() + 1, leaves.len());
        Self { splits, leaves }
    }

    /// A tree that adds the same to every score.
    pub fn constant(value: f64) -> Self {
        Self::new(vec![], vec![Leaf { value, ..Leaf::default() }])
    }

    /// The splits; the first is the root.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The splits, to look at other features or thresholds.
    pub(super) fn splits_mut(&mut self) -> &mut [Split] {
        &mut self.splits
    }

    /// The first split, or the only leaf.
    pub(super) fn root(&self) -> Child {
        if self.splits.is_empty() { Child::Leaf(0) } else { Child::Split(0) }
    }

    /// The leaves.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// An error unless every row of `num_features` values reaches a leaf.
    ///
    /// One pass: every child stands after its parent and has no other, every number is finite. Then
    /// each walk ends in a leaf after fewer steps than there are leaves. `number` is the tree's
    /// place in its forest, for the message.
    pub(crate) fn check(&self, number: usize, num_features: usize) -> Result<()> {
        let fault = |code, what: String| Error::model(code, format!("tree {number} {what}"));
        if self.leaves.len() != self.splits.len() + 1 {
            let (splits, leaves) = (self.splits.len(), self.leaves.len());
            let what = format!("has {splits} splits and {leaves} leaves");
            return Err(fault("model.tree", what).expected("one leaf more than splits"));
        }
        let mut has_parent = (vec![false; self.splits.len()], vec![false; self.leaves.len()]);
        for (i, split) in self.splits.iter().enumerate() {
            if split.feature as usize >= num_features {
                let what = format!("split {i} looks at feature {}", split.feature);
                return Err(fault("model.feature", what).expected(format!("< {num_features}")));
            }
            if ![split.threshold, split.reduction, split.cover].iter().all(|x| x.is_finite()) {
                let what = format!("split {i} has a number that is not finite");
                return Err(fault("model.number", what));
            }
            for child in [split.left, split.right] {
                let (name, at, first, seen) = match child {
                    Child::Split(at) => ("split", at as usize, i + 1, &mut has_parent.0),
                    Child::Leaf(at) => ("leaf", at as usize, 0, &mut has_parent.1),
                };
                if at < first || at >= seen.len() {
                    let what = format!("split {i} has child {name} {at}");
                    let range = format!("{first}..{}", seen.len());
                    return Err(fault("model.child", what).expected(range));
                }
                if std::mem::replace(&mut seen[at], true) {
                    return Err(fault("model.child", format!("{name} {at} has two parents")));
                }
            }
        }
        let finite = |leaf: &Leaf| leaf.value.is_finite() && leaf.cover.is_finite();
        match self.leaves.iter().position(|leaf| !finite(leaf)) {
            Some(i) => Err(fault("model.number", format!("leaf {i} is not finite"))),
            // As many children as nodes but the root, none twice: none is left without a parent.
            None => Ok(()),
        }
    }

    /// Sets the values of the leaves.
    pub(super) fn set_values(&mut self, values: &[f64]) -> Result<()> {
        if values.len() != self.leaves.len() || !values.iter().all(|value| value.is_finite()) {
            let what = "a tree takes a finite value a leaf";
            return Err(Error::model("model.number", what)
                .got(format!("{} values", values.len()))
                .expected(self.leaves.len()));
        }
        for (leaf, &value) in self.leaves.iter_mut().zip(values) {
            leaf.value = value;
        }
        Ok(())
    }

    /// The same with all leaf values multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let mut tree = self.clone();
        tree.leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
        tree
    }

    /// The leaf that a row falls into, by a walk from the root: the oracle of the scorer.
    pub fn leaf_of(&self, cell: impl Fn(u32) -> f64) -> usize {
        let mut at = self.root();
        loop {
            match at {
                Child::Leaf(leaf) => return leaf as usize,
                Child::Split(split) => {
                    let split = &self.splits[split as usize];
                    let x = cell(split.feature);
                    let left = if x.is_nan() { split.missing_left } else { x <= split.threshold };
                    at = if left { split.left } else { split.right };
                }
            }
        }
    }
}
