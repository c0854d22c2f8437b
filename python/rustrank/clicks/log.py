"""A log of clicks: which documents were shown where, and which were clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError
from rustrank.inputs.queries import as_ids, group_ids
from rustrank.inputs.vectors import as_doubles, check_length, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClickLog"]


class ClickLog:
    """What was shown in sessions of a search engine, and what was clicked: one row a shown document.

    A session is one page of results for one query. The order of rows does not matter.

    Parameters
    ----------
    session : array-like of shape (num_rows,)
        The session of each row: ids of any type.
    query : array-like of shape (num_rows,)
        Its query: what is the same query has the same id.
    doc : array-like of shape (num_rows,)
        The document, by an id.
    position : array-like of shape (num_rows,)
        Where it was shown, from 1.
    click : array-like of shape (num_rows,)
        Whether it was clicked: 0 or 1, False or True.

    Attributes
    ----------
    num_rows, num_sessions, num_pairs, num_positions : int
        How many rows, sessions, different pairs of query and document, and positions there are.

    Raises
    ------
    DataError
        A row is out of range, a session has two queries, or two rows at one position.

    Examples
    --------
    >>> import rustrank as rr
    >>> log = rr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], query=["cat"] * 4, doc=["a", "b", "b", "a"],
    ...     position=[1, 2, 1, 2], click=[1, 0, 1, 0],
    ... )
    >>> log.num_sessions, log.num_pairs
    (2, 2)
    """

    def __init__(self, session: Any, query: Any, doc: Any, position: Any, click: Any) -> None:
        sessions, session_ids = group_ids(as_ids(session), "session")
        num_rows = len(sessions)
        queries, query_ids = _grouped("query", query, num_rows)
        docs, doc_ids = _grouped("doc", doc, num_rows)
        places = _whole_positions(position, num_rows)
        clicks = as_doubles(click, "click")
        check_length("click", len(clicks), num_rows, "rows")
        row = first_true((clicks != 0) & (clicks != 1))
        if row is not None:
            message = f"click[{row}] = {clicks[row]:g}, expected 0 or 1"
            raise DataError(message, code="click", row=row)
        # By the ids themselves, so that sums do not depend on the order of rows.
        rank_of_session = _rank_of_ids(session_ids)
        order = np.lexsort((places, rank_of_session[sessions]))
        self.sessions, self.positions = sessions[order], places[order]
        self.clicks = clicks[order]
        _check_sessions(self.sessions, self.positions, queries[order], session_ids)
        self._find_pairs((queries[order], query_ids), (docs[order], doc_ids))
        starts = np.flatnonzero(np.diff(self.sessions, prepend=-1))
        self.starts: NDArray[np.int64] = starts.astype(np.int64)
        self.num_rows, self.num_sessions = num_rows, len(session_ids)
        self.num_positions = int(self.positions.max()) if num_rows else 0

    def _find_pairs(
        self, query: tuple[NDArray[Any], NDArray[Any]], doc: tuple[NDArray[Any], NDArray[Any]]
    ) -> None:
        """Give each pair of query and document a number, in the order of their ids."""
        (queries, query_ids), (docs, doc_ids) = query, doc
        keys = _rank_of_ids(query_ids)[queries] * max(1, len(doc_ids)) + _rank_of_ids(doc_ids)[docs]
        _, first, pairs = np.unique(keys, return_index=True, return_inverse=True)
        self.pairs: NDArray[np.int64] = pairs.astype(np.int64)
        self.query_of_pair, self.doc_of_pair = query_ids[queries[first]], doc_ids[docs[first]]
        self.num_pairs = len(first)

    def grid(self) -> NDArray[np.int64]:
        """Return the row of each session and position, or -1; positions must have no gaps."""
        ranks = np.arange(self.num_rows) - np.repeat(self.starts, self._sizes()) + 1
        row = first_true(self.positions != ranks)
        if row is not None:
            message = (
                f"a session has position {self.positions[row]} and not {ranks[row]}: this model reads pages "
                "from the top, and needs all positions from 1 on"
            )
            raise DataError(message, code="position")
        grid = np.full((len(self.starts), self.num_positions), -1, np.int64)
        at = np.repeat(np.arange(len(self.starts)), self._sizes())
        grid[at, self.positions - 1] = np.arange(self.num_rows)
        return grid

    def _sizes(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, self.num_rows))

    def __repr__(self) -> str:
        """Show how large it is."""
        return (
            f"<ClickLog: {self.num_rows:,} rows, {self.num_sessions:,} sessions, "
            f"{self.num_pairs:,} pairs of query and doc, {int(self.clicks.sum()):,} clicks>"
        )


def _grouped(name: str, given: Any, num_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    ids = as_ids(given)
    check_length(name, len(ids), num_rows, "rows")
    numbers, distinct = group_ids(ids, name)
    return np.asarray(numbers, np.int64), distinct


def _rank_of_ids(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each id in their order; mixed ids are in the order of their text."""
    try:
        order = np.argsort(ids, kind="stable")
    except TypeError:
        order = np.argsort(np.array([repr(one) for one in ids]), kind="stable")
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = np.arange(len(ids))
    return ranks


def _whole_positions(given: Any, num_rows: int) -> NDArray[np.int64]:
    places = as_doubles(given, "position")
    check_length("position", len(places), num_rows, "rows")
    row = first_true(~((places >= 1) & (places < 2**20) & (places % 1 == 0)))
    if row is not None:
        message = f"position[{row}] = {places[row]:g}, expected a whole number from 1"
        raise DataError(message, code="position", row=row)
    return places.astype(np.int64)


def _check_sessions(
    sessions: NDArray[Any], positions: NDArray[Any], queries: NDArray[Any], ids: NDArray[Any]
) -> None:
    """Refuse sessions of two queries or with two rows at one position."""
    is_same = np.diff(sessions) == 0
    for row, what in (
        (first_true(is_same & (np.diff(positions) == 0)), "two rows at position"),
        (first_true(is_same & (np.diff(queries) != 0)), "two queries, one at position"),
    ):
        if row is not None:
            message = (
                f"session {ids[sessions[row]]} has {what} {positions[row]}: a session is one page of "
                "results for one query"
            )
            raise DataError(message, code="session")
