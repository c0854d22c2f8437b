"""Orders of documents from their scores: the rank of each document within its query, and the best of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.dataset import Dataset
from rustrank.errors import warn_caller, wrong_kind
from rustrank.inputs.docs import QID
from rustrank.inputs.keywords import OF_MODEL, no_attribute
from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.scalars import whole
from rustrank.inputs.tables import labels_of, named_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RankingModel", "best_first", "feature_ranks", "ranks_within", "top_within"]


def _codes(num_rows: int, qid: Any, group: Any) -> NDArray[Any]:
    """Return the number of the query of each row; without queries all rows are one, with a warning."""
    if qid is None and group is None:
        if num_rows > 1:
            warn_caller(
                f"NO QUERIES ARE GIVEN for X: all {num_rows:,} rows count as one query. Pass qid= or group=; "
                "if they really are one query, group=[len(X)]"
            )
        return np.zeros(num_rows, np.int64)
    return np.asarray(query_codes(as_queries(qid, group, num_rows)[0]))


def best_first(scores: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows by query, in order of first appearance, and the best of each first.

    Rows with the same score keep their order.
    """
    return np.lexsort((-scores, codes)).astype(np.int64)


def ranks_within(scores: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank of each row within its query; 1 is the best."""
    order = best_first(scores, codes)
    _, first = np.unique(codes[order], return_index=True)
    sizes = np.diff(np.append(first, len(order)))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(first, sizes) + 1
    return ranks


def top_within(scores: NDArray[np.float64], codes: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return the rows of the ``k`` best of each query, by query and best first."""
    order = best_first(scores, codes)
    return order[ranks_within(scores, codes)[order] <= k]


def feature_ranks(
    cells: NDArray[np.float64], codes: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Return the rank of each value among those of its feature in its query, as models with ``query_ranks`` see it.

    Of n documents of the query with a value, the one at place r from the smallest has (r - 1/2) / n; equal values
    share the mean of their places, and a missing value has no rank. ``codes`` has the number of each row's query;
    by default all rows are one.
    """
    of_query = np.zeros(len(cells), np.int64) if codes is None else codes
    order = np.argsort(of_query, kind="stable")
    ranks = np.full(cells.shape, np.nan)
    for rows in np.split(order, np.flatnonzero(np.diff(of_query[order])) + 1):
        for column, values in enumerate(cells[rows].astype(np.float32).T):
            known = np.flatnonzero(~np.isnan(values))
            ordered = np.sort(values[known])
            ends = [np.searchsorted(ordered, values[known], side) for side in ("left", "right")]
            ranks[rows[known], column] = (ends[0] + ends[1]) / (2 * max(len(known), 1))
    return ranks


class RankingModel:
    """The ranks and the best rows of each query, for every model with `predict`."""

    #: The scores of documents, as `Booster.predict` has it.
    predict: Any

    def __getattr__(self, name: str) -> Any:
        """Say what an attribute of other libraries' models is called here."""
        raise no_attribute(self, name, OF_MODEL)

    def rank(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: Any = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the rank of each row within its query: 1 is the best.

        Parameters
        ----------
        X, missing, infinite, num_threads
            As for `predict`.
        qid, group : array-like or str, optional
            The queries, as for `Dataset`; by default the column ``qid`` of X. Without any, all rows are
            one query, with a warning, which ``group=[len(X)]`` silences. A `Dataset` knows its own.

        Examples
        --------
        >>> import rustrank as rr
        >>> X, y, qid = rr.datasets.make_polynomial(num_queries=60, seed=0)
        >>> booster = rr.train(rr.Dataset(X, y, qid=qid), num_trees=5)
        >>> ranks = booster.rank(X, qid=qid)
        >>> int(ranks[qid == qid[0]].min()), int(ranks[qid == qid[0]].max())
        (1, 50)
        >>> rows = booster.top(X, 3, qid=qid)  # of each query, the best first
        >>> ranks[rows[:4]].tolist()
        [1, 2, 3, 1]
        """
        reading = {"missing": missing, "infinite": infinite, "num_threads": num_threads}
        return ranks_within(*self._scored(X, qid, group, reading))

    def top(
        self,
        X: Any,
        k: int = 10,
        *,
        qid: Any = None,
        group: Any = None,
        missing: float | None = None,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the row numbers of the ``k`` best documents of each query, the best first.

        Queries come in order of first appearance; one with fewer documents has all of them.

        Parameters
        ----------
        X, missing, infinite, num_threads
            As for `predict`.
        k : int, default 10
            The most rows of a query.
        qid, group : array-like, optional
            As for `rank`.
        """
        if isinstance(X, (int, np.integer)):
            raise wrong_kind("X", X, "the documents first, and then how many: top(X, 10, qid=...)")
        reading = {"missing": missing, "infinite": infinite, "num_threads": num_threads}
        return top_within(*self._scored(X, qid, group, reading), whole("k", k, 1))

    def _scored(
        self, X: Any, qid: Any, group: Any, reading: dict[str, Any]
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the score and the number of the query of each row."""
        if qid is None and group is None and QID in labels_of(X) and QID not in self.feature_names:
            qid = QID
        if isinstance(X, Dataset):
            scores = self.predict(X, qid=qid, group=group, **reading)
            return scores, np.asarray(X._core.query_codes())
        X, columns = named_columns(X, {"qid": qid})
        qid = columns["qid"]
        scores = self.predict(X, qid=qid, group=group, **reading)
        return scores, _codes(len(scores), qid, group)
