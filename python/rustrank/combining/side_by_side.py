"""The scores of rankers of any kind on one set of documents: ours, other libraries', or given scores."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.combining._fit_input import as_rankers
from rustrank.combining.combiner import Combiner
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import with_ranks
from rustrank.data.scored_rows import ScoredRows, judged_rows
from rustrank.errors import DataError, ParamError, RustrankError, shown, wrong_kind
from rustrank.inputs.queries import query_codes
from rustrank.inputs.tables import as_names, as_table, in_one_piece
from rustrank.inputs.vectors import as_scores, check_length, library
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rustrank.metrics.evaluation import Evaluation, Judging


@dataclass(frozen=True, eq=False, kw_only=True)
class SideBySide(ScoredRows):
    """Scored documents with the rankers that can be looked into and the features that they score."""

    #: The rankers that are boosters, or hold one, by name.
    boosters: dict[str, Booster]
    #: What rankers score: raw features, a dataset, or nothing.
    X: Any
    num_threads: int | None
    #: What docs are called; None for their rows.
    doc_ids: list[str] | None = None
    #: What features are called, where a booster does not know.
    feature_names: list[str] | None = None

    @classmethod
    def of(cls, rankers: Any, given: Mapping[str, Any], num_threads: int | None) -> SideBySide:
        """Read the arguments of `Combiner.fit`, and compute the scores of all rankers."""
        named = as_rankers(rankers)
        judged = judged_rows(given)
        y, X = given.get("y"), given.get("X")
        X = y if X is None and isinstance(y, Dataset) else X
        boosters = {
            name: found
            for name, ranker in named.items()
            if (found := booster_of(ranker)) is not None
        }
        made = cls(**judged, by_ranker={}, boosters=boosters, X=X, num_threads=num_threads)
        for name, ranker in named.items():
            made.by_ranker[name] = made._scores(name, boosters.get(name, ranker))
        return made

    @property
    def query(self) -> NDArray[np.int64]:
        """The number of each doc's query, in the order of ``query_ids``."""
        return query_codes(self.queries).astype(np.int64)

    @property
    def has_features(self) -> bool:
        """Whether there are raw features and all are numbers; a dataset keeps none."""
        if self.X is None or isinstance(self.X, Dataset):
            return False
        return self._is_plain or self._all_cells is not None

    @property
    def _is_plain(self) -> bool:
        """Whether rows can be taken without converting the whole table."""
        return isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub"

    def cells(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the raw features of some rows."""
        cells = cells_of(self.X[rows]) if self._is_plain else self._all_cells
        assert cells is not None  # noqa: S101 - `has_features` was asked before
        return cells if self._is_plain else cells[rows]

    @cached_property
    def _all_cells(self) -> NDArray[np.float64] | None:
        return cells_of(self.X)

    def with_names(self, doc_ids: Any, feature_names: Any) -> SideBySide:
        """Return a copy with names of documents and features."""
        listed = None if doc_ids is None else [str(one) for one in doc_ids]
        if listed is not None:
            check_length("doc_ids", len(listed), len(self.labels), "rows")
        names = as_names(feature_names)
        for name, booster in self.boosters.items():
            if names is not None and len(names) != booster.num_raw_features:
                message = (
                    f"feature_names has {len(names)} names, expected {booster.num_raw_features}: the "
                    f"features of {name}"
                )
                raise DataError(message, code="features.names")
        return replace(self, doc_ids=listed, feature_names=names)

    def doc(self, row: int) -> str:
        """Return the name of a document."""
        return f"row {row}" if self.doc_ids is None else self.doc_ids[row]

    def names_of(self, booster: Booster) -> list[str]:
        """Return the names of a booster's features: its own, the given ones, or those of another booster."""
        if booster._names is None:
            if self.feature_names is not None:
                return (with_ranks if booster.query_ranks else list)(self.feature_names)
            for one in self.boosters.values():
                if one._names is not None and one.num_features == booster.num_features:
                    return one.feature_names
        return booster.feature_names

    def evaluate_all(self, judging: Judging) -> dict[str, Evaluation]:
        """Return the metrics of each ranker."""
        return {name: self.evaluate(scores, judging) for name, scores in self.by_ranker.items()}

    def score(self, booster: Booster) -> NDArray[np.float64]:
        """Return the scores of a booster."""
        if isinstance(self.X, Dataset):
            return booster.predict(self.X, num_threads=self.num_threads)
        of_rows = self.queries
        known = {"qid": of_rows[0]} if isinstance(of_rows, tuple) else {"group": of_rows}
        return booster.predict(self.X, num_threads=self.num_threads, **known)

    def _scores(self, name: str, ranker: Any) -> NDArray[np.float64]:
        """Return the scores of a ranker, which may be given as scores."""
        function = self._function(ranker)
        if function is not None and self.X is None:
            message = f"{name} is {shown(ranker)}, which needs features to score: pass X="
            raise ParamError(message, code="rankers")
        scores = as_scores(ranker if function is None else function(self.X), f"scores of {name}")
        check_length(f"scores of {name}", len(scores), len(self.labels), "rows")
        return scores

    def _function(self, ranker: Any) -> Any:
        """Return the function that scores features; None for given scores."""
        if isinstance(ranker, Booster):
            return lambda _: self.score(ranker)
        # `predict` of an xgboost.Booster needs a DMatrix, this method does not.
        if library(ranker) == "xgboost" and hasattr(ranker, "inplace_predict"):
            return ranker.inplace_predict
        predict = getattr(ranker, "predict", None)
        if callable(predict):
            return predict
        return ranker if callable(ranker) else None


def booster_of(ranker: Any) -> Booster | None:
    """Return the booster of a ranker: itself, its trained model or its file; None for other rankers."""
    if isinstance(ranker, (str, os.PathLike)):
        return Booster.load(ranker)
    if isinstance(ranker, Booster):
        return ranker
    if isinstance(ranker, Combiner):
        return ranker.booster
    learned = getattr(ranker, "booster_", None)
    return learned if isinstance(learned, Booster) else None


def required_booster(ranker: Any) -> Booster:
    """Return the booster of a ranker, or raise `ParamKindError`."""
    found = booster_of(ranker)
    if found is None:
        raise wrong_kind("ranker", ranker, "a Booster or a fitted estimator")
    return found


def cells_of(X: Any) -> NDArray[np.float64] | None:
    """Return raw features as one table of doubles, or None if some are not numbers."""
    try:
        return np.asarray(in_one_piece(as_table(X)), np.float64)
    except (TypeError, RustrankError):
        return None
