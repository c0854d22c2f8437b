"""Options as people write them: checked here, so that each is named when it is wrong.

A wrong kind (text for a number) is a `ParamKindError`, which is a `TypeError` too; a value out of
range is a `ParamError`. The core checks what only it knows, such as which gains there are.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rustrank.errors import (
    DataError,
    ParamError,
    ParamKindError,
    UnknownNameError,
    shown,
    wrong_kind,
    wrong_value,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Container

#: As many threads as a pool may have.
_MOST_THREADS = 1024


def whole(name: str, value: Any, low: int, high: int | None = None, otherwise: str = "") -> int:
    """Take a whole number from ``low``, up to ``high`` where there is such an end."""
    upper = "" if high is None else f" to {high}"
    message = f"{name}: got {shown(value)}, expected a whole number from {low}{upper}{otherwise}"
    if isinstance(value, bool):
        raise ParamKindError(message, code=name)
    try:
        number = operator.index(value)
    except TypeError:
        raise ParamKindError(message, code=name) from None
    if number < low or number > (2**63 - 1 if high is None else high):
        raise ParamError(message, code=name)
    return number


def threads(value: Any, name: str = "num_threads") -> int | None:
    """Take a number of threads; None is all cores, and so is -1, as in other libraries."""
    if value is None or (type(value) is int and value == -1):
        return None
    return whole(name, value, 1, _MOST_THREADS, ", or None for all cores")


def seed_of(random_state: Any) -> int:
    """Take a ``random_state`` as a seed; None is 0: nothing here depends on the time of day."""
    return 0 if random_state is None else whole("random_state", random_state, 0, 2**64 - 1)


def real(name: str, value: Any) -> float:
    """Take a number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong_kind(name, value, "a number") from None


def share(name: str, value: Any, expected: str = "a share between 0 and 1") -> float:
    """Take a number between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise wrong_value(name, number, expected)
    return number


def text(name: str, value: Any) -> str:
    """Take a name."""
    if not isinstance(value, str):
        raise wrong_kind(name, value, "a name")
    return value


def decoded(name: str, value: Any) -> str:
    """Take a text, or the bytes of one."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (bytes, bytearray)):
        raise wrong_kind(name, value, "a text")
    try:
        return value.decode()
    except UnicodeDecodeError:
        message = (
            f"{name}: the bytes are no text; write those of a binary model to a file, and load that"
        )
        raise DataError(message, code=name) from None


def choice(
    name: str, value: Any, known: Collection[str], code: str | None = None, of: str = "one of"
) -> str:
    """Take one of several names."""
    if isinstance(value, str) and value in known:
        return value
    message = f"{name}: got {shown(value)}, expected {of} {', '.join(known)}"
    kind = UnknownNameError if isinstance(value, str) else ParamKindError
    raise kind(message, code=code or name)


def separated(given: str) -> list[str]:
    """Return the names in a text of several, separated by commas."""
    return [name.strip() for name in given.split(",")]


def flag(name: str, value: Any) -> bool:
    """Take True or False, and nothing that merely counts as such."""
    if not isinstance(value, bool):
        raise wrong_kind(name, value, "True or False")
    return value


def as_list(name: str, value: Any, expected: str, code: str | None = None) -> list[Any]:
    """Take several values: any iterable but a text."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise wrong_kind(name, value, expected, code)
    return list(value)


def named(
    name: str, value: Any, numbered: str, expected: str, code: str | None = None
) -> dict[str, Any]:
    """Take several things by name: a mapping from names, or a sequence, which is numbered."""
    import numpy as np  # The shell's completion does not wait for it.

    if isinstance(value, Mapping):
        return {text(name, key): one for key, one in value.items()}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        return {f"{numbered}{at}": one for at, one in enumerate(value)}
    raise wrong_kind(name, value, expected, code)


def fields_of(
    name: str, given: Any, known: Sequence[str], lengths: Container[int], expected: str
) -> dict[str, Any]:
    """Take named fields: a mapping, or a tuple of the first of them."""
    if isinstance(given, (tuple, list)) and len(given) in lengths:
        return dict(zip(known, given, strict=False))
    if not isinstance(given, Mapping):
        raise wrong_kind(name, given, expected)
    for field in given:
        if field not in known:
            message = f"{name} has {shown(field)}: expected {', '.join(known)}"
            raise UnknownNameError(message, code=name)
    return dict(given)


def as_augment(given: Any) -> tuple[float, int] | None:
    """Take a fraction of docs and a number of copies of queries."""
    if given is None:
        return None
    try:
        if isinstance(given, str):
            share, number = given.split("x")
            fraction, copies = float(share), int(number)
        else:
            fraction, copies = float(given[0]), operator.index(given[1])
            (_, _) = given
    except (TypeError, ValueError, LookupError):
        raise wrong_kind("augment", given, "(fraction, copies) such as (0.7, 5)") from None
    return fraction, whole("augment", copies, 1, 1024)


def gain_of(text: str) -> str | list[float]:
    """Read a gain from a command line: a name, or a table such as ``0,1,3,7``."""
    if text[:1].isdigit() or text[:1] in ("+", "-", "."):
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            message = f"--gain: got {text!r}, expected exp2, linear or a table such as 0,1,3,7"
            raise ParamError(message, code="metric.gain") from None
    return text
