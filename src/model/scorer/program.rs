//! The sum as a list of steps, and the trees in the forms that the kernels take.

use super::super::forest::Forest;
use super::super::tree::Tree;
use super::mux::{Circuit, Circuits};
use super::plan::Plan;
use super::walk::{Walk, Walks};

/// What is done to the sums of a block of docs.
///
/// Sums stand on a stack; a step changes the one on top.
#[derive(Debug)]
pub(super) enum Step {
    /// Adds a constant.
    Add(f64),
    /// Adds leaf values of trees, one after the other.
    Trees(Trees),
    /// Adds a weighted value.
    Term { feature: u32, weight: f64 },
    /// Adds what a part that was normalised within the query says.
    Within { part: usize, weight: f64 },
    /// Puts a new sum of 0 on the stack.
    Open,
    /// Takes a sum from the stack, normalises it, and adds it to the one below.
    Close { weight: f64, mean: f64, scale: f64 },
}

/// Trees that follow each other, in all forms.
#[derive(Debug, Default)]
pub(super) struct Trees {
    /// In order: for blocks.
    pub(super) order: Vec<Form>,
    pub(super) circuits: Circuits,
    /// All of them: for few docs, and the large ones for blocks.
    pub(super) walks: Walks,
}

/// How a tree is evaluated for a block.
#[derive(Debug)]
pub(super) enum Form {
    Circuit(Circuit),
    Walk(Walk),
}

#[derive(Debug, Default)]
pub(super) struct Program {
    steps: Vec<Step>,
    depth: usize,
    deepest: usize,
    num_splits: usize,
}

impl Program {
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The number of sums that stand on the stack at once.
    pub(super) fn num_sums(&self) -> usize {
        self.deepest + 1
    }

    /// The number of splits of all trees.
    pub(super) fn num_splits(&self) -> usize {
        self.num_splits
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn open(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.push(Step::Open);
    }

    pub(super) fn close(&mut self, weight: f64, mean: f64, scale: f64) {
        self.depth -= 1;
        self.push(Step::Close { weight, mean, scale });
    }

    /// Adds a tree to the trees before it, if they are the last step.
    pub(super) fn tree(&mut self, plan: &mut Plan, forest: &Forest, tree: &Tree) {
        self.num_splits += tree.splits().len();
        if tree.splits().is_empty() {
            return self.push(Step::Add(tree.leaves()[0].value));
        }
        if !matches!(self.steps.last(), Some(Step::Trees(_))) {
            self.push(Step::Trees(Trees::default()));
        }
        let Some(Step::Trees(trees)) = self.steps.last_mut() else { return };
        let places: Vec<(u32, u8)> =
            tree.splits().iter().map(|split| plan.place(forest, split)).collect();
        let walk = trees.walks.push(tree, &places);
        trees.order.push(if tree.leaves().len() <= Circuits::MOST_LEAVES {
            Form::Circuit(trees.circuits.push(tree, &places))
        } else {
            Form::Walk(walk)
        });
    }
}
