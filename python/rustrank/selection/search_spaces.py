"""Search spaces of a ranker's options: lists of values, ranges, and named grids such as the papers'."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from rustrank.errors import ParamError, ParamKindError, UnknownNameError, shown, wrong_kind
from rustrank.inputs.scalars import choice, flag, real, text
from rustrank.parameters.hints import hint

__all__ = ["Between", "grids"]

#: The most settings of a grid.
_MOST_SETTINGS = 100_000
#: After so many draws in a row that were drawn before, what is left is taken in its order.
_MISSES = 1000


@dataclass(frozen=True)
class Between:
    """A range of numbers, or of whole numbers if both ends are whole.

    Parameters
    ----------
    low, high : int or float
        The ends of the range, both included.
    log : bool, default False
        Whether to draw on a logarithmic scale.
    """

    low: float
    high: float
    log: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the range has only whole numbers."""
        return all(isinstance(end, (int, np.integer)) for end in (self.low, self.high))

    def check(self, name: str) -> None:
        """Raise `ParamError` for an empty range."""
        low, high = real(f"{name}, low", self.low), real(f"{name}, high", self.high)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            message = f"{name}: got {self}, expected a low end below a high one"
            raise ParamError(message, code="space")
        if flag(f"{name}, log", self.log) and low <= 0:
            message = f"{name}: got {self}, expected a low end above 0 on a logarithmic scale"
            raise ParamError(message, code="space")

    def draw(self, share: float) -> float | int:
        """Return the number at a share, 0 to below 1, of the way from the low end to the high one."""
        low, high = float(self.low), float(self.high) + self.is_whole
        if self.log:
            number = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            number = low + share * (high - low)
        return min(math.floor(number), int(self.high)) if self.is_whole else number


Space = Mapping[str, "Sequence[Any] | Between"]

#: Search spaces by name: those with a year are a paper's; where it gives only the ends, the steps are ours.
grids: Mapping[str, Space] = MappingProxyType(
    {
        # Burges, Svore and others (2011), section 4.2, with 3000 rounds.
        "lambdamart-2010": {
            "learning_rate": [0.01, 0.05, 0.1, 0.3, 0.5],
            "num_leaves": list(range(50, 401, 30)),
        },
        # The same, of two-layer nets with 500 epochs: the learning rate from 1e-4 to 1e-2.
        "lambdarank-2010": {
            "hidden": [(10,), (15,), (20,), (25,), (30,)],
            "learning_rate": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2],
        },
        # Svore and Burges (2011), section 1.5: 0.05 to 0.5 and 20 to 220 leaves, with 1000 rounds.
        "lambdamart-2011": {
            "learning_rate": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5],
            "num_leaves": [20, 60, 100, 140, 180, 220],
        },
        # Gao and others (2009), figure 4, and Wu and others (2008), section 5.2; with 500 rounds.
        "lambdasmart-2009": {"num_leaves": [2, 3, 5, 10, 20], "learning_rate": [0.05, 0.1]},
        # Our own: the parameters that matter most on real data.
        "lambdamart": {
            "learning_rate": Between(0.02, 0.3, log=True),
            "num_leaves": Between(4, 64, log=True),
            "min_leaf_docs": Between(5, 200, log=True),
            "features_per_node": Between(0.3, 1.0),
            "l2": Between(1e-3, 10.0, log=True),
        },
        "lambdarank": {
            "hidden": [(), (8,), (16,), (32,), (16, 16)],
            "learning_rate": Between(3e-4, 3e-2, log=True),
            "weight_decay": Between(1e-3, 1.0, log=True),
        },
    }
)


def as_space(given: Any, known: Collection[str], kind: str) -> dict[str, Sequence[Any] | Between]:
    """Return a space, given as one or by name; every parameter must be an option of the ranker.

    A tuple of two numbers is a range. It has only whole numbers if both ends are whole, unless ``known``
    is a mapping in which the default of the parameter is a float.
    """
    if isinstance(given, str):
        given = grids[choice("space", given, grids)]
    if not isinstance(given, Mapping) or not given:
        raise wrong_kind("space", given, "a name, or values for each parameter")
    space: dict[str, Sequence[Any] | Between] = {}
    for name, values in given.items():
        if text("space", name) not in known:
            message = f"space: {kind} has no parameter {name!r}; {hint(name, list(known))}"
            raise UnknownNameError(message, code="space")
        default = known[name] if isinstance(known, Mapping) else None
        space[name] = _values(name, values, is_real=isinstance(default, float))
    return space


def _values(name: str, values: Any, is_real: bool) -> Sequence[Any] | Between:
    if _is_range(values):
        low, high = values
        values = Between(float(low), float(high)) if is_real else Between(low, high)
    if isinstance(values, Between):
        values.check(name)
        return values
    is_list = hasattr(values, "__iter__") and not isinstance(values, (str, bytes, Mapping))
    listed = list(values) if is_list else []
    if not listed:
        message = (
            f"space: {name} is {shown(values)}, expected a list of values, or a range: "
            "(low, high) or Between(low, high)"
        )
        raise ParamKindError(message, code="space")
    plain = [one.item() if isinstance(one, np.generic) else one for one in listed]
    return list({repr(one): one for one in plain}.values())


def _is_range(values: Any) -> bool:
    """Whether values are a tuple of two numbers: ``(low, high)``."""
    return (
        isinstance(values, tuple)
        and len(values) == 2
        and all(isinstance(end, (int, float, np.integer, np.floating)) for end in values)
        and not any(isinstance(end, bool) for end in values)
    )


def grid_settings(space: Mapping[str, Sequence[Any] | Between]) -> list[dict[str, Any]]:
    """Return all settings of a space of lists."""
    lists: dict[str, Sequence[Any]] = {}
    for name, values in space.items():
        if isinstance(values, Between):
            message = (
                f"space: {name} is a range, {values}, of which a grid cannot try all: pass a list, or "
                'method="random" or "optuna"'
            )
            raise ParamError(message, code="space")
        lists[name] = values
    count = math.prod(map(len, lists.values()))
    if count > _MOST_SETTINGS:
        message = f"space has {count:,} settings, expected at most {_MOST_SETTINGS:,}"
        raise ParamError(message, code="space")
    return [dict(zip(lists, point, strict=True)) for point in itertools.product(*lists.values())]


def random_settings(
    space: Mapping[str, Sequence[Any] | Between], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield random settings; each depends only on the seed and its number."""
    for number in itertools.count():
        shares = np.random.default_rng([seed, number]).random(len(space))
        yield {
            name: values.draw(share)
            if isinstance(values, Between)
            else values[int(share * len(values))]
            for (name, values), share in zip(space.items(), shares.tolist(), strict=True)
        }


def num_settings(space: Mapping[str, Sequence[Any] | Between]) -> float:
    """Return the number of different settings of a space, which may be infinite."""
    return math.prod(_num_values(values) for values in space.values())


def _num_values(values: Sequence[Any] | Between) -> float:
    if not isinstance(values, Between):
        return len(values)
    return int(values.high) - int(values.low) + 1 if values.is_whole else math.inf


def different_settings(
    space: Mapping[str, Sequence[Any] | Between], seed: int, wanted: int
) -> list[dict[str, Any]]:
    """Return random settings without repeats: ``wanted`` of them, or all that there are.

    Those of a smaller number are the first ones of a larger number.
    """
    found: dict[str, dict[str, Any]] = {}
    wanted = int(min(wanted, num_settings(space)))
    misses = 0
    for setting in random_settings(space, seed):
        if len(found) == wanted or misses == _MISSES:
            break
        misses = misses + 1 if repr(setting) in found else 0
        found.setdefault(repr(setting), setting)
    if len(found) < wanted:
        # What is left is hardly ever drawn, such as the end of a logarithmic range.
        lists = [
            range(int(values.low), int(values.high) + 1) if isinstance(values, Between) else values
            for values in space.values()
        ]
        for point in itertools.product(*lists):
            setting = dict(zip(space, point, strict=True))
            found.setdefault(repr(setting), setting)
            if len(found) == wanted:
                break
    return list(found.values())
