"""Documents in every form that callers have, read in one place.

They are parts, in a tuple ``(X, y, qid)`` or a mapping, or a table whose columns ``y=`` and ``qid=`` name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from rustrank import _rustrank
from rustrank.errors import DataError, ParamError, ParamKindError, warn_caller, wrong_kind
from rustrank.inputs.queries import (
    Queries,
    as_query_weight,
    queries_of,
    query_sizes,
    query_weight_of_rows,
    warn_of_single_docs,
)
from rustrank.inputs.scalars import fields_of
from rustrank.inputs.tables import (
    Array,
    Table,
    as_table,
    from_stream,
    labels_of,
    named_columns,
    without_columns,
)
from rustrank.inputs.vectors import as_labels, library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rustrank.data.dataset import Dataset

#: The column that holds query ids where nothing else says what the queries are.
QID = "qid"
#: From so many rows on, all rows as one query are more likely a forgotten argument.
_LARGE_QUERY = 1000
#: The arguments whose columns a ranker may have been fitted with, too.
_MAY_BE_FEATURES = ("qid", "segments", "doc_ids")
#: The parts of documents.
_PARTS = ("X", "y", "qid", "group")
#: The forms of documents, for messages.
EXPECTED = (
    "(X, y, qid), a mapping with X, y and qid or group, or a table with y= and qid=, the names of its "
    "columns"
)


class DocArguments(NamedTuple):
    """The arguments of a function that say what the labels and queries of a table are: columns, or their names."""

    y: Any = None
    qid: Any = None
    group: Any = None

    def names(self) -> DocArguments:
        """Return the names of columns alone, which hold for further tables, too."""
        y, qid = (one if isinstance(one, str) else None for one in (self.y, self.qid))
        return DocArguments(y, qid)


@dataclass(frozen=True, eq=False)
class Docs:
    """Documents: features, and labels and queries in the caller's form."""

    #: The features, as a table and in the caller's own form.
    table: Table
    X: Any
    y: Any
    qid: Any
    group: Any
    #: Other columns that arguments named.
    columns: Mapping[str, Any]
    #: The features with all columns that arguments named, and the names of these by argument.
    whole: Any
    names: Mapping[str, str]

    @property
    def queries_are(self) -> str:
        """What gives the queries, for messages."""
        column = f" (column {self.names['qid']!r})" if "qid" in self.names else ""
        return f"qid{column}" if self.group is None else "group"

    def require_queries(self, name: str) -> None:
        """Raise `DataError` if there are no queries."""
        if self.qid is None and self.group is None:
            message = f"{name}: got no queries, expected qid= or group=, or {EXPECTED}"
            raise DataError(message, code="query.none")


def is_dataset(value: Any) -> TypeGuard[Dataset]:
    """Return whether a value is a `Dataset`, whose class is in a package above this one."""
    return isinstance(getattr(value, "_core", None), _rustrank.Dataset)


def is_table(value: Any) -> bool:
    """Return whether a value has rows and columns."""
    if isinstance(value, (Table, Mapping)) or library(value) == "scipy":
        return True
    if library(value) in ("pandas", "polars", "pyarrow"):
        return hasattr(value, "columns")
    if isinstance(value, (list, tuple)):
        return bool(value) and isinstance(value[0], (list, tuple, np.ndarray))
    return np.ndim(value) == 2 if isinstance(value, np.ndarray) else _is_stream(value)


def has_parts(value: Any) -> bool:
    """Return whether a value has documents in parts: a tuple, a mapping with X, or a `Ranking`."""
    if isinstance(value, Mapping):
        return "X" in value
    return _is_ranking(value) or (
        isinstance(value, tuple) and len(value) in (2, 3) and is_table(value[0])
    )


def read_docs(
    given: Any,
    name: str,
    arguments: DocArguments | None = None,
    *,
    is_further: bool = False,
    columns: Mapping[str, Any] | None = None,
) -> Docs:
    """Read documents that an argument of this name gives, with the arguments for its labels and queries.

    For further sets of the same function, the names of columns hold where a set has no parts of its own.
    ``columns`` are other arguments of which some may name a column. A column ``qid`` holds the queries
    where nothing else does.
    """
    fields = _fields(given, name, arguments or DocArguments(), is_further)
    X = from_stream(fields["X"]) if _is_stream(fields["X"]) else fields["X"]
    if fields.get("qid") is None and fields.get("group") is None and QID in labels_of(X):
        fields["qid"] = QID
    others = columns or {}
    named = {"y": fields.get("y"), "qid": fields.get("qid"), **others}
    names = {argument: one for argument, one in named.items() if isinstance(one, str)}
    whole = X
    table, named = named_columns(as_table(X), named, "X" if name == "X" else f"the table of {name}")
    if names:
        X = without_columns(X, names.values())
    if _is_ranking(given) and not _are_numbered(given.feature_names):
        table = Array(given.X, given.feature_names)
    y, qid = named.pop("y"), named.pop("qid")
    return Docs(table, X, y, qid, fields.get("group"), named, whole, names)


def _fields(given: Any, name: str, arguments: DocArguments, is_further: bool) -> dict[str, Any]:
    """Return the parts of documents, of which none may be given twice."""
    if is_dataset(given):
        message = (
            f"{name}: got a Dataset, which keeps bins and no values, expected raw features: (X, y, qid), or "
            "the table that it was made from with y= and qid="
        )
        raise ParamKindError(message, code=name)
    if _is_ranking(given):
        given = tuple(given)
    is_listed = isinstance(given, list) and len(given) == 3 and arguments.y is None
    if has_parts(given) or is_listed:
        fields = fields_of(name, given, _PARTS, (2, 3), EXPECTED)
    elif is_table(given):
        fields = {"X": given}
    else:
        raise wrong_kind(name, given, EXPECTED)
    if is_further:
        of_set = ("y",) if fields.get("group") is not None else ("y", "qid")
        own = arguments.names()._asdict()
        fields |= {part: own[part] for part in of_set if fields.get(part) is None}
    else:
        fields |= _given_once(fields, arguments, name)
    if fields.get("y") is None:
        kind = type(given).__name__
        message = f"{name}: got a {kind} without labels, expected y=, or {EXPECTED}"
        raise ParamKindError(message, code=name)
    return fields


def _given_once(fields: Mapping[str, Any], arguments: DocArguments, name: str) -> dict[str, Any]:
    given = {part: value for part, value in arguments._asdict().items() if value is not None}
    for part in given:
        if fields.get(part) is not None:
            message = f"{part}: got it twice, in {name} and as {part}=, expected it once"
            raise ParamError(message, code=part)
    return given


def _is_ranking(value: Any) -> bool:
    return library(value) == "rustrank" and hasattr(value, "feature_names") and hasattr(value, "y")


def _are_numbered(names: Sequence[str]) -> bool:
    """Whether names are what features without names are called."""
    return all(name == f"f{at}" for at, name in enumerate(names))


def _is_stream(value: Any) -> bool:
    """Whether a value gives Arrow data that may be read only once, such as a relation of DuckDB."""
    known = library(value) in ("pandas", "polars", "pyarrow", "numpy", "rustrank")
    return not known and hasattr(value, "__arrow_c_stream__")


@dataclass(frozen=True, eq=False)
class JudgedDocs:
    """Labels and queries of documents that rankers are judged on, and what rankers score."""

    labels: NDArray[np.float32]
    queries: Queries
    query_ids: NDArray[Any]
    query_weight: NDArray[np.float64] | None = None
    #: Features in the caller's own form, a Dataset, or nothing.
    X: Any = None
    #: What queries are grouped by.
    segments: Any = None
    #: What documents are called.
    doc_ids: Any = None
    #: The columns that have the queries, the segments and the names of documents, and the features with them, for
    #: rankers that score them.
    more_columns: tuple[str, ...] = ()
    X_with_more: Any = None
    #: The further labels of a Dataset, by name.
    extra_labels: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    #: Whether the caller said what the queries are: a ranker that needs queries is given no others.
    has_queries: bool = True

    def features_of(self, names: Sequence[str]) -> Any:
        """Return what a ranker scores that has features of these names."""
        others = [column for column in self.more_columns if column not in names]
        if len(others) == len(self.more_columns):
            return self.X
        return without_columns(self.X_with_more, others)


def judged_docs(docs: Any, given: Mapping[str, Any]) -> JudgedDocs:
    """Read documents to judge rankers on: a Dataset, parts or a table as ``docs``, or labels and perhaps ``X``.

    ``given`` has the arguments ``y``, ``X``, ``qid``, ``group``, ``query_weight``, and perhaps ``segments``
    and ``doc_ids``.
    """
    X, weight, segments = (given.get(name) for name in ("X", "query_weight", "segments"))
    doc_ids = given.get("doc_ids")
    arguments = DocArguments(*(given.get(name) for name in DocArguments._fields))
    if docs is None:
        docs, arguments = arguments.y, arguments._replace(y=None)
    if docs is None:
        message = f"docs: got nothing, expected labels, a Dataset, {EXPECTED}"
        raise ParamKindError(message, code="docs")
    if is_dataset(docs):
        found = _of_dataset(docs, given, X)
        return replace(found, segments=segments, doc_ids=doc_ids)
    name = "docs"
    if has_parts(docs) or arguments.y is not None:
        if X is not None:
            raise ParamError("X: got it twice, in docs and as X=, expected it once", code="X")
        X = docs
    else:
        arguments, name = arguments._replace(y=docs), "X"
    more: tuple[str, ...] = ()
    with_more, where = None, "qid" if arguments.group is None else "group"
    if X is not None and (has_parts(X) or is_table(X)):
        weights = {"query_weight": weight if isinstance(weight, str) else None}
        others = {"segments": segments, "doc_ids": doc_ids, **weights}
        read = read_docs(X, name, arguments, columns=others)
        X, arguments = read.X, DocArguments(read.y, read.qid, read.group)
        more, with_more = _more_columns(read)
        where = read.queries_are
        segments, doc_ids, of_row = (read.columns[one] for one in others)
        weight = weight if of_row is None else query_weight_of_rows(of_row, read.qid, read.group)
    else:
        others = {"segments": segments, "doc_ids": doc_ids, "query_weight": weight}
        _refuse_names({**arguments._asdict(), **others}, docs)
    labels = as_labels(arguments.y)
    if arguments.qid is None and arguments.group is None:
        _warn_of_one_query(len(labels))
    queries, ids = queries_of(arguments.qid, arguments.group, len(labels))
    warn_of_single_docs(query_sizes(queries), where)
    weight = as_query_weight(weight, ids)
    return JudgedDocs(labels, queries, ids, weight, X, segments, doc_ids, more, with_more)


def _more_columns(read: Docs) -> tuple[tuple[str, ...], Any]:
    """Return the columns of queries and segments, which may be features as well, and the features with them."""
    others = [one for argument, one in read.names.items() if argument not in _MAY_BE_FEATURES]
    found = (read.names[one] for one in _MAY_BE_FEATURES if one in read.names)
    more = tuple(one for one in dict.fromkeys(found) if one not in others)
    return more, without_columns(read.whole, others) if more else None


def _warn_of_one_query(num_rows: int) -> None:
    """Warn that all rows are one query, where they are more than a query has."""
    if num_rows >= _LARGE_QUERY:
        message = (
            f"NO QUERIES ARE GIVEN: all {num_rows:,} rows count as one query. Pass qid= or group=, or have a "
            "column qid in the table; if they really are one query, pass group=[len(y)]"
        )
        warn_caller(message)


def unjudged_docs(X: Any, qid: Any, group: Any) -> JudgedDocs:
    """Return documents to be scored as documents whose labels do not matter."""
    X = from_stream(X) if _is_stream(X) else X
    more, with_more = ((qid,), X) if isinstance(qid, str) else ((), None)
    _, columns = named_columns(X, {"qid": qid})
    # In the caller's own form, which functions are given.
    X, qid = without_columns(X, more) if more else X, columns["qid"]
    num_rows = X.num_docs if is_dataset(X) else as_table(X).num_rows
    queries, ids = queries_of(qid, group, num_rows)
    labels = np.zeros(num_rows, np.float32)
    return JudgedDocs(
        labels,
        queries,
        ids,
        X=X,
        more_columns=more,
        X_with_more=with_more,
        has_queries=qid is not None or group is not None,
    )


def _of_dataset(dataset: Dataset, given: Mapping[str, Any], X: Any) -> JudgedDocs:
    for name in ("y", "qid", "group", "query_weight"):
        value = given.get(name)
        if value is not None and value is not dataset:
            raise ParamError(f"{name} is given twice: the dataset has it", code=name)
    core = dataset._core
    queries = core.query_codes(), core.num_queries
    weight, X = core.query_weight(), dataset if X is None else X
    extra = dataset.extra_labels
    return JudgedDocs(dataset.labels, queries, dataset.query_ids, weight, X, extra_labels=extra)


def _refuse_names(given: Mapping[str, Any], docs: Any) -> None:
    """Raise an error if there is no table that names of columns could be of."""
    width = len(labels_of(docs))
    if width > 1:
        message = f"docs: got a table of {width} columns, expected y=, the name of its labels, too"
        raise ParamKindError(message, code="docs")
    for name, value in given.items():
        if isinstance(value, str):
            message = f"{name}: got {value!r}, the name of a column, expected a table, too: X="
            raise DataError(message, code=name)
