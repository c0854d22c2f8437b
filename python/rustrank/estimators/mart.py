"""Rankers that learn doc by doc, as estimators: MART on the labels, and McRank on their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank._rustrank import objectives
from rustrank.errors import ParamError, shown
from rustrank.estimators.tree_ranker import TreeRanker, tree_options
from rustrank.inputs.scalars import flag

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rustrank.parameters.option_types import MARTOptions, McRankOptions

__all__ = ["MART", "McRank"]

_POINTWISE = tuple(name for name, estimator, _ in objectives() if estimator == "MART")


class MART(TreeRanker):
    """Gradient-boosted trees that learn labels doc by doc (Friedman 2001).

    Parameters
    ----------
    objective : {"regression", "logistic", "balanced_logistic", "err_logistic"}
        The loss: squared error, or that of a logistic regression, in which the docs that are relevant
        may weigh as much as the others, or are so with the probability that ERR sees in a label. With
        ``relevant_from`` logistic losses tell relevant docs by it; without, labels are probabilities.
    n_estimators, num_leaves, learning_rate, metric, early_stopping, validation_fraction, ...
        As for `LambdaMART`.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
    >>> rr.MART(n_estimators=5).fit(X, y, qid=qid).booster_
    <Booster: 5 trees, 50 features>
    """

    _defaults = tree_options((), objective="regression")
    objective: str

    def __init__(self, **options: Unpack[MARTOptions]) -> None:
        super().__init__(**options)

    def _loss(self) -> str:
        if self.objective not in _POINTWISE:
            message = f"objective: got {shown(self.objective)}, expected {', '.join(_POINTWISE)}"
            raise ParamError(message, code="objective")
        return self.objective


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

    _defaults = tree_options((), ordinal=False)
    ordinal: bool

    def __init__(self, **options: Unpack[McRankOptions]) -> None:
        super().__init__(**options)

    def _loss(self) -> str:
        return "mcrank_ordinal" if flag("ordinal", self.ordinal) else "mcrank"
