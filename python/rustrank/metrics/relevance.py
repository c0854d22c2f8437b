"""The relevance that ERR assumes for labels, for scores of MART (Burges et al. 2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.vectors import as_scores, check_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["err_relevance"]


def err_relevance(scores: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
    """Turn the scores of a booster of ``objective="err_logistic"`` into probabilities of relevance.

    With queries, they are normalised within each: with m the most probable doc's probability, a doc
    of probability p counts as ``m * (1 + p - m)``, so that docs of little relevance differ less where
    none is of much. Neither changes the order of a query's docs; both are for mixing rankers, and
    for features of other rankers.

    Parameters
    ----------
    scores : array-like of shape (num_docs,)
        The scores.
    qid, group : optional
        The query of each row, or the number of rows of each query, as for `rustrank.Dataset`.

    Examples
    --------
    >>> import rustrank as rr
    >>> rr.err_relevance([0.0, 0.0]).tolist()
    [0.5, 0.5]
    >>> rr.err_relevance([0.0, -50.0], group=[2]).round(3).tolist()
    [0.5, 0.25]
    """
    numbers = as_scores(scores, "scores")
    # From the side where nothing overflows.
    odds = np.exp(-np.abs(numbers))
    relevance: NDArray[np.float64] = np.where(numbers < 0, odds, 1.0) / (1.0 + odds)
    if qid is None and group is None:
        return relevance
    queries, ids = as_queries(qid, group, len(numbers))
    codes = query_codes(queries)
    check_length("scores", len(numbers), len(codes), "the rows of all groups")
    most = np.zeros(len(ids))
    np.maximum.at(most, codes, relevance)
    top = most[codes]
    normalised: NDArray[np.float64] = top * (1.0 + relevance - top)
    return normalised
