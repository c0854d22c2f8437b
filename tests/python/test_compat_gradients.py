"""The gradients of the drop-ins are those of LightGBM and XGBoost: a tree's leaves show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb

RANDOM = np.random.default_rng(5)
N = 24
LABELS = RANDOM.integers(0, 5, N)
SCORES = RANDOM.normal(size=N) * 2


def _gradients(cut: int) -> tuple[np.ndarray, np.ndarray]:
    """LightGBM's gradients of one query and their hessians, without its normalisation, pair by pair."""
    order = np.argsort(-SCORES)
    gain, discount = 2.0**LABELS - 1, 1 / np.log2(np.arange(N) + 2)
    ideal = (np.sort(gain)[::-1] * discount)[:cut].sum()
    first, second = np.zeros(N), np.zeros(N)
    for i in range(min(N - 1, cut)):
        for j in range(i + 1, N):
            if LABELS[order[i]] == LABELS[order[j]]:
                continue
            high, low = (i, j) if LABELS[order[i]] > LABELS[order[j]] else (j, i)
            at, below = order[high], order[low]
            delta = (gain[at] - gain[below]) * abs(discount[high] - discount[low]) / ideal
            p = 1 / (1 + np.exp(SCORES[at] - SCORES[below]))
            first[at] += p * delta
            first[below] -= p * delta
            second[[at, below]] += p * (1 - p) * delta
    return first, second


@pytest.mark.parametrize("cut", [3, 6, 30])
def test_a_leaf_has_the_gradient_of_its_document(cut: int) -> None:
    first, second = _gradients(cut)
    options = {
        "objective": "lambdarank",
        "learning_rate": 1.0,
        "lambda_l2": 1.0,
        "num_leaves": 2,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "lambdarank_norm": False,
        "lambdarank_truncation_level": cut,
        "verbose": -1,
    }
    best = np.argsort(-second)[:3]
    for doc in best:
        X = (np.arange(N) == doc).astype(float)[:, None]
        data = lgb.Dataset(X, LABELS, group=[N], init_score=SCORES)
        found = lgb.train(options, data, 1).predict(X)[doc]
        assert found == pytest.approx(first[doc] / (second[doc] + 1), rel=1e-5)


def _mixed() -> tuple[Any, ...]:
    sizes = [10] * 30 + [100] * 30
    random = np.random.default_rng(3)
    X = random.integers(0, 30, (sum(sizes), 4)).astype(float)
    y = np.clip((X[:, 0] / 12 + random.normal(size=len(X))).astype(int), 0, 4)
    return X, y, sizes, random.normal(size=len(X))


@pytest.mark.parametrize("cut", [3, 30])
def test_queries_weigh_as_in_lightgbm(cut: int) -> None:
    theirs = pytest.importorskip("lightgbm")
    X, y, sizes, start = _mixed()
    options = {
        "objective": "lambdarank",
        "verbose": -1,
        "num_leaves": 4,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "lambdarank_norm": False,
        "lambdarank_truncation_level": cut,
        "num_threads": 1,
    }
    found = [
        library.train(
            options, library.Dataset(X, y, group=sizes, init_score=start, params=more), 1
        ).predict(X)
        for library, more in ((theirs, {"min_data_in_bin": 1}), (lgb, None))
    ]
    assert np.ptp(found[0]) > 0.1
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("cut", [3, 32])
def test_queries_weigh_as_in_xgboost(cut: int) -> None:
    theirs = pytest.importorskip("xgboost")
    X, y, sizes, start = _mixed()
    options: dict[str, Any] = {
        "objective": "rank:ndcg",
        "max_depth": 2,
        "lambdarank_num_pair_per_sample": cut,
        "lambdarank_normalization": False,
        "lambdarank_score_normalization": False,
        "nthread": 1,
    }
    found = []
    for library in (theirs, xgb):
        data = library.DMatrix(X, y, group=sizes, base_margin=start)
        more = {"base_score": 0.0} if library is theirs else {}
        found.append(library.train(options | more, data, 1).predict(data))
    assert np.ptp(found[0] - start) > 0.1
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-5)
