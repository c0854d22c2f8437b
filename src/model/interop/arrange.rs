//! Trees of other libraries in our order, children after their parents, and ours as a list.

use super::super::parts::Set;
use super::super::tree::{Child, Leaf, Split, Tree};
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// The sets of categories of a forest that is being read.
#[derive(Default)]
pub(super) struct ForeignSets {
    /// The number of features of the model.
    pub(super) features: usize,
    pub(super) sets: Vec<Set>,
}

impl ForeignSets {
    /// The split of a feature as one that sends these of its categories left.
    pub(super) fn split(&mut self, split: Split, categories: Vec<u32>) -> Split {
        self.sets.push(Set { feature: split.feature, categories });
        self.split_by(split, self.sets.len() - 1)
    }

    /// The split of a feature as one that sends the categories of a set left.
    pub(super) fn split_by(&self, split: Split, set: usize) -> Split {
        Split { feature: (self.features + set) as u32, threshold: 0.5, ..split }
    }
}

/// A node as the other library has it.
pub(super) enum ForeignNode<Id> {
    /// Children of the split are overwritten.
    Split {
        split: Split,
        left: Id,
        right: Id,
    },
    Leaf(Leaf),
}

/// The tree below `root`, of at most `limit` nodes: more means a cycle.
///
/// What a node holds is taken as often as links lead to it: `look` refuses a second time where that is much.
pub(super) fn arrange<Id: Copy>(
    root: Id,
    limit: usize,
    mut look: impl FnMut(Id) -> Result<ForeignNode<Id>>,
) -> Result<Tree> {
    let (mut splits, mut leaves) = (Vec::<Split>::new(), Vec::new());
    let mut open = vec![(root, None)];
    while let Some((id, parent)) = open.pop() {
        if splits.len() + leaves.len() >= limit {
            return Err(Error::model("model.child", "a tree has more links than nodes"));
        }
        let child = match look(id)? {
            ForeignNode::Leaf(leaf) => {
                leaves.push(leaf);
                Child::Leaf(leaves.len() as u32 - 1)
            }
            ForeignNode::Split { split, left, right } => {
                splits.push(split);
                let at = splits.len() - 1;
                open.extend([(right, Some((at, true))), (left, Some((at, false)))]);
                Child::Split(at as u32)
            }
        };
        match parent {
            Some((at, true)) => splits[at].right = child,
            Some((at, false)) => splits[at].left = child,
            None => {}
        }
    }
    Ok(Tree::new(splits, leaves))
}

/// A node in a list in which the two children of a split stand side by side.
pub(super) struct ListedNode {
    /// The largest `i32` of the root.
    pub(super) parent: i64,
    /// The place of the left child; `None` in a leaf.
    pub(super) left: Option<i64>,
    /// All 0 but its cover in a leaf.
    pub(super) split: Split,
    /// 0 in a split.
    pub(super) value: f64,
}

/// The nodes of a tree, level by level.
pub(super) fn listed(tree: &Tree) -> Vec<ListedNode> {
    let mut open = VecDeque::from([(tree.root(), i64::from(i32::MAX))]);
    let mut nodes = Vec::new();
    while let Some((child, parent)) = open.pop_front() {
        let this = i64::from(nodes.len() as u32);
        nodes.push(match child {
            Child::Leaf(at) => {
                let Leaf { value, cover, .. } = tree.leaves()[at as usize];
                ListedNode { parent, left: None, split: Split { cover, ..Split::default() }, value }
            }
            Child::Split(at) => {
                let split = tree.splits()[at as usize];
                open.extend([(split.left, this), (split.right, this)]);
                let left = this + i64::from(open.len() as u32) - 1;
                ListedNode { parent, left: Some(left), split, value: 0.0 }
            }
        });
    }
    nodes
}
