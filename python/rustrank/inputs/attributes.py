"""Attributes of model files as values: a file may say anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from rustrank.errors import ModelFormatError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: What `positive_of` expects.
WHOLE = "a whole number from 1"

V = TypeVar("V")
D = TypeVar("D")


def read_attribute(
    attributes: Mapping[str, str], name: str, read: Callable[[str], V], expected: str, default: D
) -> V | D:
    """Return what ``read`` makes of an attribute of a model; the default where there is none.

    A `ValueError`, `TypeError` or `RecursionError` of ``read`` becomes a `ModelFormatError` that says what was
    expected.
    """
    text = attributes.get(name)
    if text is None:
        return default
    try:
        return read(text)
    except (ValueError, TypeError, RecursionError):
        message = (
            f"the attribute {name} of the model is wrong: got {shown(text)}, expected {expected}"
        )
        raise ModelFormatError(message, code="model.attribute") from None


def mapping_of(text: str) -> dict[str, Any]:
    """Return the mapping that a text of JSON is; a `TypeError` if it is anything else."""
    read = json.loads(text)
    if not isinstance(read, dict):
        raise TypeError
    return read


def positive_of(text: str) -> int:
    """Return a text as a whole number from 1 on, or raise a `ValueError`."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number
