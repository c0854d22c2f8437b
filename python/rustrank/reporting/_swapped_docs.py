"""Queries that two rankers rank differently: which documents changed places, and due to which features.

A *case* is a query with the top documents of both rankings. Its *swap* is the pair of documents that the two
rankers order differently and whose exchange changes the metric most; a ranker that ties two documents orders
neither above the other. The contributions of features to the order of the pair are Shapley values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import RustrankError
from rustrank.inputs.categories import as_shown
from rustrank.metrics.evaluation import Judging, judge
from rustrank.model.ranking import feature_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.combining.side_by_side import SideBySide
    from rustrank.model.booster import Booster

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: The depth of the rankings from which pairs are taken, and the number of pairs whose exchange is measured.
_DEEP, _PAIRS = 20, 24
#: The number of top documents of each ranking to show, and of features.
_SHOWN, _FEATURES = 8, 8


@dataclass(frozen=True)
class Reason:
    """The contribution of a feature to the order of a pair."""

    feature: str
    #: The value of the feature in the document with the higher label, and in the other.
    better: float | str
    worse: float | str
    #: By ranker, the part of the score difference that is due to the feature.
    contribution: dict[str, float]


@dataclass(frozen=True)
class Swap:
    """Two documents that two rankers order differently; the first has the higher label."""

    better: int
    worse: int
    #: How much the metric of the query loses if the two are exchanged.
    delta: float
    reasons: list[Reason]


@dataclass(frozen=True, eq=False)
class Case:
    """A query with its top documents, given as rows of the whole set."""

    query: int
    #: The metric of the query by ranker.
    values: dict[str, float]
    #: By ranker, the rank of each shown row; rows with equal scores share the rank of the first of them.
    ranks: dict[str, dict[int, int]]
    #: Whether some shown row shares its rank.
    has_ties: bool
    shown: list[int]
    num_docs: int
    swap: Swap | None

    @property
    def difference(self) -> float:
        """The metric of the second ranker minus that of the first."""
        first, second = self.values.values()
        return second - first


@dataclass(frozen=True, eq=False)
class CaseFinder:
    """Makes cases of queries, from the scores and metrics of two rankers."""

    side: SideBySide
    judging: Judging
    #: By ranker, the first metric of each query.
    values: dict[str, Floats]

    def cases(self, chosen: Ints) -> list[Case]:
        """Return the cases of some queries."""
        query = self.side.query
        order = self._order(query)
        ends = np.searchsorted(query[order], np.arange(len(self.side.query_ids) + 1))
        return [self._case(at, order[ends[at] : ends[at + 1]]) for at in chosen.tolist()]

    def _order(self, query: Ints) -> Ints:
        """Return the rows by query; within one, named documents by name, so that their order does not matter."""
        side = self.side
        if side.doc_ids is None:
            return np.argsort(query, kind="stable")
        # Documents of one name are told apart by what the page shows of them.
        keys: list[Any] = [side.by_ranker[name] for name in self.values]
        keys += [side.labels, np.array(side.doc_ids, object).astype(str), query]
        return np.lexsort(keys)

    def _case(self, query: int, rows: Ints) -> Case:
        ranks = {name: _ranks(self.side.by_ranker[name][rows]) for name in self.values}
        values = {name: float(of_queries[query]) for name, of_queries in self.values.items()}
        first, second = self.values
        winner = second if values[second] > values[first] else first
        pair = self._pair(rows, ranks, winner)
        shown = self._is_high(rows, _SHOWN)
        swap = None
        if pair is not None:
            better, worse, delta = pair
            shown[[better, worse]] = True
            reasons = self._reasons(rows, better, worse)
            swap = Swap(int(rows[better]), int(rows[worse]), delta, reasons)
        kept = np.flatnonzero(shown)
        kept = kept[np.argsort(ranks[second][kept], kind="stable")]
        of_rows = {
            name: dict(zip(rows[kept].tolist(), of_query[kept].tolist(), strict=True))
            for name, of_query in ranks.items()
        }
        has_ties = any((np.bincount(one)[one[kept]] > 1).any() for one in ranks.values())
        return Case(query, values, of_rows, has_ties, rows[kept].tolist(), len(rows), swap)

    def _is_high(self, rows: Ints, number: int) -> NDArray[np.bool_]:
        """Return which rows are among the first of either ranking; of equal scores, the first rows are."""
        found = np.zeros(len(rows), np.bool_)
        for name in self.values:
            found[np.argsort(-self.side.by_ranker[name][rows], kind="stable")[:number]] = True
        return found

    def _pair(
        self, rows: Ints, ranks: dict[str, Ints], winner: str
    ) -> tuple[int, int, float] | None:
        """Return the pair of documents, as places in ``rows``, whose exchange costs most."""
        loser = next(name for name in self.values if name != winner)
        labels = self.side.labels[rows].astype(np.float64)
        deep = np.flatnonzero(self._is_high(rows, _DEEP))
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
        if deltas[best] <= 0:
            return None
        return int(better[best]), int(worse[best]), float(deltas[best])

    def _deltas(self, scores: Floats, labels: Floats, first: Ints, second: Ints) -> Floats:
        """Return how much the metric loses when the documents of each pair exchange their scores."""
        copies = np.tile(scores, (len(first) + 1, 1))
        at = np.arange(len(first))
        copies[at, first], copies[at, second] = scores[second], scores[first]
        sizes = np.full(len(copies), len(scores), np.int64)
        queries = sizes, np.arange(len(copies))
        tiled = np.tile(labels.astype(np.float32), len(copies))
        metric = self.judging.metric
        found = judge(copies.ravel(), tiled, queries, self.judging, None)[metric].per_query
        return np.asarray(np.nan_to_num(found[-1] - found[:-1]), np.float64)

    def _reasons(self, rows: Ints, better: int, worse: int) -> list[Reason]:
        """Return the contributions of features, the largest differences between the rankers first."""
        contributions: dict[str, dict[str, float]] = {}
        values: dict[str, tuple[float | str, float | str]] = {}
        for name in self.values:
            booster = self.side.boosters.get(name)
            cells = None if booster is None else self.side.cells(rows, booster)
            if booster is None or cells is None:
                continue
            found = contrast(booster, cells, better, worse)
            if found is None:
                continue
            names = self.side.names_of(booster)
            contributions[name] = dict(zip(names, found.tolist(), strict=True))
            # Ranks within queries follow the raw values.
            features = np.hstack([cells, feature_ranks(cells)]) if booster.query_ranks else cells
            pair = zip(*(as_given(booster, features[one]) for one in (better, worse)), strict=True)
            values = {**dict(zip(names, pair, strict=True)), **values}
        if not contributions:
            return []
        # The rankers may have different features.
        every = np.array(
            [[one.get(name, 0.0) for name in values] for one in contributions.values()]
        )
        weight = np.abs(every[-1] - every[0]) if len(every) == 2 else np.abs(every[0])
        chosen = [at for at in np.argsort(-weight, kind="stable")[:_FEATURES] if weight[at] > 0]
        names = list(values)
        return [
            Reason(
                names[at], *values[names[at]], dict(zip(contributions, every[:, at], strict=True))
            )
            for at in chosen
        ]


def as_given(booster: Booster, cells: Floats) -> list[float | str]:
    """Return the features of a document with the categories that their numbers stand for."""
    given: list[float | str] = cells.tolist()
    for feature, categories in booster._core.category_lists().items():
        value = cells[feature]
        if np.isnan(value):
            continue
        # Whatever the training set did not have has the number after the last.
        is_known = value < len(categories)
        given[feature] = str(as_shown(categories)[int(value)]) if is_known else "not in training"
    return given


def contrast(booster: Booster, cells: Floats, above: int, below: int) -> Floats | None:
    """Return each feature's part of the score difference of two documents; None without SHAP values."""
    try:
        if not booster.query_ranks:
            return booster._contrast_numbers(cells[[above, below]])
        values: Any = booster._explain_numbers(cells, [len(cells)])[:, :-1]
        return np.asarray(values[above] - values[below], np.float64)
    except RustrankError:
        # The model is a net, or depends on whole queries.
        return None


def _ranks(scores: Floats) -> Ints:
    """Return ranks from 1; documents with equal scores share the rank of the first of them."""
    return 1 + np.searchsorted(np.sort(-scores), -scores, side="left")


def most_changed(compared: Floats, number: int) -> tuple[Ints, Ints]:
    """Return the queries with the largest gains, and those with the largest losses."""

    def most(sign: float) -> Ints:
        order = np.argsort(-sign * compared, kind="stable")
        return order[sign * compared[order] > 0][:number]

    return most(1.0), most(-1.0)
