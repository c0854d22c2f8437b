"""The exceptions of rustrank, derived from one base class and from built-in exceptions."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "CommError",
    "CommTimeout",
    "DataError",
    "InternalError",
    "ModelFormatError",
    "ModelVersionError",
    "NotFittedError",
    "ParamError",
    "ResourceError",
    "RustrankError",
    "RustrankWarning",
]


class RustrankError(Exception):
    """Base of all errors that rustrank raises itself.

    Files that cannot be opened raise the usual ``OSError`` subclasses, wrong types `ParamKindError`,
    which is a ``TypeError``, too.

    Attributes
    ----------
    code : str or None
        A stable name for programs, such as ``label.nan``.
    row : int or None
        The row of the caller's array, from 0.
    query, feature : str or None
        The query and the feature, where the fault has one.
    path : str or None
        The file.
    line, column : int or None
        The place in a text, from 1.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        row: int | None = None,
        query: str | None = None,
        feature: str | None = None,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.row, self.query, self.feature = code, row, query, feature
        self.path, self.line, self.column = path, line, column


class DataError(RustrankError, ValueError):
    """The data are invalid."""


class ParamError(RustrankError, ValueError):
    """A parameter is unknown or out of range."""


class ParamKindError(ParamError, TypeError):
    """A parameter has the wrong type, such as text for a number."""


class UnknownNameError(ParamError, KeyError):
    """A name is unknown."""

    # KeyError would show the message quoted, as if it were the key.
    __str__ = Exception.__str__


class UnknownArgumentError(UnknownNameError, TypeError):
    """A function has no argument of this name; Python's own error for it is a `TypeError`, too."""


class ModelFormatError(RustrankError, ValueError):
    """A model or a model file is invalid."""


class ModelVersionError(ModelFormatError):
    """A model file has a format version that this version of rustrank does not read."""


class ResourceError(RustrankError, MemoryError):
    """A table would not fit into memory."""


class CommError(RustrankError, RuntimeError):
    """Another worker has failed, or has other data or options."""


class CommTimeout(CommError, TimeoutError):  # noqa: N818  (as the built-in class ends)
    """Another worker did not answer in time."""


class NotFittedError(RustrankError, ValueError, AttributeError):
    """A ranker was used before it was fitted."""


class InternalError(RustrankError, RuntimeError):
    """A bug in rustrank; please report it."""


class RustrankWarning(UserWarning):
    """Something is allowed, but probably a mistake."""


def unfitted(kind: str) -> RustrankError:
    """Return the error of a ranker that is not fitted; also scikit-learn's, if that is loaded."""
    message = f"this {kind} is not fitted: call fit first"
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError(message, code="unfitted")
    made: RustrankError = _both(theirs.NotFittedError)(message, code="unfitted")
    vars(made)["_kind"] = kind
    return made


@functools.cache
def _both(theirs: type[Exception]) -> Any:
    # A class made here has no name that pickle could look up.
    again = {"__reduce__": lambda error: (unfitted, (error._kind,))}
    return type("NotFittedError", (NotFittedError, theirs), again)


def wrong_kind(name: str, value: object, expected: str, code: str | None = None) -> ParamKindError:
    """Return the error of an argument of the wrong type: what was found, and what was expected."""
    return ParamKindError(f"{name}: got {shown(value)}, expected {expected}", code=code or name)


def wrong_value(name: str, value: object, expected: str, code: str | None = None) -> ParamError:
    """Return the error of an argument that is out of range: what was found, and what was expected."""
    return ParamError(f"{name}: got {shown(value)}, expected {expected}", code=code or name)


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return the suggestion for an unknown name, as the end of a message."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""


def listed(names: Iterable[Any]) -> str:
    """Return names for a message, the first of many."""
    most, every = 8, [shown(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


#: The number of running blocks that drop warnings, by the code of the warnings; "" for all.
_DROPPED: Counter[str] = Counter()
_LOCK = threading.Lock()


@contextmanager
def dropped_warnings(code: str = "") -> Iterator[None]:
    """Drop warnings of this library, or those with a code, in all threads.

    For folds and other parts of the caller's data, which the caller cannot change. The filters of `warnings`
    are left alone: changing them would have Python repeat other warnings.
    """
    with _LOCK:
        _DROPPED[code] += 1
    try:
        yield
    finally:
        with _LOCK:
            _DROPPED[code] -= 1


def warn_caller(message: str, code: str = "") -> bool:
    """Issue a warning that points to the code that called this library, unless such warnings are dropped.

    Returns whether it was issued.
    """
    if _DROPPED[""] or _DROPPED[code]:
        return False
    frame, depth = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("rustrank."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, RustrankWarning, stacklevel=depth + 1)
    return True


def shown(value: Any) -> str:
    """Return the representation of a value for a message, shortened."""
    longest = 60
    shape = getattr(value, "shape", None)
    if hasattr(value, "columns") and isinstance(shape, tuple) and len(shape) == 2:
        return f"a {type(value).__name__} of {shape[0]} rows and {shape[1]} columns"
    try:
        text = repr(value)
    except Exception:  # Anybody may have written that `__repr__`.
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"
