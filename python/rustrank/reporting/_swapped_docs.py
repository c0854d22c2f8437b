"""Queries of which two rankers make something different: which docs changed places, and why.

A *case* is a query with the docs that stand high in either ranking. Its *swap* is the pair of docs that
the two rankers order differently and whose exchange changes the metric most; what the features did to
either order are Shapley values of the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import RustrankError
from rustrank.metrics.evaluation import Judging, judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.combining.side_by_side import SideBySide
    from rustrank.model.booster import Booster

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: Documents of either ranking that pairs are made of, and pairs of which the exchange is measured.
_DEEP, _PAIRS = 20, 24
#: Documents of either ranking that are shown, and features.
_SHOWN, _FEATURES = 8, 8


@dataclass(frozen=True)
class Reason:
    """What a feature did to the order of a pair."""

    feature: str
    #: Its value in the doc with the higher label, and in the other.
    better: float
    worse: float
    #: What it put the better doc above the other by, in each ranker that can say so.
    did: dict[str, float]


@dataclass(frozen=True)
class Swap:
    """Two docs that two rankers order differently; the first has the higher label."""

    better: int
    worse: int
    #: What the metric of the query has of their being in order.
    delta: float
    reasons: list[Reason]


@dataclass(frozen=True, eq=False)
class Case:
    """A query: rows are those of the docs of the whole set."""

    query: int
    #: The metric of each of the two rankers.
    values: dict[str, float]
    #: The rank of each shown row in each of the two.
    ranks: dict[str, dict[int, int]]
    shown: list[int]
    num_docs: int
    swap: Swap | None

    @property
    def difference(self) -> float:
        """The second minus the first."""
        first, second = self.values.values()
        return second - first


@dataclass(frozen=True, eq=False)
class Casebook:
    """What cases are made of."""

    side: SideBySide
    judging: Judging
    metric: str
    names: tuple[str, str]
    #: The metric of each query, of either ranker.
    values: dict[str, Floats]

    def cases(self, chosen: Ints) -> list[Case]:
        """Look into some queries."""
        query = self.side.query
        order = np.argsort(query, kind="stable")
        ends = np.searchsorted(query[order], np.arange(len(self.side.query_ids) + 1))
        return [self._case(at, order[ends[at] : ends[at + 1]]) for at in chosen.tolist()]

    def _case(self, query: int, rows: Ints) -> Case:
        ranks = {name: _ranks(self.side.by_ranker[name][rows]) for name in self.names}
        values = {name: float(self.values[name][query]) for name in self.names}
        first, second = self.names
        winner = second if values[second] > values[first] else first
        pair = self._pair(rows, ranks, winner)
        depth = np.minimum(*(ranks[name] for name in self.names))
        shown = depth <= _SHOWN
        swap = None
        if pair is not None:
            better, worse, delta = pair
            shown[[better, worse]] = True
            reasons = self._reasons(rows, better, worse)
            swap = Swap(int(rows[better]), int(rows[worse]), delta, reasons)
        kept = np.flatnonzero(shown)
        kept = kept[np.argsort(ranks[second][kept], kind="stable")]
        of_rows = {
            name: dict(zip(rows[kept].tolist(), ranks[name][kept].tolist(), strict=True))
            for name in self.names
        }
        return Case(query, values, of_rows, rows[kept].tolist(), len(rows), swap)

    def _pair(
        self, rows: Ints, ranks: dict[str, Ints], winner: str
    ) -> tuple[int, int, float] | None:
        """Return the better and the worse doc, within ``rows``, whose exchange costs most."""
        loser = next(name for name in self.names if name != winner)
        labels = self.side.labels[rows].astype(np.float64)
        deep = np.flatnonzero((ranks[winner] <= _DEEP) | (ranks[loser] <= _DEEP))
        better, worse = (side.ravel() for side in np.meshgrid(deep, deep, indexing="ij"))
        wanted = (
            (labels[better] > labels[worse])
            & (ranks[winner][better] < ranks[winner][worse])
            & (ranks[loser][better] > ranks[loser][worse])
        )
        better, worse = better[wanted], worse[wanted]
        if not len(better):
            return None
        weight = np.exp2(np.minimum(labels[better], 32)) - np.exp2(np.minimum(labels[worse], 32))
        discounts = [1 / np.log2(1 + ranks[name]) for name in (winner, loser)]
        weight *= sum(np.abs(one[better] - one[worse]) for one in discounts)
        likely = np.argsort(-weight, kind="stable")[:_PAIRS]
        better, worse = better[likely], worse[likely]
        deltas = self._deltas(self.side.by_ranker[winner][rows], labels, better, worse)
        best = int(np.argmax(deltas))
        return int(better[best]), int(worse[best]), float(deltas[best])

    def _deltas(self, scores: Floats, labels: Floats, first: Ints, second: Ints) -> Floats:
        """Return what the metric loses when the docs of each pair trade their scores."""
        copies = np.tile(scores, (len(first) + 1, 1))
        at = np.arange(len(first))
        copies[at, first], copies[at, second] = scores[second], scores[first]
        sizes = np.full(len(copies), len(scores), np.int64)
        queries = sizes, np.arange(len(copies))
        tiled = np.tile(labels.astype(np.float32), len(copies))
        found = judge(copies.ravel(), tiled, queries, self.judging, None)[self.metric].per_query
        return np.asarray(np.nan_to_num(found[-1] - found[:-1]), np.float64)

    def _reasons(self, rows: Ints, better: int, worse: int) -> list[Reason]:
        """Return what the features did, those first that did most to the difference."""
        if not self.side.has_features:
            return []
        cells = self.side.cells(rows)
        did: dict[str, Floats] = {}
        names: list[str] = []
        for name in self.names:
            booster = self.side.boosters.get(name)
            found = None if booster is None else contrast(booster, cells, better, worse)
            if booster is not None and found is not None:
                did[name] = found
                names = max(names, self.side.names_of(booster), key=len)
        if not did:
            return []
        # Rankers of other features cannot be set against each other.
        width = max(map(len, did.values()))
        padded = {name: np.pad(one, (0, width - len(one))) for name, one in did.items()}
        parts = list(padded.values())
        weight = np.abs(parts[-1] - parts[0]) if len(parts) == 2 else np.abs(parts[0])
        chosen = [at for at in np.argsort(-weight, kind="stable")[:_FEATURES] if weight[at] > 0]
        return [
            Reason(
                names[at],
                float(cells[better, at]) if at < cells.shape[1] else np.nan,
                float(cells[worse, at]) if at < cells.shape[1] else np.nan,
                {name: float(one[at]) for name, one in padded.items()},
            )
            for at in chosen
        ]


def contrast(booster: Booster, cells: Floats, above: int, below: int) -> Floats | None:
    """Return what each feature did to put one doc of a query above another; None if it cannot say."""
    try:
        if not booster.query_ranks:
            return booster.contrast(cells[above], cells[below])
        values: Any = booster.explain(cells, group=[len(cells)])[:, :-1]
        return np.asarray(values[above] - values[below], np.float64)
    except RustrankError:
        # A net, or parts that look at whole queries.
        return None


def _ranks(scores: Floats) -> Ints:
    """Return the rank of each doc from 1; docs with equal scores stand in the order of their rows."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def changed_most(compared: Floats, number: int) -> tuple[Ints, Ints]:
    """Return the queries that gained most, and those that lost most."""
    gained = np.flatnonzero(compared > 0)
    lost = np.flatnonzero(compared < 0)
    return (
        gained[np.argsort(-compared[gained], kind="stable")][:number],
        lost[np.argsort(compared[lost], kind="stable")][:number],
    )
