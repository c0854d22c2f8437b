"""Parts of documents of which no two share a query, whoever moves the rows.

An engine counts the queries of each of its partitions (`query_counts`), asks where each query belongs (`homes_of`), has
the rows of others divided (`divided`) and puts them together (`joined`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import ParamError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Part", "column_of", "divided", "homes_of", "joined", "query_counts"]

#: The documents of a partition, by the names of `rustrank.Dataset`'s arguments.
Part = dict[str, Any]


def homes_of(counts: Sequence[Mapping[Any, int]]) -> list[dict[Any, int]]:
    """Return, for each partition, its queries that belong to another one, and to which.

    A query that several have belongs to the one with most of its rows.
    """
    home: dict[Any, tuple[int, int]] = {}
    for number, found in enumerate(counts):
        for query, rows in found.items():
            if query not in home or rows > home[query][1]:
                home[query] = (number, rows)
    return [
        {query: home[query][0] for query in found if home[query][0] != number}
        for number, found in enumerate(counts)
    ]


def column_of(part: Part, name: str) -> Any:
    """Return a column of a partition, which may be one of its table."""
    one = part[name]
    return part["X"][one] if isinstance(one, str) else one


def query_counts(part: Part) -> dict[Any, int]:
    """Return how many rows each query has."""
    queries = np.asarray(column_of(part, "qid"))
    try:
        ids, rows = np.unique(queries, return_counts=True)
    except TypeError as error:
        message = f"qid: got ids that cannot be ordered, expected numbers or texts ({error})"
        raise ParamError(message, code="qid") from None
    return dict(zip(ids.tolist(), rows.tolist(), strict=True))


def divided(part: Part, away: Mapping[Any, int], own: int) -> dict[int, Part]:
    """Return the rows of each partition that rows of this one belong to."""
    queries = np.asarray(column_of(part, "qid")).tolist()
    target = np.array([away.get(query, own) for query in queries])
    return {int(one): _rows(part, target == one) for one in np.unique(target)}


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
