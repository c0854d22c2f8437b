"""Columns of Spark data frames as the tables that rustrank reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The name of the column of arrays that features travel in.
FEATURES = "rustrank_features"


def with_arrays(frame: Any, column: str) -> Any:
    """Return a column of features as arrays of numbers: vectors of Spark ML are made dense."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import VectorUDT

    is_vector = isinstance(frame.schema[column].dataType, VectorUDT)
    return (vector_to_array(column) if is_vector else frame[column]).alias(FEATURES)


def table_of(batch: Any, names: Sequence[str] | None) -> Any:
    """Return the features of a pandas batch: a matrix of its arrays, or the frame of its columns."""
    if names is not None:
        return batch[list(names)]
    arrays = batch[FEATURES].to_list()
    empty = next((at for at, one in enumerate(arrays) if one is None), None)
    if empty is not None:
        raise DataError(f"row {empty} of a partition has no features: null", code="features")
    widths = sorted({len(one) for one in arrays})
    if len(widths) > 1:
        message = f"rows have other numbers of features: got {widths[0]} and {widths[-1]}"
        raise DataError(message, code="features")
    if not arrays:
        return np.empty((0, 0))
    return np.array([[np.nan if x is None else x for x in one] for one in arrays], np.float64)
