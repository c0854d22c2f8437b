//! All parameters of each kind of training, by the names that users write.
//!
//! Most groups of parameters are the structs that training itself works with: [`BoostingParams`],
//! [`GrowOptions`], [`Dropout`]. Those here are the others: parameters that depend on each other, such as
//! a default that depends on the objective, and those that only the Python package acts on, which are
//! here so that every parameter is defined in one way.

mod loss;
mod presets;
mod rounds;
mod run;
mod several;

use crate::boosting::{BoostingParams, Dropout, RATE, ROUNDS, RefitOptions};
use crate::error::Result;
use crate::neural::{self, RestartFrom};
use crate::schema::{Foreign, ParamRange, ParamValue, parameter_groups, parameters};
use crate::tree::{CategoryOptions, GrowOptions};

pub use loss::{LabelOptions, LossName, LossOptions, PairScale, PairsTo};
pub use presets::{NetPreset, Preset};
pub use rounds::{KnownNames, SamplingOptions, SamplingRule, StepKind, StepOptions, StepTiesKind};
pub use run::{ExportFormat, LimitOptions, OnLoss, RunOptions, WorkerOptions};
pub use several::NamedMetric;

parameter_groups! {
    /// All parameters of a training of trees.
    pub struct TrainOptions {
        /// Rounds and steps.
        pub boosting: BoostingParams = BoostingParams::default(),
        /// How trees are grown.
        pub tree: GrowOptions = GrowOptions::default(),
        /// The loss.
        pub loss: LossOptions = LossOptions::default(),
        /// What labels mean.
        pub labels: LabelOptions = LabelOptions::default(),
        /// Which docs a tree is grown from.
        pub sampling: SamplingOptions = SamplingOptions::default(),
        /// The exact step.
        pub step: StepOptions = StepOptions::default(),
        /// Dropout of trees.
        pub dropout: Dropout = Dropout::default(),
        /// Splits on categories.
        pub categories: CategoryOptions = CategoryOptions::default(),
        /// What bounds the use of features.
        pub limits: LimitOptions = LimitOptions::default(),
        /// What is evaluated, and how training runs.
        pub run: RunOptions = RunOptions::default(),
        /// The processes that train together.
        pub workers: WorkerOptions = WorkerOptions::default(),
    }
}

impl TrainOptions {
    /// What the trainer works with; all but limits, which name features of a dataset.
    pub fn params(&self, names: &KnownNames<'_>) -> Result<BoostingParams> {
        let mut params = self.boosting.clone();
        params.doc_sampling = self.sampling.sampling(params.docs_per_tree)?;
        params.step = self.step.step(&self.labels, names, self.tree.seed)?;
        params.dropout = (self.dropout.rate != 0.0).then(|| self.dropout.clone());
        params.grow = self.tree.clone();
        params.grow.random_decay = params.learning_rate;
        params.grow.categories = self.categories.clone();
        Ok(params)
    }
}

parameters! {
    /// `LambdaBoost`: a feature a round.
    pub struct FeatureOptions in "features" {
        /// The most rounds.
        pub num_rounds: usize = 500, within ROUNDS;
        /// The share of a coefficient that is added.
        pub learning_rate: f64 = 0.5, within RATE;
        /// With a validation set: end after so many rounds without a new best value, and keep those up
        /// to the best.
        pub early_stopping: Option<usize> = Some(50),
            within ParamRange::from(1.0).to(2_147_483_648.0);
        /// What features are added to: any booster. It becomes part of the result.
        pub base: Foreign = Foreign(ParamValue::None), typed "Booster | None";
        /// What is evaluated on the validation set after each round; the first one decides.
        pub metric: Foreign = Foreign(ParamValue::Text("ndcg@10".to_owned())),
            typed "str | Sequence[str]";
        /// The seed of what objectives draw.
        pub seed: u64 = 0;
        /// Threads to use; all cores by default.
        pub num_threads: Option<usize> = None, within ParamRange::from(1.0).to(1024.0);
        /// Whether to show a progress bar.
        pub progress: bool = false;
    }
}

parameter_groups! {
    /// All parameters of a training by single features.
    pub struct FeatureTrainOptions {
        /// Rounds and steps.
        pub rounds: FeatureOptions = FeatureOptions::default(),
        /// The loss, as in the papers.
        pub loss: LossOptions = LossOptions::plain(),
        /// What labels mean.
        pub labels: LabelOptions = LabelOptions::default(),
    }
}

parameters! {
    /// When a net has learned enough, and how training runs.
    pub struct NetRunOptions in "run" {
        /// Options that go together; what is given besides wins over them. `sgd` is the nets' training in
        /// the papers: a plain step for each query at one rate, without decay, on the values as they are
        /// (Burges 2010, section 2); 25 hidden units, a rate of 0.001, 500 epochs, and random restarts
        /// when the validation set's values do not rise (Burges et al. 2011, section 4.2).
        pub preset: Option<NetPreset> = None;
        /// With a validation set: after so many epochs without a new best value of the first metric,
        /// begin again as `restart_from` says, at a lower rate; and end, after as many again. None does
        /// all epochs and keeps the last weights.
        pub patience: Option<usize> = Some(5), within ParamRange::from(1.0).to(4_294_967_295.0);
        /// How often training begins again before it ends.
        pub restarts: usize = 2, within ParamRange::from(0.0).to(4_294_967_295.0);
        /// The weights that it begins again with: the best so far, or random ones. The best net of all
        /// is kept.
        pub restart_from: RestartFrom = RestartFrom::Best;
        /// What the learning rate is multiplied by when training begins again.
        pub restart_factor: f64 = 0.5, within neural::FACTOR;
        /// What is evaluated on the validation set; the first one decides.
        pub metric: Foreign = Foreign(ParamValue::Text("ndcg@10".to_owned())),
            typed "str | Sequence[str]";
        /// Threads to use; all cores by default.
        pub num_threads: Option<usize> = None, within ParamRange::from(1.0).to(1024.0);
        /// Whether to show a progress bar.
        pub progress: bool = false;
    }
}

parameter_groups! {
    /// All parameters of the training of a net.
    pub struct NetTrainOptions {
        /// The net and how it learns.
        pub net: neural::Params = neural::Params::default(),
        /// When it has learned enough.
        pub run: NetRunOptions = NetRunOptions::default(),
        /// The loss, as in the papers.
        pub loss: LossOptions = LossOptions::plain(),
        /// What labels mean.
        pub labels: LabelOptions =
            LabelOptions { relevant_from: Some(1.0), ..LabelOptions::default() },
    }
}

parameter_groups! {
    /// All parameters of fitting leaf values anew.
    pub struct RefitTrainOptions {
        /// How much of the old values stays.
        pub leaves: RefitOptions = RefitOptions::default(),
        /// The loss.
        pub loss: LossOptions = LossOptions::default(),
        /// What labels mean.
        pub labels: LabelOptions = LabelOptions::default(),
        /// How it runs.
        pub run: RefitRunOptions = RefitRunOptions::default(),
    }
}

parameters! {
    /// How fitting leaf values anew runs.
    pub struct RefitRunOptions in "run" {
        /// The metric whose changes weigh pairs, without its cut, unless `objective_metric` says so.
        pub metric: String = "ndcg@10".to_owned();
        /// The seed of what objectives draw.
        pub seed: u64 = 0;
        /// Threads to use; all cores by default.
        pub num_threads: Option<usize> = None, within ParamRange::from(1.0).to(1024.0);
    }
}
