"""Raw features as a model scores them: rows, tables and their queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError
from rustrank.inputs.categories import Categories, numbered
from rustrank.inputs.queries import as_queries
from rustrank.inputs.tables import as_block, as_table, check_same_features

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rustrank import _rustrank
    from rustrank.inputs.tables import Table

# Types that the extension reads directly.
_PLAIN = {np.dtype(np.float32).str, np.dtype(np.float64).str}


def is_plain(X: Any) -> bool:
    """Whether the extension reads X directly: a shortcut that keeps scoring of single queries fast."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.str in _PLAIN and X.flags.c_contiguous


def by_blocks(
    core: _rustrank.Booster, X: Any, compute: Callable[[Any], NDArray[np.float64]], *of_row: int
) -> NDArray[np.float64]:
    """Return what is computed of raw features, block by block; a row's result has shape ``of_row``."""
    parts = [compute(block) for block in _table(core, X).blocks()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, *of_row))


def of_queries(core: _rustrank.Booster, X: Any, qid: Any, group: Any) -> tuple[Any, Any]:
    """Return raw features in one piece, and their queries."""
    table = _table(core, X)
    queries, _ = as_queries(qid, group, table.num_rows)
    return as_block(table), queries


def row(doc: Any, name: str) -> NDArray[Any]:
    """Return the features of one document as a vector."""
    features = np.asarray(doc)
    features = features[0] if features.ndim == 2 and len(features) == 1 else features
    if features.ndim != 1 or features.dtype.kind not in "fiub":
        message = (
            f"{name} must be the numbers of one doc: got {features.dtype} of shape {features.shape}"
        )
        raise DataError(message, code="shape")
    return features


def _table(core: _rustrank.Booster, X: Any) -> Table:
    table = as_table(_as_rows(X))
    expected = core.num_raw_features, core.feature_names
    check_same_features((table.num_features, table.names), expected, "X", "the model")
    return numbered(table, Categories([], core.category_names()))


def _as_rows(X: Any) -> Any:
    """Return one row as a table with one row."""
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "fiub":
        return X[None, :]
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, (int, float)) for x in X):
        return [X]
    return X
