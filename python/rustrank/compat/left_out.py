"""Errors of names of other libraries that have been left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank.errors import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def absent(
    owner: str, name: str, left_out: Mapping[str, str], known: Iterable[str]
) -> AttributeError:
    """Return the error of a name that is not there: what there is in rustrank, or what was meant."""
    if name in left_out:
        return AttributeError(f"{owner} has no {name}; in rustrank: {left_out[name]}", name=name)
    return AttributeError(f"{owner} has no {name}{suggestion(name, known)}", name=name)
