"""Scores of some rounds of a booster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rustrank.model.booster import Booster


def part_of(booster: Booster, rounds: int) -> Booster:
    """Return the booster of the first rounds; itself if these are all."""
    return booster if rounds >= booster.num_rounds else booster.truncate(rounds)


def scores_of_rounds(
    booster: Booster,
    X: Any,
    start: int,
    end: int,
    num_threads: int | None = None,
    *,
    contributions: bool = False,
    missing: float = float("nan"),
    keeps_intercept: bool = False,
) -> NDArray[np.float64]:
    """Return scores, or contributions of features, of the rounds from ``start`` to before ``end``.

    The score without any tree is that of the first rounds alone, or of any with ``keeps_intercept``.
    """
    reading: dict[str, Any] = {"num_threads": num_threads, "missing": missing}

    def of(part: Booster) -> NDArray[np.float64]:
        return part.explain(X, **reading) if contributions else part.predict(X, **reading)

    found = of(part_of(booster, end))
    if start > 0:
        found = found - of(booster.truncate(start))
        if keeps_intercept:
            found = found + of(booster.truncate(0))
    return found
