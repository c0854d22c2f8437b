//! Training by several workers: how they divide it, and the trainer of each.

use super::WorkerGroup;
use super::reducer::TrainingWorkers;
use crate::boosting::{BoostingTrainer, RoundReducer, TrainingPlan};
use crate::data::Dataset;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::schema::choices;
use crate::tree::LocalReducer;
use std::sync::Arc;

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
    /// The trainer of this worker. It continues from a checkpoint, if there is one, of a training
    /// with the same data, plan and base model.
    ///
    /// The number of workers must be that of the training before, unless the model is that of a
    /// single process; then any number will do.
    pub fn trainer(
        self,
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        checkpoint: Option<Model>,
        interrupt: &Interrupt,
    ) -> Result<BoostingTrainer> {
        self.group.watch(interrupt);
        let reducer: Box<dyn RoundReducer> = if self.group.is_alone() {
            Box::new(LocalReducer)
        } else {
            Box::new(TrainingWorkers::new(self.group, self.mode))
        };
        BoostingTrainer::with_reducer(dataset, plan, checkpoint, reducer, interrupt)
    }
}
