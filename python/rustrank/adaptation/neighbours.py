"""Expansion of a small training set by similar documents of another data set, the background.

The method of Gao, Wu and others (2009), section 3. The documents of the target's queries with the lowest
label entropy are *seeds*. A document of the background is taken if its nearest seeds are close enough and
one of them has the same label. The nearest neighbours are found by scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import RawRows, as_raw_rows
from rustrank.errors import DataError, ParamError, RustrankError
from rustrank.inputs.docs import DocArguments
from rustrank.inputs.scalars import flag, real, threads, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Expansion", "expand", "label_entropy"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """The documents of the background that are similar to those of the target.

    Attributes
    ----------
    rows : ndarray of int64
        The rows of the background that were taken, in rising order.
    distance : ndarray of float64
        For each row, the distance to the farthest of its nearest seeds.
    max_distance : float
        The largest distance that is allowed.
    share : float
        The share of the background's documents that were taken.
    seeds : ndarray of int64
        The rows of the target that serve as seeds.
    X, y, qid : ndarray
        The documents that were taken, with their queries of the background.
    """

    rows: NDArray[np.int64]
    distance: NDArray[np.float64]
    max_distance: float
    share: float
    seeds: NDArray[np.int64]
    X: NDArray[np.float32]
    y: NDArray[np.float32]
    qid: NDArray[Any]

    def __repr__(self) -> str:
        """Return the number of documents and seeds in one line."""
        return (
            f"<Expansion: {len(self.rows):,} docs of {len(np.unique(self.qid)):,} queries, {self.share:.2%} "
            f"of the background, within {self.max_distance:.4g} of {len(self.seeds):,} seeds>"
        )


def expand(
    target: Any,
    background: Any,
    *,
    y: Any = None,
    qid: Any = None,
    queries: float = 0.5,
    neighbours: int = 3,
    max_distance: float | None = None,
    scale: bool = True,
    num_threads: int | None = None,
) -> Expansion:
    """Find documents of the background that are similar to the target's; needs scikit-learn.

    Parameters
    ----------
    target, background : docs
        Documents in any form that `rustrank.tune` takes; named columns of the background are matched to
        those of the target.
    y, qid : str, optional
        The columns of labels and query ids, where the documents are tables.
    queries : float, default 0.5
        The share of the target's queries to take seeds from: those with the lowest label entropy. Queries
        in which all labels are equal are left out, since their entropy is always 0.
    neighbours : int, default 3
        The number of nearest seeds to look at, by the cosine of the angle between documents.
    max_distance : float, optional
        The largest distance (1 minus the cosine) to the farthest of these seeds; by default a very
        small one: of the same distances between seeds of different queries, one in twenty is smaller.
    scale : bool, default True
        Whether features are standardised with the target's mean and standard deviation first; otherwise
        features with large values dominate. A missing value counts as the mean.
    num_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Expansion
        The documents that were taken.

    Examples
    --------
    >>> import rustrank as rr
    >>> markets = rr.datasets.make_domains(num_background=50, num_target=20, seed=1)
    >>> more = rr.expand(markets.target, markets.background)
    >>> len(more.rows) < len(markets.background.y)
    True
    """
    arguments = DocArguments(y, qid)
    here = as_raw_rows(target, "target", arguments)
    there = as_raw_rows(
        background, "background", arguments, here.features("the target"), is_further=True
    )
    share = real("queries", queries)
    if not 0 < share <= 1:
        raise ParamError(f"queries: got {share}, expected a share above 0, up to 1", code="queries")
    neighbours = whole("neighbours", neighbours, 1, 2**16)
    most = None if max_distance is None else real("max_distance", max_distance)
    flag("scale", scale)
    threads(num_threads)
    seeds = _seeds(here, share)
    if len(seeds) <= neighbours:
        message = (
            f"the target has {len(seeds)} docs in queries with different labels: expected more than "
            f"{neighbours}, the number of neighbours"
        )
        raise DataError(message, code="expand.seeds")
    vectors, others = _vectors(here.X, here.X[seeds], scale), _vectors(here.X, there.X, scale)
    if most is None:
        most = _small_distance(vectors, here.query[seeds], neighbours, num_threads)
    distance, near = _nearest(vectors, others, neighbours, num_threads)
    is_near = distance[:, -1] <= most
    same = (here.y[seeds][near] == there.y[:, None]).any(axis=1)
    rows = np.flatnonzero(is_near & same)
    return Expansion(
        rows=rows,
        distance=distance[rows, -1],
        max_distance=float(most),
        share=len(rows) / max(len(there.y), 1),
        seeds=seeds,
        X=there.X[rows],
        y=there.y[rows],
        qid=there.query_ids[there.query[rows]],
    )


def label_entropy(y: NDArray[Any], query: NDArray[Any]) -> NDArray[np.float64]:
    """Return the entropy of the labels of each query, in nats; queries are numbered from 0."""
    labels, label = np.unique(y, return_inverse=True)
    counts = np.zeros((int(query.max()) + 1, len(labels)))
    np.add.at(counts, (query, label), 1)
    p = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-(p * logs).sum(axis=1) + 0.0)


def _seeds(docs: RawRows, share: float) -> NDArray[np.int64]:
    """Return the rows of the queries with the lowest label entropy."""
    usable = np.flatnonzero(docs.has_pairs())
    entropy = label_entropy(docs.y, docs.query)[usable]
    # Ties are ordered by content, so that the order of rows does not matter.
    order = np.lexsort((docs.query_hashes()[usable], entropy))
    chosen = usable[order[: int(np.ceil(share * len(usable)))]]
    return np.flatnonzero(np.isin(docs.query, chosen))


def _vectors(like: NDArray[np.float32], X: NDArray[np.float32], scale: bool) -> NDArray[np.float64]:
    """Return the vectors whose angles are measured: features, standardised by those of ``like``."""
    table: NDArray[np.float64] = X.astype(np.float64)
    if not scale:
        table[np.isnan(table)] = 0.0
        return table
    # Sums of sorted values do not depend on the order of rows.
    wide = np.sort(like.astype(np.float64), axis=0)
    known = np.maximum((~np.isnan(wide)).sum(axis=0), 1)
    mean = np.nansum(wide, axis=0) / known
    spread = np.sqrt(np.nansum((wide - mean) ** 2, axis=0) / known)
    table = (table - mean) / np.where(spread > 0, spread, 1.0)
    table[np.isnan(table)] = 0.0
    return table


def _nearest(
    vectors: NDArray[np.float64], docs: NDArray[np.float64], count: int, num_threads: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distances and numbers of the nearest vectors of each document, nearest first."""
    try:
        from sklearn.neighbors import NearestNeighbors
    except ImportError:
        message = "nearest neighbours need scikit-learn: pip install 'rustrank[adapt]'"
        raise RustrankError(message, code="adapt.sklearn") from None
    if not len(docs):
        return np.empty((0, count)), np.empty((0, count), np.int64)
    jobs = -1 if num_threads is None else num_threads
    finder = NearestNeighbors(n_neighbors=count, metric="cosine", algorithm="brute", n_jobs=jobs)
    distance, near = finder.fit(vectors).kneighbors(docs)
    return np.asarray(distance), np.asarray(near)


def _small_distance(
    vectors: NDArray[np.float64], query: NDArray[np.int64], count: int, num_threads: int | None
) -> float:
    """Return the 5 % quantile of seeds' distances to the farthest of their nearest in other queries."""
    farthest = []
    for one in np.unique(query):
        others = vectors[query != one]
        if len(others) >= count:
            distance, _ = _nearest(others, vectors[query == one], count, num_threads)
            farthest.append(distance[:, -1])
    if not farthest:
        message = "one query of the target alone tells no usual distance: pass max_distance="
        raise DataError(message, code="expand.distance")
    return float(np.quantile(np.concatenate(farthest), 0.05))
