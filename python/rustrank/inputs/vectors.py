"""Conversion of one-dimensional arguments (labels, scores, weights, ids) to numpy arrays.

No value is changed silently: masked values are missing, whole numbers that a double cannot hold are an
error, and lists of mixed ids keep their types. `rustrank.inputs.tables` uses the same conversions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank.errors import DataError, shown

Column: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

#: Types whose values single precision holds exactly.
NARROW = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, np.float32)
#: Doubles hold every whole number up to this one.
_EXACT = 2**53
#: Single precision holds every whole number up to this one: the largest label.
_LARGEST_LABEL = 2**24


def library(value: Any) -> str:
    """Return the name of the package that defines the type of a value."""
    return type(value).__module__.split(".", 1)[0]


def is_absent(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, pandas' NA or a masked cell."""
    if value is None or value is np.ma.masked:
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, complex, np.inexact, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return False


def as_floats(values: NDArray[Any], what: str) -> Column:
    """Convert numbers of any type to float32, if that is exact, or to float64; masked ones are NaN."""
    kind = values.dtype.kind
    if kind not in "fbiuO":
        found = "text" if kind in "US" else str(values.dtype)
        message = f"{what}: got {found}, expected numbers"
        raise TypeError(message)
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if kind == "O":
            values = with_none(values)
        else:
            dtype = np.float32 if values.dtype.type in NARROW else np.float64
            values = np.where(mask, dtype(math.nan), values.data.astype(dtype))
    if kind == "O":
        return _from_objects(values, what)
    dtype = np.float32 if values.dtype.type in NARROW else np.float64
    # The extension reads aligned arrays only; a field of a structured array may not be.
    return np.require(values, dtype, ["C", "A"])


def with_none(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return a masked array as an array of objects, with None for masked values."""
    objects: NDArray[Any] = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _from_objects(values: NDArray[Any], what: str) -> Column:
    for value in values.flat:
        if isinstance(value, (str, bytes, bytearray)):
            message = f"{what}: got text, expected numbers; encode categories as numbers first"
            raise TypeError(message)
    absent = np.fromiter((is_absent(value) for value in values.flat), bool, values.size)
    present = np.where(absent.reshape(values.shape), math.nan, values)
    try:
        return np.ascontiguousarray(present, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{what}: got objects that are not numbers ({error})"
        raise TypeError(message) from error
    except OverflowError:
        message = f"{what}: a number is too large for a double"
        raise DataError(message, code="number.large") from None


def as_vector(values: Any, name: str) -> NDArray[Any]:
    """Return a one-dimensional numpy array, which may be masked; a table of one column is accepted."""
    array = _array_of(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0:
        has = (
            {"Dataset": "labels", "Ranking": "y"}
            if name == "y" and library(values) == "rustrank"
            else {}
        )
        hint = (
            f"; it has its labels in .{has[kind]}" if (kind := type(values).__name__) in has else ""
        )
        message = f"{name}: got {shown(values)}, expected an array of one dimension{hint}"
        raise TypeError(message)
    if array.ndim != 1:
        message = f"{name} has {array.ndim} dimensions, expected 1"
        raise TypeError(message)
    return array


def _array_of(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return values
    if library(values) == "rustrank":
        # A dataset has a length, so numpy would treat it as a sequence.
        return np.empty(())
    try:
        if library(values) == "pyarrow":
            whole = not hasattr(values, "chunks")
            converted = values.to_numpy(zero_copy_only=False) if whole else values.to_numpy()
        elif library(values) in ("polars", "pandas") and hasattr(values, "to_numpy"):
            converted = values.to_numpy()
        else:
            converted = np.asarray(values)
    except Exception as error:
        message = f"{name}: cannot be read as one column ({error})"
        raise TypeError(message) from error
    array: NDArray[Any] = converted
    return array


def as_doubles(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers of any type as a contiguous array of doubles."""
    return np.require(as_floats(as_vector(values, name), name), np.float64, ["C", "A"])


def as_scores(values: Any, name: str) -> NDArray[np.float64]:
    """Return scores as doubles; whole numbers that a double cannot hold, and would be tied, are an error."""
    vector = as_vector(values, name)
    doubles = np.require(as_floats(vector, name), np.float64, ["C", "A"])
    # numpy may have converted a list of large whole numbers to doubles.
    given: Any = values if isinstance(values, Sequence) and vector.dtype.kind == "f" else vector
    if vector.dtype.kind == "f" and given is vector:
        return doubles
    for row in np.flatnonzero(np.abs(doubles) >= _EXACT).tolist():
        value = given[row]
        if isinstance(value, (int, np.integer)) and int(doubles[row]) != int(value):
            message = (
                f"{name}[{row}] is too large: got {shown(int(value))}, expected whole numbers that "
                f"a double holds, up to 2^53; subtract the smallest from all, or pass ranks"
            )
            raise DataError(message, code="score.large", row=row)
    return doubles


def as_labels(y: Any) -> NDArray[np.float32]:
    """Return labels in single precision; invalid labels stay invalid, and the extension reports them."""
    doubles = as_doubles(y, "y")
    with np.errstate(over="ignore", under="ignore"):
        labels = doubles.astype(np.float32)
    overflown = np.isinf(labels) & np.isfinite(doubles)
    labels[overflown] = np.copysign(np.finfo(np.float32).max, doubles[overflown])
    # A tiny negative label must not round to zero, which is valid.
    labels[(doubles < 0) & (labels == 0)] = -np.finfo(np.float32).tiny
    rounded = np.flatnonzero((doubles > _LARGEST_LABEL) & (labels <= _LARGEST_LABEL))
    if len(rounded):
        row = int(rounded[0])
        label = float(doubles[row])
        message = f"label[{row}] = {label!r} is too large: expected a finite number from 0 to 2^24"
        raise DataError(message, code="label.large", row=row)
    return labels


def check_length(name: str, got: int, expected: int, what: str) -> None:
    """Raise `DataError` unless a length is the expected one."""
    if got != expected:
        message = (
            f"{name} has the wrong length: got {got}, expected {expected}, the number of {what}"
        )
        raise DataError(message, code="length")
