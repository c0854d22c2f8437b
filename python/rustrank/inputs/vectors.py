"""One-dimensional things that people bring, as numpy arrays: labels, scores, weights, ids.

Nothing is rounded, merged or dropped on the way without a word: masked values are missing, whole
numbers that doubles cannot tell apart are refused, lists of mixed ids stay what they are.
Tables of features are `_features`' business, and use the same conversions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank.errors import DataError, shown

Column: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

#: Types that single precision holds exactly.
NARROW = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, np.float32)
#: Up to here doubles hold every whole number.
_EXACT = 2**53
#: Up to here single precision does, and labels go.
_LARGEST_LABEL = 2**24


def library(value: Any) -> str:
    """Return the name of the package that a value's type is from."""
    return type(value).__module__.split(".", 1)[0]


def is_absent(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, NaT, pandas' NA, a masked cell."""
    if value is None or value is np.ma.masked:
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, complex, np.inexact, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return False


def as_floats(values: NDArray[Any], what: str) -> Column:
    """Convert numbers of any type, exactly where doubles can hold them; masked ones are NaN."""
    kind = values.dtype.kind
    if kind not in "fbiuO":
        said = "text" if kind in "US" else str(values.dtype)
        message = f"{what}: got {said}, expected numbers"
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
    # The core reads aligned arrays only, and a field of a record need not be.
    return np.require(values, dtype, ["C", "A"])


def with_none(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return a masked array as one of objects, None where it is masked."""
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
    """Return a one-dimensional numpy array, masked if it was; a column of one feature is taken."""
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
        # A dataset has a length, and would be taken for a sequence.
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
    """Numbers of any type as a contiguous array of doubles."""
    return np.require(as_floats(as_vector(values, name), name), np.float64, ["C", "A"])


def as_scores(values: Any, name: str) -> NDArray[np.float64]:
    """Scores as doubles; whole numbers that would become ties of others are refused."""
    vector = as_vector(values, name)
    doubles = np.require(as_floats(vector, name), np.float64, ["C", "A"])
    # A list of large whole numbers may have become doubles before we could look at it.
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
    """Labels in single precision; what is wrong with a label stays wrong, so that it is told."""
    doubles = as_doubles(y, "y")
    with np.errstate(over="ignore", under="ignore"):
        labels = doubles.astype(np.float32)
    overflown = np.isinf(labels) & np.isfinite(doubles)
    labels[overflown] = np.copysign(np.finfo(np.float32).max, doubles[overflown])
    # A negative number that rounds to zero would pass as one.
    labels[(doubles < 0) & (labels == 0)] = -np.finfo(np.float32).tiny
    rounded = np.flatnonzero((doubles > _LARGEST_LABEL) & (labels <= _LARGEST_LABEL))
    if len(rounded):
        row = int(rounded[0])
        label = float(doubles[row])
        message = f"label[{row}] = {label!r} is too large: expected a finite number from 0 to 2^24"
        raise DataError(message, code="label.large", row=row)
    return labels


def check_length(name: str, got: int, expected: int, what: str) -> None:
    """Refuse an array that does not fit the others."""
    if got != expected:
        message = (
            f"{name} has the wrong length: got {got}, expected {expected}, the number of {what}"
        )
        raise DataError(message, code="length")
