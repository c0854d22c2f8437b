//! What a round of boosting asks of other workers.
//!
//! Several workers can train one model together. The trainer knows them only as a [`RoundReducer`].
//! For a single process, the [`LocalReducer`] does nothing; `distributed/` has the others.

use super::TrainingPlan;
use super::binned_scoring::BinnedScorer;
use super::evaluation::EvaluationSets;
use super::trainer::scaled_tree;
use crate::Interrupt;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::Tree;
use crate::tree::{GrowthReducer, LocalReducer};
use std::fmt::Debug;

/// The other workers that train the same model.
///
/// All workers call the same methods in the same order. The default of each method is that of a
/// single process.
pub(crate) trait RoundReducer: Debug + Send + Sync {
    /// The workers that grow a tree together with this one.
    fn growth(&self) -> Box<dyn GrowthReducer> {
        Box::new(LocalReducer)
    }

    /// Has all that is asked of other workers from now on end when a flag is raised.
    fn watch(&self, _interrupt: &Interrupt) {}

    /// The facts about the data of all workers. Returns an error on all of them unless all have the
    /// same plan, and one that these workers support. Tells metrics and loss what they need to know
    /// about the labels of all workers.
    fn exchange_facts(
        &mut self,
        _plan: &mut TrainingPlan,
        evaluation: &mut EvaluationSets,
    ) -> Result<DataFacts> {
        Ok(DataFacts::of(evaluation))
    }

    /// Returns an error on all workers if one of them failed at a step before the first round.
    fn agree(&self, _what: &'static str, own: Result<()>) -> Result<()> {
        own
    }

    /// Returns an error on all workers unless all have the same value.
    fn same(&self, _what: &'static str, _round: u64, _value: u64) -> Result<()> {
        Ok(())
    }

    /// Takes the outcome of a local step before documents or metrics are summed. Where other
    /// workers wait for the sums, the first error is kept, and returned by the sum.
    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        outcome
    }

    /// Takes the outcome of computing the gradients of a round.
    fn gradients_made(&self, _round: u64, outcome: Result<()>) -> Result<()> {
        outcome
    }

    /// Replaces the words of the metrics' means by their sums over all workers.
    fn sum_metrics(&self, _round: u64, _words: &mut [u64]) -> Result<()> {
        Ok(())
    }

    /// Whether the workers grow trees of their own, of which one is selected.
    fn selects_trees(&self) -> bool {
        false
    }

    /// Whether this worker grows a tree in a round.
    fn grows_tree(&self, _round: u64) -> bool {
        true
    }

    /// The tree of a round; `own` is the tree of this worker, if it has grown one.
    fn choose_tree(
        &self,
        _round: u64,
        own: Result<Option<Tree>>,
        _docs: &SelectionDocs<'_>,
        _interrupt: &Interrupt,
    ) -> Result<Tree> {
        own?.ok_or_else(no_tree)
    }

    /// The error of all workers if no tree of the first round has a split; `own` is that of this
    /// worker, whose tree was fitted to `num_docs` documents.
    fn error_without_split(&self, _num_docs: usize, own: Error) -> Error {
        own
    }
}

impl RoundReducer for LocalReducer {}

impl dyn RoundReducer {
    /// The result of this worker's step before the first round, if no worker has failed.
    pub(super) fn agreed<T>(&self, what: &'static str, own: Result<T>) -> Result<T> {
        let mut value = None;
        let outcome = own.map(|own| value = Some(own));
        self.agree(what, outcome)?;
        value.ok_or_else(|| Error::internal("a failure that nobody has heard of"))
    }
}

/// Facts about the documents of all workers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataFacts {
    /// The fingerprints of the training set and of each evaluation set.
    pub(crate) fingerprints: Vec<u64>,
    /// Whether some query of the training set has two different labels.
    pub(crate) has_pairs: bool,
}

impl DataFacts {
    /// The facts if this worker has all documents.
    pub(crate) fn of(evaluation: &EvaluationSets) -> Self {
        Self {
            fingerprints: evaluation.datasets().into_iter().map(Dataset::fingerprint).collect(),
            has_pairs: evaluation.train().require_pairs().is_ok(),
        }
    }
}

/// The documents of a worker, on which the trees of several workers are compared.
pub(crate) struct SelectionDocs<'a> {
    pub(super) evaluation: &'a EvaluationSets,
    pub(super) learning_rate: f64,
}

impl SelectionDocs<'_> {
    /// The number of features of the data set.
    pub(crate) fn num_features(&self) -> usize {
        self.evaluation.train().num_features()
    }

    /// The first metric with a tree added to the model, as words to be summed over workers.
    pub(crate) fn metric_words(&self, tree: &Tree, interrupt: &Interrupt) -> Result<Vec<u64>> {
        let tree = scaled_tree(tree, self.learning_rate)?;
        let mut scores = self.evaluation.train_cache.scores().to_vec();
        let scorer = BinnedScorer::new(self.evaluation.train(), interrupt);
        scorer.add_tree(&tree, &[], &mut scores)?;
        self.evaluation.words_of(&scores, interrupt)
    }
}

/// The error of a round in which no worker has grown a tree.
pub(crate) fn no_tree() -> Error {
    Error::internal("a round without a tree")
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
