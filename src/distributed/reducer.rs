//! What growth and boosting ask of other workers, for each way of dividing a training.
//!
//! In the mode *histogram* each worker has whole queries, so it computes their gradients alone. All
//! that concerns more documents (the scale of gradients, histograms, counts, means of metrics) is
//! summed as integers, so the model is that of a single process with all documents. A message takes
//! eight bytes per column and byte value, whatever the number of documents.
//!
//! In the mode *features* each worker has all documents and searches some of the columns
//! (`feature_parallel.rs`). In the modes that select trees, each grows a tree alone (`selection.rs`).

use super::selection::{self, SelectionRound};
use super::{Collective, FRAME, WorkerGroup, WorkerMode};
use super::{data_facts, feature_parallel};
use crate::boosting::{
    DataFacts, EvaluationSets, RoundReducer, SelectionDocs, TrainingPlan, no_tree,
};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Tree;
use crate::tree::{
    GrowOptions, GrowthReducer, LocalReducer, REDUCER_ROOM, SearchResult, TreeShape,
};
use std::ops::Range;

const _: () = assert!(FRAME == REDUCER_ROOM, "the frame of a histogram takes the room it has");

/// The workers of a training.
#[derive(Debug, Clone)]
pub(super) struct TrainingWorkers {
    pub(super) group: WorkerGroup,
    pub(super) mode: WorkerMode,
    seed: u64,
    /// The number of documents of each worker, if each has a part.
    sizes: Vec<u64>,
}

impl TrainingWorkers {
    pub(super) fn new(group: WorkerGroup, mode: WorkerMode) -> Self {
        Self { group, mode, seed: 0, sizes: Vec::new() }
    }
}

impl GrowthReducer for TrainingWorkers {
    fn divides_docs(&self) -> bool {
        self.mode == WorkerMode::Histogram
    }

    fn columns(&self, num_columns: usize) -> Range<usize> {
        if self.divides_docs() {
            return 0..num_columns;
        }
        let (rank, size) = (self.group.rank(), self.group.size());
        num_columns * rank / size..num_columns * (rank + 1) / size
    }

    fn check_options(&self, options: &GrowOptions, is_constrained: bool) -> Result<()> {
        if options.tree_shape != TreeShape::Leafwise {
            let what = "symmetric trees are not grown by a team";
            return Err(Error::param("tree_shape", what).expected("\"leafwise\""));
        }
        if options.rows_per_node < 1.0 && is_constrained {
            let what = "limits of features are not kept by a team that chooses splits by a sample";
            return Err(Error::param("rows_per_node", what).expected(1));
        }
        Ok(())
    }

    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        self.group.fail_later(outcome);
        Ok(())
    }

    fn sum(&self, what: &'static str, round: u64, words: &mut [u64]) -> Result<()> {
        if self.divides_docs() {
            self.group.sum(Collective { what, round }, Ok(()), words)?;
        }
        Ok(())
    }

    fn sum_histogram(&self, round: u64, words: &mut [u64]) -> Result<()> {
        self.group.sum_framed(Collective { what: "a histogram", round }, Ok(()), words)
    }

    fn max(&self, what: &'static str, round: u64, values: &mut [f64]) -> Result<()> {
        if self.divides_docs() {
            self.group.max(Collective { what, round }, Ok(()), values)?;
        }
        Ok(())
    }

    fn best_splits(
        &self,
        options: &GrowOptions,
        round: u64,
        found: [SearchResult; 2],
    ) -> Result<[SearchResult; 2]> {
        if self.divides_docs() {
            return Ok(found);
        }
        feature_parallel::best_splits(&self.group, options, round, found)
    }
}

impl RoundReducer for TrainingWorkers {
    fn watch(&self, interrupt: &Interrupt) {
        self.group.watch(interrupt);
    }

    fn growth(&self) -> Box<dyn GrowthReducer> {
        if self.selects_trees() { Box::new(LocalReducer) } else { Box::new(self.clone()) }
    }

    fn exchange_facts(
        &mut self,
        plan: &mut TrainingPlan,
        evaluation: &mut EvaluationSets,
    ) -> Result<DataFacts> {
        data_facts::agree_on_plan(self, plan, evaluation)?;
        if self.mode == WorkerMode::Features {
            let facts = DataFacts::of(evaluation);
            facts.fingerprints.iter().try_for_each(|&set| self.same("dataset", 0, set))?;
            return Ok(facts);
        }
        self.seed = plan.params.grow.seed;
        let facts;
        (facts, self.sizes) = data_facts::of_parts(&self.group, plan, evaluation)?;
        Ok(facts)
    }

    fn agree(&self, what: &'static str, own: Result<()>) -> Result<()> {
        self.group.agree(Collective::at_start(what), own)
    }

    fn same(&self, what: &'static str, round: u64, value: u64) -> Result<()> {
        self.group.same(Collective { what, round }, value)
    }

    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        if self.mode == WorkerMode::Features {
            return outcome;
        }
        GrowthReducer::fail_later(self, outcome)
    }

    fn gradients_made(&self, round: u64, outcome: Result<()>) -> Result<()> {
        match self.mode {
            WorkerMode::Histogram => GrowthReducer::fail_later(self, outcome),
            WorkerMode::Features => {
                self.group.agree(Collective { what: "gradients", round }, outcome)
            }
            _ => outcome,
        }
    }

    fn sum_metrics(&self, round: u64, words: &mut [u64]) -> Result<()> {
        if self.mode == WorkerMode::Features {
            return Ok(());
        }
        self.group.sum(Collective { what: "the means of metrics", round }, Ok(()), words)
    }

    fn selects_trees(&self) -> bool {
        !matches!(self.mode, WorkerMode::Histogram | WorkerMode::Features)
    }

    fn grows_tree(&self, round: u64) -> bool {
        let rank = self.group.rank();
        match self.mode {
            WorkerMode::FullSelection | WorkerMode::FullSelectionAll => self.sizes[rank] > 0,
            WorkerMode::SampleSelection => {
                selection::drawn_rank(self.seed, round, &self.sizes) == rank
            }
            WorkerMode::Histogram | WorkerMode::Features => true,
        }
    }

    fn choose_tree(
        &self,
        round: u64,
        own: Result<Option<Tree>>,
        docs: &SelectionDocs<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        let tree = match self.mode {
            WorkerMode::Histogram => own?,
            // The own tree, which is that of all workers if none has failed.
            WorkerMode::Features => self.group.agree(Collective { what: "a tree", round }, own)?,
            _ => {
                let judges_own = self.mode == WorkerMode::FullSelectionAll;
                let round = SelectionRound { round, judges_own };
                selection::best_tree(&self.group, round, own, docs, interrupt)?
            }
        };
        tree.ok_or_else(no_tree)
    }

    fn error_without_split(&self, num_docs: usize, own: Error) -> Error {
        data_facts::error_of_largest(&self.group, num_docs, own)
    }
}
