"""Dask collections as partitions of documents, with each query in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, ParamError, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributed import Client, Future

#: The documents of a partition, by the names of `rustrank.Dataset`'s arguments.
Part = dict[str, Any]
_ROWS = ("y", "qid", "row_weight", "base_score")


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
    """Return partitions of which no two share a query.

    A query that several have goes to the one with most of its rows. Only the ids of queries come to the client.
    """
    counts = client.gather(client.map(_counts, parts, pure=False))
    home: dict[Any, tuple[int, int]] = {}
    shared = set()
    for number, found in enumerate(counts):
        for query, rows in found.items():
            if query in home:
                shared.add(query)
            if query not in home or rows > home[query][1]:
                home[query] = (number, rows)
    if not shared:
        return parts
    pieces: dict[int, list[Future]] = {}
    for number, (part, found) in enumerate(zip(parts, counts, strict=True)):
        away = {one: home[one][0] for one in found if one in shared and home[one][0] != number}
        if not away:
            pieces.setdefault(number, []).append(part)
            continue
        divided = client.submit(_divided, part, away, number, pure=False)
        for target in {number, *away.values()}:
            taken = client.submit(_taken, divided, target, pure=False)
            pieces.setdefault(target, []).append(taken)
    return [
        several[0] if len(several) == 1 else client.submit(joined, several, pure=False)
        for several in (pieces.get(number, [part]) for number, part in enumerate(parts))
    ]


def column_of(part: Part, name: str) -> Any:
    """Return a column of a partition, which may be one of its table."""
    one = part[name]
    return part["X"][one] if isinstance(one, str) else one


def _counts(part: Part) -> dict[Any, int]:
    """Return how many rows each query has."""
    queries = np.asarray(column_of(part, "qid"))
    try:
        ids, rows = np.unique(queries, return_counts=True)
    except TypeError as error:
        message = f"qid: got ids that cannot be ordered, expected numbers or texts ({error})"
        raise ParamError(message, code="qid") from None
    return dict(zip(ids.tolist(), rows.tolist(), strict=True))


def _divided(part: Part, away: Mapping[Any, int], own: int) -> dict[int, Part]:
    """Return the rows of each partition that rows of this one belong to."""
    queries = np.asarray(column_of(part, "qid")).tolist()
    target = np.array([away.get(query, own) for query in queries])
    return {int(one): _rows(part, target == one) for one in np.unique(target)}


def _taken(divided: Mapping[int, Part], target: int) -> Part | None:
    return divided.get(target)


def _rows(part: Part, mask: Any) -> Part:
    return {name: one if isinstance(one, str) else one[mask] for name, one in part.items()}


def joined(parts: Sequence[Part | None]) -> Part | None:
    """Return the rows of several partitions as one; None if there are none."""
    known = [part for part in parts if part is not None and len(part["X"])]
    if not known:
        return None
    return {
        name: one if isinstance(one, str) else _stacked([part[name] for part in known])
        for name, one in known[0].items()
    }


def _stacked(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    if hasattr(pieces[0], "iloc"):
        import pandas as pd

        return _with_categories(pieces) if hasattr(pieces[0], "columns") else pd.concat(pieces)
    if hasattr(pieces[0], "tocsr"):
        import scipy.sparse

        return scipy.sparse.vstack(pieces)
    return np.concatenate(pieces)


def _with_categories(frames: list[Any]) -> Any:
    """Return frames as one; columns of categories stay so where partitions know other categories."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    whole = pd.concat(frames, ignore_index=True)
    for name, kind in frames[0].dtypes.items():
        if isinstance(kind, pd.CategoricalDtype) and whole[name].dtype != kind:
            whole[name] = union_categoricals([frame[name] for frame in frames])
    return whole
