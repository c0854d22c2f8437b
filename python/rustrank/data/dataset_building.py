"""The arguments of the extension for building data sets: read options, bin options, and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank import _rustrank
from rustrank.errors import DataError
from rustrank.inputs.scalars import real, text, threads
from rustrank.inputs.tables import Table, check_different, in_one_piece
from rustrank.inputs.vectors import as_doubles, check_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rustrank.data.batches import Batches
    from rustrank.inputs.queries import Queries


class ReadOptions:
    """How raw values are read: what is missing, what infinite values are, and the threads to use."""

    # Not a frozen dataclass, which takes longer to make: a model may score one row at a time.
    def __init__(self, missing: Any, infinite: Any, num_threads: Any) -> None:
        self.missing = None if missing is None else real("missing", missing)
        self.infinite = text("infinite", infinite)
        self.num_threads = threads(num_threads)


#: Options of binning: bins, sampled rows, ranks within queries, categorical features and their texts.
BinOptions: TypeAlias = tuple[int, int, bool, list[int], dict[int, list[str]]]


@dataclass(frozen=True)
class LetorOptions:
    """The options of reading LETOR text."""

    max_features: int
    zero_based: bool
    #: Used by `read_table` and `inspect_letor`; data sets take theirs from `ReadOptions`.
    num_threads: int | None = None
    #: The bytes of parsed values to keep until the bins of a data set are chosen.
    buffer_bytes: int = 1 << 30
    progress: Callable[[int], object] | None = None


def positions_of(given: Any) -> NDArray[np.uint32]:
    """Return positions, whole numbers from 1; the extension checks the largest one."""
    places = as_doubles(given, "position")
    wrong = np.flatnonzero(~((places >= 1) & (places < 2**32) & (places % 1 == 0)))
    if len(wrong):
        row = int(wrong[0])
        message = f"position[{row}] = {places[row]:g}, expected a place: a whole number from 1"
        raise DataError(message, code="position", row=row)
    return places.astype(np.uint32)


@dataclass
class Rows:
    """Labels, queries, weights, base scores and positions of rows."""

    labels: NDArray[np.float32]
    queries: Queries
    row_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None
    base_score: NDArray[np.float64] | None = None
    position: NDArray[np.uint32] | None = None


def with_ranks(names: list[str]) -> list[str]:
    """Return the names of features followed by those of their ranks within queries."""
    return [*names, *(f"rank({name})" for name in names)]


def numbered_names(num_features: int, query_ranks: bool) -> list[str]:
    """Return default names of features: ``f0``, ``f1``, ..."""
    if query_ranks:
        return with_ranks(numbered_names(num_features // 2, query_ranks=False))
    return [f"f{i}" for i in range(num_features)]


def binned_dataset(
    table: Table, rows: Rows, bins: _rustrank.Binning | BinOptions, reading: ReadOptions
) -> _rustrank.Dataset:
    """Bin a table, with bins that are given or chosen from its rows."""
    whole = table.whole()
    if whole is None and (bins[2] if isinstance(bins, tuple) else bins.query_ranks):
        whole = in_one_piece(table)
    if whole is not None:
        return _rustrank.Dataset.of_block(whole, rows, bins, reading)
    if isinstance(bins, tuple):
        sampler = _rustrank.Sampler(table.num_features, bins[:2], bins[3:], reading)
        for block in table.blocks():
            sampler.push(block)
        bins = sampler.choose()
    builder = _rustrank.Builder(bins, table.num_rows, reading)
    for block in table.blocks():
        builder.push(block)
    return builder.finish(rows)


def checked_names(given: list[str] | None, table: Table) -> list[str] | None:
    """Return the given names, or those of the table."""
    names = given if given is not None else table.names
    if names is not None:
        check_length("feature_names", len(names), table.num_features, "features")
        check_different(names)
    return names


def sampled(
    source: Batches, options: BinOptions, reading: ReadOptions
) -> tuple[_rustrank.Binning, int]:
    """Choose bins in a pass over all batches; returns them and a hash of the content."""
    sampler = None
    for _, table in source.read():
        if sampler is None:
            sampler = _rustrank.Sampler(table.num_features, options[:2], options[3:], reading)
        for block in table.blocks():
            sampler.push(block)
    assert sampler is not None  # noqa: S101 - a source without batches is an error before
    content = sampler.content
    return sampler.choose(), content
