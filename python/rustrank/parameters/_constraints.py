"""What bounds the use of features, by name or number: directions, interactions and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import ParamError, shown, wrong_kind
from rustrank.inputs.scalars import as_list, real, whole
from rustrank.inputs.tables import feature_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rustrank.data.dataset import Dataset


@dataclass(frozen=True)
class Limits:
    """Constraints by the numbers of features; those that change nothing are left out."""

    #: Whether scores may rise with a feature, or fall.
    monotone: list[tuple[int, bool]]
    interactions: list[list[int]]
    feature_weight: list[tuple[int, float]]

    @classmethod
    def of(cls, options: Mapping[str, Any], dataset: Dataset) -> Limits:
        """Check the kinds of options; the core checks what they mean together."""
        features = _Features(dataset.feature_names, dataset.query_ranks)
        directions = features.values_of("monotone", options["monotone"], _direction)
        weights = features.values_of("feature_weight", options["feature_weight"], real)
        return cls(
            [(feature, way > 0) for feature, way in directions.items() if way],
            _groups(options["interactions"], features),
            [(feature, weight) for feature, weight in weights.items() if weight != 1.0],
        )


@dataclass(frozen=True)
class _Features:
    """The features of a dataset; a constraint on one holds for its ranks in queries, too."""

    names: list[str]
    query_ranks: bool

    @property
    def _num_raw(self) -> int:
        return len(self.names) // 2 if self.query_ranks else len(self.names)

    def values_of(
        self, option: str, given: Any, checked: Callable[[str, Any], float]
    ) -> dict[int, float]:
        """Take a mapping from features, or a list with an entry a feature."""
        if given is None:
            return {}
        if isinstance(given, Mapping):
            items = [
                (self.number(option, key), checked(f"{option}[{shown(key)}]", value))
                for key, value in given.items()
            ]
        elif isinstance(given, (list, tuple, np.ndarray)):
            if len(given) not in (self._num_raw, len(self.names)):
                message = (
                    f"{option} has the wrong length: got {len(given)}, expected {self._num_raw}, "
                    "the number of features; or a mapping from features"
                )
                raise ParamError(message, code=option)
            items = [(at, checked(f"{option}[{at}]", one)) for at, one in enumerate(given)]
        else:
            raise wrong_kind(option, given, "a mapping from features, or a list")
        values = dict(items)
        if len(values) < len(items):
            raise ParamError(f"{option} has a feature twice, by name and by number", code=option)
        for feature, value in items:
            for rank in self.ranks(feature):
                values.setdefault(rank, value)
        return dict(sorted(values.items()))

    def ranks(self, feature: int) -> Iterable[int]:
        """Return the ranks of a feature, where they are features."""
        return [feature + self._num_raw] if self.query_ranks and feature < self._num_raw else []

    def number(self, option: str, key: Any) -> int:
        """Return the number of a feature."""
        return feature_number(option, key, self.names, len(self.names) - 1)


def _direction(what: str, value: Any) -> float:
    return whole(what, value, -1, 1, " (1 for rising, -1 for falling)")


def _groups(given: Any, features: _Features) -> list[list[int]]:
    expected = "a list of lists of features"
    if isinstance(given, Mapping):
        raise wrong_kind("interactions", given, expected)
    groups = []
    for group in () if given is None else as_list("interactions", given, expected):
        if isinstance(group, (str, bytes, Mapping)) or not hasattr(group, "__iter__"):
            raise wrong_kind("interactions", given, expected)
        numbers = {features.number("interactions", key) for key in group}
        numbers |= {rank for number in numbers for rank in features.ranks(number)}
        groups.append(sorted(numbers))
    return groups
