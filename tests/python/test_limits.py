"""Directions, interactions and weights of features, from the options to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 12
NAMES = [f"x{at}" for at in range(6)]
LIMITS: dict[str, Any] = {
    "monotone": {"x0": 1, 2: -1, "x3": 1},
    "interactions": [["x0", "x1", "x2"], [2, 3], ["x4"]],
    "feature_weight": {"x1": 0.5, 5: 0},
}


def _raw(seed: int, num_queries: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    qid = np.repeat(np.arange(num_queries), 15)
    X = draws.normal(size=(len(qid), 6)).round(1)
    X[draws.random(X.shape) < 0.1] = np.nan
    waves = np.nan_to_num(np.sin(2 * X) + X / 3).sum(1) + draws.normal(size=len(qid))
    return X, np.digitize(waves, [0.5, 1.5, 2.5, 3.5]), qid


@pytest.fixture(scope="module")
def raw() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _raw(0)


@pytest.fixture(scope="module")
def train(raw: tuple[np.ndarray, np.ndarray, np.ndarray]) -> rr.Dataset:
    X, y, qid = raw
    return rr.Dataset(X, y, qid=qid, feature_names=NAMES)


def _trained(dataset: rr.Dataset, **options: Any) -> rr.Booster:
    return rr.train(dataset, **{"num_trees": ROUNDS, "num_leaves": 8, "min_leaf_docs": 5} | options)


def _risen(X: np.ndarray, feature: int, seed: int) -> np.ndarray:
    """Return the rows with more of a feature; missing values stay missing."""
    risen = X.copy()
    risen[:, feature] += np.random.default_rng(seed).random(len(X)) * 3
    return risen


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l2": 5.0, "random_strength": 1.0, "queries_per_tree": 0.7},
        {"tree_shape": "symmetric"},
        {"step": "exact", "learning_rate": 1.0},
        {"objective": "regression", "rows_per_node": 0.6},
        {"objective": "xendcg", "features_per_node": 0.5},
    ],
)
def test_scores_move_in_the_direction_of_each_feature(
    train: rr.Dataset, options: dict[str, Any]
) -> None:
    directions = {"x0": 1, "x1": -1, "x4": 1}
    bound = _trained(train, num_trees=30, monotone=directions, **options)
    free = _trained(train, num_trees=30, **options)
    X = np.random.default_rng(5).normal(size=(500, 6))
    X[::7, 4] = np.nan
    broken = 0
    for name, direction in directions.items():
        for seed in range(4):
            risen = _risen(X, NAMES.index(name), seed)
            assert (direction * (bound.predict(risen) - bound.predict(X)) >= 0).all()
            broken += int((direction * (free.predict(risen) - free.predict(X)) < 0).sum())
    assert broken > 0
    assert bound.evaluate(train)["ndcg@10"] > 0.5


def test_features_of_a_path_lie_in_one_group(train: rr.Dataset) -> None:
    booster = _trained(train, interactions=LIMITS["interactions"], num_leaves=16)
    groups = [{0, 1, 2}, {2, 3}, {4}, {5}]

    def check(node: dict[str, Any], path: set[int]) -> None:
        if "left" not in node:
            assert any(path <= group for group in groups)
            return
        feature = node["feature"]
        number = NAMES.index(feature) if isinstance(feature, str) else feature
        for side in ("left", "right"):
            check(node[side], path | {number})

    for tree in booster.dump()["trees"]:
        check(tree, set())


def test_weights_draw_splits_from_a_feature(train: rr.Dataset) -> None:
    shares = []
    for weight in (1.0, 0.3, 0.0):
        booster = _trained(train, feature_weight=[weight, 1, 1, 1, 1, 1])
        importance = booster.feature_importance()
        shares.append(importance[0] / importance.sum())
    assert shares[0] > shares[1] > shares[2] == 0


def test_names_numbers_and_lists_say_the_same(train: rr.Dataset) -> None:
    named = _trained(train, **LIMITS)
    listed = _trained(
        train,
        monotone=[1, 0, -1, 1, 0, 0],
        interactions=[[0, 1, 2], ["x2", "x3"], [4]],
        feature_weight=np.array([1, 0.5, 1, 1, 1, 0]),
    )
    assert named == listed
    assert named.params["monotone"] == "0:+1 2:-1 3:+1"
    assert named.params["feature_weight"] == "1:0.5 5:0"


def test_limits_that_limit_nothing_change_nothing(train: rr.Dataset) -> None:
    plain = _trained(train)
    assert _trained(train, monotone={}, interactions=[], feature_weight={}) == plain
    assert _trained(train, monotone=[0] * 6, feature_weight={"x1": 1.0}) == plain
    assert not {"monotone", "interactions", "feature_weight"} & set(plain.params)


def test_one_group_of_all_and_equal_weights_change_no_tree(train: rr.Dataset) -> None:
    plain = _trained(train).dump()["trees"]
    for limits in ({"interactions": [NAMES]}, {"feature_weight": [2.0] * 6}):
        assert _trained(train, **limits).dump()["trees"] == plain


@pytest.mark.parametrize("tree_shape", ["leafwise", "symmetric"])
def test_threads_order_and_interruptions_cannot_be_seen(
    raw: tuple[np.ndarray, np.ndarray, np.ndarray],
    train: rr.Dataset,
    tree_shape: str,
    tmp_path: Path,
) -> None:
    options = {**LIMITS, "tree_shape": tree_shape, "features_per_node": 0.8}
    whole = _trained(train, **options)
    assert _trained(train, num_threads=1, **options) == whole
    X, y, qid = raw
    order = np.random.default_rng(0).permutation(len(y))
    moved = rr.Dataset(X[order], y[order], qid=qid[order], feature_names=NAMES)
    assert _trained(moved, **options) == whole
    first = _trained(train, **{**options, "num_trees": 5})
    assert _trained(train, base=first, **{**options, "num_trees": ROUNDS - 5}) == whole

    def stop(latest: rr.Round) -> bool:
        return latest.number == 5

    begun = {**options, "checkpoint": tmp_path / "c.rrk"}
    _trained(train, callbacks=stop, **begun)
    assert _trained(train, resume=True, **begun) == whole


def test_a_checkpoint_is_of_the_same_limits(train: rr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "c.rrk"
    _trained(train, monotone={0: 1}, checkpoint=path)
    with pytest.raises(rr.DataError, match="another monotone"):
        _trained(train, checkpoint=path, resume=True)
    with pytest.raises(rr.DataError, match="another monotone"):
        _trained(train, checkpoint=path, resume=True, monotone={0: -1})
    bound = _trained(train, monotone={0: 1})
    assert "monotone" not in _trained(train, base=bound).params


def test_ranks_in_queries_go_with_their_features(
    raw: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    X, y, qid = raw
    ranked = rr.Dataset(X, y, qid=qid, query_ranks=True, feature_names=NAMES)
    booster = _trained(ranked, monotone={"x0": 1}, feature_weight={"x1": 0})
    assert booster.params["monotone"] == "0:+1 6:+1"
    assert booster.params["feature_weight"] == "1:0 7:0"
    risen = X.copy()
    risen[::15, 0] += 2  # One doc a query.
    before, after = booster.predict(X, qid=qid), booster.predict(risen, qid=qid)
    assert (after[::15] >= before[::15]).all()


def test_estimators_take_limits(raw: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    X, y, qid = raw
    ranker = rr.LambdaMART(n_estimators=ROUNDS, monotone={0: 1}, feature_weight={1: 0.0})
    ranker.fit(X, y, qid=qid)
    assert (ranker.predict(_risen(X, 0, 3)) >= ranker.predict(X))[~np.isnan(X[:, 0])].all()
    assert ranker.feature_importances_[1] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"monotone": {"x9": 1}}, "monotone: there is no feature 'x9'"),
        ({"monotone": {6: 1}}, "monotone: a feature: got 6, expected a whole number from 0 to 5"),
        ({"monotone": {"x0": 2}}, "got 2, expected a whole number from -1 to 1"),
        ({"monotone": {"x0": "up"}}, "got 'up', expected a whole number from -1 to 1"),
        ({"monotone": {"x0": 1, 0: 1}}, "monotone has a feature twice"),
        ({"monotone": [1, 0]}, "monotone has the wrong length: got 2, expected 6"),
        ({"monotone": "x0"}, "monotone: got 'x0', expected a mapping from features, or a list"),
        ({"monotone": {0: 1}, "criterion": "least_squares"}, "monotone needs splits"),
        ({"monotone": {0: 1}, "objective": "mcrank"}, "monotone is about scores"),
        ({"interactions": ["x0", "x1"]}, "expected a list of lists of features"),
        ({"interactions": [[0], []]}, "interactions has a group without features"),
        ({"interactions": [["y"]]}, "interactions: there is no feature 'y'"),
        ({"feature_weight": {"x0": -1}}, "feature_weight of feature 0 is out of range"),
        ({"feature_weight": {"x0": "high"}}, "got 'high', expected a number"),
        ({"feature_weight": [0.0] * 6}, "or feature_weight leaves no split"),
    ],
)
def test_what_makes_no_sense_is_refused(
    train: rr.Dataset, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(rr.RustrankError) as caught:
        _trained(train, **options)
    assert said in str(caught.value)
