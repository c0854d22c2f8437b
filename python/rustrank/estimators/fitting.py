"""Checks of the arguments of ``fit``, with the messages that scikit-learn's tools expect.

A table may have the query ids in a column ``qid``. scikit-learn's splitters, which know no queries, then
keep rows and ids together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, warn_caller
from rustrank.inputs.queries import as_queries, query_codes
from rustrank.inputs.tables import Array, Frame, as_table
from rustrank.inputs.vectors import as_doubles, check_length, library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.estimators.ranker import Ranker
    from rustrank.inputs.tables import Table

#: The column of a frame that is not a feature.
QID = "qid"
#: How many names an error lists.
_MOST_NAMES = 5


def queries_within(
    X: Any, qid: Any, group: Any, features: Sequence[str] = (), *, needed: bool = True
) -> tuple[Table, Any, Any]:
    """Return the table without the column ``qid``, and the ids or sizes of the queries.

    Without ids and sizes, all rows are one query.
    """
    table = checked(X)
    if QID not in (table.labels or ()) or QID in features:
        if needed and qid is None and group is None:
            message = (
                f"no queries are given: all {table.num_rows} rows count as one; pass qid= or "
                "group=, or have a column qid in X; within scikit-learn's tools, enable metadata "
                "routing"
            )
            warn_caller(message)
            group = [table.num_rows]
        return table, qid, group
    if qid is not None or group is not None:
        given = "qid" if qid is not None else "group"
        message = f"queries come twice: got a column qid in X and {given}=, expected one of them"
        raise DataError(message, code="query.both")
    assert isinstance(table, (Array, Frame))  # noqa: S101 - others have no names of columns
    place = list(table.labels or ()).index(QID)
    others = [at for at in range(table.num_features) if at != place]
    return table.take(others), table.column(place), None


def without_qid(X: Any) -> Any:
    """Return the caller's own table without the column ``qid``, for rankers of any kind."""
    if library(X) == "pandas":
        return X.drop(columns=QID)
    if library(X) == "polars":
        return X.drop(QID)
    if library(X) == "pyarrow":
        return X.drop_columns([QID])
    return {name: column for name, column in X.items() if name != QID}


def checked(X: Any) -> Table:
    """Return the table, or raise `DataError` unless it is two-dimensional and real."""
    known = library(X) in ("pandas", "polars", "pyarrow", "rustrank", "scipy")
    if not known and not isinstance(X, (np.ndarray, Mapping)):
        # `as_table` raises the error.
        with contextlib.suppress(TypeError, ValueError):
            X = np.asarray(X)
    dtype = X.dtype if isinstance(X, np.ndarray) or library(X) == "scipy" else None
    if dtype is not None and dtype.kind == "c":
        message = f"X: got {dtype}, expected real numbers: Complex data not supported"
        raise DataError(message, code="X")
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "fbiuO":
        message = (
            f"X: got an array of one dimension, shape {X.shape}, expected docs by features. Reshape "
            "your data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one doc"
        )
        raise DataError(message, code="shape")
    return as_table(X)


def names_of(table: Table) -> list[str] | None:
    """Return the names of the columns if all are strings."""
    labels = table.labels
    return table.names if labels and all(isinstance(label, str) for label in labels) else None


def check_training(X: Any, y: Any, kind: str) -> Table:
    """Raise `DataError` for an unusable training set, with the messages that scikit-learn checks."""
    table = checked(X)
    if y is None:
        message = f"{kind} requires y to be passed, but the target y is None"
        raise DataError(message, code="y")
    shape = (table.num_rows, table.num_features)
    if table.num_features == 0:
        message = f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        raise DataError(message, code="features")
    if table.num_rows < 2:
        message = f"X has too few docs: got n_samples={table.num_rows}, expected at least 2"
        raise DataError(message, code="docs")
    return table


def check_weight(sample_weight: Any) -> None:
    """Raise `DataError` for weights of the wrong shape or all zero; `Dataset` checks the rest."""
    if sample_weight is None:
        return
    shape = np.asarray(sample_weight).shape
    if len(shape) > 1 and shape[1:] != (1,):
        message = f"sample_weight: got an array of shape {shape}, expected one dimension"
        raise DataError(message, code="weight")
    weight = as_doubles(sample_weight, "sample_weight")
    if len(weight) and not weight.any():
        message = "sample_weight: every weight is zero, expected some above"
        raise DataError(message, code="weight")


def weight_of_queries(sample_weight: Any, qid: Any, group: Any) -> NDArray[np.float64]:
    """Return the mean weight of the documents of each query, in order of first appearance."""
    weight = as_doubles(sample_weight, "sample_weight")
    queries, ids = as_queries(qid, group, len(weight))
    codes = query_codes(queries)
    check_length("sample_weight", len(weight), len(codes), "rows")
    # Summed in sorted order, so that the order of rows changes no bit.
    order = np.lexsort((weight, codes))
    sizes = np.bincount(codes, minlength=len(ids))
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    return np.asarray(np.add.reduceat(weight[order], starts) / sizes, np.float64)


def check_features(ranker: Ranker, table: Table) -> None:
    """Raise `DataError` unless the features are those of the training set."""
    num_features, names = table.num_features, names_of(table)
    kind, fitted = type(ranker).__name__, getattr(ranker, "feature_names_in_", None)
    if names is None and fitted is not None:
        message = f"X does not have valid feature names, but {kind} was fitted with feature names"
        warn_caller(message)
    elif names is not None and fitted is None:
        message = f"X has feature names, but {kind} was fitted without feature names"
        warn_caller(message)
    elif names is not None and fitted is not None and names != list(fitted):
        raise DataError(_names_message(names, list(fitted)), code="features.names")
    if num_features != ranker.n_features_in_:
        message = (
            f"X has {num_features} features, but {kind} is expecting {ranker.n_features_in_} "
            "features as input"
        )
        raise DataError(message, code="features")


def _names_message(names: list[str], fitted: list[str]) -> str:
    lines = ["The feature names should match those that were passed during fit."]
    unseen, absent = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    for head, some in (
        ("unseen at fit time", unseen),
        ("seen at fit time, yet now missing", absent),
    ):
        if some:
            lines.append(f"Feature names {head}:")
            lines += [f"- {name}" for name in some[:_MOST_NAMES]]
            lines += ["- ..."] * (len(some) > _MOST_NAMES)
    if not unseen and not absent:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"
