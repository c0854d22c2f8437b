"""Segments of queries, such as languages or markets: which queries are in each."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, shown, wrong_kind
from rustrank.inputs.queries import Queries, as_ids, by_index, group_ids, query_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: The queries of each segment, by its name, in the order of the names.
QueriesOfSegments = dict[Any, "NDArray[np.int64]"]


def as_segments(
    segments: Any, queries: Queries, query_ids: NDArray[Any], column: Any = None
) -> QueriesOfSegments | None:
    """Return the queries of each segment; None without segments.

    Parameters
    ----------
    segments : array-like or mapping
        A value for each row, for each query in order of first appearance, or by query id: a mapping, or a pandas
        Series of queries with an index of its own.
    queries, query_ids
        As `rustrank.inputs.queries.as_queries` returns them.
    column : str, optional
        The name of the column, for errors; anything else is none.
    """
    if segments is None:
        return None
    if isinstance(segments, str):
        hint = f"for a column pass its values, segments=frame[{segments!r}]"
        expected = f"a value for each row or query, or a mapping from query ids: a Dataset has no columns; {hint}"
        raise wrong_kind("segments", segments, expected)
    called = column if isinstance(column, str) else getattr(segments, "name", None)
    codes = query_codes(queries)
    if not isinstance(segments, Mapping) and np.shape(segments) != np.shape(codes):
        # One with a value for each row goes by its order, as columns of labels do.
        of_ids = by_index(segments, "segments", query_ids)
        segments = segments if of_ids is None else of_ids
    if isinstance(segments, Mapping):
        segments = [_by_id(segments, key) for key in query_ids.tolist()]
    given = as_ids(segments, "segments")
    if len(given) not in (len(codes), len(query_ids)):
        message = (
            f"segments has the wrong length: got {len(given)}, expected {len(codes)}, the number of rows, "
            f"or {len(query_ids)}, the number of queries"
        )
        raise DataError(message, code="length")
    with _query_in_errors(called, codes if len(given) == len(codes) else None, query_ids):
        of_given, names = group_ids(given, "segments")
    of_query = of_given.astype(np.int64)
    if len(given) == len(codes):
        with _query_in_errors(called, None, query_ids):
            of_query = _of_queries(of_query, codes, names, query_ids)
    found = {name: np.flatnonzero(of_query == number) for number, name in enumerate(names.tolist())}
    return dict(sorted(found.items(), key=lambda one: (type(one[0]).__name__, one[0])))


@contextmanager
def _query_in_errors(
    column: Any, codes: NDArray[Any] | None, query_ids: NDArray[Any]
) -> Iterator[None]:
    """Let an error name the column, and one about a missing segment its query.

    ``codes`` has the query of each segment; None where there is one for each query.
    """
    try:
        yield
    except DataError as error:
        message, row = str(error), error.row
        if error.code == "segments.missing" and row is not None:
            query = row if codes is None else int(codes[row])
            named = query_ids[query : query + 1].tolist()[0]
            each = "query" if codes is None else "row"
            where = f"query {shown(named)}" + ("" if codes is None else f", row {row}")
            message = f"segments: the segment of {where} is missing: expected one for every {each}"
            error.query = str(named)
            if codes is None:
                error.row = None
        if isinstance(column, str) and column:
            message = message.replace("segments", f"segments (column {shown(column)})", 1)
        error.args = (message,)
        raise


def _by_id(segments: Mapping[Any, Any], key: Any) -> Any:
    if key not in segments:
        message = f"segments has no segment for query {shown(key)}"
        raise DataError(message, code="segments", query=str(key))
    return segments[key]


def _of_queries(
    of_row: NDArray[np.int64], codes: NDArray[Any], names: NDArray[Any], query_ids: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the segment of each query from those of rows; two segments of a query are an error."""
    first = np.full(len(query_ids), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    # Groups may be empty, which are queries without documents.
    of_query = np.where(first < len(codes), of_row[np.minimum(first, len(codes) - 1)], -1)
    other = np.flatnonzero(of_query[codes] != of_row)
    if len(other):
        row = int(other[0])
        query = int(codes[row])
        one, two = (shown(names[at : at + 1].tolist()[0]) for at in (of_query[query], of_row[row]))
        named = shown(query_ids[query : query + 1].tolist()[0])
        message = (
            f"segments: query {named} has two, {one} in row {int(first[query])} and {two} in row {row}: "
            "expected one segment a query"
        )
        raise DataError(message, code="segments", row=row, query=str(query_ids[query]))
    return of_query
