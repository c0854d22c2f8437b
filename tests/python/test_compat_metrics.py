"""Metrics of `rustrank.compat`: equal scores count with the expectation over their orders."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb
from rustrank.compat.evaluation import average_precision_at, precision_at

ALL = rr.datasets.make_polynomial(num_queries=30, docs_per_query=20, seed=0)
X, Y = ALL.X[:, :6], ALL.y
SIZES, QID = [20] * 30, np.repeat(np.arange(30), 20)
#: Sixty queries of six documents, of which the first is relevant, with equal scores.
FLAT, FIRST = np.zeros((360, 6)), np.tile([1.0, 0, 0, 0, 0, 0], 60)
FLAT_SIZES, FLAT_QID = [6] * 60, np.repeat(np.arange(60), 6)
#: The first document is at each rank as often: 1/6 of 1 + 1/2 + ...
EXPECTED = {
    "map@1": 1 / 6,
    "map@2": 1.5 / 6,
    "map@10": 2.45 / 6,
    "ndcg@1": 1 / 6,
    "ndcg@2": (1 + 1 / np.log2(3)) / 6,
}


@pytest.mark.parametrize("measure", [average_precision_at, precision_at])
def test_ties_count_with_the_expectation_over_their_orders(measure: Any) -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        number = int(random.integers(1, 7))
        scores = random.integers(0, 3, number).astype(float)
        labels = random.integers(0, 3, number).astype(float)
        labels[0] = 1
        orders = [list(order) for order in itertools.permutations(range(number))]
        orders = [order for order in orders if (np.diff(scores[order]) <= 0).all()]
        for k in (1, 2, 3, 10):
            # Without ties, the order of documents decides.
            falling = -np.arange(number, dtype=float)
            every = [measure(k)(falling, labels[order]) for order in orders]
            assert measure(k)(scores, labels) == pytest.approx(np.mean(every), abs=1e-12)


def test_average_precision_without_a_cut_is_that_of_evaluate() -> None:
    scores = np.round(X[:, 0] * 4)
    parts = [slice(20 * at, 20 * at + 20) for at in range(30)]
    values = [average_precision_at(20)(scores[part], Y[part]) for part in parts]
    expected = rr.evaluate(scores, Y, qid=QID, metrics="map")["map"]
    assert np.nanmean(values) == pytest.approx(float(expected), abs=1e-12)


def test_equal_scores_do_not_flatter_in_the_names_of_lightgbm() -> None:
    ranker = lgb.LGBMRanker(n_estimators=2, metric=["map", "ndcg"], verbose=-1)
    how: dict[str, Any] = {"eval_group": [FLAT_SIZES, FLAT_SIZES], "eval_at": [1, 2, 10]}
    last = FIRST.reshape(60, 6)[:, ::-1].ravel()
    ranker.fit(X, Y, group=SIZES, eval_set=[(FLAT, FIRST), (FLAT, last)], **how)
    for found in ranker.best_score_.values():
        for name, value in EXPECTED.items():
            assert found[name] == pytest.approx(value, abs=1e-12), name


def test_equal_scores_do_not_flatter_in_the_names_of_xgboost() -> None:
    names = [*EXPECTED, "pre@2", "map"]
    ranker = xgb.XGBRanker(n_estimators=2, eval_metric=names)
    ranker.fit(X, Y, qid=QID, eval_set=[(FLAT, FIRST)], eval_qid=[FLAT_QID])
    expected = {**EXPECTED, "pre@2": 1 / 6, "map": 2.45 / 6}
    found = ranker.evals_result()["validation_0"]
    for name, value in expected.items():
        assert found[name][-1] == pytest.approx(value, abs=1e-12), name
    # And the values of `Booster.eval`.
    text = ranker.get_booster().eval(xgb.DMatrix(FLAT, FIRST, qid=FLAT_QID))
    values = dict(one.removeprefix("eval-").split(":") for one in text.split("\t")[1:])
    for name, value in expected.items():
        assert float(values[name]) == pytest.approx(value, abs=1e-6), name


def test_values_are_those_of_lightgbm_where_no_scores_are_equal() -> None:
    theirs = pytest.importorskip("lightgbm")
    start = np.random.default_rng(0).normal(size=600)
    found: dict[str, Any] = {}
    params = {"objective": "lambdarank", "metric": "map", "eval_at": [1, 3, 10], "verbose": -1}
    train = theirs.Dataset(X, Y, group=SIZES)
    valid = theirs.Dataset(X, Y, group=SIZES, init_score=start, reference=train)
    keep = theirs.record_evaluation(found)
    model = theirs.train(params, train, 1, valid_sets=[valid], callbacks=[keep])
    scores = start + model.predict(X)
    for k in (1, 3, 10):
        parts = [slice(20 * at, 20 * at + 20) for at in range(30)]
        each = [average_precision_at(k)(scores[part], Y[part]) for part in parts]
        expected = found["valid_0"][f"map@{k}"][-1]
        assert np.nan_to_num(each, nan=1).mean() == pytest.approx(expected, abs=1e-9)
