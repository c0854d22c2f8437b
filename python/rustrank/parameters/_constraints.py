"""What is said of single features, by name or number: directions, interactions, weights and ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rustrank.errors import ParamError, shown, wrong_kind
from rustrank.inputs.scalars import as_list, real, whole
from rustrank.inputs.tables import feature_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rustrank.data.dataset import Dataset


class Limits:
    """Constraints by the numbers of features; those that change nothing are left out.

    The kinds of options are checked here; the core checks what they mean together. A constraint on a
    feature holds for its ranks in queries, too.
    """

    def __init__(self, options: Mapping[str, Any], dataset: Dataset) -> None:
        self._names = dataset.feature_names
        self._num_raw = len(self._names) // (2 if dataset.query_ranks else 1)
        directions = self._values("monotone", options["monotone"], _direction)
        weights = self._values("feature_weight", options["feature_weight"], real)
        #: Whether scores may rise with a feature, or fall.
        self.monotone = [(feature, way > 0) for feature, way in directions.items() if way]
        self.interactions = list(self._groups(options["interactions"]))
        tie_feature = options["step_tie_feature"]
        #: What ranks docs with equal scores in exact steps.
        self.tie_feature = (
            None if tie_feature is None else self._number("step_tie_feature", tie_feature)
        )
        self.feature_weight = [pair for pair in weights.items() if pair[1] != 1.0]

    def _values(
        self, option: str, given: Any, checked: Callable[[str, Any], float]
    ) -> dict[int, float]:
        """Take a mapping from features, or a list with an entry a feature."""
        if given is None:
            return {}
        if isinstance(given, Mapping):
            items = [
                (self._number(option, key), checked(f"{option}[{shown(key)}]", value))
                for key, value in given.items()
            ]
        elif isinstance(given, (list, tuple, np.ndarray)):
            if len(given) not in (self._num_raw, len(self._names)):
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
            for rank in self._ranks(feature):
                values.setdefault(rank, value)
        return dict(sorted(values.items()))

    def _groups(self, given: Any) -> Iterator[list[int]]:
        expected = "a list of lists of features"
        if isinstance(given, Mapping):
            raise wrong_kind("interactions", given, expected)
        for group in () if given is None else as_list("interactions", given, expected):
            if isinstance(group, (str, bytes, Mapping)) or not hasattr(group, "__iter__"):
                raise wrong_kind("interactions", given, expected)
            numbers = {self._number("interactions", key) for key in group}
            yield sorted(numbers.union(*map(self._ranks, numbers)))

    def _ranks(self, feature: int) -> list[int]:
        """Return the ranks of a feature, where they are features."""
        rank = feature + self._num_raw
        return [rank] if rank < len(self._names) else []

    def _number(self, option: str, key: Any) -> int:
        return feature_number(option, key, self._names, len(self._names) - 1)


def _direction(what: str, value: Any) -> float:
    return whole(what, value, -1, 1, " (1 for rising, -1 for falling)")
