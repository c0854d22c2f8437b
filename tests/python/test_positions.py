"""Clicks: where docs were shown is told from what they are, and goes with the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

TREES: dict[str, Any] = {"num_trees": 100, "num_leaves": 15}
DEPTH = 8


@pytest.fixture(scope="module")
def judged() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(150, 20, 10, seed=1, num_terms=20)


@pytest.fixture(scope="module")
def clicks(judged: rr.datasets.Ranking) -> rr.datasets.Clicks:
    return rr.datasets.make_clicks(judged, sessions=40, depth=DEPTH, attraction=0.5)


@pytest.fixture(scope="module")
def log(clicks: rr.datasets.Clicks) -> rr.Dataset:
    return rr.Dataset(clicks.X, clicks.y, qid=clicks.qid, position=clicks.position)


@pytest.fixture(scope="module")
def small() -> rr.datasets.Clicks:
    judged = rr.datasets.make_polynomial(30, 10, 5, seed=2, num_terms=10)
    return rr.datasets.make_clicks(judged, sessions=4, depth=5)


@pytest.mark.parametrize("objective", ["lambdamart", "ranknet", "logistic"])
def test_the_curve_is_near_the_truth_and_the_ranker_better_for_it(
    clicks: rr.datasets.Clicks, log: rr.Dataset, objective: str
) -> None:
    options: dict[str, Any] = {"objective": objective, "noise_scale": 0.0, **TREES}
    debiased = rr.train(log, **options)
    biased = rr.train(rr.Dataset(clicks.X, clicks.y, qid=clicks.qid), **options)
    bias = debiased.position_bias
    assert bias is not None
    assert biased.position_bias is None
    off = np.abs(bias - np.log(clicks.propensity))
    assert off.max() < 0.35, np.exp(bias)
    assert off.mean() < 0.15, np.exp(bias)
    fresh = rr.datasets.make_polynomial(200, 20, 10, seed=1, num_terms=20, first_query=200)

    def value(booster: rr.Booster) -> float:
        scores = booster.predict(fresh.X)
        return float(rr.evaluate(scores, fresh.y, qid=fresh.qid, metrics=["ndcg@5"])["ndcg@5"])

    assert value(debiased) > value(biased) + 0.01, (value(debiased), value(biased))


def test_the_curve_travels_with_the_model_and_goes_on(
    small: rr.datasets.Clicks, tmp_path: Path
) -> None:
    train = rr.Dataset(small.X, small.y, qid=small.qid, position=small.position)
    options: dict[str, Any] = {"num_leaves": 5, "learning_rate": 0.3}
    whole = rr.train(train, num_trees=12, **options)
    ten = rr.train(train, num_trees=5, **options)
    path = tmp_path / "clicks.rrk"
    ten.save(path)
    loaded = rr.Booster.load(path)
    assert np.array_equal(loaded.position_bias, ten.position_bias)  # type: ignore[arg-type]
    assert rr.train(train, num_trees=7, base=loaded, **options) == whole

    def fail(latest: rr.Round) -> None:
        if latest.number == 8:
            raise ValueError

    begun: dict[str, Any] = {"checkpoint": tmp_path / "c.rrk", "checkpoint_every": 3, **options}
    with pytest.raises(ValueError):  # noqa: PT011 - the callback's own
        rr.train(train, num_trees=12, callbacks=fail, **begun)
    assert rr.train(train, num_trees=12, resume=True, **begun) == whole


def test_neither_rows_nor_ids_nor_threads_matter(small: rr.datasets.Clicks) -> None:
    def trained(order: Any, qid: Any, **options: Any) -> rr.Booster:
        train = rr.Dataset(small.X[order], small.y[order], position=small.position[order], **qid)
        return rr.train(train, num_trees=6, num_leaves=5, **options)

    rows = np.arange(len(small.y))
    first = trained(rows, {"qid": small.qid})
    order = np.random.default_rng(0).permutation(rows)
    assert trained(order, {"qid": [f"s{one}" for one in small.qid[order]]}) == first
    assert trained(rows, {"group": np.bincount(small.qid)}, num_threads=1) == first
    assert first.position_bias is not None
    assert first.position_bias[0] == 0.0


@pytest.mark.parametrize(
    ("position", "said"),
    [
        ([1, 2, 0], r"position\[2\] = 0, expected a place"),
        ([1, 2.5, 1], r"position\[1\] = 2.5"),
        ([1, 2], "position has the wrong length: got 2, expected 3"),
        ([1, 2, 70_000], r"position\[2\] = 70000"),
    ],
)
def test_places_are_whole_numbers_from_one(position: list[float], said: str) -> None:
    with pytest.raises(rr.DataError, match=said):
        rr.Dataset([[0.0], [1.0], [2.0]], [0, 1, 0], group=[3], position=position)


def test_clicks_are_those_of_the_model(judged: rr.datasets.Ranking) -> None:
    clicks = rr.datasets.make_clicks(judged, sessions=40, depth=5, seed=3)
    again = rr.datasets.make_clicks(tuple(judged), sessions=40, depth=5, seed=3)
    assert np.array_equal(clicks.y, again.y)
    assert np.array_equal(clicks.row, again.row)
    assert np.array_equal(clicks.X, judged.X[clicks.row])
    assert np.array_equal(clicks.qid // 40, judged.qid[clicks.row])
    assert np.array_equal(np.bincount(clicks.qid), np.full(150 * 40, 5))
    label = judged.y[clicks.row]
    for place in (1, 3):
        for value, attracts in ((0, 0.1), (4, 1.0)):
            some = (clicks.position == place) & (label == value)
            expected = attracts / place
            error = 4 * np.sqrt(expected * (1 - expected) / some.sum())
            assert abs(clicks.y[some].mean() - expected) <= error + 1e-12
    # The ranker that was in use has its favourites, and not always in the same order.
    first = clicks.row[clicks.position == 1].reshape(150, 40)
    seen = [len(set(rows.tolist())) for rows in first]
    assert 2 < np.mean(seen) < 12
    best = rr.datasets.make_clicks(judged, sessions=40, depth=5, seed=3, scores=judged.y)
    label = judged.y[best.row]
    assert label[best.position == 1].mean() > label[best.position == 5].mean() + 0.1
    with pytest.raises(rr.ParamError, match="propensity"):
        rr.datasets.make_clicks(judged, depth=3, propensity=[1, 0.5])
    with pytest.raises(rr.ParamError, match="noise"):
        rr.datasets.make_clicks(judged, noise=2)
