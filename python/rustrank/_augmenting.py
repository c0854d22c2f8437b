"""More queries out of the same docs: copies that leave some docs out (Burges et al. 2011, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank._docs import Docs, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def augmented(docs: Docs, share: float, copies: int, seed: int) -> Docs:
    """Return docs and, of each query, so many copies with a share of its docs, without replacement.

    Which docs a copy has depends on seed and content alone. A copy without two different labels is
    left out: nothing can be learned from its order.
    """
    content = docs.content_of_rows()
    sizes = np.bincount(docs.query, minlength=docs.num_queries)
    kept = np.rint(share * sizes).astype(np.int64)
    rows: list[NDArray[np.int64]] = [np.arange(len(docs.y))]
    queries: list[NDArray[np.int64]] = [docs.query]
    for copy in range(copies):
        some = _drawn(docs, content, kept, seed, copy)
        some = some[_teaching(docs, some)[docs.query[some]]]
        rows.append(some)
        queries.append(docs.query[some] + (copy + 1) * docs.num_queries)
    at = np.concatenate(rows)
    ids, query = np.unique(np.concatenate(queries), return_inverse=True)
    return Docs(docs.X[at], docs.y[at], query, ids, docs.names)


def _drawn(
    docs: Docs, content: NDArray[np.uint64], kept: NDArray[np.int64], seed: int, copy: int
) -> NDArray[np.int64]:
    """Return the rows of a copy, rising: of each query those that chance puts first."""
    chance = mixed(content ^ mixed(mixed(np.full(1, seed, np.uint64)) ^ np.uint64(copy)))
    order = np.lexsort((chance, docs.query))
    ends = np.cumsum(np.bincount(docs.query, minlength=docs.num_queries))
    starts = np.concatenate(([0], ends[:-1]))
    place = np.arange(len(order)) - starts[docs.query[order]]
    return np.sort(order[place < kept[docs.query[order]]])


def _teaching(docs: Docs, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of each query whether two of these rows' labels differ."""
    low = np.full(docs.num_queries, np.inf, np.float32)
    high = np.full(docs.num_queries, -np.inf, np.float32)
    np.minimum.at(low, docs.query[rows], docs.y[rows])
    np.maximum.at(high, docs.query[rows], docs.y[rows])
    return low < high
