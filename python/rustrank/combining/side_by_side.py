"""The scores of rankers of any kind on one set of documents: ours, other libraries', or given scores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.combining._fit_input import as_rankers
from rustrank.data.dataset_building import with_ranks
from rustrank.data.scored_rows import ScoredRows
from rustrank.errors import DataError, RustrankError, wrong_kind
from rustrank.inputs.categories import numbered_for
from rustrank.inputs.docs import is_dataset, judged_docs
from rustrank.inputs.queries import query_codes
from rustrank.inputs.rankers import is_ranker, scores_of
from rustrank.inputs.tables import as_names, as_table, columns_of, in_one_piece, labels_of
from rustrank.inputs.vectors import check_length
from rustrank.metrics.label_scale import warn_of_other_scale
from rustrank.model.booster import Booster
from rustrank.model.conversion import own_booster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.inputs.docs import JudgedDocs
    from rustrank.metrics.evaluation import Evaluation, Judging


@dataclass(frozen=True, eq=False, kw_only=True)
class SideBySide(ScoredRows):
    """Scored documents with the rankers that can be looked into and the features that they score."""

    #: The rankers that are boosters, or hold one, by name.
    boosters: dict[str, Booster]
    #: The documents, with the features that rankers score.
    docs: JudgedDocs
    num_threads: int | None
    #: What docs are called; None for their rows.
    doc_ids: list[str] | None = None
    #: What features are called, where a booster does not know.
    feature_names: list[str] | None = None
    #: Raw features as numbers, by the names and the categories that a booster knows.
    _cells: dict[Any, NDArray[np.float64] | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rankers: Any, given: Mapping[str, Any], num_threads: int | None) -> SideBySide:
        """Read the arguments of `Combiner.fit`, and compute the scores of all rankers."""
        judged = judged_docs(given.get("docs"), given)
        columns = labels_of(judged.X)
        named = {
            name: Booster.load(one) if _is_path(one, columns) else one
            for name, one in as_rankers(_several(rankers)).items()
        }
        boosters = {name: found for name, one in named.items() if (found := own_booster(one))}
        scores = {name: scores_of(one, judged, name, num_threads) for name, one in named.items()}
        return cls(
            **vars(ScoredRows.of_docs(judged, scores)),
            boosters=boosters,
            docs=judged,
            num_threads=num_threads,
        )

    @property
    def X(self) -> Any:  # noqa: N802 - what every function calls the features
        """What rankers score: raw features, a dataset, or nothing."""
        return self.docs.X

    @property
    def query(self) -> NDArray[np.int64]:
        """The number of each doc's query, in the order of ``query_ids``."""
        return query_codes(self.queries).astype(np.int64)

    @property
    def has_features(self) -> bool:
        """Whether some booster's raw features are there; a dataset keeps none."""
        none = np.empty(0, np.int64)
        return any(self.cells(none, one) is not None for one in self.boosters.values())

    def cells(self, rows: NDArray[np.int64], booster: Booster) -> NDArray[np.float64] | None:
        """Return the numbers that a booster reads in some rows, categories numbered; None if there are none."""
        if self.X is None or is_dataset(self.X):
            return None
        if isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub":
            # Rows are taken without converting the whole table.
            return cells_of(self.X[rows], booster)
        lists = booster._core.category_lists().items()
        key = tuple(booster._names or ()), tuple((at, tuple(own)) for at, own in lists)
        if key not in self._cells:
            self._cells[key] = cells_of(self.X, booster)
        cells = self._cells[key]
        return None if cells is None else cells[rows]

    def with_names(self, feature_names: Any) -> SideBySide:
        """Return a copy with names of features, and with the names that documents were given."""
        doc_ids = self.docs.doc_ids
        if isinstance(doc_ids, str):
            expected = "a name for each row: a Dataset has no columns; for a column pass its values"
            raise wrong_kind("doc_ids", doc_ids, f"{expected}, doc_ids=frame[{doc_ids!r}]")
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
        for booster in self.boosters.values():
            warn_of_other_scale(booster, judging, self.labels)
        return {name: self.evaluate(scores, judging) for name, scores in self.by_ranker.items()}

    def score(self, booster: Booster) -> NDArray[np.float64]:
        """Return the scores of a booster."""
        return scores_of(booster, self.docs, "the booster", self.num_threads)


def _several(rankers: Any) -> Any:
    """Return one ranker, one path or the scores of one as a mapping, as `rustrank.evaluate` takes them."""
    is_scores = getattr(rankers, "ndim", None) == 1 and not isinstance(rankers, Mapping)
    if isinstance(rankers, (str, os.PathLike)) or is_ranker(rankers) or is_scores:
        return {"ranker": rankers}
    return rankers


def _is_path(ranker: Any, columns: Sequence[Any]) -> bool:
    """Return whether a ranker is the path of a model file: of a table, a text may name a column, too."""
    if isinstance(ranker, str) and columns:
        return ranker not in columns and Path(ranker).exists()
    return isinstance(ranker, (str, os.PathLike))


def required_booster(ranker: Any) -> Booster:
    """Return the booster of a ranker, or that in a file, or raise `ParamKindError`."""
    if isinstance(ranker, (str, os.PathLike)):
        return Booster.load(ranker)
    found = own_booster(ranker)
    if found is None:
        raise wrong_kind("ranker", ranker, f"a Booster or a fitted estimator{_inside(ranker)}")
    return found


def _inside(ranker: Any) -> str:
    """Return where in an object of scikit-learn a ranker is, as the end of a message."""
    if hasattr(ranker, "named_steps"):
        return "; of a Pipeline, its last step: pass pipe[-1]"
    if hasattr(ranker, "best_estimator_"):
        return "; of a search, its best ranker: pass search.best_estimator_"
    return ""


def drawn_booster(ranker: Any) -> Booster:
    """Return the booster of a ranker to draw; also of one with the names of LightGBM or XGBoost.

    Such a ranker may predict something else than the scores of its booster: it is drawn, and not scored.
    """
    if not type(ranker).__module__.startswith("rustrank.compat."):
        return required_booster(ranker)
    get = getattr(type(ranker), "get_booster", None)
    found = get(ranker) if get is not None else getattr(ranker, "booster_", ranker)
    native = getattr(found, "native", None)
    return required_booster(ranker if native is None else native)


def cells_of(X: Any, booster: Booster) -> NDArray[np.float64] | None:
    """Return the raw features of a booster as one table of doubles, or None if it cannot read them."""
    try:
        expected = booster.num_raw_features, booster._names
        table = columns_of(as_table(X), expected, "X", "the booster")
        return np.asarray(in_one_piece(numbered_for(booster._core, table)), np.float64)
    except (TypeError, RustrankError):
        return None
