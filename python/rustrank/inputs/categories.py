"""Categorical features: which features they are, and the encoding of categories as whole numbers.

Texts, and all values of columns of a categorical type, have a list of categories in sorted order, so that their
numbers do not depend on the order of rows. A value that is not in the list of the training set gets the next number
after the last, for which no split tests. Other columns of whole numbers from 0 have no list: each is its own number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank.errors import DataError, ParamKindError, shown, warn_caller, wrong_value
from rustrank.inputs.category_column import CategoryColumn
from rustrank.inputs.column_kinds import kind_of_values
from rustrank.inputs.scalars import as_list
from rustrank.inputs.tables import Array, Frame, as_table, feature_number
from rustrank.inputs.vectors import Column, as_floats, first_true, is_absent, library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rustrank import _rustrank
    from rustrank.inputs.tables import Table

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
#: Single precision holds every whole number up to this one.
_LARGEST = 2**24
#: Doubles hold every whole number up to this one.
_EXACT = 2**53
#: Docs of which none has a known category are a mistake from so many on.
_FEW = 10


#: The categories of a feature, by their numbers.
CategoryList: TypeAlias = list[str] | list[bool] | list[float]


@dataclass(frozen=True)
class Categories:
    """The categorical features in rising order, and the list of categories of each that has one."""

    features: list[int]
    lists: Mapping[int, CategoryList] = field(default_factory=dict)


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
        return numbered_like(table, known, missing), known
    typed = _typed(table)
    features = sorted({*numbers_of(given, names, table.num_features), *typed})
    columns = _columns(table, features)
    lists = _in_own_form(_lists([_found(columns, typed, missing)]), table)
    own = Categories(features, lists)
    return _encoded(table, columns, own, missing), own


def categories_of(
    tables: Iterator[Table], given: Any, names: Sequence[str] | None, missing: float | None
) -> tuple[Categories, Iterable[Table] | None]:
    """Return the categories of a table that comes in parts.

    And all parts, or None if they have been read to find the lists of categories.
    """
    first = next(tables)
    own = first.names if names is None else names
    typed = _typed(first)
    features = sorted({*numbers_of(given, own, first.num_features), *typed})
    parts = chain([first], tables)
    # Values that are all missing do not say whether others are texts.
    are_numbers = [
        values.dtype.kind != "O" and bool(np.isfinite(values).any())
        for values in _columns(first, features).values()
    ]
    if all(are_numbers) and not typed:
        return Categories(features), parts
    found = (_found(_columns(table, features), typed, missing) for table in parts)
    return Categories(features, _in_own_form(_lists(found), first)), None


@dataclass(frozen=True)
class PartCategories:
    """What a part of the rows says of categories, as values that can be written as JSON."""

    features: list[int]
    #: The different values of each feature that has a list.
    found: dict[int, list[str] | list[float]]
    #: Features whose categories are truth values.
    truths: list[int]


def categories_of_part(
    table: Table, given: Any, names: Sequence[str] | None, missing: float | None
) -> PartCategories:
    """Return the categories of a part of the rows, which `joined_categories` takes."""
    typed = _typed(table)
    features = sorted({*numbers_of(given, names, table.num_features), *typed})
    found = _found(_columns(table, features), typed, missing)
    truths = [feature for feature in found if _has_truths(table.column(feature))]
    values: dict[int, Any] = {at: sorted(one) for at, one in found.items()}
    return PartCategories(features, values, truths)


def joined_categories(parts: Sequence[PartCategories]) -> Categories:
    """Return the categories of all rows, those of one table with the rows of all parts.

    The parts have the same categorical features.
    """
    found: list[dict[int, Any]] = [
        {at: set(one) for at, one in part.found.items()} for part in parts
    ]
    lists = _lists(found)
    truths = {feature for part in parts for feature in part.truths}
    shown_as = {at: [bool(one) for one in lists[at]] for at in truths if at in lists}
    return Categories(parts[0].features, {**lists, **shown_as})


def _in_own_form(lists: dict[int, CategoryList], table: Table) -> dict[int, CategoryList]:
    """Return lists with truth values where a column has these, and in the order that a column keeps."""
    made = dict(lists)
    for feature, own in lists.items():
        column = table.column(feature)
        if isinstance(column, CategoryColumn) and column.order is not None:
            made[feature] = column.order
        elif _has_truths(column):
            made[feature] = [bool(value) for value in own]
    return made


def _has_truths(column: Any) -> bool:
    """Whether the categories of a column of a categorical type are truth values."""
    if library(column) == "pyarrow":
        return str(getattr(column.type, "value_type", "")) == "bool"
    return getattr(getattr(column.dtype, "categories", None), "dtype", None) == np.bool_


def with_own_order(X: Any) -> Any:
    """Return a table whose columns of pandas' categorical type keep the order of their categories."""
    table = as_table(X)
    if not isinstance(table, Frame):
        return X
    columns = [_with_order(table, at) for at in range(table.num_features)]
    is_other = any(isinstance(column, CategoryColumn) for column in columns)
    return Frame(columns, table.labels or [], table.num_rows) if is_other else X


def _with_order(table: Frame, at: int) -> Any:
    column = table.column(at)
    if library(column) != "pandas" or str(column.dtype) != "category":
        return column
    order: list[Any] = column.cat.categories.tolist()
    values = _of_pandas(column, _called(table, at))
    return CategoryColumn(values, [*order]) if order else column


def _found(
    columns: dict[int, NDArray[Any]], typed: set[int], missing: float | None
) -> dict[int, set[str] | set[float]]:
    """Return the different values of the columns that have lists of categories."""
    found: dict[int, set[str] | set[float]] = {}
    for feature, values in columns.items():
        if values.dtype.kind == "O":
            found[feature] = {value for value in values.tolist() if value is not None}
        elif feature in typed:
            # Adding 0 makes one of the two zeros.
            numbers = np.unique(as_floats(values, "a category").astype(np.float64) + 0.0)
            found[feature] = set(numbers[np.isfinite(numbers)].tolist()) - {missing}
    return found


def _lists(parts: Iterable[dict[int, set[str] | set[float]]]) -> dict[int, CategoryList]:
    """Return the categories of each feature in order; nothing where all values are missing."""
    found: dict[int, set[Any]] = {}
    for part in parts:
        for feature, values in part.items():
            found.setdefault(feature, set()).update(values)
    for feature, values in found.items():
        kinds = {isinstance(value, str) for value in values}
        if len(kinds) > 1:
            message = (
                f"feature {feature}: got texts in one part of the rows, and numbers in another"
            )
            raise ParamKindError(message, code="categorical")
    return {feature: sorted(values) for feature, values in found.items() if values}


def numbered(
    table: Table, known: Categories, *, missing: float | None, largest: float = _LARGEST
) -> Table:
    """Encode a table with known categories."""
    lists = known.lists
    if not table.labels:
        _refuse_numbers(lists)
        # Those that are left are their own numbers.
        lists = {at: own for at, own in lists.items() if isinstance(own[0], str)}
        if lists and not isinstance(table, Array):
            raise ParamKindError(
                f"feature {min(lists)}: got a sparse matrix, expected a frame with the texts that the "
                "model was trained on",
                code="kind",
            )
    columns = _columns(table, {*known.features, *lists, *_typed(table)})
    return _encoded(table, columns, Categories(known.features, lists), missing, largest)


def numbered_like(table: Table, known: Categories, missing: float | None) -> Table:
    """Encode a further table of a data set, whose categorical columns are known."""
    odd = sorted(_typed(table) - set(known.features))
    if odd:
        raise ParamKindError(
            f"{_called(table, odd[0])}: got categories, expected numbers, as in the training set",
            code="kind",
        )
    return numbered(table, known, missing=missing)


def numbered_for(core: _rustrank.Booster, table: Table, missing: float | None = None) -> Table:
    """Encode a table with the categories of a model.

    An array of numbers for a model of LightGBM has the numbers of text categories, as it has there.
    """
    known = Categories(core.categorical(), core.category_lists())
    attributes = core.attributes()
    if attributes.get("source") == "LightGBM":
        # The columns of a frame have values, also where all are numbers.
        if not table.labels and not (isinstance(table, Array) and table.values.dtype.kind == "O"):
            _refuse_numbers(known.lists)
            return table
        if "pandas_categorical" in attributes:
            _refuse_unknown(table, known.lists)
    if attributes.get("source") == "XGBoost":
        _refuse_unknown(table, {})
    numbers = numbered(table, known, missing=missing, largest=math.inf)
    _warn_of_unknown(table, numbers, known.lists)
    return numbers


def _warn_of_unknown(table: Table, numbers: Table, lists: Mapping[int, CategoryList]) -> None:
    """Warn of columns of which the model knows no category; a few docs may well be of a new one."""
    if table.num_rows < _FEW or not isinstance(numbers, (Array, Frame)):
        return
    said = []
    for feature, known in lists.items():
        codes = np.asarray(numbers.column(feature))
        present = np.flatnonzero(~np.isnan(codes))
        if len(present) < _FEW or (codes[present] < len(known)).any():
            continue
        value = _columns(table, [feature])[feature][present[0]]
        (ours,) = as_shown([value if isinstance(value, str) else value.item()])
        ours, first = shown(ours), shown(as_shown(known)[0])
        said.append(f"{_called(table, feature)} (got {ours}, and the model knows {first})")
    if said:
        message = (
            f"no value of {', '.join(said)} is a category that the model knows: all count as unknown; texts and "
            "numbers must be written as in the training set"
        )
        warn_caller(message, "categories.unknown")


def _refuse_numbers(lists: Mapping[int, CategoryList]) -> None:
    """Raise an error if an array may hold categories that are numbers, or their places in a list."""
    for feature, known in lists.items():
        if not isinstance(known[0], str) and known != list(range(len(known))):
            first = ", ".join(f"{value:.17g}" for value in known[:3])
            message = (
                f"feature {feature} holds the categories {first}, ... of a column of a categorical type, and an "
                "array does not say whether its numbers are these or their places in that list; give a frame "
                "with the column's values"
            )
            raise ParamKindError(message, code="categorical")


def _refuse_unknown(table: Table, lists: Mapping[int, CategoryList]) -> None:
    """Raise an error for a column of a categorical type whose list is not known from the file of a model."""
    odd = sorted(_typed(table) - set(lists))
    if odd:
        message = (
            f"{_called(table, odd[0])}: got categories, and which numbers they have in the file of the model is "
            "not known; give their places in the categories of the training set, such as column.cat.codes, with NaN "
            "for -1"
        )
        raise ParamKindError(message, code="categorical")


def _encoded(
    table: Table,
    columns: dict[int, NDArray[Any]],
    known: Categories,
    missing: float | None,
    largest: float = _LARGEST,
) -> Table:
    """Return a table with the numbers of categories in place of some columns."""
    for feature, values in columns.items():
        what, own = _called(table, feature), known.lists.get(feature)
        is_text = own is not None and isinstance(own[0], str)
        if values.dtype.kind == "O" and own is not None and is_text:
            columns[feature] = _codes(values, own)
            continue
        if values.dtype.kind == "O" and any(value is not None for value in values):
            raise ParamKindError(
                f"{what}: got texts, expected numbers, as in the training set", code="kind"
            )
        floats = as_floats(values, what)
        if is_text and not np.isnan(floats).all():
            message = f"{what}: got numbers, expected the texts that the model was trained on"
            raise ParamKindError(message, code="kind")
        if own is not None and not is_text:
            columns[feature] = _places(floats, own, missing)
        elif feature in known.features:
            columns[feature] = _checked(floats, what, missing, largest)
        else:
            columns[feature] = floats
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


@dataclass(frozen=True)
class Listed:
    """The list of categories of a feature, and whether its column has a categorical type."""

    categories: CategoryList
    is_typed: bool


def categories_numbered(table: Table) -> tuple[Table, dict[int, Listed]]:
    """Return a table with numbers in place of texts and of columns of a categorical type, and their lists."""
    if not isinstance(table, (Array, Frame)):
        return table, {}
    of_texts = [at for at in range(table.num_features) if _has_texts(table.column(at))]
    numbers, known = encoded(table, of_texts, None, None, None)
    typed = _typed(table)
    listed = {at: Listed(known.lists.get(at, []), at in typed) for at in known.features}
    return numbers, listed


def categories_again(values: NDArray[np.float32], listed: Listed) -> Any:
    """Return the values that were numbered, and None or NaN for missing ones."""
    of_numbers = listed.categories and not isinstance(listed.categories[0], str)
    found = np.array(
        [*listed.categories, np.nan if of_numbers else None], "d" if of_numbers else "O"
    )
    at = np.where(np.isnan(values), len(listed.categories), values).astype(np.int64)
    return CategoryColumn(found[at]) if listed.is_typed else found[at]


def as_shown(categories: Sequence[str | float]) -> list[Any]:
    """Return categories as people write them: whole numbers without a fraction."""
    if any(isinstance(value, bool) for value in categories):
        return list(categories)
    numbers = [int(value) for value in categories if not isinstance(value, str) and value % 1 == 0]
    return numbers if len(numbers) == len(categories) else list(categories)


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
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            _check_exact(values[(values > _EXACT) | (values < -_EXACT)][:1].tolist(), what)
        return values
    given = [None if is_absent(value) else value for value in values.tolist()]
    present = [value for value in given if value is not None]
    if all(isinstance(value, str) for value in present):
        return np.array(given, object) if present else np.full(len(given), np.nan)
    odd = next((value for value in present if not isinstance(value, _NUMBERS)), None)
    if odd is not None:
        raise ParamKindError(
            f"{what}: got {shown(odd)} among categories, expected texts alone, or whole numbers",
            code="kind",
        )
    _check_exact(present, what)
    return np.array([np.nan if value is None else value for value in given], np.float64)


def _check_exact(values: list[Any], what: str) -> None:
    """Raise `DataError` for a whole number that doubles do not hold, and that would be another category."""
    large = next((one for one in values if isinstance(one, int) and abs(one) > _EXACT), None)
    if large is not None:
        message = (
            f"{what}: got the category {large}, expected whole numbers up to 2^53, or texts; make the ids text, "
            "such as frame[name].astype(str)"
        )
        raise DataError(message, code="category")


def _codes(values: NDArray[Any], names: CategoryList) -> NDArray[np.float64]:
    places: dict[Any, float] = {None: np.nan} | {name: at for at, name in enumerate(names)}
    found = (places.get(value, len(names)) for value in values.tolist())
    return np.fromiter(found, np.float64, len(values))


def _places(values: Column, known: CategoryList, missing: float | None) -> NDArray[np.float64]:
    """Return the places of numbers in a list, and the next one after the last for others."""
    # A column of single precision has the nearest ones.
    ordered = np.asarray(known, np.float64).astype(values.dtype)
    order = np.argsort(ordered, kind="stable")
    at = np.searchsorted(ordered[order], values)
    place = order[np.minimum(at, len(order) - 1)]
    found = np.where(ordered[place] == values, place, len(known)).astype(np.float64)
    found[np.isnan(values) | (values == missing)] = np.nan
    return found


def _checked(
    values: NDArray[Any], what: str, missing: float | None, largest: float
) -> NDArray[Any]:
    fits = (values >= 0) & (values <= largest) & (values == np.floor(values))
    wrong = ~(fits | np.isnan(values))
    if missing is not None:
        wrong &= values != missing
    row = first_true(wrong)
    if row is not None:
        message = (
            f"{what} holds categories: got {shown(float(values[row]))} in row {row}, expected whole "
            "numbers from 0 to 2^24, texts, or a column of a categorical type, which may hold any numbers"
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
    if not isinstance(table, Array):
        return table
    if table.values.dtype.kind == "O":
        own = [columns.get(at, table.values[:, at]) for at in range(table.num_features)]
        floats = [as_floats(column, f"feature {at}") for at, column in enumerate(own)]
        return Array(
            np.column_stack([column.astype(np.float64) for column in floats]), table.labels
        )
    if table.labels is None:
        return table
    own = [columns.get(at, column) for at, column in enumerate(table.values.T)]
    return Frame(own, table.labels, table.num_rows)
