"""The data sets of an adaptation, checked: to fit to, to choose parameters on, and to evaluate on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.data.raw_rows import RawRows, as_raw_rows, check_features
from rustrank.errors import DataError, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank.model.booster import Booster

#: The data sets that a caller may give.
_SETS = ("target", "background", "held_out", "valid_closed", "valid_open")
#: The shares of the target to fit to and to evaluate on, where no closed validation set is given.
_FIT, _CLOSED = 0.7, 0.3


class AdaptationData:
    """The data sets of an adaptation.

    Attributes
    ----------
    fit : RawRows
        The documents of the target that rankers are fitted to.
    choosing : RawRows
        The documents that free parameters are chosen on.
    folds : list of (rows, rows)
        For each fold, the rows of ``fit`` to fit to and the rows of ``choosing`` to evaluate on.
    """

    def __init__(
        self, base: Booster, given: Mapping[str, Any], folds: int | None, seed: int
    ) -> None:
        """Check all data sets, and split the target where a set is not given.

        Without a held-out set, ``folds`` is the number of folds.
        """
        docs: dict[str, RawRows] = {}
        for name in _SETS:
            if given[name] is not None:
                docs[name] = as_raw_rows(given[name], name)
                check_features(docs[name], base.num_features, base._names, name)
                _check_labels(docs[name], name)
        fit, closed, choosing = map(docs.get, ("target", "valid_closed", "held_out"))
        if fit is None:
            raise wrong_kind("target", None, "docs: (X, y, qid)")
        if choosing is None and folds is None:
            raise wrong_kind("held_out", None, "a number of folds, or docs")
        _check_number(fit, choosing is None, closed is None)
        if closed is None:
            fit, closed = fit.split([_FIT, _CLOSED], seed)
        self.fit, self.choosing, self.background = fit, choosing or fit, docs.get("background")
        self.valid = {"closed": closed}
        if "valid_open" in docs:
            self.valid["open"] = docs["valid_open"]
        if choosing is None:
            count = min(folds or 0, int(fit.has_pairs().sum()))
            self.folds = list(fit.rows_of_folds(fit.folds(count, seed), count))
        else:
            self.folds = [(np.arange(len(fit.y)), np.arange(len(choosing.y)))]


def _check_labels(docs: RawRows, name: str) -> None:
    if not len(docs.y):
        message = f"{name} has no docs"
    elif docs.y.min() == docs.y.max():
        message = (
            f"all {len(docs.y):,} labels of {name} are {docs.y[0]:g}: nothing can be learned from "
            "them, nor judged by them"
        )
    elif not docs.has_pairs().any():
        message = f"no query of {name} has docs with different labels"
    else:
        return
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
