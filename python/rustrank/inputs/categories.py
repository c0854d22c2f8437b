"""Categorical features: which features they are, and the encoding of texts as numbers.

Categories are whole numbers from 0, or texts. Texts are numbered in sorted order, so that the numbers do
not depend on the order of rows. A text that is not in the training set gets the next number after the last,
for which no split tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, ParamError, ParamKindError, UnknownNameError, shown
from rustrank.inputs.scalars import whole
from rustrank.inputs.tables import Array, Frame
from rustrank.inputs.vectors import as_floats, is_absent, library

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank.inputs.tables import Table

#: Single precision holds every whole number up to this one.
_LARGEST = 2**24


@dataclass(frozen=True)
class Categories:
    """The categorical features in rising order, and the texts of those that hold texts."""

    features: list[int]
    names: dict[int, list[str]] = field(default_factory=dict)


def numbers_of(given: Any, names: Sequence[str] | None, num_features: int | None) -> list[int]:
    """Return the numbers of features given by name or number, in rising order."""
    if given is None:
        return []
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        message = f"categorical: got {shown(given)}, expected a list of features"
        raise ParamKindError(message, code="categorical")
    numbers = set()
    for key in given:
        if not isinstance(key, str):
            most = 2**31 if num_features is None else num_features - 1
            numbers.add(whole("categorical: a feature", key, 0, most, ", or a name"))
        elif key in (names or ()):
            numbers.add(list(names or ()).index(key))
        else:
            message = f"categorical: there is no feature {shown(key)}"
            raise UnknownNameError(message, code="categorical")
    return sorted(numbers)


def encoded(
    table: Table,
    given: Any,
    known: Categories | None,
    names: Sequence[str] | None,
    missing: float | None,
) -> tuple[Table, Categories]:
    """Encode a table with known categories, or with its own; returns the table and the categories."""
    if known is not None:
        if given is not None:
            message = (
                f"categorical: got {shown(given)}, expected none: the bins are those of `like`"
            )
            raise ParamError(message, code="categorical")
        return numbered(table, known, checks=True, missing=missing), known
    features = sorted({*numbers_of(given, names, table.num_features), *_typed(table)})
    columns: dict[int, NDArray[Any]] = {}
    texts: dict[int, list[str]] = {}
    for feature in features:
        what = _called(table, feature)
        values = _values(table, feature)
        if values is None:
            continue
        if values.dtype.kind == "O":
            texts[feature] = sorted({value for value in values.tolist() if value is not None})
            columns[feature] = _codes(values, texts[feature])
        else:
            columns[feature] = _checked(as_floats(values, what), what, missing)
    return _replaced(table, columns), Categories(features, texts)


def numbered(
    table: Table, known: Categories, *, checks: bool = False, missing: float | None = None
) -> Table:
    """Encode a table with known categories."""
    columns: dict[int, NDArray[Any]] = {}
    typed = _typed(table)
    for feature in sorted({*(known.features if checks else ()), *known.names, *typed}):
        what = _called(table, feature)
        if feature in typed and checks and feature not in known.features:
            message = f"{what}: got categories, expected numbers, as in the training set"
            raise TypeError(message)
        values = _values(table, feature)
        if values is None:
            continue
        names = known.names.get(feature)
        if values.dtype.kind == "O" and names is not None:
            columns[feature] = _codes(values, names)
        elif values.dtype.kind == "O" and any(value is not None for value in values):
            message = f"{what}: got texts, expected numbers, as in the training set"
            raise TypeError(message)
        elif names is not None and not np.isnan(as_floats(values, what)).all():
            message = f"{what}: got numbers, expected the texts that the model was trained on"
            raise TypeError(message)
        else:
            floats = as_floats(values, what)
            columns[feature] = _checked(floats, what, missing) if checks else floats
    return _replaced(table, columns)


def _typed(table: Table) -> set[int]:
    """Return the features whose columns have a categorical type."""
    if not isinstance(table, Frame):
        return set()
    return {at for at, column in enumerate(table.columns) if _is_typed(column)}


def _is_typed(column: Any) -> bool:
    kind = getattr(column, "type", None) if library(column) == "pyarrow" else column.dtype
    return str(kind).startswith(("category", "Categorical", "Enum", "dictionary"))


def _called(table: Table, feature: int) -> str:
    return f"column {shown(table.names[feature])}" if table.names else f"feature {feature}"


def _values(table: Table, feature: int) -> NDArray[Any] | None:
    """Return a column as numbers, or as an array of strings and None."""
    if isinstance(table, Frame):
        column = table.columns[feature]
        of = library(column)
        if of == "pandas" and str(column.dtype) == "category":
            return _of_pandas(column, _called(table, feature))
        if of in ("pyarrow", "polars"):
            objects = column.to_pylist() if of == "pyarrow" else column.to_list()
            values = np.empty(len(objects), object)
            values[:] = objects
        else:
            values = np.asarray(column)
    elif isinstance(table, Array):
        values = table.values[:, feature]
    else:
        return None
    return _plain(values, _called(table, feature))


def _of_pandas(column: Any, what: str) -> NDArray[Any]:
    categories = _plain(np.asarray(column.cat.categories), what)
    codes = column.cat.codes.to_numpy()
    if categories.dtype.kind != "O":
        categories = as_floats(categories, what).astype(np.float64)
    # Missing values have code -1, which selects the last place.
    found = np.empty(len(categories) + 1, categories.dtype)
    found[:-1] = categories
    found[-1] = None if categories.dtype.kind == "O" else np.nan
    taken: NDArray[Any] = found[codes]
    return taken


def _plain(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Return numbers unchanged, and texts with None for missing values."""
    if values.dtype.kind in "fbiu":
        return values
    given = [None if is_absent(value) else value for value in values.tolist()]
    present = [value for value in given if value is not None]
    if all(isinstance(value, str) for value in present):
        plain = np.empty(len(given), object)
        plain[:] = given
        return plain if present else np.full(len(given), np.nan)
    odd = next((v for v in present if isinstance(v, str) or not _is_number(v)), None)
    if odd is not None:
        message = (
            f"{what}: got {shown(odd)} among categories, expected texts alone, or whole numbers"
        )
        raise TypeError(message)
    return np.array([np.nan if value is None else value for value in given], np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def _codes(values: NDArray[Any], names: list[str]) -> NDArray[np.float64]:
    places: Mapping[Any, float] = {name: float(at) for at, name in enumerate(names)}
    unknown = float(len(names))
    found: Iterable[float] = (
        np.nan if value is None else places.get(value, unknown) for value in values.tolist()
    )
    return np.fromiter(found, np.float64, len(values))


def _checked(values: NDArray[Any], what: str, missing: float | None) -> NDArray[Any]:
    fits = (values >= 0) & (values <= _LARGEST) & (values == np.floor(values))
    wrong = ~(fits | np.isnan(values))
    if missing is not None:
        wrong &= values != missing
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        message = (
            f"{what} holds categories: got {shown(float(values[row]))} in row {row}, expected whole "
            "numbers from 0 to 2^24, or texts"
        )
        raise DataError(message, code="category", row=row)
    return values


def _replaced(table: Table, columns: dict[int, NDArray[Any]]) -> Table:
    """Return the table with some columns replaced."""
    if isinstance(table, Frame):
        own = [columns.get(at, column) for at, column in enumerate(table.columns)]
        return Frame(own, table.names or [], table.num_rows) if columns else table
    if isinstance(table, Array) and table.values.dtype.kind == "O" and columns:
        own = [columns.get(at, table.values[:, at]) for at in range(table.num_features)]
        floats = [as_floats(column, f"feature {at}") for at, column in enumerate(own)]
        return Array(np.column_stack([column.astype(np.float64) for column in floats]), table.names)
    return table
