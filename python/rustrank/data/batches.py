"""Data sets that are read in batches, in two passes, from iterators or Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from rustrank.data.dataset_building import extra_labels_of, named_labels
from rustrank.errors import DataError, ParamError, shown, wrong_kind
from rustrank.inputs.feature_names import is_index
from rustrank.inputs.queries import as_ids
from rustrank.inputs.scalars import as_list, whole
from rustrank.inputs.tables import Table, as_table, check_same_features, columns_of
from rustrank.inputs.vectors import as_doubles, as_labels, as_scores, check_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: One batch of rows: a mapping with ``X``, ``y``, ``qid`` and perhaps ``row_weight`` and
#: ``base_score``, or the first three as a tuple.
Batch: TypeAlias = Mapping[str, Any] | tuple[Any, Any, Any]

_NEEDED = ("X", "y", "qid")
_OPTIONAL = ("row_weight", "base_score")


class Batches:
    """A source of batches; checks that all batches and both passes have the same structure."""

    def __init__(
        self, source: Callable[[], Iterable[Batch]] | Iterable[Batch], extra_labels: Any = None
    ) -> None:
        self._labels = _label_columns(extra_labels)
        if isinstance(source, Iterator):
            raise TypeError(
                "batches can be read only once: pass a function that returns a new iterator, "
                "as in `Dataset.from_batches(lambda: read_my_files())`"
            )
        if not callable(source) and (
            isinstance(source, (str, Mapping)) or not hasattr(source, "__iter__")
        ):
            raise wrong_kind("batches", source, "a list of batches or a function")
        self._make = source if callable(source) else lambda: source
        self._first: Table | None = None
        #: The number of rows of the last pass; 0 before the first.
        self.num_rows = 0

    def read(self) -> Iterator[tuple[Mapping[str, Any], Table]]:
        """Yield each batch as a mapping, with its table in the column order of the first batch.

        Columns that are further labels are none of the table: they are in the mapping, as ``extra_labels``.
        """
        made = self._make()
        if not hasattr(made, "__iter__"):
            raise TypeError(f"batches: the function returned {shown(made)}, expected an iterator")
        num_rows, number = 0, -1
        for number, batch in enumerate(made):
            given = _by_name(batch, number)
            X, extra = named_labels(given["X"], self._labels)
            given, table = {**given, "extra_labels": extra}, as_table(X)
            self._first = self._first or table
            table = _like(self._first, table, number)
            num_rows += table.num_rows
            yield given, table
        if number < 0:
            raise DataError("the data have no rows: there is no batch", code="data.empty")
        if self.num_rows not in (0, num_rows):
            message = (
                f"the batches are read twice and were not the same: got {num_rows} rows, expected "
                f"{self.num_rows}, as in the first pass"
            )
            raise DataError(message, code="batch")
        self.num_rows = num_rows

    def tables(self) -> Iterator[Table]:
        """Yield the table of each batch."""
        for _, table in self.read():
            yield table


def _label_columns(given: Any) -> dict[str, str]:
    """Return the columns of further labels by name, all of which are columns of the batches."""
    labels = extra_labels_of(given)
    for name, one in labels.items():
        if not isinstance(one, str):
            expected = "the name of a column, which X of each batch has"
            raise wrong_kind(f"extra_labels[{name!r}]", one, expected, "extra_labels")
    return labels


def _by_name(batch: Any, number: int) -> Mapping[str, Any]:
    if isinstance(batch, (tuple, list)):
        if len(batch) != len(_NEEDED):
            message = f"batch {number} has {len(batch)} parts, expected 3: X, y, qid"
            raise DataError(message, code="batch")
        return dict(zip(_NEEDED, batch, strict=True))
    if not isinstance(batch, Mapping):
        raise wrong_kind(f"batch {number}", batch, "a mapping or (X, y, qid)", "batch")
    unknown = [shown(key) for key in batch if key not in (*_NEEDED, *_OPTIONAL)]
    absent = [name for name in _NEEDED if batch.get(name) is None]
    if unknown or absent:
        what = f"has {unknown[0]}" if unknown else f"has no {absent[0]}"
        message = f"batch {number} {what}: expected X, y, qid and perhaps row_weight and base_score"
        raise DataError(message, code="batch")
    return batch


def _like(first: Table, table: Table, number: int) -> Table:
    """Return a table with its columns in the order of the first batch."""
    expected, what = (first.num_features, first.names), f"batch {number}"
    check_same_features((table.num_features, None), (expected[0], None), what, "the first")
    return columns_of(table, expected, what, "the first")


class Columns:
    """Labels, query ids, weights, base scores and further labels of all batches."""

    _READERS: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = {
        "y": as_labels,
        "qid": as_ids,
        "row_weight": partial(as_doubles, name="row_weight"),
        "base_score": partial(as_scores, name="base_score"),
    }

    def __init__(self) -> None:
        self.num_batches = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in self._READERS}
        self._labels: dict[str, list[NDArray[Any]]] = {}

    def add(self, given: Mapping[str, Any], num_rows: int) -> None:
        """Add those of a batch."""
        for name, read in self._READERS.items():
            if given.get(name) is not None:
                self._parts[name].append(read(given[name]))
        for name, values in given["extra_labels"].items():
            self._labels.setdefault(name, []).append(as_labels(values, name))
        for name in ("y", "qid"):
            what = f"{name} of batch {self.num_batches}"
            check_length(what, len(self._parts[name][-1]), num_rows, "rows")
        self.num_batches += 1

    def joined(self, name: str) -> NDArray[Any] | None:
        """Return a column of all batches, or None if no batch has it; ids of different types stay so."""
        parts = self._parts[name]
        if not parts:
            return None
        if len({part.dtype.kind for part in parts}) > 1:
            parts = [part.astype(object) for part in parts]
        joined = np.concatenate(parts)
        check_length(name, len(joined), sum(map(len, self._parts["y"])), "rows of all batches")
        return joined

    def extra_labels(self) -> dict[str, NDArray[Any]]:
        """Return the further labels of all batches by name."""
        return {name: np.concatenate(parts) for name, parts in self._labels.items()}


class ParquetFiles:
    """Parquet files, read as batches; ``roles`` maps label, qid and so on to their columns.

    The columns of further labels are part of ``X``.
    """

    def __init__(
        self,
        path: Any,
        roles: Mapping[str, Any],
        features: Any,
        batch_rows: Any,
        ignore: Any = None,
        extra_labels: Any = None,
    ) -> None:
        self.paths = paths_of(path)
        self._batch_rows = whole("batch_rows", batch_rows, 1, 2**31 - 1)
        self._roles = {role: name for role, name in roles.items() if name is not None}
        uses: dict[str, str] = {}
        self._labels = list(_label_columns(extra_labels).values())
        named = [*self._roles.items(), *(("extra label", name) for name in self._labels)]
        for role, name in named:
            if not isinstance(name, str):
                raise wrong_kind(role, name, "the name of a column")
            if name in uses:
                raise ParamError(f"column {shown(name)} is both {uses[name]} and {role}", code=role)
            uses[name] = role
        ignored = [] if ignore is None else as_list("ignore", ignore, "a list of names of columns")
        if features is not None and ignored:
            raise ParamError("features and ignore: expected one of them", code="ignore")
        if features is None:
            with opened(self.paths[0]) as file:
                names = file.schema_arrow.names
                require_columns(ignored, names, self.paths[0])
                features = [
                    name
                    for name in names
                    if name not in uses and name not in ignored and not is_index(name)
                ]
        self.features = as_list("features", features, "a list of names of columns")
        for name in self.features:
            if not isinstance(name, str):
                raise wrong_kind("features", name, "the name of a column")
            if name in uses:
                message = (
                    f"features: column {shown(name)} is the {uses[name]}, and cannot be a feature "
                    "too"
                )
                raise ParamError(message, code="features")

    def __call__(self) -> Iterator[Batch]:
        """Read all files in one pass."""
        in_X = [*self.features, *self._labels]
        wanted = [*in_X, *self._roles.values()]
        for one in self.paths:
            with opened(one) as file:
                require_columns(wanted, file.schema_arrow.names, one)
                for rows in file.iter_batches(self._batch_rows, columns=wanted):
                    batch = {role: rows.column(name) for role, name in self._roles.items()}
                    yield {"X": rows.select(in_X), "y": batch.pop("label"), **batch}


def paths_of(path: Any) -> list[str]:
    """Return one path or several as a list."""
    try:
        paths = [fspath(one) for one in (path if isinstance(path, (list, tuple)) else [path])]
    except TypeError:
        raise wrong_kind("path", path, "a path, or a list of them") from None
    if not paths:
        raise ParamError("path: got no files, expected one or more", code="path")
    return paths


def opened(path: Any) -> Any:
    """Open a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # pyarrow's error for a missing file does not name it.
    if isinstance(path, (str, Path)) and "://" not in str(path):
        Path(path).open("rb").close()
    try:
        return pq.ParquetFile(path)
    except pa.ArrowException as error:
        message = f"{path}: not a Parquet file that can be read ({error})"
        raise DataError(message[:400], code="parquet", path=str(path)) from error


def require_columns(wanted: Iterable[str], present: Sequence[str], path: Any) -> None:
    """Raise `DataError` if a file lacks a column."""
    for name in wanted:
        if name not in present:
            message = (
                f"column {shown(name)} is not there ({path}): the file has {', '.join(present)}"
            )
            raise DataError(message[:400], code="columns", path=str(path))
