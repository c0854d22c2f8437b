"""Names of features of models and data sets that are joined, where a feature is known by its position."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rustrank.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

#: What features without names are called, here and in other libraries.
_NUMBERED = ("Column_{}", "{}", "f{}")
#: The columns in which pandas keeps an index that has no name.
_INDEX = re.compile(r"__index_level_\d+__")


def without_spaces(names: Iterable[str]) -> list[str]:
    """Return names with an underscore for each space, as LightGBM's files have them."""
    return [re.sub(r"\s", "_", name) for name in names]


def is_index(name: str) -> bool:
    """Return whether a column of Arrow or Parquet is an index of pandas that had no name."""
    return _INDEX.fullmatch(name) is not None


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether names are what features without names are called: ``f0``, ``f1``, ..."""
    return any(all(name == form.format(at) for at, name in enumerate(names)) for form in _NUMBERED)


def numbered_in(names: Sequence[str], count: int) -> list[str] | None:
    """Return what so many features without names are called if one of these is among some names, else None.

    Of several forms it is the one that most of the names have.
    """
    known = set(names)
    forms = [[form.format(at) for at in range(count)] for form in _NUMBERED]
    found = [len(known.intersection(wanted)) for wanted in forms]
    return forms[found.index(max(found))] if any(found) else None


def have_same_names(names: Sequence[str] | None, others: Sequence[str] | None) -> bool:
    """Return whether features are the same by position: names are equal, or one side has none."""
    if names is None or others is None or without_spaces(names) == without_spaces(others):
        return True
    return are_numbered(names) or are_numbered(others)


def features_of_text(lists: Mapping[int, Sequence[Any]]) -> list[int]:
    """Return the features whose lists of categories hold texts."""
    return [feature for feature, own in lists.items() if isinstance(own[0], str)]


def check_joined_texts(
    first: tuple[str, Collection[int]], other: tuple[str, Collection[int]], hint: str
) -> None:
    """Raise `DataError` unless the same features hold texts in two things that are joined.

    Each has its features with texts, by number: where a feature holds numbers in the other, the numbers
    of the texts would be read as these.
    """
    (what, mine), (of, theirs) = first, other
    odd = sorted(set(mine) ^ set(theirs))
    if odd:
        texts, numbers = (what, of) if odd[0] in mine else (of, what)
        message = f"feature {odd[0]} holds texts in {texts}, and numbers in {numbers}; {hint}"
        raise DataError(message, code="features.names", feature=str(odd[0]))


def check_joined_names(
    first: tuple[str, Sequence[str] | None], other: tuple[str, Sequence[str] | None], hint: str
) -> None:
    """Raise `DataError` unless two things, each with the names of its features, may be joined by position.

    The message names the first difference, and ends with what works instead.
    """
    (what, names), (of, theirs) = first, other
    if names is None or theirs is None or have_same_names(names, theirs):
        return
    pairs = enumerate(zip_longest(names, theirs))
    at, (mine, their) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    found, expected = ("none" if one is None else shown(one) for one in (mine, their))
    message = (
        f"{of} has other features than {what}, or another order: feature {at} is {expected} in {of}, "
        f"and {found} in {what}; {hint}"
    )
    raise DataError(message, code="features.names", feature=mine if their is None else their)
