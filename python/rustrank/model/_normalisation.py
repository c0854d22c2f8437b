"""Normalisation of rankers' scores, and other arguments that mixtures and stacks share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rustrank.errors import DataError, ParamError, ParamKindError, shown
from rustrank.inputs.scalars import real
from rustrank.inputs.vectors import as_doubles
from rustrank.model.booster import Booster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: A normalisation as the extension reads it: a name, or a mean and a scale.
Normalising: TypeAlias = str | tuple[float, float]

_NAMES = ("logistic", "query", "query_range", "query_top")


def as_boosters(given: Any, name: str) -> list[Booster]:
    """Return a list of boosters, at least one."""
    if isinstance(given, (str, bytes, Booster)) or not hasattr(given, "__iter__"):
        message = f"{name}: got {shown(given)}, expected a list of boosters"
        raise ParamKindError(message, code=name)
    boosters = list(given)
    for at, one in enumerate(boosters):
        if not isinstance(one, Booster):
            message = f"{name}[{at}]: got {shown(one)}, expected a booster"
            raise ParamKindError(message, code=name)
    if not boosters:
        message = f"{name}: got none, expected a booster at least"
        raise ParamError(message, code=name)
    return boosters


def as_normalisations(normalise: Any, count: int, scores: Any) -> list[Normalising]:
    """Return the normalisation of each of ``count`` rankers."""
    one_for_all = normalise is None or isinstance(normalise, str)
    each = [normalise] * count if one_for_all else list(_as_list(normalise))
    if len(each) != count:
        message = f"normalise: got {len(each)}, expected one for each of {count} rankers"
        raise ParamError(message, code="normalise")
    of_set = [None] * count if scores is None else list(scores)
    if len(of_set) != count:
        message = f"scores: got {len(of_set)} arrays, expected one for each of {count} rankers"
        raise DataError(message, code="stack.scores")
    return [
        _normalising(one, own, at) for at, (one, own) in enumerate(zip(each, of_set, strict=True))
    ]


def _as_list(normalise: Any) -> Any:
    if hasattr(normalise, "__iter__"):
        return normalise
    message = f"normalise: got {shown(normalise)}, expected a name, or one for each ranker"
    raise ParamKindError(message, code="normalise")


def _normalising(one: Any, scores: Any, at: int) -> Normalising:
    if one is None:
        return "as-is"
    if isinstance(one, tuple) and len(one) == 2:
        return _pair(real("mean", one[0]), real("scale", one[1]))
    if one == "set":
        if scores is None:
            message = (
                f"normalise[{at}]: got 'set' without scores, expected scores= with what each "
                "ranker says of the docs of a set"
            )
            raise ParamError(message, code="normalise")
        return mean_and_deviation(as_doubles(scores, f"scores[{at}]"))
    if one in _NAMES:
        return str(one)
    names = ", ".join(map(repr, ("set", *_NAMES)))
    message = f"normalise: got {shown(one)}, expected None, {names}, or (mean, scale)"
    raise ParamError(message, code="normalise")


def _pair(mean: float, scale: float) -> tuple[float, float]:
    if math.isfinite(mean) and math.isfinite(scale) and scale > 0.0:
        return mean, scale
    message = f"normalise: got {(mean, scale)}, expected finite numbers, the scale above 0"
    raise ParamError(message, code="normalise")


def mean_and_deviation(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and standard deviation of scores, the same for any order of rows.

    The deviation of equal scores is returned as 1, so that they become 0.
    """
    if len(scores) == 0 or not np.isfinite(scores).all():
        message = "scores: got none or some that are not finite, expected finite numbers"
        raise DataError(message, code="stack.scores")
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((scores - mean) ** 2) / len(scores))
    return mean, deviation if deviation > 0.0 else 1.0


def as_weights(weights: Any, count: int) -> Sequence[float]:
    """Return a weight for each of ``count`` boosters; by default equal weights that sum to 1."""
    if weights is None:
        return [1.0 / count] * count
    taken: list[float] = as_doubles(weights, "weights").tolist()
    if len(taken) != count:
        message = f"weights: got {len(taken)}, expected one for each of {count} boosters"
        raise ParamError(message, code="weights")
    return taken
