"""What the categories of a model are: texts, or the numbers of a list of LightGBM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustrank import _rustrank

#: The note of LightGBM's models with the categories of each feature, where some are no texts.
_LISTS = "pandas_categorical"


def category_kinds(core: _rustrank.Booster) -> dict[int, str]:
    """Return "text" or "number" for each feature of a model whose categories have names.

    Other features hold numbers, which may be categories too: these have no names.
    """
    names = core.category_names()
    of_numbers = [[_name_of(one) for one in found] for found in _lists_of_numbers(core)]
    return {
        feature: "number" if found in of_numbers else "text" for feature, found in names.items()
    }


def _lists_of_numbers(core: _rustrank.Booster) -> list[list[Any]]:
    """Return the lists of categories that are not texts."""
    attributes: Mapping[str, str] = core.attributes()
    lists = json.loads(attributes.get(_LISTS, "null")) or []
    return [found for found in lists if not all(isinstance(one, str) for one in found)]


def _name_of(category: Any) -> str:
    """Return the name that a model has for a category of a list in JSON."""
    return category if isinstance(category, str) else json.dumps(category)
