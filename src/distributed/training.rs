//! Training by several workers: how they divide it, and what all ways of dividing it share.

use super::data_facts::error_of_largest;
use super::feature_parallel::FeatureReducer;
use super::histogram_reducer::HistogramReducer;
use super::selection::SelectionReducer;
use super::{Collective, WorkerGroup};
use crate::boosting::{BoostingTrainer, RoundReducer, TrainingPlan};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::schema::choices;
use crate::tree::{GrowOptions, LocalReducer, TreeShape};
use std::sync::{Arc, Mutex, PoisonError};

choices! {
    /// The data that each worker has, and its task.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum WorkerMode {
        /// Each worker has a part of the queries, and histograms are summed. The model is that of a
        /// single process.
        #[default]
        Histogram = "histogram",
        /// Each worker has all documents and searches a share of the features. The model is that of a
        /// single process.
        Features = "features",
        /// Each worker grows a tree from its part; the tree that is best for the parts of the other
        /// workers is selected (Svore and Burges 2011, algorithm 3).
        FullSelection = "full-selection",
        /// The same, but a tree is judged on the part that it was grown from, too.
        FullSelectionAll = "full-selection-all",
        /// One worker, drawn at random, grows a tree from its part.
        SampleSelection = "sample-selection",
    }
}

/// The training of one model by several workers. Makes the trainer of each.
///
/// All workers must use the same plan, and call the same methods of their trainers in the same
/// order.
#[derive(Debug, Clone, Default)]
pub struct DistributedTraining {
    /// The workers. A single one trains as [`BoostingTrainer::new`] does.
    pub group: WorkerGroup,
    /// How they divide the training.
    pub mode: WorkerMode,
}

impl DistributedTraining {
    /// The trainer of this worker.
    pub fn trainer(
        self,
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        interrupt: &Interrupt,
    ) -> Result<BoostingTrainer> {
        BoostingTrainer::with_reducer(dataset, plan, self.reducer(), interrupt)
    }

    /// The trainer of this worker, continuing from a checkpoint of a training with the same data,
    /// plan and base model.
    ///
    /// The number of workers must be that of the training before, unless the model is that of a
    /// single process; then any number will do.
    pub fn resume(
        self,
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        checkpoint: Model,
        interrupt: &Interrupt,
    ) -> Result<BoostingTrainer> {
        let reducer = self.reducer();
        BoostingTrainer::resume_with_reducer(dataset, plan, checkpoint, reducer, interrupt)
    }

    fn reducer(self) -> Box<dyn RoundReducer> {
        if self.group.is_alone() {
            return Box::new(LocalReducer);
        }
        let workers = TrainingGroup { group: self.group, pending: Arc::default() };
        match self.mode {
            WorkerMode::Histogram => Box::new(HistogramReducer(workers)),
            WorkerMode::Features => Box::new(FeatureReducer(workers)),
            mode => Box::new(SelectionReducer::new(workers, mode)),
        }
    }
}

/// The workers of a training, and an error of this one that the others have yet to be told.
///
/// The next collective tells them. It returns the error, on this worker as it is, and on the others
/// as that of a worker.
#[derive(Debug, Clone)]
pub(super) struct TrainingGroup {
    pub(super) group: WorkerGroup,
    /// The first error since the last collective; clones have the same.
    pending: Arc<Mutex<Option<Error>>>,
}

impl TrainingGroup {
    /// Keeps an error for the next collective.
    pub(super) fn fail_later(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.get_or_insert(error);
        }
    }

    /// The outcome of this worker's steps since the last collective.
    fn outcome(&self) -> Result<()> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.take().map_or(Ok(()), Err)
    }

    /// Replaces words by their sums over all workers.
    pub(super) fn sum(&self, what: &'static str, round: u64, words: &mut [u64]) -> Result<()> {
        self.group.sum(Collective { what, round }, self.outcome(), words)
    }

    /// As [`sum`](Self::sum), in place; the last [`FRAME`](super::FRAME) words are free.
    pub(super) fn sum_framed(
        &self,
        what: &'static str,
        round: u64,
        framed: &mut [u64],
    ) -> Result<()> {
        self.group.sum_framed(Collective { what, round }, self.outcome(), framed)
    }

    /// Replaces values by the largest of all workers.
    pub(super) fn max(&self, what: &'static str, round: u64, values: &mut [f64]) -> Result<()> {
        self.group.max(Collective { what, round }, self.outcome(), values)
    }

    /// The bytes of each worker.
    pub(super) fn gather(
        &self,
        what: &'static str,
        round: u64,
        own: Result<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>> {
        self.group.gather(Collective { what, round }, self.outcome().and(own))
    }

    /// What this worker has, if no worker has failed.
    pub(super) fn agree<T>(&self, what: &'static str, round: u64, own: Result<T>) -> Result<T> {
        self.group.agree(Collective { what, round }, self.outcome().and(own))
    }

    /// Returns an error on all workers unless all have the same value.
    pub(super) fn same(&self, what: &'static str, round: u64, value: u64) -> Result<()> {
        self.group.same(Collective { what, round }, what, self.outcome().map(|()| value))
    }

    /// The error of a worker without a split, in the words of the worker with most documents.
    pub(super) fn error_without_split(&self, num_docs: usize, own: Error) -> Error {
        error_of_largest(&self.group, num_docs, own)
    }
}

/// Returns an error for options of growth that only a single process supports.
pub(super) fn check_growth(options: &GrowOptions, is_constrained: bool) -> Result<()> {
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
