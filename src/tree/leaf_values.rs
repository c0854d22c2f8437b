//! Computes the leaf values of a grown tree.

use super::constraints::ValueBounds;
use super::grower::{Grower, OpenLeaf, TreeGrowth};
use super::options::Criterion;
use super::packed_gradients::GradientSums;
use crate::error::Result;
use crate::exact_sum::{ExactSum, WORDS};
use crate::model::{Child, Leaf, Tree};

/// The sums that the value of a node is computed from.
#[derive(Debug, Clone, Copy, Default)]
struct LeafTotals {
    /// In packed units.
    grad: i64,
    hess: f64,
    docs: u64,
}

impl Grower {
    /// The finished tree.
    pub(super) fn finish(&self, growth: TreeGrowth<'_>) -> Result<Tree> {
        let of_leaf = self.sums_of_leaves(&growth)?;
        let mut splits = growth.splits;
        let mut of_split = vec![LeafTotals::default(); splits.len()];
        for at in (0..splits.len()).rev() {
            let of = |child: Child| match child {
                Child::Split(split) => of_split[split as usize],
                Child::Leaf(leaf) => of_leaf[leaf as usize],
            };
            let (left, right) = (of(splits[at].left), of(splits[at].right));
            let (grad, hess, docs) =
                (left.grad + right.grad, left.hess + right.hess, left.docs + right.docs);
            of_split[at] = LeafTotals { grad, hess, docs };
            (splits[at].cover, splits[at].docs) = (hess, docs);
        }
        let value = |node: LeafTotals, bounds: &ValueBounds| {
            let value = -(node.grad as f64) * growth.scale.grad / (node.hess + self.options.l2);
            let is_sound = node.hess >= self.options.min_leaf_hess && value.is_finite();
            bounds.clip_value(if is_sound { value } else { 0.0 }, &growth.scale)
        };
        let leaf = |(open, &node): (&OpenLeaf, &LeafTotals)| Leaf {
            value: value(open.inherits_from.map_or(node, |split| of_split[split]), &open.bounds),
            cover: node.hess,
            docs: node.docs,
        };
        let leaves = self.leaves.iter().zip(&of_leaf).map(leaf).collect();
        Ok(Tree::new(splits, leaves))
    }

    /// The sums of each leaf, over all workers.
    fn sums_of_leaves(&self, growth: &TreeGrowth<'_>) -> Result<Vec<LeafTotals>> {
        let by_squares = self.options.criterion == Criterion::LeastSquares;
        let mut words: Vec<u64> = self.leaves.iter().map(|open| open.docs.len() as u64).collect();
        if by_squares {
            for open in &self.leaves {
                let docs = self.docs.get(open.docs.clone()).iter();
                let hess = docs.map(|&doc| f64::from(growth.job.gradients[doc as usize].hess));
                words.extend(ExactSum::of(hess).words());
            }
        }
        self.reducer.sum("the docs of leaves", growth.job.round, &mut words)?;
        let (counts, hessians) = words.split_at(self.leaves.len());
        let node = |(at, open): (usize, &OpenLeaf)| {
            let sums = GradientSums::of(open.total);
            let hess = if by_squares {
                ExactSum::of_words(&hessians[at * WORDS..(at + 1) * WORDS]).value()
            } else {
                f64::from(sums.mass) * growth.scale.mass
            };
            LeafTotals { grad: i64::from(sums.grad), hess, docs: counts[at] }
        };
        Ok(self.leaves.iter().enumerate().map(node).collect())
    }
}
