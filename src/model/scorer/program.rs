//! The program of a scorer: the steps that compute a model's sum, and its trees in the forms that kernels run.

use super::super::normalisation::Normalisation;
use super::super::parts::mlp::Net;
use super::super::parts::{Expectation, Forest};
use super::super::tree::Tree;
use super::bit_circuit::{TreeChunk, TreeChunks};
use super::byte_circuit::{ByteCircuit, ByteCircuits};
use super::plan::{CodePlan, CodeTest};
use super::walk::{Walk, Walks};

/// A function of one score.
pub(in crate::model) trait ScoreMap: std::fmt::Debug + Send + Sync {
    /// What becomes of a score.
    fn value(&self, score: f64) -> f64;

    /// Replaces each score by its value.
    fn apply(&self, scores: &mut [f64]) {
        for score in scores {
            *score = self.value(*score);
        }
    }
}

impl ScoreMap for Normalisation {
    fn value(&self, score: f64) -> f64 {
        self.of_doc(score)
    }
}

/// A step of a program: it changes the sums of a block of docs.
///
/// There is a stack of sums; most steps change the one on top.
#[derive(Debug)]
pub(in crate::model) enum SumStep {
    /// Adds a constant.
    Add(f64),
    /// Adds leaf values of trees, one after the other.
    Trees(Box<Trees>),
    /// Adds a weighted value.
    Term { feature: u32, weight: f64 },
    /// Adds the scores of a net.
    Net(Box<Net>),
    /// Adds the weighted scores of a precomputed part.
    Precomputed { part: usize, weight: f64 },
    /// Replaces the sum by a function of it.
    Map(Box<dyn ScoreMap>),
    /// Puts a new sum of 0 on the stack.
    Open,
    /// Takes a sum from the stack, normalises it, and adds it to the one below.
    Close { weight: f64, mean: f64, scale: f64 },
    /// Takes the margins of classes from the stack, and adds their expected gain to the sum below.
    Expect(Expectation),
}

/// Trees that follow each other, in all forms.
#[derive(Debug, Default)]
pub(in crate::model) struct Trees {
    /// In order: for blocks.
    pub(super) order: Vec<Form<ByteCircuit>>,
    pub(super) circuits: ByteCircuits,
    /// In order, where the level has planes: for blocks.
    pub(super) stages: Vec<Form<TreeChunk>>,
    chunks: TreeChunks,
    /// All of them: for few docs, and the large ones for blocks.
    pub(super) walks: Walks,
}

/// How trees are evaluated for a block: `C` is one tree, or some that follow each other.
#[derive(Debug)]
pub(super) enum Form<C> {
    Circuit(C),
    Walk(Walk),
}

impl Trees {
    /// Adds a tree to the stages.
    fn stage(&mut self, tree: &Tree, places: &[CodeTest], walk: Walk) {
        let (full, walk) = match TreeChunks::number(tree, places) {
            Some(numbered) => (self.chunks.push(tree, places, numbered), None),
            None => (self.chunks.take(), Some(walk)),
        };
        self.stages.extend(full.map(Form::Circuit));
        self.stages.extend(walk.map(Form::Walk));
    }
}

#[derive(Debug, Default)]
pub(in crate::model) struct Program {
    pub(super) steps: Vec<SumStep>,
    depth: usize,
    deepest: usize,
    num_ops: usize,
    /// What nets cost, in ops.
    net_ops: usize,
    num_steps: usize,
    /// Whether trees are made into chunks too.
    has_planes: bool,
}

impl Program {
    pub(super) fn new(has_planes: bool) -> Self {
        Self { has_planes, ..Self::default() }
    }

    /// The number of sums that stand on the stack at once.
    pub(super) fn num_sums(&self) -> usize {
        self.deepest + 1
    }

    /// The number of ops of all circuits, and of splits of the trees that are none; nets cost as
    /// much as so many more.
    pub(super) fn num_ops(&self) -> usize {
        self.num_ops + self.net_ops
    }

    /// Up to so many docs walk faster than a block of 64 goes through the circuits, where an op takes
    /// `op` picoseconds.
    pub(super) fn few(&self, op: usize) -> usize {
        /// A step of a walk.
        const STEP: usize = 1_100;
        let (walks, block) = (STEP * self.num_steps, op * self.num_ops);
        block.checked_div(walks).unwrap_or_default().clamp(1, 64)
    }

    pub(in crate::model) fn push(&mut self, step: SumStep) {
        self.steps.push(step);
    }

    /// Adds a net.
    pub(in crate::model) fn net(&mut self, net: Net) {
        self.net_ops = self.net_ops.saturating_add(net.num_ops());
        self.push(SumStep::Net(Box::new(net)));
    }

    pub(super) fn open(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.push(SumStep::Open);
    }

    pub(in crate::model) fn close(&mut self, weight: f64, mean: f64, scale: f64) {
        self.depth -= 1;
        self.push(SumStep::Close { weight, mean, scale });
    }

    pub(in crate::model) fn expect(&mut self, expectation: Expectation) {
        self.depth -= expectation.num_margins();
        self.push(SumStep::Expect(expectation));
    }

    /// Ends the adding of steps.
    pub(super) fn finish(&mut self) {
        for step in &mut self.steps {
            if let SumStep::Trees(trees) = step {
                trees.walks.sort();
                let last = trees.chunks.take();
                trees.stages.extend(last.map(Form::Circuit));
            }
        }
    }

    /// Adds a tree to the trees before it, if they are the last step.
    pub(super) fn tree<'a>(&mut self, plan: &mut CodePlan<'a>, forest: &'a Forest, tree: &Tree) {
        if tree.splits().is_empty() {
            return self.push(SumStep::Add(tree.leaves()[0].value));
        }
        if !matches!(self.steps.last(), Some(SumStep::Trees(_))) {
            self.push(SumStep::Trees(Box::default()));
        }
        let Some(SumStep::Trees(trees)) = self.steps.last_mut() else { return };
        let places: Vec<CodeTest> =
            tree.splits().iter().map(|split| plan.place(forest, split)).collect();
        let walk = trees.walks.push(tree, &places);
        self.num_steps += walk.steps();
        if self.has_planes {
            trees.stage(tree, &places, walk);
        }
        trees.order.push(
            if let Some(circuit) = trees.circuits.push(tree, &places, self.has_planes) {
                self.num_ops += trees.circuits.ops(&circuit).len();
                Form::Circuit(circuit)
            } else {
                self.num_ops += tree.splits().len();
                Form::Walk(walk)
            },
        );
    }
}
