# The types of the options of `rustrank.train` and of estimators: written by `make parameters`. Only type
# checkers read them, so this is a stub.
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

from rustrank.model.booster import Booster
from rustrank.parameters.plan import EarlyStopping
from rustrank.training.rounds import Round

# Options of all trainings.
class SharedOptions(TypedDict, total=False):
    learning_rate: float
    gain: Any
    relevant_from: float | None
    max_label: float | None
    preset: str | None
    progress: bool

# Options of all rankers.
class EstimatorOptions(SharedOptions, total=False):
    random_state: int | None
    n_jobs: int | None

# Options of all trainings of trees.
class GrowthOptions(SharedOptions, total=False):
    queries_per_tree: float
    docs_per_tree: float
    position_l2: float
    tree_shape: str
    num_leaves: int
    max_depth: int | None
    min_leaf_docs: int
    min_leaf_hess: float
    l2: float
    path_smooth: float
    min_reduction: float
    criterion: str
    leaf_values: str
    features_per_tree: float
    features_per_node: float
    rows_per_node: float
    random_strength: float
    doc_sampling: str
    top_docs: float | None
    step: str
    step_metric: str | None
    step_min: float
    step_max: float
    step_on: str | None
    step_ties: str
    step_tie_feature: str | int | None
    dropout: float
    dropout_skip: float
    dropout_max: int | None
    dropout_normaliser: str
    category_smooth: float
    min_category_docs: int
    max_categories: int
    category_one_by_one: int
    missing_is_unknown: bool
    monotone: Mapping[str | int, int] | Sequence[int] | None
    interactions: Sequence[Sequence[str | int]] | None
    feature_weight: Mapping[str | int, float] | Sequence[float] | None
    metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | Mapping[str, float]
    early_stopping: int | EarlyStopping | None
    exportable: str | None

# Options of losses on queries.
class QueryLoss(TypedDict, total=False):
    augment: tuple[float, int] | str | None

# Options of losses on pairs.
class PairLoss(QueryLoss, total=False):
    pairs_to: int | str | None
    sigma: float
    tied_pairs: str

# Options of lambdas: pairs weighed by a metric.
class LambdaLoss(PairLoss, total=False):
    objective_metric: str | None
    ideal_to: int | None
    pair_normaliser: str
    gap_offset: float
    query_normaliser: str
    noise_scale: float | None
    noise_copies: int
    guard: Mapping[str, float] | None

# Options of rankers made of trees.
class TreeOptions(GrowthOptions, EstimatorOptions, total=False):
    n_estimators: int
    categorical: Sequence[str | int] | None
    max_bins: int | None
    missing: float
    query_ranks: bool
    validation_fraction: float

# Options of trees for queries.
class QueryOptions(TreeOptions, QueryLoss, total=False): ...

# Options of trees for pairs.
class PairOptions(TreeOptions, PairLoss, total=False): ...

# Options of trees for lambdas.
class LambdaOptions(TreeOptions, LambdaLoss, total=False): ...

# Options of trees for docs.
class MARTOptions(TreeOptions, total=False):
    objective: str

# Options of trees for classes.
class McRankOptions(TreeOptions, total=False):
    ordinal: bool

# Options of nets.
class RankNetOptions(EstimatorOptions, total=False):
    hidden: Sequence[int]
    epochs: int
    optimiser: str
    schedule: str
    batch_queries: int
    weight_decay: float
    inputs: str
    limit: float
    patience: int | None
    restarts: int
    restart_from: str
    restart_factor: float
    metric: str | Sequence[str]
    pairs_to: int | str | None
    sigma: float
    augment: tuple[float, int] | str | None

# Options of nets that see a metric.
class LambdaRankOptions(RankNetOptions, total=False):
    objective_metric: str | None

# Options of `LambdaBoost`.
class LambdaBoostOptions(EstimatorOptions, total=False):
    n_estimators: int
    early_stopping: int | None
    base: Booster | None
    metric: str | Sequence[str]
    objective: str
    objective_metric: str | None
    pairs_to: int | str | None
    sigma: float

# Options of `rustrank.train`.
class TrainOptions(GrowthOptions, LambdaLoss, total=False):
    num_trees: int
    seed: int
    objective: str | Callable[..., Any]
    preferences: Any
    valid: Any
    base: Booster | None
    callbacks: Callable[[Round], object] | Sequence[Callable[[Round], object]] | None
    num_threads: int | None
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int
    resume: bool
    snapshot: str | PathLike[str] | None
    snapshot_every: int
    workers: int | None
    mode: str
    overlap: int
    deadline: float
    max_restarts: int
    on_loss: str
