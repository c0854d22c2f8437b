"""Rankers that learn doc by doc, as estimators: MART on the labels, and McRank on their classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rustrank._errors import ParamError, shown
from rustrank._options import flag
from rustrank._tree_ranker import TreeRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rustrank.training import EarlyStopping

__all__ = ["MART", "McRank"]

_POINTWISE = ("regression", "logistic", "balanced_logistic", "err_logistic")


class MART(TreeRanker):
    """Gradient-boosted trees that learn labels doc by doc (Friedman 2001).

    Parameters
    ----------
    objective : {"regression", "logistic", "balanced_logistic", "err_logistic"}
        The loss: squared error, or that of a logistic regression, in which the docs that are relevant
        may weigh as much as the others, or are so with the probability that ERR sees in a label. With ``relevant_from`` logistic losses tell relevant docs by
        it; without, labels are probabilities.
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.MART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    objective: str

    def __init__(
        self,
        *,
        objective: str = "regression",
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "ndcg@10",
        early_stopping: int | EarlyStopping | None = None,
        validation_fraction: float = 0.1,
        preset: str | None = None,
        tree_shape: str = "leafwise",
        max_depth: int | None = None,
        min_leaf_docs: int = 20,
        min_leaf_hess: float = 1e-3,
        l2: float = 0.0,
        min_reduction: float = 0.0,
        criterion: str = "second_order",
        features_per_tree: float = 1.0,
        features_per_node: float = 1.0,
        rows_per_node: float = 1.0,
        random_strength: float = 0.0,
        queries_per_tree: float = 1.0,
        docs_per_tree: float = 1.0,
        step: str = "newton",
        step_metric: str | None = None,
        step_min: float = 0.1,
        step_max: float = 100.0,
        step_on: str | None = None,
        gain: Any = "exp2",
        relevant_from: float | None = None,
        max_label: float | None = None,
        max_bins: int | None = None,
        missing: float = math.nan,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._keep(locals())

    def _loss(self) -> str:
        if self.objective not in _POINTWISE:
            message = f"objective: got {shown(self.objective)}, expected {', '.join(_POINTWISE)}"
            raise ParamError(message, code="objective")
        return self.objective

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
    ) -> MART:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight, base_score
            As for `LambdaMART.fit`.
        eval_set, eval_qid, eval_group, base, callbacks
            As for `LambdaMART.fit`.

        Returns
        -------
        MART
            This one, fitted.
        """
        given = dict(locals())
        del given["self"], given["X"], given["y"]
        self._fit(X, y, given)
        return self


class McRank(TreeRanker):
    """Gradient-boosted trees for each label; the score is the expected gain (Li, Burges and Wu 2007).

    Parameters
    ----------
    ordinal : bool, default False
        Whether trees learn how probable labels above each are, and not the labels themselves.
    n_estimators : int, default 100
        The most trees of each label.
    num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> ranker = rr.McRank(n_estimators=3).fit(X, y, qid=qid)
    >>> ranker.booster_.probabilities(X).shape[1]
    5
    """

    ordinal: bool

    def __init__(
        self,
        *,
        ordinal: bool = False,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "ndcg@10",
        early_stopping: int | EarlyStopping | None = None,
        validation_fraction: float = 0.1,
        preset: str | None = None,
        tree_shape: str = "leafwise",
        max_depth: int | None = None,
        min_leaf_docs: int = 20,
        min_leaf_hess: float = 1e-3,
        l2: float = 0.0,
        min_reduction: float = 0.0,
        criterion: str = "second_order",
        features_per_tree: float = 1.0,
        features_per_node: float = 1.0,
        rows_per_node: float = 1.0,
        random_strength: float = 0.0,
        queries_per_tree: float = 1.0,
        docs_per_tree: float = 1.0,
        step: str = "newton",
        step_metric: str | None = None,
        step_min: float = 0.1,
        step_max: float = 100.0,
        step_on: str | None = None,
        gain: Any = "exp2",
        relevant_from: float | None = None,
        max_label: float | None = None,
        max_bins: int | None = None,
        missing: float = math.nan,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self._keep(locals())

    def _loss(self) -> str:
        return "mcrank_ordinal" if flag("ordinal", self.ordinal) else "mcrank"

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        base: Any = None,
        callbacks: Any = None,
    ) -> McRank:
        """Learn.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight, base_score
            As for `LambdaMART.fit`.
        eval_set, eval_qid, eval_group, base, callbacks
            As for `LambdaMART.fit`.

        Returns
        -------
        McRank
            This one, fitted.
        """
        given = dict(locals())
        del given["self"], given["X"], given["y"]
        self._fit(X, y, given)
        return self
