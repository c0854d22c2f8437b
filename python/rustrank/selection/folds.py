"""Folds of queries: which rows train and which test, whole queries on one side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import DataError, ParamError
from rustrank.estimators.fitting import WithoutQueries, queries_within
from rustrank.inputs.docs import QID
from rustrank.inputs.queries import as_ids, group_ids
from rustrank.inputs.scalars import whole
from rustrank.inputs.tables import as_table, labels_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows

__all__ = ["QueryFolds"]

#: Larger than any number of repeats: seeds of two random states never meet.
_APART = 1_000_003


class QueryFolds:
    """Folds of whole queries, for `rustrank.cross_validate` and as ``cv`` in scikit-learn's tools.

    Which query is in which fold depends on the seed and on what is in the query: not on ids, nor on the
    order of rows. Queries in which no two labels differ are distributed separately, so that folds are
    alike.

    Parameters
    ----------
    n_splits : int, default 5
        The number of folds.
    n_repeats : int, default 1
        How often all queries are split into folds anew.
    random_state : int, default 0
        The seed.

    Examples
    --------
    >>> import rustrank as rr
    >>> X, y, qid = rr.datasets.make_polynomial(num_queries=10, seed=0)
    >>> for train, test in rr.QueryFolds(2).split(X, y, qid=qid):
    ...     print(len(set(qid[train])), len(set(qid[test])), set(qid[train]) & set(qid[test]))
    5 5 set()
    5 5 set()
    """

    def __init__(
        self, n_splits: int = 5, *, n_repeats: int = 1, random_state: int | None = 0
    ) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state

    def get_n_splits(
        self,
        X: Any = None,  # noqa: ARG002 - scikit-learn's signature, like the next ones
        y: Any = None,  # noqa: ARG002
        groups: Any = None,  # noqa: ARG002
        qid: Any = None,  # noqa: ARG002
    ) -> int:
        """Return how many pairs `split` yields."""
        return whole("n_splits", self.n_splits, 2) * whole("n_repeats", self.n_repeats, 1, _APART)

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, qid: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows of training and test sets.

        Parameters
        ----------
        X, y : array-like
            Features and labels.
        groups, qid : array-like of shape (num_docs,), optional
            The query of each row, under scikit-learn's name for it or ours, or as a column ``qid`` of
            a frame. ``groups`` may repeat that column.
        """
        # Both are passed where groups split and qid is for the ranker.
        ids = groups if qid is None else qid
        if qid is None and ids is not None and _are_in_column(X, ids):
            ids = None
        taken, within, sizes = queries_within(X, ids, None, without=WithoutQueries.UNUSED)
        if within is None and sizes is None:
            message = "folds are of queries: got none; pass qid= or groups=, or a column qid in X"
            raise DataError(message, code="query.none")
        if y is None:
            message = "QueryFolds requires y to be passed, but the target y is None"
            raise DataError(message, code="y")
        docs = as_raw_rows({"X": taken, "y": y, "qid": within}, "X", takes_texts=True)
        for folds in self.fold_numbers(docs):
            yield from docs.rows_of_folds(folds, self.n_splits)

    def fold_numbers(self, docs: RawRows) -> NDArray[np.intp]:
        """Return the fold of each query, for each repeat."""
        num_folds = self.get_n_splits() // self.n_repeats
        if docs.num_queries < num_folds:
            message = f"got {docs.num_queries} queries, expected at least one a fold: {num_folds}"
            raise ParamError(message, code="folds")
        given = self.random_state
        seed = 0 if given is None else whole("random_state", given, 0, 2**32 - 1)
        seeds = range(seed * _APART, seed * _APART + self.n_repeats)
        return np.array([docs.folds(num_folds, seed) for seed in seeds])

    def get_metadata_routing(self) -> Any:
        """Return what `split` wants of what a search is given: ``qid``, and ``groups``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.split.add_request(param="qid", alias=True)
        request.split.add_request(param="groups", alias=True)
        return request

    def __repr__(self) -> str:
        """Show the options."""
        return (
            f"QueryFolds({self.n_splits}, n_repeats={self.n_repeats}, "
            f"random_state={self.random_state})"
        )


def _are_in_column(X: Any, groups: Any) -> bool:
    """Return whether a column ``qid`` of the features has the same queries as ``groups``."""
    labels = labels_of(X)
    if QID not in labels:
        return False
    column = as_table(X).column(labels.index(QID))
    (theirs, _), (ours, _) = (group_ids(as_ids(one)) for one in (groups, column))
    return bool(np.array_equal(theirs, ours))
