//! The values of a tree that has been grown.

use super::constraints::Bounds;
use super::data_parallel::take;
use super::grower::{Grower, Growth, Open};
use super::options::Criterion;
use super::packed_gradients::Sums;
use crate::distributed::Call;
use crate::error::Result;
use crate::exact_sum::{ExactSum, WORDS};
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
    pub(super) fn finish(&self, mut growth: Growth<'_>) -> Result<Tree> {
        let of_leaf = self.sums_of_leaves(&mut growth)?;
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
        Ok(Tree::new(splits, leaves))
    }

    /// What the values of leaves come from: of all ranks.
    fn sums_of_leaves(&self, growth: &mut Growth<'_>) -> Result<Vec<Node>> {
        let by_squares = self.options.criterion == Criterion::LeastSquares;
        let mut words: Vec<u64> = self.leaves.iter().map(|open| open.docs.len() as u64).collect();
        if by_squares {
            for open in &self.leaves {
                let docs = self.docs.get(open.docs.clone()).iter();
                let hess = docs.map(|&doc| f64::from(growth.job.gradients[doc as usize].hess));
                words.extend(ExactSum::of(hess).words());
            }
        }
        let call = Call { what: "the docs of leaves", round: growth.job.round };
        self.team.sum(call, take(&mut growth.trouble), &mut words)?;
        let (counts, hessians) = words.split_at(self.leaves.len());
        let node = |(at, open): (usize, &Open)| {
            let sums = Sums::of(open.total);
            let hess = if by_squares {
                ExactSum::of_words(&hessians[at * WORDS..(at + 1) * WORDS]).value()
            } else {
                f64::from(sums.mass) * growth.scale.mass
            };
            Node { grad: i64::from(sums.grad), hess, docs: counts[at] }
        };
        Ok(self.leaves.iter().enumerate().map(node).collect())
    }
}
