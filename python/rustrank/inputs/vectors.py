"""Conversion of one-dimensional arguments (labels, scores, weights, ids) to numpy arrays.

No value is changed silently: masked values are missing, whole numbers that a double cannot hold are an
error, and lists of mixed ids keep their types. `rustrank.inputs.tables` uses the same conversions.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rustrank.errors import DataError, ParamKindError, shown

Column: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

#: Types whose values single precision holds exactly.
NARROW = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, np.float32)
#: What to do with dates and durations.
DATES_HINT = "make numbers of them, such as (frame.listed - frame.listed.min()).dt.days"
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


def is_date(value: Any) -> bool:
    """Whether a value is a date or a time, of any library."""
    return isinstance(value, (datetime.date, datetime.time, np.datetime64)) and not is_absent(value)


def is_duration(value: Any) -> bool:
    """Whether a value is the time between two dates, of any library."""
    return isinstance(value, (datetime.timedelta, np.timedelta64)) and not is_absent(value)


def as_floats(values: NDArray[Any], what: str) -> Column:
    """Convert numbers of any type to float32, if that is exact, or to float64; masked ones are NaN."""
    kind = values.dtype.kind
    if kind not in "fbiuO":
        found = {"M": "dates", "m": "durations"}.get(kind, str(values.dtype))
        raise _no_numbers(what, "text" if kind in "UST" else found)
    dtype = np.float32 if values.dtype.type in NARROW else np.float64
    if isinstance(values, np.ma.MaskedArray):
        values = with_none(values) if kind == "O" else np.ma.filled(values.astype(dtype), math.nan)
    if kind == "O":
        return _from_objects(values, what)
    # The extension reads aligned arrays only; a field of a structured array may not be.
    return np.require(values, dtype, ["C", "A"])


def with_none(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return a masked array as an array of objects, with None for masked values."""
    objects: NDArray[Any] = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _no_numbers(what: str, found: str) -> ParamKindError:
    """Return the error of values that are text, dates or others."""
    code = found if found in ("text", "dates", "durations") else "kind"
    hint = f"; {DATES_HINT}" if code in ("dates", "durations") else ""
    return ParamKindError(f"{what}: got {found}, expected numbers{hint}", code=code)


def _from_objects(values: NDArray[Any], what: str) -> Column:
    for value in values.flat:
        if isinstance(value, (str, bytes, bytearray)):
            raise _no_numbers(what, "text")
        if is_date(value) or is_duration(value):
            raise _no_numbers(what, "dates" if is_date(value) else "durations")
    absent = np.fromiter((is_absent(value) for value in values.flat), bool, values.size)
    present = np.where(absent.reshape(values.shape), math.nan, values)
    try:
        return np.ascontiguousarray(present, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParamKindError(
            f"{what}: got objects that are not numbers ({error})", code="kind"
        ) from error
    except OverflowError:
        message = f"{what}: a number is too large for a double"
        raise DataError(message, code="number.large") from None


def to_numpy(values: Any) -> NDArray[Any]:
    """Return a column of any library as a numpy array."""
    array: NDArray[Any]
    if library(values) == "pyarrow" and not hasattr(values, "chunks"):
        array = values.to_numpy(zero_copy_only=False)
    elif library(values) in ("pandas", "polars", "pyarrow") and hasattr(values, "to_numpy"):
        array = values.to_numpy()
    else:
        array = np.asarray(values)
    return array


def as_vector(values: Any, name: str) -> NDArray[Any]:
    """Return a one-dimensional numpy array, which may be masked; a table of one column is accepted."""
    is_ours = library(values) == "rustrank"
    try:
        # A dataset has a length, so numpy would treat it as a sequence.
        masked = isinstance(values, np.ma.MaskedArray)
        array = values if masked else np.empty(()) if is_ours else to_numpy(values)
    except Exception as error:
        raise ParamKindError(
            f"{name}: cannot be read as one column ({error})", code="kind"
        ) from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0:
        has = {"Dataset": "labels", "Ranking": "y"}.get(type(values).__name__)
        hint = f"; it has its labels in .{has}" if is_ours and has and name == "y" else ""
        raise ParamKindError(
            f"{name}: got {shown(values)}, expected an array of one dimension{hint}", code="kind"
        )
    if array.ndim != 1:
        raise ParamKindError(f"{name} has {array.ndim} dimensions, expected 1", code="kind")
    return array


def first_true(mask: NDArray[np.bool_]) -> int | None:
    """Return the place of the first True of a mask, if there is one."""
    places = np.flatnonzero(mask)
    return int(places[0]) if len(places) else None


def as_doubles(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers of any type as a contiguous array of doubles."""
    return np.require(as_floats(as_vector(values, name), name), np.float64, ["C", "A"])


def as_scores(values: Any, name: str) -> NDArray[np.float64]:
    """Return scores as doubles; whole numbers that a double cannot hold, and would be tied, are an error."""
    vector = as_vector(values, name)
    doubles = as_doubles(vector, name)
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


def as_labels(y: Any, name: str = "y") -> NDArray[np.float32]:
    """Return labels in single precision; invalid labels stay invalid, and the extension reports them."""
    try:
        doubles = as_doubles(y, name)
    except ParamKindError as error:
        if error.code != "text":
            raise
        message = f"{error}; give each grade a number, 0 for the lowest"
        raise ParamKindError(message, code="text") from None
    with np.errstate(over="ignore", under="ignore"):
        labels = doubles.astype(np.float32)
    overflown = np.isinf(labels) & np.isfinite(doubles)
    labels[overflown] = np.copysign(np.finfo(np.float32).max, doubles[overflown])
    # A tiny negative label must not round to zero, which is valid.
    labels[(doubles < 0) & (labels == 0)] = -np.finfo(np.float32).tiny
    row = first_true((doubles > _LARGEST_LABEL) & (labels <= _LARGEST_LABEL))
    if row is not None:
        label = float(doubles[row])
        array = "label" if name == "y" else name
        message = (
            f"{array}[{row}] = {label!r} is too large: expected a finite number from 0 to 2^24"
        )
        raise DataError(message, code="label.large", row=row)
    return labels


def check_length(name: str, got: int, expected: int, what: str) -> None:
    """Raise `DataError` unless a length is the expected one."""
    if got != expected:
        message = (
            f"{name} has the wrong length: got {got}, expected {expected}, the number of {what}"
        )
        raise DataError(message, code="length")
