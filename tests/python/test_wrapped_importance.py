"""The importance of features in models that hold others: calibrated ones, mixtures, stacks, and those with a net."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rustrank as rr

DATA = rr.datasets.make_polynomial(60, 20, seed=1, num_features=6)
TRAIN = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
MODEL = rr.train(TRAIN, num_trees=10, num_leaves=8)
OTHER = rr.train(
    rr.Dataset(DATA.X[:, ::-1].copy(), DATA.y, qid=DATA.qid), num_trees=10, num_leaves=8
)


def _by_hand(booster: rr.Booster, feature: int, times: int = 30) -> float:
    """The mean loss in NDCG@10 where the values of a feature are shuffled."""
    random = np.random.default_rng(feature)

    def value(X: np.ndarray) -> float:
        return float(rr.evaluate(booster.predict(X), DATA.y, qid=DATA.qid)["ndcg@10"])

    shuffled = []
    for _ in range(times):
        X = DATA.X.copy()
        X[:, feature] = random.permutation(X[:, feature])
        shuffled.append(value(X))
    return value(DATA.X) - float(np.mean(shuffled))


def test_permutations_reach_the_models_inside() -> None:
    calibrated = MODEL.calibrate(DATA.X, DATA.y, qid=DATA.qid)
    mcrank = rr.train(TRAIN, num_trees=4, num_leaves=6, objective="mcrank")
    mixture = rr.mix([MODEL, calibrated], [1, 1])
    for booster in (MODEL, calibrated, mixture, mcrank):
        found = booster.feature_importance("permutation", dataset=TRAIN)
        for feature in (0, 4):
            assert found[feature] == pytest.approx(_by_hand(booster, feature), abs=0.08)
    # Equal scores but for ties, by shuffles that are the same.
    plain = MODEL.feature_importance("permutation", dataset=TRAIN)
    assert np.allclose(
        calibrated.feature_importance("permutation", dataset=TRAIN), plain, atol=0.05
    )


@pytest.mark.parametrize("kind", ["reduction", "count"])
def test_splits_inside_count(kind: str) -> None:
    plain, other = MODEL.feature_importance(kind), OTHER.feature_importance(kind)
    calibrated = MODEL.calibrate(DATA.X, DATA.y, qid=DATA.qid)
    assert np.array_equal(calibrated.feature_importance(kind), plain)
    assert np.array_equal(rr.mix([MODEL, OTHER], [1, 0]).feature_importance(kind), plain)
    for weights in ([1, 1], [0.5, 2], [1, -1]):
        found = rr.mix([MODEL, OTHER], weights).feature_importance(kind)
        factors = [1, 1] if kind == "count" else np.abs(weights)
        assert np.allclose(found, factors[0] * plain + factors[1] * other, rtol=1e-12)
    twice = rr.mix([rr.mix([MODEL, OTHER], [1, 2]), MODEL], [3, 1]).feature_importance(kind)
    factors = [2, 1] if kind == "count" else [4, 6]
    assert np.allclose(twice, factors[0] * plain + factors[1] * other, rtol=1e-12)


def test_what_splits_do_not_say_is_said() -> None:
    net = rr.RankNet(epochs=1).fit(DATA.X, DATA.y, qid=DATA.qid).booster_
    with pytest.warns(rr.RustrankWarning, match="a net is a part of the model"):
        found = rr.mix([MODEL, net], [0.1, 10]).feature_importance()
    assert np.allclose(found, 0.1 * MODEL.feature_importance())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rr.mix([MODEL, net], [1, 0]).feature_importance()
    with pytest.warns(rr.RustrankWarning, match="how scores are normalised"):
        rr.mix([MODEL, OTHER], [1, 1], normalise="query").feature_importance()
    stacking = rr.Stacking([MODEL])
    outer = rr.train(
        rr.Dataset(stacking.table(DATA.X, qid=DATA.qid), DATA.y, qid=DATA.qid), num_trees=3
    )
    for booster in (net, stacking.booster(outer)):
        with pytest.raises(rr.ParamError, match="has no trees on features"):
            booster.feature_importance()
