"""Dask collections as partitions of documents, with each query in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, wrong_kind
from rustrank.partitions.placement import divided, homes_of, joined, query_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distributed import Client, Future

    from rustrank.partitions.placement import Part


def is_frame(collection: Any) -> bool:
    """Whether a collection is a Dask data frame."""
    return hasattr(collection, "npartitions") and hasattr(collection, "columns")


def is_array(collection: Any) -> bool:
    """Whether a collection is a Dask array."""
    return hasattr(collection, "chunks") and hasattr(collection, "rechunk")


def partitions_of(what: str, X: Any, columns: Mapping[str, Any]) -> list[Any]:
    """Return the documents of each partition, as delayed mappings.

    A column is a Dask array or series with the partitions of ``X``, or the name of a column of a data frame.
    """
    from dask import delayed

    if is_frame(X):
        tables = X.to_delayed()
    elif is_array(X):
        if X.ndim != 2:
            raise DataError(f"{what}: X has {X.ndim} dimensions, expected 2", code="shape")
        X = X.rechunk({1: -1})
        tables = X.to_delayed().ravel().tolist()
    else:
        raise wrong_kind(f"{what}: X", X, "a Dask array or data frame", "X")
    parts: list[dict[str, Any]] = [{"X": table} for table in tables]
    for name, column in columns.items():
        if column is None:
            continue
        if isinstance(column, str):
            if not is_frame(X) or column not in list(X.columns):
                known = f"one of {list(map(str, X.columns))[:8]}" if is_frame(X) else "an array"
                message = f"{what}: {name}: X has no column {column!r}, expected {known}"
                raise DataError(message, code=name)
            pieces: list[Any] = [column] * len(parts)
        else:
            pieces = _pieces(f"{what}: {name}", column, X, len(parts))
        for part, piece in zip(parts, pieces, strict=True):
            part[name] = piece
    return [delayed(dict)(**part) for part in parts]


def _pieces(name: str, column: Any, X: Any, count: int) -> list[Any]:
    """Return the partitions of a column."""
    if is_array(column):
        if is_array(X) and not _has_unknown(X) and not _has_unknown(column):
            if len(column) != len(X):
                message = f"{name} has the wrong length: got {len(column)}, expected {len(X)} rows"
                raise DataError(message, code="length")
            column = column.rechunk({0: X.chunks[0]})
        pieces: list[Any] = column.to_delayed().ravel().tolist()
    elif hasattr(column, "to_delayed"):
        pieces = list(column.to_delayed())
    else:
        raise wrong_kind(name, column, "a Dask array or series, or the name of a column of X")
    if len(pieces) != count:
        message = f"{name} has other partitions than X: got {len(pieces)}, expected {count}"
        raise DataError(message, code="partitions")
    return pieces


def _has_unknown(array: Any) -> bool:
    return any(np.isnan(size) for size in array.chunks[0])


def whole_queries(client: Client, parts: list[Future]) -> list[Future]:
    """Return partitions of which no two share a query; only the ids of queries come to the client."""
    counts = client.gather(client.map(query_counts, parts, pure=False))
    homes = homes_of(counts)
    if not any(homes):
        return parts
    pieces: dict[int, list[Future]] = {}
    for number, (part, away) in enumerate(zip(parts, homes, strict=True)):
        if not away:
            pieces.setdefault(number, []).append(part)
            continue
        several = client.submit(divided, part, away, number, pure=False)
        for target in {number, *away.values()}:
            taken = client.submit(_taken, several, target, pure=False)
            pieces.setdefault(target, []).append(taken)
    return [
        several[0] if len(several) == 1 else client.submit(joined, several, pure=False)
        for several in (pieces.get(number, [part]) for number, part in enumerate(parts))
    ]


def _taken(several: Mapping[int, Part], target: int) -> Part | None:
    return several.get(target)
