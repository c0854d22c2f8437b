"""Metrics as other libraries define and name them, over the metrics of this one.

A query without relevant documents counts as 1 there, and is left out of the mean here. Its share of the
weight of all queries is known in advance, so that one value follows from the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rustrank.errors import wrong_kind
from rustrank.metrics.evaluation import evaluate
from rustrank.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.compat.rows import BinnedRows, LazyRows
    from rustrank.model.booster import Booster
    from rustrank.training.train import Round


class Result(NamedTuple):
    """The value of a metric on a set."""

    data: str
    metric: str
    value: float
    is_higher_better: bool


@dataclass(frozen=True)
class Metric:
    """A metric of another library.

    Attributes
    ----------
    name : str
        The name that results have.
    measure : str or function
        The name in `rustrank.evaluate`, or a function of the scores and labels of a query.
    empty : float
        The value of a query without relevant documents.
    """

    name: str
    measure: str | Callable[[NDArray[Any], NDArray[Any]], float]
    empty: float = 1.0

    @property
    def key(self) -> str:
        """The name under which training reports the metric."""
        return self.measure if isinstance(self.measure, str) else self.measure.__name__

    @property
    def uses_gain(self) -> bool:
        """Whether relevance is a gain above 0, and not a label from 1."""
        return self.key.startswith("ndcg")


def average_precision_at(k: int) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """Return average precision at a cut, divided by the cut if more documents are relevant.

    `rustrank.evaluate` divides by all relevant documents. Ties count with the expectation over their
    orders, as there.
    """
    return _AtCut(_average_precision, k, f"map@{k}")


def precision_at(k: int) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """Return precision at a cut, or at the number of documents if there are fewer.

    Ties count with the expectation over their orders.
    """
    return _AtCut(_precision, k, f"pre@{k}")


class _AtCut:
    """A metric of a query with a cut: a function with a name, which can be pickled."""

    def __init__(
        self, of: Callable[[NDArray[Any], NDArray[Any], int], float], k: int, name: str
    ) -> None:
        self._of, self._k, self.__name__ = of, k, name

    def __call__(self, scores: NDArray[Any], labels: NDArray[Any]) -> float:
        return self._of(scores, labels, self._k)


def _average_precision(scores: NDArray[Any], labels: NDArray[Any], k: int) -> float:
    relevant = labels >= 1
    if not relevant.any():
        return float("nan")
    chance, above = _by_rank(scores, relevant, k)
    precision = above / np.arange(1, len(chance) + 1)
    return float((chance * precision).sum() / min(relevant.sum(), k))


def _precision(scores: NDArray[Any], labels: NDArray[Any], k: int) -> float:
    chance, _ = _by_rank(scores, labels >= 1, k)
    return float(chance.mean()) if len(chance) else float("nan")


def _by_rank(
    scores: NDArray[Any], relevant: NDArray[np.bool_], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of a relevant document at each of the first k ranks, over all orders of ties.

    Also how many of the documents down to this rank are relevant on average, if that at the rank is.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], relevant[order].astype(np.float64)
    is_tied = ranked[1:] == ranked[:-1]
    if not is_tied[:k].any():
        return hits[:k], hits[:k].cumsum()
    first = np.flatnonzero(np.append(True, ~is_tied))
    sizes = np.diff(np.append(first, len(order)))
    found = np.add.reduceat(hits, first)
    block = np.repeat(np.arange(len(first)), sizes)[:k]
    size, inside = sizes[block], found[block]
    # Of the others in the block, as many stand above as there are ranks.
    place = np.arange(len(block)) - first[block]
    others = place * (inside - 1) / np.maximum(size - 1, 1)
    return inside / size, (found.cumsum() - found)[block] + 1 + others


#: A function of a booster and a set that returns a name, a value, and whether larger is better.
Custom = Any


class Watched:
    """A set that is evaluated after each round."""

    def __init__(
        self, name: str, rows: LazyRows, binned: BinnedRows, gain: Any, customs: Sequence[Custom]
    ) -> None:
        self.name, self.rows, self.binned, self.customs = name, rows, binned.dataset, customs
        gains = gain_of(gain, rows.labels)
        self._empty = {
            uses_gain: rows.share_of_queries_without(gains > 0 if uses_gain else rows.labels >= 1)
            for uses_gain in (True, False)
        }

    def results(
        self, values: Mapping[str, float], metrics: Sequence[Metric], latest: Round | None
    ) -> list[Result]:
        """Return the results of a round in the order of the metrics."""
        found = [
            Result(self.name, metric.name, self.value(metric, values[metric.key]), True)
            for metric in metrics
        ]
        if self.customs and latest is not None:
            scores = latest.booster.predict(self.binned)
            for custom in self.customs:
                found += [Result(self.name, *one) for one in custom(scores, self.rows)]
        return found

    def value(self, metric: Metric, mean: float) -> float:
        """Return the mean over all queries from the mean over those with relevant documents."""
        share = self._empty[metric.uses_gain] if not metric.key.startswith("pre@") else 0.0
        return metric.empty if share == 1 else float(mean) * (1 - share) + share * metric.empty


def gain_of(gain: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return what is above 0 where a label has a gain."""
    if isinstance(gain, str):
        return labels
    table = np.asarray(gain, np.float64)
    return table[np.minimum(labels.astype(np.int64), len(table) - 1)]


def train_watched(
    binned: BinnedRows,
    options: Mapping[str, Any],
    watched: Sequence[Watched],
    metrics: Sequence[Metric],
    after: Callable[[Round, list[Result]], bool],
) -> Booster:
    """Train; after each round, ``after`` gets the results and returns whether to stop."""

    def finish(latest: Round) -> bool:
        results: list[Result] = []
        for one in watched:
            results += one.results(latest.values.get(one.name, {}), metrics, latest)
        return after(latest, results)

    more: dict[str, Any] = {}
    if watched and metrics:
        more["valid"] = {one.name: one.binned for one in watched}
        more["metric"] = list({metric.key: metric.measure for metric in metrics}.values())
    return train(binned.dataset, **{**options, **more, "callbacks": [finish]})


def measured(
    scores: NDArray[Any], name: str, rows: LazyRows, metrics: Sequence[Metric], gain: Any
) -> list[Result]:
    """Return the metrics of scores, outside of training."""
    found = []
    for metric in metrics:
        if isinstance(metric.measure, str):
            empty = "one" if metric.empty else "zero"
            values = evaluate(
                scores,
                rows.labels,
                **rows.queries,
                query_weight=rows.metric_weight(),
                metrics=metric.measure,
                gain=gain,
                empty=empty,
            )
            value = float(values[metric.measure])
        else:
            by_query = [
                metric.measure(scores[docs], rows.labels[docs]) for docs in rows.docs_of_queries()
            ]
            filled = np.nan_to_num(by_query, nan=metric.empty)
            value = float(np.average(filled, weights=rows.metric_weight()))
        found.append(Result(name, metric.name, value, True))
    return found


def as_results(
    given: Any, name: str, *, says_direction: bool = False
) -> list[tuple[str, float, bool]]:
    """Take what a metric function returned: a tuple of a name and a value, or a list of such tuples.

    With ``says_direction`` a tuple must say whether larger is better, too; otherwise smaller is.
    """
    expected = "(name, value, is_higher_better)" if says_direction else "(name, value)"
    lengths = (3,) if says_direction else (2, 3)
    listed = given if isinstance(given, list) else [given]
    results = []
    for one in listed:
        if not isinstance(one, (tuple, list)) or len(one) not in lengths:
            raise wrong_kind(name, one, f"a function that returns {expected}, or a list of these")
        results.append((str(one[0]), float(one[1]), bool(one[2]) if len(one) == 3 else False))
    return results
