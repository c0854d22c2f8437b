"""Fitted rankers of this and other libraries as boosters, where their trees or parts are needed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rustrank.errors import RustrankError, dropped_warnings
from rustrank.inputs.vectors import library
from rustrank.model.best_iteration import LATER_ROUNDS
from rustrank.model.booster import Booster


def as_booster(ranker: Any) -> Booster | None:
    """Return the booster that a ranker is, has or can be saved as; None for rankers without trees or parts.

    Models of LightGBM, XGBoost and CatBoost go through their own formats.
    """
    read = _READERS.get(library(ranker))
    return own_booster(ranker) if read is None else read(ranker)


def own_booster(ranker: Any) -> Booster | None:
    """Return the booster that a ranker of this library is or has, such as an estimator or a combiner."""
    if isinstance(ranker, Booster):
        return ranker
    for attribute in ("booster_", "booster"):
        try:
            found = getattr(ranker, attribute, None)
        except RustrankError:  # A combiner of scores has none; nor has one that is not fitted.
            continue
        if isinstance(found, Booster):
            return found
    return None


def _of_lightgbm(ranker: Any) -> Booster | None:
    booster = getattr(ranker, "booster_", ranker)
    to_text = getattr(booster, "model_to_string", None)
    return None if to_text is None else Booster.from_text(to_text())


def _of_xgboost(ranker: Any) -> Booster | None:
    booster = ranker.get_booster() if hasattr(ranker, "get_booster") else ranker
    if not hasattr(booster, "save_raw"):
        return None
    # An estimator with early stopping scores by the rounds up to the best.
    best = getattr(ranker, "best_iteration", None) if booster is not ranker else None
    booster = booster if best is None else booster[: best + 1]
    with dropped_warnings(LATER_ROUNDS):  # A booster of its own scores by all of them.
        return Booster.from_text(bytes(booster.save_raw("json")).decode())


def _of_catboost(ranker: Any) -> Booster | None:
    if not hasattr(ranker, "save_model"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        ranker.save_model(str(path), format="json")
        return Booster.load(path)


_READERS = {"lightgbm": _of_lightgbm, "xgboost": _of_xgboost, "catboost": _of_catboost}
