//! Selects one of the trees that several workers grow, each from its part of the documents.
//!
//! Either all workers evaluate all trees on their documents by the first metric, and the best tree
//! is selected (of equals that of the smallest rank). Or a random worker is drawn for the round,
//! and only that one grows a tree. Workers without documents grow none. The messages are trees and
//! sums of a metric, whatever the number of documents (Svore and Burges, *Large-scale learning to
//! rank using boosted decision trees*, 2012).

use super::WorkerMode;
use super::evaluation::EvaluationSets;
use super::trainer::scaled_tree;
use crate::Interrupt;
use crate::data::Dataset;
use crate::distributed::{Collective, WorkerGroup};
use crate::error::{Error, Result};
use crate::metric::Mean;
use crate::model::{Model, Tree};
use crate::random::{below, draw};
use crate::tree::BinnedTree;
use std::sync::Arc;

/// Separates the draws of ranks from all other draws.
const OF_RANKS: u64 = 0x72_61_6e_6b_73;

/// The selection of a tree in one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeSelection<'a> {
    pub(super) workers: &'a WorkerGroup,
    pub(super) mode: WorkerMode,
    pub(super) seed: u64,
    pub(super) round: u64,
    /// The number of documents of each worker.
    pub(super) sizes: &'a [u64],
}

/// The documents on which trees are evaluated.
pub(super) struct SelectionDocs<'a> {
    pub(super) dataset: &'a Arc<Dataset>,
    pub(super) scores: &'a [f64],
    pub(super) evaluation: &'a EvaluationSets,
    pub(super) learning_rate: f64,
}

/// The rank that is drawn in a round, among workers with documents.
pub(super) fn drawn(seed: u64, round: u64, sizes: &[u64]) -> usize {
    let able: Vec<usize> = (0..sizes.len()).filter(|&rank| sizes[rank] > 0).collect();
    able[below(draw(seed ^ OF_RANKS, round, 0), able.len() as u64) as usize]
}

impl TreeSelection<'_> {
    /// Whether this worker grows a tree.
    pub(super) fn grows(&self) -> bool {
        match self.mode {
            WorkerMode::SampleSelection => {
                drawn(self.seed, self.round, self.sizes) == self.workers.rank()
            }
            _ => self.sizes[self.workers.rank()] > 0,
        }
    }

    /// The selected tree; `own` is this worker's tree, if it has grown one.
    pub(super) fn select(
        &self,
        own: Result<Option<Tree>>,
        docs: &SelectionDocs<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        let call = |what| Collective { what, round: self.round };
        let num_features = docs.dataset.num_features();
        let own =
            own.and_then(|tree| tree.map_or(Ok(Vec::new()), |tree| to_bytes(tree, num_features)));
        let all = self.workers.gather(call("the trees of a round"), own)?;
        let some = all.iter().filter(|bytes| !bytes.is_empty());
        let mut trees: Vec<Tree> = some.map(|bytes| from_bytes(bytes)).collect::<Result<_>>()?;
        let any_split = trees.iter().any(|tree| !tree.splits().is_empty());
        trees.retain(|tree| !any_split || !tree.splits().is_empty());
        if trees.len() > 1 {
            let mut words = vec![0; trees.len() * Mean::WORDS];
            let own = docs.evaluate(&trees, &mut words, interrupt);
            self.workers.sum(call("the values of trees"), own, &mut words)?;
            let values = words.chunks_exact(Mean::WORDS).map(|words| Mean::of_words(words).value);
            let best =
                values.enumerate().reduce(|a, b| if b.1 > a.1 || a.1.is_nan() { b } else { a });
            trees.swap(0, best.map_or(0, |(at, _)| at));
        }
        trees.into_iter().next().ok_or_else(|| Error::internal("a round without a tree"))
    }
}

impl SelectionDocs<'_> {
    /// Evaluates the metric with each tree added.
    fn evaluate(&self, trees: &[Tree], words: &mut [u64], interrupt: &Interrupt) -> Result<()> {
        for (tree, words) in trees.iter().zip(words.chunks_exact_mut(Mean::WORDS)) {
            let tree = scaled_tree(tree, self.learning_rate)?;
            let mut scores = self.scores.to_vec();
            let coded = BinnedTree::new(&tree, &[], self.dataset.binning());
            let coded = coded.ok_or_else(|| Error::internal("a split outside of the bins"))?;
            coded.add_to(self.dataset.matrix(), &mut scores, interrupt)?;
            words.copy_from_slice(&self.evaluation.words_of(self.dataset, &scores, interrupt)?);
        }
        Ok(())
    }
}

/// A tree as a model file, which the receiver checks as it reads it.
fn to_bytes(tree: Tree, num_features: usize) -> Result<Vec<u8>> {
    let mut model = Model::new(num_features);
    model.push(tree)?;
    Ok(model.to_text().into_bytes())
}

fn from_bytes(bytes: &[u8]) -> Result<Tree> {
    let model = Model::from_text(bytes)?;
    let tree = model.trees().next().cloned();
    tree.ok_or_else(|| Error::comm("comm.damaged", "a tree without a tree"))
}

/// A hash of the tree's splits and values.
pub(super) fn fingerprint(tree: &Tree) -> u64 {
    let splits = tree.splits().iter().flat_map(|split| {
        let question = u64::from(split.feature) << 1 | u64::from(split.missing_left);
        [question, split.threshold.to_bits(), split.docs]
    });
    let leaves = tree.leaves().iter().flat_map(|leaf| [leaf.value.to_bits(), leaf.docs]);
    splits.chain(leaves).fold(0, |h, part| crate::hash::mix(h.rotate_left(1) ^ part))
}
