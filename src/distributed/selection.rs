//! Selects one of the trees that several workers grow, each from its part of the documents.
//!
//! Either all workers evaluate the trees of the others on their documents by the first metric, or all
//! trees, and the best tree is selected (of equals that of the smallest rank). Or a random worker is drawn for the round,
//! and only that one grows a tree. Workers without documents grow none. The messages are trees and
//! sums of a metric, whatever the number of documents (Svore and Burges, *Large-scale learning to
//! rank using boosted decision trees*, 2012).

use super::WorkerMode;
use super::data_facts::{self, Plans};
use super::training::TrainingGroup;
use crate::boosting::{
    DataFacts, EvaluationSets, RoundReducer, SelectionDocs, TrainingPlan, no_tree,
};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Mean;
use crate::model::{Model, Tree};
use crate::random::{below, draw};

/// Separates the draws of ranks from all other draws.
const OF_RANKS: u64 = 0x72_61_6e_6b_73;

/// The workers that grow competing trees.
#[derive(Debug)]
pub(super) struct SelectionReducer {
    workers: TrainingGroup,
    mode: WorkerMode,
    seed: u64,
    /// The number of documents of each worker.
    sizes: Vec<u64>,
}

impl SelectionReducer {
    pub(super) fn new(workers: TrainingGroup, mode: WorkerMode) -> Self {
        Self { workers, mode, seed: 0, sizes: Vec::new() }
    }

    /// The rank that is drawn in a round, among workers with documents.
    fn drawn(&self, round: u64) -> usize {
        let able: Vec<usize> = (0..self.sizes.len()).filter(|&rank| self.sizes[rank] > 0).collect();
        able[below(draw(self.seed ^ OF_RANKS, round, 0), able.len() as u64) as usize]
    }
}

impl RoundReducer for SelectionReducer {
    fn exchange_facts(
        &mut self,
        dataset: &Dataset,
        plan: &mut TrainingPlan,
        evaluation: &mut EvaluationSets,
    ) -> Result<DataFacts> {
        self.seed = plan.params.grow.seed;
        let plans = Plans { plan, evaluation };
        let (facts, sizes) = data_facts::of_parts(&self.workers, self.mode, dataset, plans)?;
        self.sizes = sizes;
        Ok(facts)
    }

    fn agree(&self, what: &'static str, own: Result<()>) -> Result<()> {
        self.workers.agree(what, 0, own)
    }

    fn same(&self, what: &'static str, round: u64, value: u64) -> Result<()> {
        self.workers.same(what, round, value)
    }

    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        self.workers.fail_later(outcome);
        Ok(())
    }

    fn sum_metrics(&self, round: u64, words: &mut [u64]) -> Result<()> {
        self.workers.sum("the means of metrics", round, words)
    }

    fn selects_trees(&self) -> bool {
        true
    }

    fn grows_tree(&self, round: u64) -> bool {
        let rank = self.workers.group.rank();
        match self.mode {
            WorkerMode::SampleSelection => self.drawn(round) == rank,
            _ => self.sizes[rank] > 0,
        }
    }

    fn choose_tree(
        &self,
        round: u64,
        own: Result<Option<Tree>>,
        docs: &SelectionDocs<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        let own = own.and_then(|tree| {
            tree.map_or(Ok(Vec::new()), |tree| to_bytes(tree, docs.num_features()))
        });
        let all = self.workers.gather("the trees of a round", round, own)?;
        let mut trees: Vec<(usize, Tree)> = Vec::new();
        for (rank, bytes) in all.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
            trees.push((rank, from_bytes(bytes)?));
        }
        let any_split = trees.iter().any(|(_, tree)| !tree.splits().is_empty());
        trees.retain(|(_, tree)| !any_split || !tree.splits().is_empty());
        if trees.len() > 1 {
            let own_rank = self.workers.group.rank();
            let judges_own = self.mode == WorkerMode::FullSelectionAll;
            let mut words = vec![0; trees.len() * Mean::WORDS];
            let of_trees = words.chunks_exact_mut(Mean::WORDS).zip(&trees);
            let mut others = of_trees.filter(|(_, (rank, _))| judges_own || *rank != own_rank);
            self.workers.fail_later(others.try_for_each(|(words, (_, tree))| {
                words.copy_from_slice(&docs.metric_words(tree, interrupt)?);
                Ok(())
            }));
            self.workers.sum("the values of trees", round, &mut words)?;
            let values = words.chunks_exact(Mean::WORDS).map(|words| Mean::of_words(words).value);
            let best =
                values.enumerate().reduce(|a, b| if b.1 > a.1 || a.1.is_nan() { b } else { a });
            trees.swap(0, best.map_or(0, |(at, _)| at));
        }
        trees.into_iter().next().map(|(_, tree)| tree).ok_or_else(no_tree)
    }

    fn error_without_split(&self, num_docs: usize, own: Error) -> Error {
        self.workers.error_without_split(num_docs, own)
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
