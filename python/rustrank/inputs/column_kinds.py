"""What columns hold by their types: text, dates or durations; and the error of those that are no numbers."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import ParamKindError, shown
from rustrank.inputs.vectors import DATES_HINT, is_date, is_duration, library

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The beginnings of the names of types in numpy, pandas, polars and Arrow, in lower case.
_TEXT = ("string", "large_string", "<u", ">u")
_DURATIONS = ("timedelta", "duration")
_DATES = ("date", "timestamp", "period", "time")
#: What each kind of value is called where one was found instead of a number.
_HINTS = {
    "text": "categories are declared where the training set is made: categorical=[{}]",
    "dates": DATES_HINT,
    "durations": DATES_HINT,
}
#: Whether the columns are read for a trained model, for which it is too late to declare categories.
_IS_TRAINED: ContextVar[bool] = ContextVar("is_trained", default=False)


@contextmanager
def read_by_a_model() -> Iterator[None]:
    """Let errors say that a trained model reads the columns."""
    token = _IS_TRAINED.set(True)
    try:
        yield
    finally:
        _IS_TRAINED.reset(token)


def kind_of(column: Any) -> str | None:
    """Return "text", "dates" or "durations" if that is the type of a column; None for all other types."""
    kind = str(column.type if library(column) == "pyarrow" else column.dtype).lower()
    if kind == "str" or kind.startswith(_TEXT):
        return "text"
    if kind.startswith(_DURATIONS):
        return "durations"
    return "dates" if kind.startswith(_DATES) else None


def kind_of_values(column: Any) -> str | None:
    """Return the kind of a column as `kind_of`, from its values where its type is that of any object."""
    if kind_of(column) is not None or str(getattr(column, "dtype", "")).lower() != "object":
        return kind_of(column)
    values: list[Any] = np.asarray(column, object).ravel().tolist()
    if any(isinstance(value, str) for value in values):
        return "text"
    if any(is_duration(value) for value in values):
        return "durations"
    return "dates" if any(is_date(value) for value in values) else None


def refuse_columns(columns: Sequence[Any], labels: Sequence[Any], what: str | None = None) -> None:
    """Raise one error for all columns of text, dates or durations, with a hint for each kind.

    Columns are called by their labels, or all together by one name.
    """
    found: dict[str, list[str]] = {}
    for column, label in zip(columns, labels, strict=True):
        kind = kind_of_values(column)
        if kind is not None:
            found.setdefault(kind, []).append(shown(label))
    if not found:
        return
    parts = []
    for kind, names in found.items():
        called = what or f"column{'s' * (len(names) > 1)} {', '.join(names)}"
        hint = f"; {_HINTS[kind].format(', '.join(names))}"
        if kind == "text" and _IS_TRAINED.get():
            hint = ", as in the training set"
        parts.append(f"{called}: got {kind}, expected numbers{hint}")
    code = "categorical" if "text" in found else next(iter(found))
    raise ParamKindError("; ".join(parts), code=code)
