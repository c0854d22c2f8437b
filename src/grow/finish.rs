//! The values of a tree that has been grown.

use super::grower::{Grower, Growth, Open};
use super::limits::Bounds;
use super::options::Criterion;
use super::packed::Sums;
use crate::model::{Child, Leaf, Tree};

/// What the value of a node comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// In packed units.
    grad: i64,
    hess: f64,
    docs: u64,
}

impl Grower {
    /// The tree, its leaves valued.
    pub(super) fn finish(&self, growth: Growth<'_>) -> Tree {
        let of_leaf: Vec<Node> =
            self.leaves.iter().map(|open| self.sums_of(open, &growth)).collect();
        let mut splits = growth.splits;
        let mut of_split = vec![Node::default(); splits.len()];
        for at in (0..splits.len()).rev() {
            let of = |child: Child| match child {
                Child::Split(split) => of_split[split as usize],
                Child::Leaf(leaf) => of_leaf[leaf as usize],
            };
            let (left, right) = (of(splits[at].left), of(splits[at].right));
            let (grad, hess, docs) =
                (left.grad + right.grad, left.hess + right.hess, left.docs + right.docs);
            of_split[at] = Node { grad, hess, docs };
            (splits[at].cover, splits[at].docs) = (hess, docs);
        }
        let value = |node: Node, bounds: &Bounds| {
            let value = -(node.grad as f64) * growth.scale.grad / (node.hess + self.options.l2);
            let is_sound = node.hess >= self.options.min_leaf_hess && value.is_finite();
            bounds.clip_value(if is_sound { value } else { 0.0 }, &growth.scale)
        };
        let leaf = |(open, &node): (&Open, &Node)| Leaf {
            value: value(open.heir_of.map_or(node, |split| of_split[split]), &open.bounds),
            cover: node.hess,
            docs: node.docs,
        };
        let leaves = self.leaves.iter().zip(&of_leaf).map(leaf).collect();
        Tree::new(splits, leaves)
    }

    fn sums_of(&self, open: &Open, growth: &Growth<'_>) -> Node {
        let sums = Sums::of(open.total);
        let docs = self.docs.get(open.docs.clone());
        let hess = match self.options.criterion {
            Criterion::SecondOrder => f64::from(sums.mass) * growth.scale.mass,
            Criterion::LeastSquares => {
                docs.iter().map(|&doc| f64::from(growth.job.gradients[doc as usize].hess)).sum()
            }
        };
        Node { grad: i64::from(sums.grad), hess, docs: docs.len() as u64 }
    }
}
