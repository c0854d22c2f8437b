"""Rankers of any kind side by side on one set of docs: ours, other libraries', or their scores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank._arrays import as_labels, as_scores, check_length, library
from rustrank._combining import as_rankers
from rustrank._errors import ParamError, ParamKindError, shown
from rustrank._features import as_table, in_one_piece
from rustrank._queries import as_query_weight
from rustrank.booster import Booster
from rustrank.combination import Combiner
from rustrank.dataset import Dataset
from rustrank.evaluation import Evaluation, Judging, judge, queries_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rustrank._queries import Queries

#: What describes docs, besides the rankers.
_FIELDS = ("y", "X", "qid", "group", "query_weight")


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Docs, and the scores that each ranker gives them."""

    scores: dict[str, NDArray[np.float64]]
    #: Those rankers that can be looked into.
    boosters: dict[str, Booster]
    labels: NDArray[np.float32]
    #: What rankers score: raw features, a dataset, or nothing.
    X: Any
    queries: Queries
    query_ids: NDArray[Any]
    query_weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, rankers: Any, given: Mapping[str, Any], num_threads: int | None) -> SideBySide:
        """Read docs as `Combiner.fit` does, and let the rankers score them."""
        named = as_rankers(rankers)
        y, X, qid, group, weight = (given.get(field) for field in _FIELDS)
        if isinstance(y, Dataset):
            for field in _FIELDS[2:]:
                if given.get(field) is not None:
                    message = f"{field} is given twice: the dataset has it"
                    raise ParamError(message, code=field)
            core = y._core
            labels, ids, weight = y.labels, y.query_ids, core.query_weight()
            queries: Queries = (core.query_codes(), core.num_queries)
            X = y if X is None else X
        else:
            labels = as_labels(y)
            queries, ids = queries_of(qid, group, len(labels))
            weight = as_query_weight(weight, ids)
        boosters = {
            name: found
            for name, ranker in named.items()
            if (found := booster_of(ranker)) is not None
        }
        asking = _Asking(X, qid, group, len(labels), num_threads)
        scores = {
            name: asking.scores(name, boosters.get(name, ranker)) for name, ranker in named.items()
        }
        return cls(scores, boosters, labels, X, queries, ids, weight)

    @property
    def query(self) -> NDArray[np.int64]:
        """The number of each doc's query, in the order of ``query_ids``."""
        if isinstance(self.queries, tuple):
            return self.queries[0].astype(np.int64)
        return np.repeat(np.arange(len(self.query_ids)), self.queries)

    @property
    def has_features(self) -> bool:
        """Whether there are raw features, which a dataset does not keep."""
        return self.X is not None and not isinstance(self.X, Dataset)

    def evaluate(self, judging: Judging) -> dict[str, Evaluation]:
        """Measure each ranker."""
        queries = self.queries, self.query_ids
        return {
            name: judge(scores, self.labels, queries, judging, self.query_weight)
            for name, scores in self.scores.items()
        }


def booster_of(ranker: Any) -> Booster | None:
    """Return the booster that a ranker is, has learned or is the file of; None of other rankers."""
    if isinstance(ranker, (str, os.PathLike)):
        return Booster.load(ranker)
    if isinstance(ranker, Booster):
        return ranker
    if isinstance(ranker, Combiner):
        return ranker.booster
    learned = getattr(ranker, "booster_", None)
    return learned if isinstance(learned, Booster) else None


def required_booster(ranker: Any) -> Booster:
    """Return the booster that a ranker is or has learned."""
    found = booster_of(ranker)
    if found is None:
        message = f"ranker: got {shown(ranker)}, expected a Booster or a fitted estimator"
        raise ParamKindError(message, code="ranker")
    return found


def cells_of(X: Any) -> NDArray[np.float64]:
    """Return raw features as one table of doubles."""
    return np.asarray(in_one_piece(as_table(X)), np.float64)


@dataclass(frozen=True)
class _Asking:
    """What rankers are asked to score."""

    X: Any
    qid: Any
    group: Any
    num_docs: int
    num_threads: int | None

    def scores(self, name: str, ranker: Any) -> NDArray[np.float64]:
        """Return the scores that a ranker gives, or is."""
        ask = self._ask(ranker)
        if ask is not None and self.X is None:
            message = f"{name} is {shown(ranker)}, which needs features to score: pass X="
            raise ParamError(message, code="rankers")
        scores = as_scores(ranker if ask is None else ask(self.X), f"scores of {name}")
        check_length(f"scores of {name}", len(scores), self.num_docs, "rows")
        return scores

    def _ask(self, ranker: Any) -> Any:
        """Return the function that scores; None of what are scores already."""
        if isinstance(ranker, Booster):
            return lambda X: self._booster_scores(ranker, X)
        # An xgboost.Booster's predict wants a matrix of its own kind, this method any.
        if library(ranker) == "xgboost" and hasattr(ranker, "inplace_predict"):
            return ranker.inplace_predict
        predict = getattr(ranker, "predict", None)
        if callable(predict):
            return predict
        return ranker if callable(ranker) else None

    def _booster_scores(self, booster: Booster, X: Any) -> NDArray[np.float64]:
        if isinstance(X, Dataset):
            return booster.score(X, num_threads=self.num_threads)
        return booster.score(X, qid=self.qid, group=self.group, num_threads=self.num_threads)
