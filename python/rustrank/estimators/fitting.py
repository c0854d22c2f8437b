"""The arguments of ``fit``: checks with the messages that scikit-learn's tools expect, and data sets.

A table may have the query ids in a column ``qid``. scikit-learn's splitters, which know no queries, then
keep rows and ids together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank import _rustrank
from rustrank.data.dataset import Dataset
from rustrank.data.dataset_building import ReadOptions, Rows, label_columns, named_labels
from rustrank.data.raw_rows import as_raw_rows
from rustrank.errors import DataError, ParamError, listed, warn_caller
from rustrank.inputs.docs import QID, JudgedDocs
from rustrank.inputs.queries import (
    as_queries,
    as_query_weight,
    query_codes,
    query_ids_in_errors,
    query_weight_of_rows,
)
from rustrank.inputs.tables import (
    Table,
    as_block,
    as_table,
    columns_of,
    labels_of,
    named_columns,
    select_columns,
)
from rustrank.inputs.vectors import as_doubles, as_labels, as_scores, check_length, library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.raw_rows import RawRows
    from rustrank.estimators.ranker import Ranker

#: Arguments of `fit` that may name a column of X, besides y.
_NAMED = ("qid", "sample_weight", "base_score")
#: The most rows that may be one query without anybody saying so.
_MOST_ROWS = 3000
#: How queries are given.
_HOW = (
    "Pass qid= or group=, or have a column qid in X; in searches and cross-validation of scikit-learn, call "
    "sklearn.set_config(enable_metadata_routing=True) and pass qid= to their fit"
)
_HOW_OF_EVAL_SET = (
    "Pass eval_qid= or eval_group=, or sets of (X, y, qid), or have a column qid in their X"
)
#: How many names an error lists.
_MOST_NAMES = 5


class WithoutQueries(Enum):
    """What rows without queries are."""

    #: One query, which is allowed for little data; a warning says so.
    ONE = "one"
    #: One query, with a warning: the loss needs no queries.
    ANY = "any"
    #: An error: the ranker was fitted with queries.
    ERROR = "error"
    #: Nothing needs queries.
    UNUSED = "unused"


def queries_within(
    X: Any,
    qid: Any,
    group: Any,
    features: Sequence[str] = (),
    *,
    without: WithoutQueries = WithoutQueries.ONE,
    name: str = "X",
) -> tuple[Table, Any, Any]:
    """Return the table without the column ``qid``, and the ids or sizes of the queries."""
    table = checked(X)
    if QID not in (table.labels or ()) or QID in features:
        if qid is None and group is None and without is not WithoutQueries.UNUSED:
            _check_one_query(table.num_rows, without, name)
            group = [table.num_rows]
        return table, qid, group
    if qid is not None or group is not None:
        given = "qid" if qid is not None else "group"
        message = f"queries come twice: got a column qid in X and {given}=, expected one of them"
        raise DataError(message, code="query.both")
    ids = table.column(list(table.labels or ()).index(QID))
    # From the caller's own table, which pandas may hold as one array without this column.
    return as_table(without_qid(X)), ids, None


def _check_one_query(num_rows: int, without: WithoutQueries, name: str) -> None:
    """Warn that all rows are one query, or raise `DataError` where that is a mistake."""
    rows, how = f"all {num_rows:,} rows", _HOW_OF_EVAL_SET if name == "eval_set" else _HOW
    if without is WithoutQueries.ERROR:
        message = (
            f"{name}: got no queries, expected some, since the ranker was fitted with queries: {rows} "
            f"as one query would be another metric. {how}"
        )
        raise DataError(message, code="query.missing")
    if without is WithoutQueries.ONE and num_rows > _MOST_ROWS:
        message = (
            f"{name}: got no queries for {num_rows:,} rows, expected the query of each. {_HOW}; "
            "if they really are one query, pass group=[len(X)]"
        )
        raise DataError(message, code="query.missing")
    warn_caller(f"NO QUERIES ARE GIVEN for {name}: {rows} count as one query. {how}")


def without_qid(X: Any) -> Any:
    """Return the caller's own table without the column ``qid``."""
    return select_columns(X, [label for label in labels_of(X) if label != QID])


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


def fitted_columns(ranker: Ranker, table: Table) -> Table:
    """Return the features of the training set, matched by name; `DataError` if some are missing."""
    names, fitted = names_of(table), getattr(ranker, "feature_names_in_", None)
    kind, expected = type(ranker).__name__, ranker.n_features_in_
    if names is not None and fitted is not None:
        absent = sorted(set(fitted) - set(names))
        if absent:
            raise DataError(_names_message(names, absent), code="features.names", feature=absent[0])
        return columns_of(table, (expected, list(fitted)), "X", kind)
    if names is None and fitted is not None:
        message = f"X does not have valid feature names, but {kind} was fitted with feature names"
        warn_caller(message)
    elif names is not None and fitted is None:
        warn_caller(f"X has feature names, but {kind} was fitted without feature names")
    if table.num_features != expected:
        message = f"X has {table.num_features} features, but {kind} is expecting {expected} features as input"
        raise DataError(message, code="features")
    return table


def _names_message(names: list[str], absent: list[str]) -> str:
    """Return the message that scikit-learn's checks expect."""
    lines = ["The feature names should match those that were passed during fit."]
    lines.append("Feature names seen at fit time, yet now missing:")
    lines += [f"- {name}" for name in absent[:_MOST_NAMES]]
    lines += ["- ..."] * (len(absent) > _MOST_NAMES)
    return "\n".join([*lines, f"Got {listed(names)}."])


@dataclass(frozen=True)
class FitData:
    """A training or validation set: features, and the rest in the caller's form."""

    X: Table
    y: Any
    qid: Any = None
    group: Any = None
    query_weight: Any = None
    row_weight: Any = None
    base_score: Any = None
    extra_labels: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse weights of the wrong shape or all zero; `Dataset` checks the rest."""
        if self.row_weight is None:
            return
        shape = np.asarray(self.row_weight).shape
        if len(shape) > 1 and shape[1:] != (1,):
            message = f"sample_weight: got an array of shape {shape}, expected one dimension"
            raise DataError(message, code="weight")
        weight = as_doubles(self.row_weight, "sample_weight")
        if len(weight) and not weight.any():
            message = "sample_weight: every weight is zero, expected some above"
            raise DataError(message, code="weight")

    def dataset(self, **options: Any) -> Dataset:
        """Return the rows binned."""
        return Dataset(**vars(self), **options)

    def values(self, num_threads: int | None) -> _rustrank.RawDataset:
        """Return the rows with the values of the features."""
        own = {name: value for name, value in vars(self).items() if name != "X"}
        rows = Rows(self.X.num_rows, **own)
        reading = ReadOptions(None, "error", num_threads)
        with query_ids_in_errors(rows.query_ids):
            return _rustrank.RawDataset(as_block(self.X), rows, reading)

    def judged(self) -> JudgedDocs:
        """Return the labels and queries, to find bad labels by."""
        queries, ids = as_queries(self.qid, self.group, self.X.num_rows)
        return JudgedDocs(as_labels(self.y), queries, ids)

    def split(self, share: float, seed: int) -> tuple[FitData, FitData]:
        """Split off a share of the queries, chosen by the seed and the content of the queries."""
        given = {"X": self.X, "y": self.y, "qid": self.qid, "group": self.group}
        docs = as_raw_rows(given, "X", takes_texts=True)
        kept, held = docs.split_queries([1 - share, share], seed)
        if len(kept) == 0 or len(held) == 0:
            message = (
                f"validation_fraction: got {share} of {docs.num_queries} queries, expected enough "
                "queries for both parts; pass eval_set=, or early_stopping=None"
            )
            raise ParamError(message, code="validation_fraction")
        return self._of(docs, np.sort(kept)), self._of(docs, np.sort(held))

    def _of(self, docs: RawRows, queries: NDArray[Any]) -> FitData:
        rows = np.flatnonzero(np.isin(docs.query, queries))
        some = docs.take(rows)
        weight, base_score = self.row_weight, self.base_score
        by_query = as_query_weight(self.query_weight, docs.query_ids)
        if by_query is not None:
            check_length("query_weight", len(by_query), docs.num_queries, "queries")
            by_query = by_query[queries]
        return FitData(
            as_table(some.table()),
            some.y,
            some.query,
            query_weight=by_query,
            row_weight=None if weight is None else as_doubles(weight, "sample_weight")[rows],
            base_score=None if base_score is None else as_scores(base_score, "base_score")[rows],
            extra_labels={
                name: as_labels(one, name)[rows] for name, one in (self.extra_labels or {}).items()
            },
        )


def training_part(
    X: Any, y: Any, given: Mapping[str, Any], kind: str, *, needs_queries: bool = True
) -> FitData:
    """Return the training set from the arguments of `fit`, with the errors that scikit-learn checks."""
    X, extra = named_labels(X, given.get("extra_labels"))
    by_query = given.get("query_weight")
    column = by_query if isinstance(by_query, str) else None
    named = {"y": y, **{name: given.get(name) for name in _NAMED}, "query_weight": column}
    X, own = named_columns(X, named)
    column = own.pop("query_weight")
    y, given = own.pop("y"), {**given, **own}
    table = checked(X)
    if y is None:
        raise DataError(f"{kind} requires y to be passed, but the target y is None", code="y")
    shape = (table.num_rows, table.num_features)
    if table.num_features == 0:
        message = f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        raise DataError(message, code="features")
    if table.num_rows < 2:
        message = f"X has too few docs: got n_samples={table.num_rows}, expected at least 2"
        raise DataError(message, code="docs")
    without = WithoutQueries.ONE if needs_queries else WithoutQueries.ANY
    of_table = X if table.labels else table
    table, qid, group = queries_within(of_table, given["qid"], given["group"], without=without)
    weight, base_score = given["sample_weight"], given.get("base_score")
    if column is not None:
        by_query = query_weight_of_rows(column, qid, group)
    return FitData(table, y, qid, group, by_query, weight, base_score, extra)


def columns_by_name(y: Any, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of X that arguments of `fit` named, by argument."""
    named = {"y": y, **{name: given.get(name) for name in (*_NAMED, "query_weight")}}
    own = {argument: name for argument, name in named.items() if isinstance(name, str)}
    return own | label_columns(given.get("extra_labels"))


def without_fitted(
    X: Any, qid: Any, group: Any, y: Any, fitted: Mapping[str, str]
) -> tuple[Any, Any, Any]:
    """Return a table without the columns that `fit` took by name, the query ids and the labels.

    Query ids and labels that `fit` took from a column are taken from the column of that name.
    """
    if not fitted and not isinstance(qid, str) and not isinstance(y, str):
        return X, qid, y
    table = checked(X)
    labels = table.labels or []
    if qid is None and group is None and fitted.get("qid") in labels:
        qid = fitted["qid"]
    if y is None and fitted.get("y") in labels:
        y = fitted["y"]
    table, own = named_columns(table, {"qid": qid, "y": y})
    labels = table.labels or []
    if any(name in labels for name in fitted.values()):
        table = table.take([at for at, one in enumerate(labels) if one not in fitted.values()])
    return table, own["qid"], own["y"]
