"""Datasets: documents with features, labels and queries, checked once and binned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank import _rustrank
from rustrank._arrays import (
    Queries,
    Table,
    as_doubles,
    as_labels,
    as_queries,
    as_query_weight,
    as_table,
    as_vector,
    check_length,
)
from rustrank._errors import DataError, RustrankWarning
from rustrank._progress import progress_of_file

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Dataset"]

#: One batch of rows: a mapping with ``X``, ``y``, ``qid`` and perhaps ``row_weight`` and
#: ``base_score``, or the first three as a tuple.
Batch: TypeAlias = Mapping[str, Any] | tuple[Any, Any, Any]


@dataclass(frozen=True)
class _Reading:
    """How raw values are read."""

    missing: float | None
    infinite: str
    num_threads: int | None


@dataclass(frozen=True)
class _Text:
    """How LETOR text is read."""

    max_features: int
    zero_based: bool
    buffer_bytes: int
    progress: Callable[[int], object] | None


@dataclass
class _Rows:
    """What is known of rows besides their features."""

    labels: NDArray[np.float32]
    queries: Queries
    row_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None
    base_score: NDArray[np.float64] | None = None


@dataclass
class _Columns:
    """Arrays that arrive in batches."""

    y: list[NDArray[np.float32]] = field(default_factory=list)
    qid: list[NDArray[Any]] = field(default_factory=list)
    row_weight: list[NDArray[np.float64]] = field(default_factory=list)
    base_score: list[NDArray[np.float64]] = field(default_factory=list)


class Dataset:
    """Documents with features, labels and queries: checked once, binned, immutable.

    Only binned features are kept, a byte or less each; ``X`` is not. A value counts as the nearest
    ``float32``, whatever type it comes in. The result does not depend on the order of rows or
    queries, nor on the number of threads.

    Parameters
    ----------
    X : array-like of shape (num_docs, num_features)
        A numpy array, pandas or polars DataFrame, Arrow table, scipy sparse matrix, or lists.
        Arrays of ``float32`` and ``float64`` in C or Fortran order are read where they lie.
    y : array-like of shape (num_docs,)
        Labels: finite numbers from 0.
    qid : array-like of shape (num_docs,), optional
        The query of each row: ids of any type, in any order.
    group : array-like of shape (num_queries,), optional
        Instead of ``qid``: the number of rows of each query, in row order.
    query_weight : array-like or mapping, optional
        A weight for each query, in order of first appearance, or by id.
    row_weight : array-like of shape (num_docs,), optional
        A factor on each document's gradients.
    base_score : array-like of shape (num_docs,), optional
        Scores that training starts from.
    feature_names : sequence of str, optional
        Names; taken from the columns of a frame by default.
    like : Dataset, optional
        A training set whose bins this one shares: how validation and test sets are made.
    max_bins : int, default 255
        The most bins a feature may have, besides the one for missing values.
    sample_rows : int, default 65536
        The most distinct rows from which bins are chosen.
    missing : float, default NaN
        A value that means "missing", besides NaN.
    infinite : {"error", "missing"}, default "error"
        What infinite values are.
    num_threads : int, optional
        Threads to use; all cores by default.

    Examples
    --------
    >>> import rustrank as rr
    >>> data = rr.datasets.make_polynomial(num_queries=20, seed=0)
    >>> train = rr.Dataset(data.X, data.y, qid=data.qid)
    >>> train.num_queries
    20
    """

    _core: _rustrank.Dataset
    _names: list[str] | None
    _query_ids: NDArray[Any]

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        row_weight: Any = None,
        base_score: Any = None,
        feature_names: Sequence[str] | None = None,
        like: Dataset | None = None,
        max_bins: int = 255,
        sample_rows: int = 65_536,
        missing: float = math.nan,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> None:
        table = as_table(X)
        labels = as_labels(y)
        check_length("y", len(labels), table.num_rows, "rows")
        queries, ids = as_queries(qid, group, table.num_rows)
        rows = _Rows(
            labels,
            queries,
            _optional("row_weight", row_weight),
            as_query_weight(query_weight, ids),
            _optional("base_score", base_score),
        )
        names = _checked_names(feature_names, table)
        bins = (max_bins, sample_rows) if like is None else _shared(like, names)
        core = _built(table, rows, bins, _Reading(missing, infinite, num_threads))
        self._settle(core, names or (like._names if like else None), ids)
        if like is None:
            self._warn_of_unused()

    def _settle(
        self, core: _rustrank.Dataset, names: list[str] | None, query_ids: NDArray[Any]
    ) -> None:
        self._core = core
        self._names = names
        self._query_ids = query_ids

    def _warn_of_unused(self) -> None:
        unused = len(self.unused_features)
        if unused:
            message = (
                f"{unused} of {self.num_features} features have one value, or none, in the data "
                "and are not used"
            )
            warnings.warn(message, RustrankWarning, stacklevel=3)

    @classmethod
    def from_letor(
        cls,
        path: str | PathLike[str],
        *,
        feature_names: Sequence[str] | None = None,
        like: Dataset | None = None,
        max_bins: int = 255,
        sample_rows: int = 65_536,
        missing: float = math.nan,
        infinite: str = "error",
        max_features: int = 1 << 20,
        zero_based: bool = False,
        buffer_bytes: int = 1 << 30,
        num_threads: int | None = None,
        progress: bool | None = None,
    ) -> Dataset:
        """Read LETOR or SVMlight text: ``label qid:Q 1:v 2:v ... # comment``, plain or gzip.

        Parameters
        ----------
        path : path-like
            The file. The lines of a query stand together.
        max_features : int, default 2**20
            The highest feature that is believed; a larger one is an error.
        zero_based : bool, default False
            Whether the first feature is 0 and not 1.
        buffer_bytes : int, default 2**30
            Up to this many bytes of parsed values are held until the bins are chosen; a longer text
            is read twice instead. With ``like`` nothing is held.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal, when it takes a second.
        feature_names, like, max_bins, sample_rows, missing, infinite, num_threads
            As for `Dataset`. Features that a line leaves out are 0.
        """
        bins = (max_bins, sample_rows) if like is None else _shared(like, None)
        reading = _Reading(missing, infinite, num_threads)
        with progress_of_file(path, progress) as show:
            text = _Text(max_features, zero_based, buffer_bytes, show)
            core, ids = _rustrank.Dataset.from_letor(path, text, bins, reading)
        names = list(feature_names) if feature_names is not None else like and like._names
        if names is not None:
            check_length("feature_names", len(names), core.num_features, "features")
        made = cls.__new__(cls)
        made._settle(core, names or None, _numbers_if_all(ids))
        if like is None:
            made._warn_of_unused()
        return made

    @classmethod
    def from_batches(
        cls,
        batches: Callable[[], Iterable[Batch]] | Iterable[Batch],
        *,
        query_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        like: Dataset | None = None,
        max_bins: int = 255,
        sample_rows: int = 65_536,
        missing: float = math.nan,
        infinite: str = "error",
        num_threads: int | None = None,
    ) -> Dataset:
        """Make a dataset from batches, for features that do not fit into memory at once.

        Parameters
        ----------
        batches : callable or iterable
            A function that returns a fresh iterator over batches, or something that can be
            iterated over twice: bins are chosen in a first pass (with ``like``, one pass does).
            A batch is a mapping with ``X``, ``y``, ``qid`` and perhaps ``row_weight`` and
            ``base_score``, or a tuple ``(X, y, qid)``. A query may go on in a later batch.
        query_weight, feature_names, like, max_bins, sample_rows, missing, infinite, num_threads
            As for `Dataset`.
        """
        if isinstance(batches, Iterator):
            message = (
                "batches can be read only once: pass a function that returns a new iterator, "
                "as in `Dataset.from_batches(lambda: read_my_files())`"
            )
            raise TypeError(message)
        source = batches if callable(batches) else lambda: batches
        reading = _Reading(missing, infinite, num_threads)
        names = list(feature_names) if feature_names is not None else None
        if like is None:
            binning, names = _sampled(source, (max_bins, sample_rows), reading, names)
        else:
            binning, names = _shared(like, names), names or like._names
        builder = _rustrank.Builder(binning, 0, reading)
        columns = _Columns()
        for batch in source():
            table = _add(batch, columns)
            for block in table.blocks():
                builder.push(block)
        if not columns.y:
            message = "the data have no rows: there is no batch"
            raise DataError(message, code="data.empty")
        labels = np.concatenate(columns.y)
        queries, ids = as_queries(_joined(columns.qid), None, len(labels))
        rows = _Rows(
            labels,
            queries,
            _all_or_none("row_weight", columns.row_weight, len(labels)),
            as_query_weight(query_weight, ids),
            _all_or_none("base_score", columns.base_score, len(labels)),
        )
        made = cls.__new__(cls)
        made._settle(builder.finish(rows), names, ids)
        if like is None:
            made._warn_of_unused()
        return made

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        *,
        label: str = "label",
        qid: str = "qid",
        features: Sequence[str] | None = None,
        row_weight: str | None = None,
        base_score: str | None = None,
        batch_rows: int = 65_536,
        **options: Any,
    ) -> Dataset:
        """Make a dataset from Parquet files, a batch of rows at a time (needs pyarrow).

        Parameters
        ----------
        path : path-like or sequence of path-like
            One file or several, read one after the other.
        label, qid : str
            The columns of labels and query ids.
        features : sequence of str, optional
            The columns of features; by default all that are not named otherwise.
        row_weight, base_score : str, optional
            Columns of these.
        batch_rows : int, default 65536
            Rows in memory at a time.
        **options
            As for `from_batches`.
        """
        import pyarrow.parquet as pq

        paths = list(path) if isinstance(path, (list, tuple)) else [path]
        special = {"y": label, "qid": qid, "row_weight": row_weight, "base_score": base_score}
        taken = {role: name for role, name in special.items() if name is not None}
        if features is None:
            columns = pq.read_schema(paths[0]).names
            features = [name for name in columns if name not in taken.values()]
        wanted = [*features, *taken.values()]

        def batches() -> Iterator[Batch]:
            for one in paths:
                with pq.ParquetFile(one) as file:
                    _require_columns(wanted, file.schema_arrow.names, one)
                    for rows in file.iter_batches(batch_rows, columns=wanted):
                        batch = {role: rows.column(name) for role, name in taken.items()}
                        yield {**batch, "X": rows.select(list(features))}

        return cls.from_batches(batches, **options)

    @property
    def num_docs(self) -> int:
        """The number of documents."""
        return self._core.num_docs

    @property
    def num_queries(self) -> int:
        """The number of queries."""
        return self._core.num_queries

    @property
    def num_features(self) -> int:
        """The number of features, the unused ones included."""
        return self._core.num_features

    @property
    def feature_names(self) -> list[str]:
        """The names of the features; ``f0``, ``f1``, ... where none were given."""
        return self._names or [f"f{i}" for i in range(self.num_features)]

    @property
    def query_ids(self) -> NDArray[Any]:
        """The query ids in order of first appearance: the order of all per-query results."""
        return self._query_ids

    @property
    def query_sizes(self) -> NDArray[np.int64]:
        """The number of documents of each query."""
        return self._core.query_sizes()

    @property
    def labels(self) -> NDArray[np.float32]:
        """The label of each row."""
        return self._core.labels()

    @property
    def unused_features(self) -> list[int]:
        """Features with one value, or none, in the sample: nothing can split on them."""
        return self._core.binning.unused_features()

    @property
    def memory(self) -> int:
        """The bytes this dataset holds."""
        return self._core.memory

    @property
    def fingerprint(self) -> int:
        """A hash of all that training can see; equal for any order of the rows."""
        return self._core.fingerprint()

    def thresholds(self, feature: int | str) -> NDArray[np.float32]:
        """Return the thresholds between the bins of a feature, by number or name."""
        number = self.feature_names.index(feature) if isinstance(feature, str) else feature
        found = self._core.binning.thresholds(number) if number >= 0 else None
        if found is None:
            message = f"feature {feature} of {self.num_features}"
            raise IndexError(message)
        return found

    def require_pairs(self) -> None:
        """Raise `DataError` unless some query has two different labels."""
        self._core.require_pairs()

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.num_docs

    def __repr__(self) -> str:
        """Say what is in it in one line."""
        return (
            f"<Dataset: {self.num_docs:,} documents, {self.num_queries:,} queries, "
            f"{self.num_features:,} features, {self.memory / 2**20:.1f} MiB>"
        )


def _built(
    table: Table, rows: _Rows, bins: _rustrank.Binning | tuple[int, int], reading: _Reading
) -> _rustrank.Dataset:
    whole = table.whole()
    if whole is not None:
        return _rustrank.Dataset.of_block(whole, rows, bins, reading)
    if isinstance(bins, tuple):
        sampler = _rustrank.Sampler(table.num_features, *bins, reading)
        for block in table.blocks():
            sampler.push(block)
        bins = sampler.choose()
    builder = _rustrank.Builder(bins, table.num_rows, reading)
    for block in table.blocks():
        builder.push(block)
    return builder.finish(rows)


def _shared(like: Dataset, names: list[str] | None) -> _rustrank.Binning:
    """Return the bins of another dataset, if the features are the same."""
    if names is not None and like._names is not None and len(names) == len(like._names):
        for number, (mine, theirs) in enumerate(zip(names, like._names, strict=True)):
            if mine != theirs:
                message = f"feature {number} has another name: got {mine!r}, expected {theirs!r}"
                raise DataError(message, code="features.names", feature=mine)
    return like._core.binning


def _checked_names(given: Sequence[str] | None, table: Table) -> list[str] | None:
    names = list(given) if given is not None else table.names
    if names is not None:
        check_length("feature_names", len(names), table.num_features, "features")
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            message = f"two features have the name {twice!r}"
            raise DataError(message, code="features.names", feature=twice)
    return names


def _sampled(
    source: Callable[[], Iterable[Batch]],
    options: tuple[int, int],
    reading: _Reading,
    names: list[str] | None,
) -> tuple[_rustrank.Binning, list[str] | None]:
    sampler = None
    for batch in source():
        table = _table_of(batch)
        if sampler is None:
            names = _checked_names(names, table)
            sampler = _rustrank.Sampler(table.num_features, *options, reading)
        for block in table.blocks():
            sampler.push(block)
    if sampler is None:
        message = "the data have no rows: there is no batch"
        raise DataError(message, code="data.empty")
    return sampler.choose(), names


def _numbers_if_all(ids: list[str]) -> NDArray[Any]:
    """Return ids as integers if each is written as one."""
    plain = all(one.isdecimal() and len(one) < 19 and str(int(one)) == one for one in ids)
    return np.array([int(one) for one in ids], np.int64) if plain else np.array(ids)


def _table_of(batch: Batch) -> Table:
    return as_table(batch["X"] if isinstance(batch, Mapping) else batch[0])


def _add(batch: Batch, columns: _Columns) -> Table:
    """Keep all of a batch but its features."""
    given = (
        batch if isinstance(batch, Mapping) else dict(zip(("X", "y", "qid"), batch, strict=True))
    )
    unknown = set(given) - {"X", "y", "qid", "row_weight", "base_score"}
    if unknown:
        message = f"a batch has {sorted(unknown)}, expected X, y, qid, row_weight, base_score"
        raise DataError(message, code="batch")
    table = as_table(given["X"])
    columns.y.append(as_labels(given["y"]))
    columns.qid.append(as_vector(given["qid"], "qid"))
    check_length("y", len(columns.y[-1]), table.num_rows, "rows")
    check_length("qid", len(columns.qid[-1]), table.num_rows, "rows")
    for name, kept in (("row_weight", columns.row_weight), ("base_score", columns.base_score)):
        if given.get(name) is not None:
            kept.append(as_doubles(given[name], name))
    return table


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(parts)
    return np.concatenate([part.astype(object) for part in parts])


def _all_or_none(
    name: str, parts: list[NDArray[np.float64]], num_rows: int
) -> NDArray[np.float64] | None:
    if not parts:
        return None
    joined = np.concatenate(parts)
    check_length(name, len(joined), num_rows, "rows")
    return joined


def _optional(name: str, values: Any) -> NDArray[np.float64] | None:
    return None if values is None else as_doubles(values, name)


def _require_columns(wanted: Sequence[str], present: Sequence[str], path: Any) -> None:
    for name in wanted:
        if name not in present:
            message = f"column {name!r} is not there ({path}): the file has {', '.join(present)}"
            raise DataError(message[:400], code="columns", path=str(path))
