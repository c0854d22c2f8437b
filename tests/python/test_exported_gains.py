"""Gains of splits in the files of other libraries are on the scale of these libraries."""

import json
from typing import Any

import numpy as np
import pytest

import rustrank as rr


def of_lightgbm(booster: rr.Booster) -> list[float]:
    lines = booster.export("lightgbm").decode().splitlines()
    (line,) = [line for line in lines if line.startswith("split_gain=")]
    return [float(gain) for gain in line.partition("=")[2].split()]


def of_xgboost(booster: rr.Booster) -> list[float]:
    tree = json.loads(booster.export("xgboost"))["learner"]["gradient_booster"]["model"]["trees"][0]
    pairs = zip(tree["loss_changes"], tree["left_children"], strict=True)
    return [gain for gain, left in pairs if left >= 0]


@pytest.mark.parametrize("gains", [of_lightgbm, of_xgboost])
def test_a_gain_is_that_of_the_other_library(gains: Any) -> None:
    """Squared error: the sum of squared gradients over hessians of both sides, less that of the node."""
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 3))
    y = np.round(np.clip(X[:, 0] + random.normal(size=400) + 2, 0, 4))
    data = rr.Dataset(X, y, qid=np.repeat(np.arange(20), 20))
    booster = rr.train(data, objective="regression", num_trees=1, num_leaves=2, learning_rate=1.0)
    sides = booster.predict(X)
    residuals = y - y.mean()
    expected = sum(
        residuals[sides == side].sum() ** 2 / (sides == side).sum() for side in set(sides)
    )
    expected -= residuals.sum() ** 2 / len(y)
    assert gains(booster) == pytest.approx([expected], rel=1e-4)
    (reduction,) = booster.feature_importance("reduction")[booster.feature_importance("count") > 0]
    assert reduction == pytest.approx(expected / 2, rel=1e-4)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_model_that_comes_back_has_the_same_reductions(
    library: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    docs = rr.datasets.make_polynomial(40, 10, seed=3)
    booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=5)
    path = tmp_path_factory.mktemp("gains") / "model"
    booster.export(library, path)
    again = rr.Booster.load(path)
    # XGBoost's numbers are of single precision.
    close = 0 if library == "lightgbm" else 1e-6
    assert again.feature_importance("reduction") == pytest.approx(
        booster.feature_importance("reduction"), rel=close
    )
