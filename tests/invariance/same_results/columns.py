"""Columns of features of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from same_results.cases import Case

KINDS = (
    "floats",
    "few",
    "constant",
    "holes",
    "empty",
    "huge",
    "tiny",
    "zeros",
    "whole",
    "categories",
    "sparse",
    "copy",
    "close",
)
_SHARES = (0.25, 0.14, 0.03, 0.1, 0.01, 0.06, 0.05, 0.06, 0.1, 0.08, 0.06, 0.03, 0.03)
#: The kinds that LETOR text cannot hold, which has no missing values.
WITH_HOLES = ("holes", "empty")


def kinds_of(number: int, num_features: int) -> list[str]:
    """Return the kinds of so many columns, the first of those that a number stands for."""
    drawn = np.random.default_rng([number, 7]).choice(KINDS, 41, p=_SHARES)
    return [str(kind) for kind in drawn[:num_features]]


def draw_columns(case: Case, num_rows: int, purpose: int) -> NDArray[np.float64]:
    """Return the features of a case."""
    kinds = kinds_of(case.get("docs.kinds"), case.get("docs.features"))
    if case.get("docs.no_holes"):
        kinds = ["floats" if kind in WITH_HOLES else kind for kind in kinds]
    columns: list[NDArray[np.float64]] = []
    for at, kind in enumerate(kinds):
        random = np.random.default_rng([case.number, purpose, 1000 + at])
        if kind == "copy" and columns:
            columns.append(columns[-1].copy())
        else:
            columns.append(_column(kind, num_rows, random, case.number + at))
    return np.array(columns).T.copy() if columns else np.zeros((num_rows, 0))


def _column(
    kind: str, num_rows: int, random: np.random.Generator, of_column: int
) -> NDArray[np.float64]:
    values = random.normal(size=num_rows)
    if kind in ("constant", "empty"):
        return np.full(num_rows, float(of_column % 3) if kind == "constant" else np.nan)
    if kind in ("huge", "tiny"):
        # Below 1.2e-38 a 32-bit float is denormal, and below 7e-46 it is 0.
        size = (
            random.uniform(0, 38, num_rows)
            if kind == "huge"
            else random.uniform(-46, -30, num_rows)
        )
        return np.asarray(np.sign(values) * 10.0**size)
    if kind == "zeros":
        return random.choice([0.0, -0.0, 1e-45, -1e-45, 1.0], num_rows)
    if kind == "whole":
        return random.integers(-20, 300, num_rows).astype(np.float64)
    if kind == "categories":
        most = (3, 6, 30, 300)[of_column % 4]
        return np.floor(random.random(num_rows) ** 2 * most)
    return _changed(kind, values, random)


def _changed(
    kind: str, values: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return other floats, made of normal ones."""
    if kind == "few":
        return np.asarray(np.round(values * 2) / 2)
    if kind == "holes":
        return np.where(random.random(len(values)) < 0.3, np.nan, np.round(values, 2))
    if kind == "sparse":
        return np.where(random.random(len(values)) < 0.9, 0.0, values)
    if kind == "close":
        # Different as doubles; many are the same 32-bit float.
        return np.asarray(1.0 + np.round(values, 1) * 2.0**-24)
    return values
