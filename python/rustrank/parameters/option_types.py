"""The types of the options of `rustrank.train` and of estimators: written by ``make parameters``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from rustrank.model.booster import Booster
    from rustrank.parameters.plan import EarlyStopping
    from rustrank.training.rounds import Round


class SharedOptions(TypedDict, total=False):
    """Options of all trainings."""

    learning_rate: float
    gain: Any
    relevant_from: float | None
    max_label: float | None
    preset: str | None
    progress: bool


class EstimatorOptions(SharedOptions, total=False):
    """Options of all rankers."""

    random_state: int | None
    n_jobs: int | None


class GrowthOptions(SharedOptions, total=False):
    """Options of all trainings of trees."""

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
    monotone: Mapping[str | int, int] | Sequence[int] | None
    interactions: Sequence[Sequence[str | int]] | None
    feature_weight: Mapping[str | int, float] | Sequence[float] | None
    metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]]
    early_stopping: int | EarlyStopping | None


class QueryLoss(TypedDict, total=False):
    """Options of losses on queries."""

    augment: tuple[float, int] | str | None


class PairLoss(QueryLoss, total=False):
    """Options of losses on pairs."""

    pairs_to: int | str | None
    sigma: float
    tied_pairs: str


class LambdaLoss(PairLoss, total=False):
    """Options of lambdas: pairs weighed by a metric."""

    objective_metric: str | None
    pair_normaliser: str
    gap_offset: float
    query_normaliser: str
    noise_scale: float | None
    noise_copies: int


class TreeOptions(GrowthOptions, EstimatorOptions, total=False):
    """Options of rankers made of trees."""

    n_estimators: int
    categorical: Sequence[str | int] | None
    max_bins: int | None
    missing: float
    query_ranks: bool
    validation_fraction: float


class QueryOptions(TreeOptions, QueryLoss, total=False):
    """Options of trees for queries."""


class PairOptions(TreeOptions, PairLoss, total=False):
    """Options of trees for pairs."""


class LambdaOptions(TreeOptions, LambdaLoss, total=False):
    """Options of trees for lambdas."""


class MARTOptions(TreeOptions, total=False):
    """Options of trees for docs."""

    objective: str


class McRankOptions(TreeOptions, total=False):
    """Options of trees for classes."""

    ordinal: bool


class RankNetOptions(EstimatorOptions, total=False):
    """Options of nets."""

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


class LambdaRankOptions(RankNetOptions, total=False):
    """Options of nets that see a metric."""

    objective_metric: str | None


class LambdaBoostOptions(EstimatorOptions, total=False):
    """Options of `LambdaBoost`."""

    n_estimators: int
    early_stopping: int | None
    base: Booster | None
    metric: str | Sequence[str]
    objective: str
    objective_metric: str | None
    pairs_to: int | str | None
    sigma: float


class TrainOptions(GrowthOptions, LambdaLoss, total=False):
    """Options of `rustrank.train`."""

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
