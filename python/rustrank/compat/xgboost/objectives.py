"""What ``predict`` makes of scores: XGBoost transforms them as the objective of a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def _sigmoid(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-margins))
    return found


def _step(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    return (margins > 0).astype(np.float64)


_TRANSFORMATIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "binary:logistic": _sigmoid,
    "reg:logistic": _sigmoid,
    "binary:hinge": _step,
    **dict.fromkeys(
        ("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox"), np.exp
    ),
}


def is_transformed(objective: str) -> bool:
    """Return whether predictions of a model with this objective are other numbers than its scores."""
    return objective in _TRANSFORMATIONS


def predicted(objective: str, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the predictions of scores under the objective of a model file."""
    with np.errstate(over="ignore"):
        transformation = _TRANSFORMATIONS.get(objective)
        return margins if transformation is None else transformation(margins)
