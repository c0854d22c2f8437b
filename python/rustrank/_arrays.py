"""Everything people bring, as blocks of numpy arrays: the one place that converts.

A *block* is what the compiled half reads: a two-dimensional ``float32`` or ``float64`` array in C or
Fortran order, or a list of such columns. Arrays that already are a block pass without a copy; all
others are converted some rows at a time, so that no second copy of a table ever exists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Block: TypeAlias = (
    NDArray[np.float32] | NDArray[np.float64] | list[NDArray[np.float32] | NDArray[np.float64]]
)
Column: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Queries: TypeAlias = tuple[NDArray[np.uint32], int] | NDArray[np.int64]

#: Cells converted at a time: 16 MiB of doubles.
_CELLS = 1 << 21
#: Types that single precision holds exactly.
_NARROW = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, np.float32)


class Table(Protocol):
    """A table of features, read in blocks, as often as needed."""

    num_rows: int
    num_features: int
    names: list[str] | None

    def blocks(self) -> Iterator[Block]:
        """All rows in order."""

    def whole(self) -> Block | None:
        """All rows as one block, where that takes no copy."""


def _rows_at_a_time(num_rows: int, num_features: int) -> Iterator[slice]:
    step = max(1, _CELLS // max(1, num_features))
    for start in range(0, num_rows, step):
        yield slice(start, min(start + step, num_rows))


def _native(dtype: np.dtype[Any]) -> bool:
    return dtype.isnative and dtype.type in (np.float32, np.float64)


def _as_floats(values: NDArray[Any], what: str) -> Column:
    """Convert numbers of any type, exactly where doubles can hold them."""
    if isinstance(values, np.ma.MaskedArray):
        dtype = np.float32 if values.dtype.type in _NARROW else np.float64
        values = np.where(np.ma.getmaskarray(values), dtype(math.nan), values.data.astype(dtype))
    kind = values.dtype.kind
    if kind in "fbiu":
        if values.dtype.type in _NARROW:
            return np.ascontiguousarray(values, dtype=np.float32)
        return np.ascontiguousarray(values, dtype=np.float64)
    if kind == "O":
        return _from_objects(values, what)
    message = f"{what}: got {values.dtype}, expected numbers"
    raise TypeError(message)


def _from_objects(values: NDArray[Any], what: str) -> Column:
    if any(isinstance(value, str) for value in values.flat):
        message = f"{what}: got text, expected numbers; encode categories as numbers first"
        raise TypeError(message)
    try:
        absent = np.array([value is None for value in values.flat], bool)
        present = np.where(absent.reshape(values.shape), math.nan, values)
        return np.ascontiguousarray(present, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{what}: got objects that are not numbers ({error})"
        raise TypeError(message) from error


@dataclass
class _Array:
    """A numpy array."""

    values: NDArray[Any]
    names: list[str] | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            message = f"X has {self.values.ndim} dimensions, expected 2: documents by features"
            raise TypeError(message)
        if self.values.dtype.kind not in "fbiuO":
            message = f"X: got an array of {self.values.dtype}, expected numbers"
            raise TypeError(message)
        self.num_rows, self.num_features = self.values.shape

    def blocks(self) -> Iterator[Block]:
        whole = self.whole()
        if whole is not None:
            yield whole
            return
        for rows in _rows_at_a_time(self.num_rows, self.num_features):
            yield _as_floats(self.values[rows], "X")

    def whole(self) -> Block | None:
        values = self.values
        contiguous = values.flags.c_contiguous or values.flags.f_contiguous
        masked = isinstance(values, np.ma.MaskedArray)
        return values if _native(values.dtype) and contiguous and not masked else None


@dataclass
class _Sparse:
    """A scipy sparse matrix or array; what it does not store is 0."""

    values: Any
    names: list[str] | None = None

    def __post_init__(self) -> None:
        if len(self.values.shape) != 2:
            message = f"X has {len(self.values.shape)} dimensions, expected 2"
            raise TypeError(message)
        self.values = self.values.tocsr()
        self.num_rows, self.num_features = self.values.shape

    def blocks(self) -> Iterator[Block]:
        for rows in _rows_at_a_time(self.num_rows, self.num_features):
            yield _as_floats(self.values[rows].toarray(), "X")

    def whole(self) -> Block | None:
        return None


class _Frame:
    """A table of named columns: pandas, polars or Arrow."""

    def __init__(self, columns: Sequence[Any], names: Sequence[Any], num_rows: int) -> None:
        self.columns = columns
        self.names: list[str] | None = [str(name) for name in names]
        self.num_rows = num_rows
        self.num_features = len(columns)

    def blocks(self) -> Iterator[Block]:
        names = self.names or []
        for rows in _rows_at_a_time(self.num_rows, self.num_features):
            yield [
                _column(column, rows, name)
                for column, name in zip(self.columns, names, strict=True)
            ]

    def whole(self) -> Block | None:
        return None


def _column(column: Any, rows: slice, name: str) -> Column:
    """Take some rows of a column; without a copy where it holds plain floats."""
    what = f"column {name!r}"
    library = _library(column)
    if library == "polars":
        values = column[rows].to_numpy()
    elif library == "pyarrow":
        part = column.slice(rows.start, rows.stop - rows.start)
        values = part.to_numpy(zero_copy_only=False) if _is_chunk(part) else part.to_numpy()
    elif isinstance(column, np.ndarray):
        values = column[rows]
    else:
        part = column.iloc[rows]
        if str(part.dtype) == "category":
            message = f"{what}: got categories, expected numbers; encode them first"
            raise TypeError(message)
        extension = not isinstance(part.dtype, np.dtype) and part.hasnans
        values = (
            part.to_numpy(dtype=np.float64, na_value=math.nan) if extension else part.to_numpy()
        )
    return _as_floats(values, what)


def _is_chunk(array: Any) -> bool:
    return not hasattr(array, "chunks")


def _library(value: Any) -> str:
    return type(value).__module__.split(".", 1)[0]


def as_table(X: Any) -> Table:
    """Whatever holds features, as blocks."""
    library = _library(X)
    if library == "pandas" and hasattr(X, "columns"):
        return _from_pandas(X)
    if library == "polars":
        if not hasattr(X, "get_columns"):
            message = f"X is a polars {type(X).__name__}, expected a DataFrame; collect() it first"
            raise TypeError(message)
        return _Frame(X.get_columns(), X.columns, X.height)
    if library == "pyarrow" and hasattr(X, "column_names"):
        return _Frame(X.columns, X.column_names, X.num_rows)
    if library == "scipy" and hasattr(X, "tocsr"):
        return _Sparse(X)
    if not isinstance(X, np.ndarray) and hasattr(X, "__arrow_c_stream__"):
        return _from_stream(X)
    if isinstance(X, np.ndarray):
        return _Array(X)
    try:
        return _Array(np.asarray(X))
    except (TypeError, ValueError) as error:
        message = f"X cannot be read as a table of numbers: {error}"
        raise TypeError(message) from error


def _from_pandas(X: Any) -> Table:
    kinds = {str(dtype) for dtype in X.dtypes}
    if kinds in ({"float32"}, {"float64"}):
        values = X.to_numpy()
        if values.flags.c_contiguous or values.flags.f_contiguous:
            return _Array(values, [str(name) for name in X.columns])
    columns = [X.iloc[:, i] for i in range(X.shape[1])]
    return _Frame(columns, X.columns, X.shape[0])


def _from_stream(X: Any) -> Table:
    """Any other Arrow producer, through pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        message = f"X is a {type(X).__name__}: reading it needs pyarrow (rustrank[arrow])"
        raise TypeError(message) from error
    table = pa.table(X)
    return _Frame(table.columns, table.column_names, table.num_rows)


def as_vector(values: Any, name: str) -> NDArray[Any]:
    """Return a one-dimensional numpy array; a column of one feature is taken too."""
    library = _library(values)
    array: NDArray[Any]
    if library == "pyarrow":
        chunk = _is_chunk(values)
        array = values.to_numpy(zero_copy_only=False) if chunk else values.to_numpy()
    elif library in ("polars", "pandas") and hasattr(values, "to_numpy"):
        array = values.to_numpy()
    else:
        try:
            array = np.asarray(values)
        except ValueError as error:
            message = f"{name}: cannot be read as one column ({error})"
            raise TypeError(message) from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        message = f"{name} has {array.ndim} dimensions, expected 1"
        raise TypeError(message)
    return array


def as_doubles(values: Any, name: str) -> NDArray[np.float64]:
    """Numbers of any type as a contiguous array of doubles."""
    return np.ascontiguousarray(_as_floats(as_vector(values, name), name), dtype=np.float64)


def as_labels(y: Any) -> NDArray[np.float32]:
    """Labels in single precision; too large ones stay finite, so that the message is right."""
    doubles = as_doubles(y, "y")
    with np.errstate(over="ignore"):
        labels = doubles.astype(np.float32)
    overflown = np.isinf(labels) & np.isfinite(doubles)
    labels[overflown] = np.copysign(np.finfo(np.float32).max, doubles[overflown])
    return labels


def check_length(name: str, got: int, expected: int, what: str) -> None:
    """Refuse an array that does not fit the others."""
    if got != expected:
        message = (
            f"{name} has the wrong length: got {got}, expected {expected}, the number of {what}"
        )
        raise DataError(message, code="length")


def as_queries(qid: Any, group: Any, num_rows: int) -> tuple[Queries, NDArray[Any]]:
    """Query ids of any type and in any order, or the number of rows of each query.

    Returns what the compiled half takes, and the ids in order of first appearance.
    """
    if (qid is None) == (group is None):
        given = "both are given" if qid is not None else "neither is given"
        message = f"queries come as `qid` (one id a row) or `group` (rows a query): {given}"
        raise DataError(message, code="query.none" if qid is None else "query.both")
    if group is not None:
        sizes = as_vector(group, "group")
        if sizes.dtype.kind not in "iu":
            message = f"group: got {sizes.dtype}, expected whole numbers of rows"
            raise TypeError(message)
        sizes = np.ascontiguousarray(sizes, dtype=np.int64)
        return sizes, np.arange(len(sizes))
    ids = as_vector(qid, "qid")
    check_length("qid", len(ids), num_rows, "rows")
    codes, distinct = group_ids(ids)
    return (codes, len(distinct)), distinct


def group_ids(ids: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the number of each row's id, by first appearance, and the distinct ids."""
    _refuse_missing(ids)
    if len(ids) == 0:
        return np.empty(0, np.uint32), ids
    if ids.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        try:
            codes = np.fromiter(
                (numbers.setdefault(value, len(numbers)) for value in ids), np.uint32, len(ids)
            )
        except TypeError as error:
            message = f"qid: got ids that cannot be compared ({error})"
            raise TypeError(message) from error
        distinct = np.empty(len(numbers), object)
        distinct[:] = list(numbers)
        return codes, distinct
    # Rows of a query mostly stand together: only the first of each run is looked up.
    starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
    heads = ids[starts]
    distinct, first, inverse = np.unique(heads, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    lengths = np.diff(np.append(starts, len(ids)))
    return np.repeat(number[inverse], lengths), distinct[order]


def _refuse_missing(ids: NDArray[Any]) -> None:
    if ids.dtype.kind not in "fcmMO":
        return
    # NaN and NaT differ from themselves.
    missing = np.asarray(ids != ids, bool)
    if ids.dtype.kind == "O":
        missing = missing | np.array([value is None for value in ids], bool)
    if missing.any():
        row = int(np.argmax(missing))
        message = f"qid[{row}] is missing: expected an id for every row"
        raise DataError(message, code="qid.missing", row=row)


def as_query_weight(weight: Any, ids: NDArray[Any]) -> NDArray[np.float64] | None:
    """Weights in order of first appearance, from such a list or from a mapping."""
    if weight is None:
        return None
    if not isinstance(weight, Mapping):
        return as_doubles(weight, "query_weight")
    try:
        return np.array([float(weight[key]) for key in ids.tolist()], np.float64)
    except KeyError as error:
        message = f"query_weight has no weight for query {error.args[0]!r}"
        raise DataError(message, code="weight", query=str(error.args[0])) from None
