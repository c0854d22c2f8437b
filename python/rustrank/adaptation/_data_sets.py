"""The data sets of an adaptation, checked: to fit to, to choose parameters on, and to evaluate on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import RawRows, as_raw_rows, check_features
from rustrank.errors import DataError, ParamKindError
from rustrank.inputs.scalars import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rustrank.model.booster import Booster

#: The shares of the target to fit to and to evaluate on, where no closed validation set is given.
_FIT, _CLOSED = 0.7, 0.3
#: The most folds.
_FOLDS = 1000


@dataclass(frozen=True, eq=False)
class AdaptationData:
    """The data sets of an adaptation; ``folds`` has rows of ``fit`` and rows of ``choosing``."""

    fit: RawRows
    choosing: RawRows
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    background: RawRows | None
    valid: dict[str, RawRows]

    @classmethod
    def of(
        cls, bases: dict[str, Booster], given: dict[str, Any], valid: dict[str, Any], seed: int
    ) -> AdaptationData:
        """Check all data sets, and split the target where a set is not given."""
        held = given.pop("held_out")
        num_folds = 0
        if isinstance(held, (int, np.integer)):
            num_folds = whole("held_out", held, 2, _FOLDS, ", or docs")
            held = None
        docs = {
            name: None if one is None else as_raw_rows(one, name)
            for name, one in {**given, "held_out": held, **valid}.items()
        }
        first = next(iter(bases.values()))
        for name, one in docs.items():
            if one is not None:
                check_features(one, first.num_features, first._names, name)
                _check_labels(one, name)
        fit, closed, choosing = docs["target"], docs["valid_closed"], docs["held_out"]
        if fit is None:
            message = "target: got None, expected docs: (X, y, qid)"
            raise ParamKindError(message, code="target")
        if choosing is None and not num_folds:
            message = "held_out: got None, expected a number of folds, or docs"
            raise ParamKindError(message, code="held_out")
        _check_number(fit, choosing is None, closed is None)
        if closed is None:
            fit, closed = fit.split([_FIT, _CLOSED], seed)
        judged = {"closed": closed}
        if docs["valid_open"] is not None:
            judged["open"] = docs["valid_open"]
        if choosing is None:
            folds = _folds(fit, num_folds, seed)
            return cls(fit, fit, folds, docs["background"], judged)
        one_fold = [(np.arange(len(fit.y)), np.arange(len(choosing.y)))]
        return cls(fit, choosing, one_fold, docs["background"], judged)


def _folds(
    docs: RawRows, count: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows to fit to and the rows to evaluate on, of each fold."""
    usable = int(docs.has_pairs().sum())
    count = min(count, usable)
    parts = docs.split_queries([1.0] * count, seed)
    masks = [np.isin(docs.query, queries) for queries in parts]
    return [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in masks]


def _check_labels(docs: RawRows, name: str) -> None:
    if not len(docs.y):
        message = f"{name} has no docs"
        raise DataError(message, code="labels.one")
    if docs.y.min() == docs.y.max():
        message = (
            f"all {len(docs.y):,} labels of {name} are {docs.y[0]:g}: nothing can be learned from "
            "them, nor judged by them"
        )
        raise DataError(message, code="labels.one")
    if not docs.has_pairs().any():
        message = f"no query of {name} has docs with different labels"
        raise DataError(message, code="labels.one")


def _check_number(target: RawRows, has_folds: bool, is_evaluated: bool) -> None:
    """Raise `DataError` if the target has fewer queries than the parts that it is split into."""
    usable = int(target.has_pairs().sum())
    uses = ["fit to"] + ["choose by"] * has_folds + ["judge by"] * is_evaluated
    # 30% of three queries, rounded, is one.
    if usable >= len(uses) + (is_evaluated and has_folds):
        return
    passed = ["held_out="] * has_folds + ["valid_closed="] * is_evaluated
    message = (
        f"the target has {usable} {'query' if usable == 1 else 'queries'} with different labels, to "
        f"{', '.join(uses)}: bring more queries, or pass {' and '.join(passed)} as docs"
    )
    raise DataError(message, code="adapt.queries")
