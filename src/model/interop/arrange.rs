//! Trees of other libraries in our order: children after their parents.

use super::super::tree::{Child, Leaf, Split, Tree};
use crate::error::{Error, Result};

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
