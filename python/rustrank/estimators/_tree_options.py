"""The options of rankers made of trees, each named once.

What `rustrank.train` takes has its default there; the others have theirs here. Estimators are built
from these: a new option is a line in `train`'s signature and one here.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, TypedDict

from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rustrank.training.train import EarlyStopping

#: What is called otherwise in estimators, as in scikit-learn.
RENAMED = {"n_estimators": "num_trees", "n_jobs": "num_threads", "random_state": "seed"}
#: Defaults of what is not `train`'s, or another one here.
_OWN = {
    "categorical": None,
    "max_bins": None,
    "missing": math.nan,
    "objective": "regression",
    "ordinal": False,
    "query_ranks": False,
    "validation_fraction": 0.1,
}


class TreeOptions(TypedDict, total=False):
    """What all take."""

    n_estimators: int
    num_leaves: int
    learning_rate: float
    metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]]
    early_stopping: int | EarlyStopping | None
    validation_fraction: float
    preset: str | None
    tree_shape: str
    max_depth: int | None
    min_leaf_docs: int
    min_leaf_hess: float
    l2: float
    min_reduction: float
    criterion: str
    features_per_tree: float
    features_per_node: float
    rows_per_node: float
    random_strength: float
    monotone: Mapping[str | int, int] | Sequence[int] | None
    interactions: Sequence[Sequence[str | int]] | None
    feature_weight: Mapping[str | int, float] | Sequence[float] | None
    category_smooth: float
    min_category_docs: int
    max_categories: int
    category_one_by_one: int
    queries_per_tree: float
    docs_per_tree: float
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
    position_l2: float
    gain: Any
    relevant_from: float | None
    max_label: float | None
    max_bins: int | None
    missing: float
    categorical: Sequence[str | int] | None
    query_ranks: bool
    random_state: int | None
    n_jobs: int | None
    progress: bool


class QueryOptions(TreeOptions, total=False):
    """Of losses on queries."""

    augment: tuple[float, int] | str | None


class PairOptions(QueryOptions, total=False):
    """Of losses on pairs."""

    pairs_to: int | None
    sigma: float
    tied_pairs: str


class LambdaOptions(PairOptions, total=False):
    """Of pairs that weigh what a metric says."""

    objective_metric: str | None
    pair_normaliser: str
    gap_offset: float
    query_normaliser: str
    noise_scale: float | None
    noise_copies: int


class MARTOptions(TreeOptions, total=False):
    """Of losses on docs."""

    objective: str


class McRankOptions(TreeOptions, total=False):
    """Of losses on classes."""

    ordinal: bool


def signature_of(names: Iterable[str]) -> inspect.Signature:
    """Return the options with their defaults as the signature of a constructor."""
    known = inspect.signature(train).parameters

    def default(name: str) -> Any:
        return _OWN[name] if name in _OWN else known[RENAMED.get(name, name)].default

    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, keyword, default=default(name)) for name in names]
    )


def changed_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return, as `train`'s, the options that are not its defaults, which a preset may have others for."""
    defaults = inspect.signature(train).parameters
    of_train = {RENAMED.get(name, name): value for name, value in given.items() if name not in _OWN}
    # Not `!=`, which arrays and NaN answer in their own way.
    return {
        name: value
        for name, value in of_train.items()
        if repr(value) != repr(defaults[name].default)
    }
