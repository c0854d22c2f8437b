"""Scores made into features of other rankers, and normalised before they are mixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rustrank._docs import Docs
from rustrank._errors import RustrankError
from rustrank.combination import merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.booster import Booster
    from rustrank.nets import LambdaRank

    Scores = NDArray[np.float64]

#: How many of a query's best scores ``top3`` is the mean of.
_TOP = 3


class Scoring(Protocol):
    """What scores docs."""

    def score(self, docs: Docs, num_threads: int | None) -> Scores:
        """Score docs."""
        ...


@dataclass(frozen=True, eq=False)
class Plain:
    """The mean of some boosters."""

    boosters: list[Booster]

    @cached_property
    def booster(self) -> Booster:
        """All as one."""
        return merged(self.boosters, np.full(len(self.boosters), 1.0 / len(self.boosters)))

    def score(self, docs: Docs, num_threads: int | None) -> Scores:
        """Score docs."""
        return self.booster.score(docs.X, num_threads=num_threads)


@dataclass(frozen=True, eq=False)
class Normalised:
    """A ranker whose scores are normalised."""

    ranker: Scoring
    how: str

    def score(self, docs: Docs, num_threads: int | None) -> Scores:
        """Score docs."""
        return normalised(self.ranker.score(docs, num_threads), docs, self.how)


@dataclass(frozen=True, eq=False)
class Stacked:
    """A booster on docs' own features and on what other rankers' scores say."""

    rankers: Sequence[Scoring]
    derive: Sequence[str]
    outer: Booster

    def score(self, docs: Docs, num_threads: int | None) -> Scores:
        """Score docs."""
        scores = [ranker.score(docs, num_threads) for ranker in self.rankers]
        return self.outer.score(with_derived(docs, scores, self.derive).X, num_threads=num_threads)


def with_derived(docs: Docs, scores: Sequence[Scores], derive: Sequence[str]) -> Docs:
    """Return docs with more features: what is derived of each ranker's scores."""
    columns = [derived(one, docs, what) for one in scores for what in derive]
    X = np.column_stack([docs.X, *(column.astype(np.float32) for column in columns)])
    return Docs(X, docs.y, docs.query, docs.query_ids, None)


def derived(scores: Scores, docs: Docs, what: str) -> Scores:
    """Return one thing of the scores of each doc's query."""
    if what == "score":
        return scores
    # The best first in each query: sums must not know the order of rows.
    order = np.lexsort((-scores, docs.query))
    sizes = np.bincount(docs.query, minlength=docs.num_queries)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    ranked, of_row = scores[order], docs.query[order]
    if what == "max":
        return np.asarray(ranked[starts][docs.query])
    most = np.minimum(sizes, _TOP) if what == "top3" else sizes
    place = np.arange(len(order)) - starts[of_row]
    counted = np.where(place < most[of_row], ranked, 0.0)
    return np.asarray((np.add.reduceat(counted, starts) / most)[docs.query])


def normalised(scores: Scores, docs: Docs, how: str) -> Scores:
    """Normalise scores, most ways within queries."""
    if how == "none":
        return scores
    if how == "logistic":
        return _logistic(scores)
    if how == "query_top":
        scores = _logistic(scores)
        top = derived(scores, docs, "max")
        return np.asarray(top * (1.0 + scores - top))
    if how == "query_range":
        low = -derived(-scores, docs, "max")
        width = derived(scores, docs, "max") - low
        return np.divide(scores - low, width, out=np.zeros_like(scores), where=width > 0)
    centred = scores - derived(scores, docs, "mean")
    spread = np.sqrt(derived(centred**2, docs, "mean"))
    return np.divide(centred, spread, out=np.zeros_like(scores), where=spread > 0)


def _logistic(scores: Scores) -> Scores:
    # From the side where nothing overflows.
    odds = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores < 0, odds, 1.0) / (1.0 + odds))


def as_booster(ranker: Scoring) -> Booster:
    """Return a ranker as one model."""
    if isinstance(ranker, Plain):
        return ranker.booster
    message = "there is no single model of a member that looks at whole queries"
    raise RustrankError(message, code="ensemble.model")


def mixture_booster(
    rankers: Mapping[str, Scoring],
    spreads: Mapping[str, float],
    weights: Mapping[str, float] | None,
    net: LambdaRank | None,
) -> Booster:
    """Return a combination as one model."""
    if weights is None or net is not None:
        message = "there is no single model of a net on members' scores"
        raise RustrankError(message, code="ensemble.model")
    # Models of folds stand side by side: sums within sums would hide their trees.
    boosters, of = [], []
    for name, weight in weights.items():
        ranker = rankers[name]
        parts = ranker.boosters if isinstance(ranker, Plain) else [as_booster(ranker)]
        boosters += parts
        of += [weight / spreads[name] / len(parts)] * len(parts)
    return merged(boosters, np.array(of))
