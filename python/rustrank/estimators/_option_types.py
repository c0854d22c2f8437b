"""The types of the options of estimators: written by ``make parameters``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rustrank.model.booster import Booster
    from rustrank.training.train import EarlyStopping


class TreeOptions(TypedDict, total=False):
    """Options of all rankers made of trees."""

    n_estimators: int
    learning_rate: float
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
    random_state: int | None
    gain: Any
    relevant_from: float | None
    max_label: float | None
    doc_sampling: str
    top_docs: float | None
    step: str
    step_metric: str | None
    step_min: float
    step_max: float
    step_on: str | None
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
    preset: str | None
    progress: bool
    n_jobs: int | None
    categorical: Sequence[str | int] | None
    max_bins: int | None
    missing: float
    query_ranks: bool
    validation_fraction: float


class QueryOptions(TreeOptions, total=False):
    """Options of losses on queries."""

    augment: tuple[float, int] | str | None


class PairOptions(QueryOptions, total=False):
    """Options of losses on pairs."""

    pairs_to: int | str | None
    sigma: float
    tied_pairs: str


class LambdaOptions(PairOptions, total=False):
    """Options of pairs that weigh what a metric says."""

    objective_metric: str | None
    pair_normaliser: str
    gap_offset: float
    query_normaliser: str
    noise_scale: float | None
    noise_copies: int


class MARTOptions(TreeOptions, total=False):
    """Options of losses on docs."""

    objective: str


class McRankOptions(TreeOptions, total=False):
    """Options of losses on classes."""

    ordinal: bool


class RankNetOptions(TypedDict, total=False):
    """Options of nets."""

    hidden: Sequence[int]
    epochs: int
    learning_rate: float
    optimiser: str
    schedule: str
    batch_queries: int
    weight_decay: float
    inputs: str
    limit: float
    random_state: int | None
    patience: int | None
    restarts: int
    restart_factor: float
    metric: str | Sequence[str]
    n_jobs: int | None
    progress: bool
    pairs_to: int | str | None
    sigma: float
    augment: tuple[float, int] | str | None
    gain: Any
    relevant_from: float | None
    max_label: float | None


class LambdaRankOptions(RankNetOptions, total=False):
    """Options of nets that see a metric."""

    objective_metric: str | None


class LambdaBoostOptions(TypedDict, total=False):
    """Options of `LambdaBoost`."""

    n_estimators: int
    learning_rate: float
    early_stopping: int | None
    base: Booster | None
    metric: str | Sequence[str]
    random_state: int | None
    n_jobs: int | None
    progress: bool
    objective: str
    objective_metric: str | None
    pairs_to: int | str | None
    sigma: float
    gain: Any
    relevant_from: float | None
    max_label: float | None
