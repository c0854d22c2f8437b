"""Tables of features of any kind, read as blocks of numpy arrays.

A *block* is what the extension reads: a two-dimensional ``float32`` or ``float64`` array in C or Fortran
order, or a list of such columns. An array that is a block is used without a copy. Other tables are
converted some rows at a time, so that there is never a second copy of a whole table that is large.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank.errors import (
    DataError,
    ParamKindError,
    UnknownNameError,
    listed,
    shown,
    suggestion,
    wrong_kind,
)
from rustrank.inputs.category_column import CategoryColumn
from rustrank.inputs.column_kinds import kind_of, refuse_columns
from rustrank.inputs.feature_names import is_index, numbered_in, without_spaces
from rustrank.inputs.files import reader_of
from rustrank.inputs.scalars import as_list, whole
from rustrank.inputs.vectors import NARROW, Column, as_floats, as_vector, library, to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

Block: TypeAlias = (
    NDArray[np.float32] | NDArray[np.float64] | list[NDArray[np.float32] | NDArray[np.float64]]
)

#: Cells converted at a time: 16 MiB of doubles.
_CELLS = 1 << 21
#: The types of frames of pandas that may be one array without a copy.
_FLOATS = ({np.dtype(np.float32)}, {np.dtype(np.float64)})
#: The types of polars that are numbers of numpy.
_NUMBERS_OF_POLARS = {
    *("Float32", "Float64", "Int8", "Int16", "Int32", "Int64"),
    *("UInt8", "UInt16", "UInt32", "UInt64"),
}


class Table(ABC):
    """A table of features, which can be read in blocks any number of times."""

    def __init__(self, num_rows: int, num_features: int, labels: Sequence[Any] | None) -> None:
        self.num_rows, self.num_features = num_rows, num_features
        #: What the columns are called, and that as text.
        self.labels = None if labels is None else list(labels)
        self.names = None if labels is None else [str(label) for label in labels]

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, in blocks that the extension reads."""
        whole = self.whole()
        if whole is not None:
            yield whole
            return
        step = max(1, _CELLS // max(1, self.num_features))
        for start in range(0, self.num_rows, step):
            yield self.block(slice(start, min(start + step, self.num_rows)))

    def whole(self) -> Block | None:
        """Return all rows as one block if that needs no copy or a small one, else None."""
        return None

    @abstractmethod
    def block(self, rows: slice) -> Block:
        """Return some rows as a block."""

    @abstractmethod
    def column(self, feature: int) -> Any:
        """Return a column as it is."""

    def take(self, features: list[int]) -> Table:
        """Return the table of some features, which have names, in this order."""
        labels = self.labels or []
        columns = [self.column(at) for at in features]
        return Frame(columns, [labels[at] for at in features], self.num_rows)


@contextmanager
def feature_names_in_errors(table: Table) -> Iterator[None]:
    """Let errors of the compiled half about an infinite value, which it numbers, name the column."""
    try:
        yield
    except DataError as error:
        names, number = table.names, error.feature or ""
        is_numbered = error.code == "feature.infinite" and number.isdecimal()
        if names is not None and is_numbered and int(number) < len(names):
            name = names[int(number)]
            message = str(error).replace(f"feature {number}", f"column {shown(name)}", 1)
            error.args, error.feature = (message,), name
        raise


def as_block(table: Table) -> Block:
    """Return all rows as one block, a copy only where the table is not one already."""
    whole = table.whole()
    return in_one_piece(table) if whole is None else whole


def in_one_piece(table: Table) -> Block:
    """Copy all rows into one array."""
    blocks = [
        np.stack(block, axis=1) if isinstance(block, list) else block for block in table.blocks()
    ]
    return np.ascontiguousarray(np.concatenate(blocks) if blocks else np.empty((0, 0)))


class Array(Table):
    """A numpy array."""

    def __init__(self, values: NDArray[Any], labels: Sequence[Any] | None = None) -> None:
        if values.ndim != 2:
            raise ParamKindError(
                f"X has {values.ndim} dimensions, expected 2: docs by features", code="kind"
            )
        if values.dtype.kind in "UT":
            values = values.astype(object)
        if values.dtype.kind in "mM":
            refuse_columns(list(values.T), range(values.shape[1]), "X")
        if values.dtype.kind not in "fbiuO":
            raise ParamKindError(
                f"X: got an array of {values.dtype}, expected numbers", code="kind"
            )
        super().__init__(values.shape[0], values.shape[1], labels)
        self.values = values

    def block(self, rows: slice) -> Block:
        """Return some rows as a block."""
        try:
            return as_floats(self.values[rows], "X")
        except TypeError:
            features = range(self.num_features)
            refuse_columns([self.values[:, feature] for feature in features], features, "X")
            raise

    def whole(self) -> Block | None:
        """Return all rows as one block without a copy, or None where that needs one."""
        values = self.values
        native = values.dtype.isnative and values.dtype.type in (np.float32, np.float64)
        plain = values.flags.aligned and not isinstance(values, np.ma.MaskedArray)
        contiguous = values.flags.c_contiguous or values.flags.f_contiguous
        return values if native and plain and contiguous else None

    def column(self, feature: int) -> Any:
        """Return a column as it is."""
        return self.values[:, feature]


class Sparse(Table):
    """A scipy sparse matrix or array; cells that are not stored are 0, or another value."""

    def __init__(self, values: Any, absent: float = 0.0) -> None:
        self._absent = absent
        if len(values.shape) != 2:
            raise ParamKindError(f"X has {len(values.shape)} dimensions, expected 2", code="kind")
        self.values = _checked_sparse(values)
        super().__init__(self.values.shape[0], self.values.shape[1], None)

    def block(self, rows: slice) -> Block:
        """Return some rows as a block."""
        part = self.values[rows]
        if self._absent == 0:
            return as_floats(part.toarray(), "X")
        part.sum_duplicates()
        part = part.tocoo()
        cells = np.full(part.shape, self._absent)
        cells[part.row, part.col] = part.data
        return cells

    def column(self, feature: int) -> Any:
        """Return a column as it is."""
        return self.values[:, feature]


def _checked_sparse(X: Any) -> Any:
    """Return the matrix in CSR format, after a check of its indices."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            # The check modifies the matrix object, so it runs on another one with the same arrays.
            X = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
            X.check_format(full_check=True)
        elif X.format == "coo":
            # A new one checks its indices.
            X = type(X)((X.data, (X.row, X.col)), shape=X.shape, copy=False)
        return X.tocsr()
    except (ValueError, IndexError, TypeError) as error:
        raise DataError(f"X is a damaged sparse matrix: {error}", code="sparse") from error


class Frame(Table):
    """A table of named columns: pandas, polars or Arrow, or a mapping from names to columns."""

    def __init__(self, columns: Sequence[Any], labels: Sequence[Any], num_rows: int) -> None:
        super().__init__(num_rows, len(columns), labels)
        self.columns = columns

    def block(self, rows: slice) -> Block:
        """Return some rows as a block."""
        columns = zip(self.columns, self.labels or (), strict=True)
        try:
            return [_floats_of(one, rows, f"column {shown(str(label))}") for one, label in columns]
        except TypeError:
            refuse_columns(self.columns, self.labels or ())
            raise

    def column(self, feature: int) -> Any:
        """Return a column as it is."""
        return self.columns[feature]

    @property
    def types(self) -> list[Any]:
        """The type of each column."""
        return [one.type if library(one) == "pyarrow" else one.dtype for one in self.columns]


class _DataFrame(Frame):
    """A DataFrame of pandas or polars: converted at once if it is small and has numbers alone.

    To convert the columns of a few documents one by one takes longer than to score the documents.
    """

    def __init__(self, frame: Any) -> None:
        columns = _ColumnsOf(frame) if library(frame) == "pandas" else frame.get_columns()
        super().__init__(columns, frame.columns, frame.shape[0])
        self.frame = frame

    @property
    def types(self) -> list[Any]:
        """The type of each column."""
        return list(self.frame.dtypes)

    def whole(self) -> Block | None:
        """Return all rows as one block, or None if they are many or some columns are no numbers."""
        if not 0 < self.num_rows * self.num_features <= _CELLS:
            return None
        is_pandas = library(self.frame) == "pandas"
        values = (_numbers_of_pandas if is_pandas else _numbers_of_polars)(self.frame)
        return None if values is None else as_block(Array(values))

    def take(self, features: list[int]) -> Table:
        """Return the table of some features, in this order."""
        is_pandas = library(self.frame) == "pandas"
        return as_table(self.frame.iloc[:, features] if is_pandas else self.frame[:, features])


class _ColumnsOf(Sequence[Any]):
    """The columns of a DataFrame of pandas, each made when it is needed."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return int(self.frame.shape[1])

    def __getitem__(self, at: Any) -> Any:
        if at >= len(self):
            raise IndexError(at)
        return self.frame.iloc[:, at]


def _numbers_of_pandas(frame: Any) -> NDArray[Any] | None:
    """Return the cells of a frame as floats that hold what those of its columns do, or None."""
    kinds = set(frame.dtypes)
    if not all(isinstance(kind, np.dtype) and kind.kind in "fbiu" for kind in kinds):
        return None
    is_narrow = all(kind.type in NARROW for kind in kinds)
    values: NDArray[Any] = frame.to_numpy(np.float32 if is_narrow else np.float64)
    return values


def _numbers_of_polars(frame: Any) -> NDArray[Any] | None:
    """Return the cells of a frame as numbers that hold what those of its columns do, or None."""
    kinds = set(frame.dtypes)
    names = {str(kind) for kind in kinds}
    if not names <= _NUMBERS_OF_POLARS:
        return None
    if len(kinds) > 1:
        import polars as pl

        frame = frame.cast(pl.Float64)
    values: NDArray[Any] = frame.to_numpy()
    return values


def _floats_of(column: Any, rows: slice, what: str) -> Column:
    """Return some rows of a column, without a copy if they are floats."""
    kind = kind_of(column)
    if kind is not None:
        # Some libraries would make numbers of these, such as pandas of text that reads as numbers.
        raise ParamKindError(f"{what}: got {kind}, expected numbers", code="kind")
    if library(column) == "pandas":
        return as_floats(_of_pandas(column.iloc[rows], what), what)
    if isinstance(column, np.ndarray):
        return as_floats(column[rows], what)
    if isinstance(column, CategoryColumn):
        raise ParamKindError(
            f"{what}: got categories, expected numbers; encode them first", code="kind"
        )
    type_of = column.dtype if library(column) == "polars" else column.type
    if str(type_of) in ("Int128", "UInt128"):  # Some versions of polars panic on these.
        raise ParamKindError(f"{what}: got {type_of}, expected numbers", code="kind")
    try:
        values = to_numpy(column[rows])
    except Exception as error:  # Each library raises its own errors for unsupported types.
        raise ParamKindError(
            f"{what}: got {type_of}, expected numbers ({error})", code="kind"
        ) from error
    return as_floats(values, what)


def _of_pandas(column: Any, what: str) -> NDArray[Any]:
    if str(column.dtype) == "category":
        raise ParamKindError(
            f"{what}: got categories, expected numbers; encode them first", code="kind"
        )
    if isinstance(column.dtype, np.dtype) or not column.hasnans:
        return to_numpy(column)
    try:
        values: NDArray[Any] = column.to_numpy(dtype=np.float64, na_value=math.nan)
    except (TypeError, ValueError) as error:
        raise ParamKindError(
            f"{what}: got {column.dtype}, expected numbers ({error})", code="kind"
        ) from error
    return values


def as_table(X: Any) -> Table:
    """Return any kind of table as a `Table`."""
    of = library(X)
    if isinstance(X, Table):
        return X
    if of in ("pandas", "polars"):
        return _from_frame(X)
    if of == "pyarrow" and hasattr(X, "column_names"):
        return _from_arrow(X)
    if of == "scipy" and hasattr(X, "tocsr"):
        return Sparse(X)
    if isinstance(X, np.ndarray):
        return Array(X)
    if hasattr(X, "__arrow_c_stream__"):
        return as_table(from_stream(X))
    if isinstance(X, Mapping):
        return _from_mapping(X)
    return _from_values(X)


def named_columns(X: Any, given: Mapping[str, Any], what: str = "X") -> tuple[Any, dict[str, Any]]:
    """Return a table without the columns that arguments name, and these arguments as columns.

    Arguments that are no text are returned as they are, and so is the table if none is.
    """
    named = {argument: one for argument, one in given.items() if isinstance(one, str)}
    if not named:
        return X, dict(given)
    table = as_table(X)
    labels = table.labels or []
    for argument, name in named.items():
        if name not in labels:
            known = f"one of {listed(labels)}" if labels else "a table with named columns"
            near = suggestion(name, map(str, labels))
            message = f"{argument}: {what} has no column {name!r}, expected {known}{near}"
            raise DataError(message, code=argument)
    columns = {argument: table.column(labels.index(name)) for argument, name in named.items()}
    kept = [at for at, label in enumerate(labels) if label not in named.values()]
    return table.take(kept), {**given, **columns}


def _from_values(X: Any) -> Table:
    """Return lists, and all that numpy reads, as a table."""
    _refuse_other_things(X)
    try:
        values = np.asarray(_cells(X))
    except (TypeError, ValueError) as error:
        raise ParamKindError(
            f"X cannot be read as a table of numbers: {error}", code="kind"
        ) from error
    if values.ndim == 0:
        raise ParamKindError(f"X: got {shown(X)}, expected a table: docs by features", code="kind")
    return Array(values)


def _cells(given: Any) -> Any:
    """Return lists as an array, and those with text as objects: numpy makes text of numbers beside text."""
    if not isinstance(given, (list, tuple)):
        return given
    try:
        values = np.asarray(given)
    except (TypeError, ValueError):  # Rows of different lengths, which are an error later.
        return given
    return np.asarray(given, object) if values.dtype.kind == "U" else values


def _refuse_other_things(X: Any) -> None:
    """Raise an error with a hint for paths and objects of this library."""
    if isinstance(X, (str, bytes, PathLike)):
        raise ParamKindError(
            f"X: got {shown(X)}, expected a table; {reader_of(X)} reads a file", code="kind"
        )
    if library(X) == "rustrank":
        hint = "; a Ranking has its table in .X" if hasattr(X, "X") else ""
        raise ParamKindError(
            f"X: got a {type(X).__name__}, expected a table of raw features{hint}", code="kind"
        )


def _from_frame(X: Any) -> Table:
    """Return a DataFrame of pandas or polars as a table; other objects of these are an error."""
    kind = f"{library(X)} {type(X).__name__}"
    if type(X).__name__ == "LazyFrame":
        raise ParamKindError(
            f"X is a {kind}, expected a DataFrame; collect() it first", code="kind"
        )
    if not hasattr(X, "columns"):
        raise ParamKindError(
            f"X is a {kind}: one column, expected a table; to_frame() makes one of a column, and to_frame().T of a row",
            code="kind",
        )
    if library(X) == "polars" and any(map(is_index, X.columns)):
        X = X.select([name for name in X.columns if not is_index(name)])
    if library(X) == "pandas" and set(X.dtypes) in _FLOATS:
        values = X.to_numpy()
        if values.flags.c_contiguous or values.flags.f_contiguous:
            return Array(values, X.columns)
    return _DataFrame(X)


def _from_arrow(X: Any) -> Table:
    """Return a table of Arrow without an index of pandas, which is no column in pandas either."""
    places = [at for at, name in enumerate(X.column_names) if not is_index(name)]
    names = [X.column_names[at] for at in places]
    return Frame([X.column(at) for at in places], names, X.num_rows)


def _from_mapping(X: Mapping[Any, Any]) -> Table:
    columns = [
        column
        if isinstance(column, CategoryColumn)
        else as_vector(_cells(column), f"column {shown(name)}")
        for name, column in X.items()
    ]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        message = f"the columns of X have different lengths: from {lengths[0]} to {lengths[-1]}"
        raise DataError(message, code="length")
    return Frame(columns, list(X), lengths[0] if lengths else 0)


def from_stream(X: Any) -> Any:
    """Return any other producer of an Arrow stream, which may be read only once, as a pyarrow table."""
    try:
        import pyarrow as pa

        return pa.table(X)
    except ImportError as error:
        message = f"X is a {type(X).__name__}: reading it needs pyarrow (rustrank[arrow])"
        raise ParamKindError(message, code="kind") from error
    except (TypeError, ValueError) as error:
        message = f"X: a {type(X).__name__} cannot be read as an Arrow table ({error})"
        raise ParamKindError(message, code="kind") from error


def labels_of(X: Any) -> list[Any]:
    """Return what the columns of a table of any kind are called; nothing where they have no names."""
    if isinstance(X, Table):
        return X.labels or []
    if library(X) in ("pandas", "polars"):
        return list(getattr(X, "columns", ()))
    if library(X) == "pyarrow":
        return list(getattr(X, "column_names", ()))
    return list(X) if isinstance(X, Mapping) else []


def select_columns(X: Any, labels: Sequence[Any]) -> Any:
    """Return some columns of a table of any kind, which is of the same kind."""
    if isinstance(X, Table):
        return X.take([(X.labels or []).index(label) for label in labels])
    if library(X) in ("pandas", "polars"):
        return X[list(labels)]
    if library(X) == "pyarrow":
        return X.select(list(labels))
    return {label: X[label] for label in labels}


def without_columns(X: Any, names: Collection[Any]) -> Any:
    """Return a table of any kind without some columns."""
    return select_columns(X, [label for label in labels_of(X) if label not in names])


def as_names(given: Any) -> list[str] | None:
    """Return names of features as a list of different strings, or raise an error."""
    if given is None:
        return None
    names = as_list("feature_names", given, "a list of names")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise wrong_kind(f"feature_names[{number}]", name, "a name", "feature_names")
    # numpy strings become Python strings.
    names = [str(name) for name in names]
    check_different(names)
    return names


def feature_number(option: str, key: Any, names: Sequence[str], highest: int) -> int:
    """Return the number of a feature that an option gives by name or number."""
    if not isinstance(key, str):
        return whole(f"{option}: a feature", key, 0, highest, ", or a name")
    if key in names:
        return list(names).index(key)
    message = f"{option}: there is no feature {shown(key)}{suggestion(key, names)}"
    raise UnknownNameError(message, code=option)


def check_different(names: list[str]) -> None:
    """Raise `DataError` if two features have the same name."""
    if len(set(names)) < len(names):
        name = next(name for at, name in enumerate(names) if name in names[:at])
        message = f"two features have the name {shown(name)}"
        raise DataError(message, code="features.names", feature=name)


def check_same_names(
    names: Sequence[str] | None, expected: Sequence[str] | None, of: str = ""
) -> None:
    """Raise `DataError` if as many features as expected have other names, or another order."""
    if names is None or expected is None or len(names) != len(expected):
        return
    for number, (mine, theirs) in enumerate(zip(names, expected, strict=True)):
        if mine != theirs:
            message = f"feature {number}{of} has another name: got {mine!r}, expected {theirs!r}"
            raise DataError(message, code="features.names", feature=mine)


def columns_of(
    table: Table, expected: tuple[int, Sequence[str] | None], what: str, other: str
) -> Table:
    """Return a table with the features of another thing, which are given by number and names.

    Columns are matched by name where both have names: they may have any order, and others are left out. ``f0``,
    ``f1``, ... are names of features without names, too: a table that has one of them has to have all. Else they
    are matched by position. Raises `DataError` if some are missing.
    """
    mine, (count, names) = table.names, expected
    is_numbered = names is None
    if mine is not None and names is None:
        names = numbered_in(mine, count)
    if mine is None or names is None:
        check_same_features((table.num_features, None), (count, None), what, other)
        return table
    wanted = list(names[:count])
    if mine == wanted:
        return table
    places = _places_of(mine)
    absent = [name for name in wanted if name not in places]
    if absent and table.labels == list(range(len(mine))):
        # Columns that are numbered by their places have no names.
        check_same_features((len(mine), None), (count, None), what, other)
        return table
    if absent:
        missing = "a feature" if len(absent) == 1 else f"{len(absent)} features"
        message = (
            f"{what} lacks {missing} of {other}: got columns {listed(mine)}, expected also "
            f"{listed(absent)}"
        )
        if is_numbered:
            message += (
                f"; {other} knows features by number alone: pass an array to match by position"
            )
        raise DataError(message, code="features.names", feature=absent[0])
    known = set(wanted)
    check_different([name for name in mine if name in known])
    return table.take([places[name] for name in wanted])


def _places_of(names: Sequence[str]) -> dict[str, int]:
    """Return the places of names. LightGBM's files have an underscore for each space in a name."""
    places = {name: at for at, name in enumerate(without_spaces(names))}
    if len(places) < len(names):
        places = {}
    return places | {name: at for at, name in enumerate(names)}


def check_same_features(
    features: tuple[int, Sequence[str] | None],
    expected: tuple[int, Sequence[str] | None],
    what: str,
    other: str,
) -> None:
    """Raise `DataError` unless the features, given by number and names, are those of another thing."""
    (got, names), (wanted, theirs) = features, expected
    if got != wanted:
        message = (
            f"{what} has another number of features than {other}: got {got}, expected {wanted}"
        )
        raise DataError(message, code="features")
    check_same_names(names, theirs and theirs[:wanted], f" of {what}")
