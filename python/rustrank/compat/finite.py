"""Infinite values as the largest finite ones, which is what LightGBM takes them for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rustrank.errors import DataError
from rustrank.inputs.tables import Frame, as_table, in_one_piece
from rustrank.inputs.vectors import library

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

T = TypeVar("T")
_MOST = np.finfo(np.float64).max


def with_infinite_clipped(compute: Callable[[Any], T], X: Any) -> T:
    """Return what is computed of features; if some are infinite, of their copy without."""
    try:
        return compute(X)
    except DataError as error:
        if error.code != "feature.infinite":
            raise
    return compute(clipped(X))


def clipped(X: Any) -> Any:
    """Return a copy of a table of any kind with the largest finite numbers for infinite values."""
    if library(X) == "scipy":
        found = X.tocsr().astype(np.float64)
        return type(found)((_clip(found.data), found.indices, found.indptr), shape=found.shape)
    table = as_table(X)
    if table.labels is None:
        return _clip(in_one_piece(table))
    columns = [_column(table.column(at)) for at in range(table.num_features)]
    return Frame(columns, table.labels, table.num_rows)


def _column(column: Any) -> Any:
    """Return a column clipped; as it is if none of its values is infinite, or it has no numbers."""
    try:
        (values,) = Frame([column], ["column"], len(column)).block(slice(None))
    except TypeError:  # Categories, and what is refused later.
        return column
    return _clip(values) if np.isinf(values).any() else column


def _clip(values: Any) -> NDArray[np.float64]:
    return np.clip(np.asarray(values, np.float64), -_MOST, _MOST)
