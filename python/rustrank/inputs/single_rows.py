"""One document given alone, for models that score a table of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rustrank.inputs.vectors import library


def as_rows(X: Any) -> Any:
    """Return one row as a table with one row, and a table as it is.

    One row is an array of one dimension, a list or tuple of cells, a mapping from names to cells, or a Series of
    pandas whose index has the names. Any other Series is a column, which is an error elsewhere.
    """
    if isinstance(X, np.ndarray):
        is_row = X.ndim == 1 and (X.dtype.kind != "O" or all(map(_is_cell, X)))
        return X[None, :] if is_row else X
    if isinstance(X, (list, tuple)) and X and all(map(_is_cell, X)):
        if all(isinstance(one, (int, float)) for one in X):
            return [X]
        # Numpy makes text of numbers beside text.
        row = np.empty((1, len(X)), object)
        row[0, :] = X
        return row
    if isinstance(X, Mapping) and X and all(map(_is_cell, X.values())):
        return {name: [one] for name, one in X.items()}
    if library(X) == "pandas" and type(X).__name__ == "Series" and len(X):
        return X.to_frame().T if all(isinstance(name, str) for name in X.index) else X
    return X


def _is_cell(value: Any) -> bool:
    """Return whether a value is a number, a text or a missing value, and not a list of these."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__")
