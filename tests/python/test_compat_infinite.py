"""Infinite features in `rustrank.compat.lightgbm`, which takes them as LightGBM does."""

from __future__ import annotations

from importlib import util
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb

RANDOM = np.random.default_rng(0)
KIND = RANDOM.integers(0, 4, 1200)
#: The label follows from whether the first feature is infinite, and from the second.
X = RANDOM.normal(size=(1200, 3))
X[:, 0] = np.choose(KIND, [X[:, 0], np.inf, -np.inf, np.nan])
Y = np.choose(KIND, [0.0, 3.0, 1.0, 2.0]) + (X[:, 1] > 0)
SIZES = [20] * 60
LARGEST = np.finfo(np.float64).max
FINITE = np.clip(X, -LARGEST, LARGEST)
PARAMS: dict[str, Any] = {"objective": "lambdarank", "num_leaves": 8, "verbose": -1}
ROWS = np.array([[value, 1.0, 0.0] for value in (np.inf, -np.inf, np.nan, 0.0, 5.0, 1e300, -1e300)])


def forms_of(values: Any) -> dict[str, Any]:
    """Return tables of all kinds with the same cells."""
    names = list("abc")
    found: dict[str, Any] = {
        "double": values,
        "single": values.astype(np.float32),
        "fortran": np.asfortranarray(values),
        "lists": values.tolist(),
        "pandas": pd.DataFrame(values, columns=names),
        "mixed": pd.DataFrame(values, columns=names).astype({"b": np.float32}),
        "mapping": {name: values[:, at] for at, name in enumerate(names)},
    }
    if util.find_spec("polars"):
        import polars as pl

        found["polars"] = pl.DataFrame({name: values[:, at] for at, name in enumerate(names)})
    if util.find_spec("pyarrow"):
        import pyarrow as pa

        found["arrow"] = pa.table({name: values[:, at] for at, name in enumerate(names)})
    if util.find_spec("scipy"):
        import scipy.sparse as sp

        found["sparse"] = sp.csr_matrix(values)
    return found


@pytest.mark.parametrize("form", forms_of(X[:2]))
def test_infinite_values_are_the_largest_finite_ones(form: str) -> None:
    expected = lgb.train(PARAMS, lgb.Dataset(FINITE, Y, group=SIZES), 8)
    given = forms_of(X)[form]
    booster = lgb.train(PARAMS, lgb.Dataset(given, Y, group=SIZES), 8)
    scores = expected.predict(FINITE)
    for model in (booster, expected):
        assert (model.predict(given) == scores).all()
        parts = model.predict(given, pred_contrib=True)
        assert np.allclose(parts.sum(axis=1), scores)
    # Infinite values are told from each other and from missing ones.
    assert scores[KIND == 1].mean() > scores[KIND == 3].mean() > scores[KIND == 2].mean()


def test_validation_sets_rankers_and_folds_take_infinite_values() -> None:
    ranker = lgb.LGBMRanker(n_estimators=5, verbose=-1)
    how: dict[str, Any] = {"eval_group": [SIZES[:30]], "eval_at": [5]}
    ranker.fit(X, Y, group=SIZES, eval_set=[(X[:600], Y[:600])], **how)
    found = ranker.best_score_["valid_0"]["ndcg@5"]
    expected = rr.evaluate(ranker.predict(X[:600]), Y[:600], group=SIZES[:30], metrics="ndcg@5")
    assert found == pytest.approx(float(expected["ndcg@5"]), abs=1e-9)
    folds = lgb.cv({**PARAMS, "eval_at": [5]}, lgb.Dataset(X, Y, group=SIZES), 3, nfold=3)
    assert folds["valid ndcg@5-mean"][-1] > 0.9
    more = lgb.train(PARAMS, lgb.Dataset(X, Y, group=SIZES), 3, init_model=ranker)
    assert more.num_trees() == 8


def test_categories_beside_infinite_values_stay_categories() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    booster = lgb.train(PARAMS, lgb.Dataset(frame, Y, group=SIZES), 8)
    finite = frame.assign(x=FINITE[:, 0])
    assert (booster.predict(frame) == booster.predict(finite)).all()
    assert (booster.feature_importance() > 0).all()


def test_the_names_of_xgboost_refuse_infinite_values() -> None:
    # As XGBoost does.
    with pytest.raises(rr.DataError, match="is infinite"):
        xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(X, Y, group=SIZES), 2)


@pytest.mark.parametrize("missing", [True, False])
def test_lightgbm_scores_our_models_the_same(missing: bool) -> None:
    theirs = pytest.importorskip("lightgbm")
    cells = X.copy()
    if not missing:
        cells[KIND == 3, 0] = RANDOM.normal(size=(KIND == 3).sum())
    for labels in (Y, (KIND == 3).astype(float)):
        booster = lgb.train(PARAMS, lgb.Dataset(cells, labels, group=SIZES), 10)
        model = theirs.Booster(model_str=booster.model_to_string())
        for rows in (cells, ROWS):
            assert np.allclose(model.predict(rows), booster.predict(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_models_of_lightgbm_score_infinite_values_as_there(dtype: Any) -> None:
    theirs = pytest.importorskip("lightgbm")
    for labels in (Y, (KIND == 3).astype(float), (KIND == 2).astype(float)):
        data = theirs.Dataset(X, labels, params={"verbose": -1})
        params = {"objective": "regression", "num_leaves": 8, "verbose": -1}
        model = theirs.train(params, data, 10)
        booster = lgb.Booster(model_str=model.model_to_string())
        for rows in (X, ROWS):
            cells = rows.astype(dtype) if rows is X else rows
            assert (booster.predict(cells) == model.predict(cells)).all()
            parts = booster.predict(cells, pred_contrib=True)
            assert np.allclose(parts, model.predict(cells, pred_contrib=True), atol=1e-12)


def test_a_split_between_missing_and_other_values_is_written_as_lightgbm_writes_it() -> None:
    booster = lgb.train(PARAMS, lgb.Dataset(X, (KIND == 3).astype(float), group=SIZES), 2)
    text = booster.model_to_string()
    assert "threshold=inf" in text
    assert "e308" not in "".join(line for line in text.splitlines() if "threshold" in line)
    again = lgb.Booster(model_str=text)
    assert (again.predict(X) == booster.predict(X)).all()
