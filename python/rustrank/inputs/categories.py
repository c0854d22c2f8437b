"""Categorical features: which features they are, and the encoding of texts as numbers.

Categories are whole numbers from 0, or texts. Texts are numbered in sorted order, so that the numbers do
not depend on the order of rows. A text that is not in the training set gets the next number after the last,
for which no split tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import DataError, ParamKindError, shown, wrong_value
from rustrank.inputs.column_kinds import kind_of_values
from rustrank.inputs.scalars import as_list
from rustrank.inputs.tables import Array, Frame, feature_number
from rustrank.inputs.vectors import as_floats, first_true, is_absent, library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rustrank import _rustrank
    from rustrank.inputs.tables import Table

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
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
    keys = as_list("categorical", given, "a list of features")
    if names is None:
        keys = [_number_in(key) for key in keys]
    highest = 2**31 if num_features is None else num_features - 1
    return sorted({feature_number("categorical", key, names or (), highest) for key in keys})


def _number_in(key: Any) -> Any:
    """Return the number of a feature by its default name, such as ``f3``, where there are no others."""
    is_default = isinstance(key, str) and key[:1] == "f" and key[1:].isdecimal()
    return int(key[1:]) if is_default else key


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
            raise wrong_value("categorical", given, "none: the bins are those of `like`")
        return numbered(table, known, checks=True, missing=missing), known
    features = sorted({*numbers_of(given, names, table.num_features), *_typed(table)})
    columns = _columns(table, features)
    own = Categories(features, {at: sorted(found) for at, found in _texts(columns).items()})
    return _encoded(table, columns, own, checks=True, missing=missing), own


def categories_of(
    tables: Iterator[Table], given: Any, names: Sequence[str] | None
) -> tuple[Categories, Iterable[Table] | None]:
    """Return the categories of a table that comes in parts.

    And all parts, or None if they have been read to find texts.
    """
    first = next(tables)
    own = first.names if names is None else names
    features = sorted({*numbers_of(given, own, first.num_features), *_typed(first)})
    parts = chain([first], tables)
    # Values that are all missing do not say whether others are texts.
    are_numbers = [
        values.dtype.kind != "O" and bool(np.isfinite(values).any())
        for values in _columns(first, features).values()
    ]
    if all(are_numbers):
        return Categories(features), parts
    texts: dict[int, set[str]] = {}
    for table in parts:
        for feature, found in _texts(_columns(table, features)).items():
            texts.setdefault(feature, set()).update(found)
    return Categories(features, {at: sorted(found) for at, found in texts.items()}), None


def _texts(columns: dict[int, NDArray[Any]]) -> dict[int, set[str]]:
    """Return the different texts of the columns that hold texts."""
    return {
        feature: {value for value in values.tolist() if value is not None}
        for feature, values in columns.items()
        if values.dtype.kind == "O"
    }


def numbered(
    table: Table, known: Categories, *, checks: bool = False, missing: float | None = None
) -> Table:
    """Encode a table with known categories."""
    typed = _typed(table)
    odd = sorted(typed - set(known.features)) if checks else []
    if odd:
        raise TypeError(
            f"{_called(table, odd[0])}: got categories, expected numbers, as in the training set"
        )
    features = sorted({*(known.features if checks else ()), *known.names, *typed})
    return _encoded(table, _columns(table, features), known, checks=checks, missing=missing)


def numbered_for(core: _rustrank.Booster, table: Table) -> Table:
    """Encode a table with the categories of a model.

    An array of numbers for a model of LightGBM has the numbers of categories, as it has there.
    """
    # The columns of a frame have values, also where all are numbers.
    is_plain = isinstance(table, Array) and table.values.dtype.kind in "fiub" and not table.labels
    if is_plain and core.attributes().get("source") == "LightGBM":
        return table
    return numbered(table, Categories([], core.category_names()))


def _encoded(
    table: Table,
    columns: dict[int, NDArray[Any]],
    known: Categories,
    *,
    checks: bool,
    missing: float | None,
) -> Table:
    """Return a table with the numbers of categories in place of some columns."""
    typed = _typed(table)
    for feature, values in columns.items():
        what, names = _called(table, feature), known.names.get(feature)
        if values.dtype.kind == "O" and names is not None:
            columns[feature] = _codes(values, names)
            continue
        if feature in typed and (numbers := _as_numbers(names)) is not None:
            columns[feature] = _codes(as_floats(values, what), numbers)
            continue
        if values.dtype.kind == "O" and any(value is not None for value in values):
            raise TypeError(f"{what}: got texts, expected numbers, as in the training set")
        floats = as_floats(values, what)
        if names is not None and not np.isnan(floats).all():
            message = f"{what}: got numbers, expected the texts that the model was trained on"
            raise TypeError(message)
        columns[feature] = _checked(floats, what, missing) if checks else floats
    return _replaced(table, columns)


def _typed(table: Table) -> set[int]:
    """Return the features whose columns have a categorical type."""
    kinds = table.types if isinstance(table, Frame) else ()
    of_categories = ("category", "Categorical", "Enum", "dictionary")
    return {
        at
        for at, kind in enumerate(kinds)
        if not isinstance(kind, np.dtype) and str(kind).startswith(of_categories)
    }


def texts_numbered(table: Table) -> tuple[Table, dict[int, list[str]]]:
    """Return a table with numbers in place of texts, and the texts of each feature that has some."""
    if not isinstance(table, (Array, Frame)):
        return table, {}
    of_texts = [at for at in range(table.num_features) if _has_texts(table.column(at))]
    numbers, known = encoded(table, of_texts, None, None, None)
    without = [at for at in known.features if at not in known.names]
    if without:
        message = (
            f"{_called(table, without[0])}: got categories that are numbers, expected the numbers as they are; "
            "the ranker's categorical= declares them"
        )
        raise ParamKindError(message, code="categorical")
    return numbers, known.names


def texts_again(values: NDArray[np.float32], texts: list[str]) -> NDArray[Any]:
    """Return the texts that were numbered, and None for missing ones."""
    found = np.array([*texts, None], object)
    at = np.where(np.isnan(values), len(texts), values).astype(np.int64)
    return np.asarray(found[at])


def _has_texts(column: Any) -> bool:
    return kind_of_values(column) == "text"


def _called(table: Table, feature: int) -> str:
    return f"column {shown(table.names[feature])}" if table.names else f"feature {feature}"


def _columns(table: Table, features: Iterable[int]) -> dict[int, NDArray[Any]]:
    """Return columns as numbers, or as arrays of strings and None; none of a sparse matrix."""
    columns: dict[int, NDArray[Any]] = {}
    if not isinstance(table, (Array, Frame)):
        return columns
    for feature in features:
        what = _called(table, feature)
        column = table.column(feature)
        if library(column) == "pandas" and str(column.dtype) == "category":
            columns[feature] = _of_pandas(column, what)
            continue
        if library(column) in ("pyarrow", "polars"):
            column = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
            column = np.fromiter(column, object, len(column))
        columns[feature] = _plain(np.asarray(column), what)
    return columns


def _of_pandas(column: Any, what: str) -> NDArray[Any]:
    categories = _plain(np.asarray(column.cat.categories), what)
    if categories.dtype.kind != "O":
        categories = as_floats(categories, what).astype(np.float64)
    # Missing values have code -1, which selects the last place.
    found = np.append(categories, [None if categories.dtype.kind == "O" else np.nan])
    taken: NDArray[Any] = found[column.cat.codes.to_numpy()]
    return taken


def _plain(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Return numbers unchanged, and texts with None for missing values."""
    if values.dtype.kind in "fbiu":
        return values
    given = [None if is_absent(value) else value for value in values.tolist()]
    present = [value for value in given if value is not None]
    if all(isinstance(value, str) for value in present):
        return np.array(given, object) if present else np.full(len(given), np.nan)
    odd = next((value for value in present if not isinstance(value, _NUMBERS)), None)
    if odd is not None:
        raise TypeError(
            f"{what}: got {shown(odd)} among categories, expected texts alone, or whole numbers"
        )
    return np.array([np.nan if value is None else value for value in given], np.float64)


def _codes(values: NDArray[Any], names: Sequence[str] | Sequence[float]) -> NDArray[np.float64]:
    places: dict[Any, float] = {None: np.nan} | {name: at for at, name in enumerate(names)}
    found = (
        np.nan if value != value else places.get(value, len(names)) for value in values.tolist()
    )
    return np.fromiter(found, np.float64, len(values))


def _as_numbers(names: list[str] | None) -> list[float] | None:
    """Return categories that all are numbers, as in LightGBM's models of such columns; else None."""
    try:
        return None if names is None else [float(name) for name in names]
    except ValueError:
        return None


def _checked(values: NDArray[Any], what: str, missing: float | None) -> NDArray[Any]:
    fits = (values >= 0) & (values <= _LARGEST) & (values == np.floor(values))
    wrong = ~(fits | np.isnan(values))
    if missing is not None:
        wrong &= values != missing
    row = first_true(wrong)
    if row is not None:
        message = (
            f"{what} holds categories: got {shown(float(values[row]))} in row {row}, expected whole "
            "numbers from 0 to 2^24, or texts"
        )
        raise DataError(message, code="category", row=row)
    return values


def _replaced(table: Table, columns: dict[int, NDArray[Any]]) -> Table:
    """Return the table with some columns replaced."""
    if not columns:
        return table
    if isinstance(table, Frame):
        own = [columns.get(at, column) for at, column in enumerate(table.columns)]
        return Frame(own, table.labels or [], table.num_rows)
    if isinstance(table, Array) and table.values.dtype.kind == "O":
        own = [columns.get(at, table.values[:, at]) for at in range(table.num_features)]
        floats = [as_floats(column, f"feature {at}") for at, column in enumerate(own)]
        return Array(
            np.column_stack([column.astype(np.float64) for column in floats]), table.labels
        )
    return table
