//! Computes the leaf values of a grown tree.

use super::constraints::ValueBounds;
use super::grower::{Grower, OpenLeaf, TreeGrowth};
use super::options::{Criterion, LeafValues};
use super::packed_gradients::{GradientScale, GradientSums};
use crate::error::Result;
use crate::exact_sum::{ExactSum, WORDS};
use crate::model::{Child, Leaf, Split, Tree};

/// What the value of a node is computed from.
#[derive(Debug, Clone, Copy, Default)]
struct NodeTotals {
    /// In packed units.
    grad: i64,
    hess: f64,
    docs: u64,
    bounds: ValueBounds,
}

impl Grower {
    /// The finished tree.
    pub(super) fn finish(&self, growth: TreeGrowth<'_>) -> Result<Tree> {
        let of_leaf = self.sums_of_leaves(&growth)?;
        let mut splits = growth.splits;
        let mut of_split = vec![NodeTotals::default(); splits.len()];
        for at in (0..splits.len()).rev() {
            let of = |child: Child| match child {
                Child::Split(split) => of_split[split as usize],
                Child::Leaf(leaf) => of_leaf[leaf as usize],
            };
            let (left, right) = (of(splits[at].left), of(splits[at].right));
            let (grad, hess, docs) =
                (left.grad + right.grad, left.hess + right.hess, left.docs + right.docs);
            let bounds = left.bounds.union(&right.bounds);
            of_split[at] = NodeTotals { grad, hess, docs, bounds };
            (splits[at].cover, splits[at].docs) = (hess, docs);
        }
        let values = self.leaf_values(&splits, &of_split, &of_leaf, &growth.scale);
        let leaf =
            |(value, node): (f64, &NodeTotals)| Leaf { value, cover: node.hess, docs: node.docs };
        let leaves = values.into_iter().zip(&of_leaf).map(leaf).collect();
        Ok(Tree::new(splits, leaves))
    }

    /// The value of each leaf. Values are computed from the root down, because that of a node may
    /// depend on its parent's.
    fn leaf_values(
        &self,
        splits: &[Split],
        of_split: &[NodeTotals],
        of_leaf: &[NodeTotals],
        scale: &GradientScale,
    ) -> Vec<f64> {
        let root = self.node_value(of_split.first().unwrap_or(&of_leaf[0]), None, scale);
        let mut split_values = vec![root; of_split.len()];
        let mut leaf_values = vec![root; of_leaf.len()];
        // Parents come before their children.
        for (at, split) in splits.iter().enumerate() {
            let parent = Some(split_values[at]);
            for child in [split.left, split.right] {
                match child {
                    Child::Split(at) => {
                        let node = &of_split[at as usize];
                        split_values[at as usize] = self.node_value(node, parent, scale);
                    }
                    Child::Leaf(at) => {
                        let at = at as usize;
                        leaf_values[at] = match self.leaves[at].inherits_from {
                            Some(split) => split_values[split],
                            None => self.node_value(&of_leaf[at], parent, scale),
                        };
                    }
                }
            }
        }
        leaf_values
    }

    /// The step of a node, smoothed towards its parent's value, within its bounds.
    fn node_value(&self, node: &NodeTotals, parent: Option<f64>, scale: &GradientScale) -> f64 {
        let (weight, least) = match self.options.leaf_values {
            LeafValues::Newton => (node.hess, self.options.min_leaf_hess),
            LeafValues::Mean => (node.docs as f64, 1.0),
        };
        let value = -(node.grad as f64) * scale.grad / (weight + self.options.l2);
        let own = if weight >= least && value.is_finite() { value } else { 0.0 };
        let smooth = self.options.path_smooth;
        let value = match parent {
            Some(parent) if smooth > 0.0 => {
                let weight = node.docs as f64 / (node.docs as f64 + smooth);
                weight * own + (1.0 - weight) * parent
            }
            _ => own,
        };
        node.bounds.clip_value(value, scale)
    }

    /// The sums of each leaf, over all workers.
    fn sums_of_leaves(&self, growth: &TreeGrowth<'_>) -> Result<Vec<NodeTotals>> {
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
            NodeTotals { grad: i64::from(sums.grad), hess, docs: counts[at], bounds: open.bounds }
        };
        Ok(self.leaves.iter().enumerate().map(node).collect())
    }
}
