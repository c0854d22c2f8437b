"""What ``predict`` makes of raw scores: LightGBM transforms them as the objective of a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rustrank.errors import ParamError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rustrank.model.booster import Booster

#: Objectives whose raw scores are predictions; those with ``sqrt`` are squared.
_PLAIN = (
    *("lambdarank", "rank_xendcg", "regression", "regression_l1", "huber", "fair", "quantile"),
    *("mape", "custom"),
)
_EXPONENTIAL = ("poisson", "gamma", "tweedie")
_OTHERS = ("binary", "cross_entropy", "cross_entropy_lambda")
#: Objectives of rustrank by LightGBM's names.
_NAMES = {"xendcg": "rank_xendcg"}


def objective_of(model: Booster) -> str | None:
    """Return the objective as LightGBM's model files have it; None if the model's file had none."""
    params = model.params
    if params.get("source") == "LightGBM":
        return params.get("objective")
    return _NAMES.get(params.get("objective", ""), "lambdarank")


def predicted(objective: str | None, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the predictions of raw scores under the objective of a model file."""
    name, *rest = (objective or "custom").split()
    options = dict(one.partition(":")[::2] for one in rest)
    with np.errstate(over="ignore"):
        if name == "binary":
            found = 1.0 / (1.0 + np.exp(-_number(options, "sigmoid") * raw))
        elif name == "cross_entropy":
            found = 1.0 / (1.0 + np.exp(-raw))
        elif name == "cross_entropy_lambda":
            found = np.log1p(np.exp(raw))
        elif name in _EXPONENTIAL:
            found = np.exp(raw)
        elif name in _PLAIN:
            found = np.sign(raw) * raw * raw if "sqrt" in options else raw
        else:
            raise _unknown(name)
    return np.asarray(found, np.float64)


def _number(options: Mapping[str, str], name: str) -> float:
    try:
        return float(options.get(name, "1"))
    except ValueError:
        message = f"the model file has {name}:{shown(options[name])}, expected a number"
        raise ParamError(f"{message}; raw_score=True does not need it", code="objective") from None


def _unknown(name: str) -> ParamError:
    known = ", ".join((*_PLAIN, *_EXPONENTIAL, *_OTHERS))
    message = f"the model file has the objective {shown(name)}, expected one of {known}"
    return ParamError(f"{message}; raw_score=True returns raw scores", code="objective")
