"""Predictions of models of XGBoost that are no rankers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.xgboost as compat

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(400, 4)).astype(np.float32)
Y = (X[:, 0] + RANDOM.normal(size=400) * 0.3 > 0).astype(np.float32)
OBJECTIVES = {
    **dict.fromkeys(("binary:logistic", "reg:logistic", "binary:hinge", "binary:logitraw"), Y),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), Y + 1),
    "reg:squarederror": Y,
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_predictions_are_those_of_xgboost(objective: str, tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost")
    params = {"objective": objective, "max_depth": 3, "nthread": 1}
    theirs = xgb.train(params, xgb.DMatrix(X, OBJECTIVES[objective]), 10)
    theirs.save_model(tmp_path / "m.json")
    ours = compat.Booster(model_file=tmp_path / "m.json")
    for how in ({}, {"output_margin": True}, {"iteration_range": (0, 4)}):
        wanted = theirs.predict(xgb.DMatrix(X), **how)
        assert np.allclose(ours.predict(compat.DMatrix(X), **how), wanted, rtol=2e-6, atol=1e-6)
    for kind in ("value", "margin"):
        wanted = theirs.inplace_predict(X, predict_type=kind)
        assert np.allclose(ours.inplace_predict(X, predict_type=kind), wanted, rtol=2e-6, atol=1e-6)


def test_a_probability_is_the_logistic_of_the_margin(tmp_path: Path) -> None:
    data = rr.datasets.make_polynomial(30, seed=1)
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=3)
    text = booster.export("xgboost").decode()
    assert '"name":"rank:ndcg"' in text
    (tmp_path / "m.json").write_text(
        text.replace('"name":"rank:ndcg"', '"name":"binary:logistic"').replace(
            '"base_score":"0.0"', '"base_score":"0.5"'
        )
    )
    ours = compat.Booster(model_file=tmp_path / "m.json")
    rows = compat.DMatrix(data.X)
    margins = ours.predict(rows, output_margin=True)
    assert np.allclose(ours.predict(rows), 1 / (1 + np.exp(-margins)), rtol=1e-6, atol=0)
    with pytest.raises(rr.ParamError, match="a model of scores"):
        ours.save_model(tmp_path / "other.json")
