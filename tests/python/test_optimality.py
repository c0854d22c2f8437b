"""The check for a local optimum: where there is one, and where there is none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray


def made() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    noise = rng.normal(size=len(X))
    y = np.clip(np.round(2 + X @ [1.0, -0.5, 0.25] + 0.5 * noise), 0, 4)
    return X, y, np.repeat(np.arange(200), 10)


def test_a_trained_net_stands_nearer_to_an_optimum_than_one_that_moved() -> None:
    X, y, qid = made()
    net = rr.LambdaRank(hidden=(), epochs=30, learning_rate=0.01, pairs_to=None, metric="ndcg")
    net.fit(X, y, qid=qid)
    options: dict[str, Any] = {"qid": qid, "metric": "ndcg", "directions": 60, "steps": 2}
    found = rr.local_optimum(net.booster, X, y, distance=0.3, **options)
    assert found.value == rr.evaluate(net.predict(X), y, qid=qid, metrics=["ndcg"])["ndcg"]
    assert found.curves.shape == (4, 4)  # a bias and three weights
    assert (found.curves[0] == found.value).all()  # no order depends on the bias
    assert found.share_of_ascents < 0.1
    untrained = rr.LambdaRank(hidden=(), epochs=1, learning_rate=1e-6, metric="ndcg")
    untrained.fit(X[:, ::-1] * [1, -1, 1], y, qid=qid)
    lost = rr.local_optimum(untrained.booster, X, y, distance=0.3, **options)
    assert lost.share_of_ascents > 0.2
    assert "rises along" in repr(lost)


def test_trees_are_moved_by_their_weights() -> None:
    X, y, qid = made()
    train = rr.Dataset(X, y, qid=qid)
    booster = rr.train(train, num_trees=5, num_leaves=4)
    found = rr.local_optimum(booster, X, y, qid=qid, directions=20, steps=1, distance=0.5)
    assert found.weights.tolist() == [1.0] * 5
    assert found.value == pytest.approx(rr.evaluate(booster.predict(X), y, qid=qid)["ndcg@10"])
    assert set(found.peaks) <= {0.0, *found.offsets}
    again = rr.local_optimum(booster, X, y, qid=qid, directions=20, steps=1, distance=0.5)
    assert (again.changes == found.changes).all()


def test_459_directions_without_an_ascent_bound_their_share_by_a_hundredth() -> None:
    def found(rose: int, count: int) -> rr.LocalOptimum:
        changes = np.where(np.arange(count) < rose, 1.0, -1.0)
        empty = np.empty(0)
        return rr.LocalOptimum(
            "ndcg", 0.5, empty, np.empty(0, np.int64), empty, empty, 0.1, changes
        )

    assert found(0, 459).bound() == pytest.approx(1 - 0.01 ** (1 / 459), rel=1e-9)
    assert found(0, 459).bound() <= 0.01 < found(0, 458).bound()
    assert found(3, 459).bound() > found(2, 459).bound() > 0.01
    assert found(9, 9).bound() == 1.0
    share = found(2, 50).bound(0.95)
    tail = sum(math.comb(50, k) * share**k * (1 - share) ** (50 - k) for k in range(3))
    assert tail == pytest.approx(0.05)


def test_a_picture_is_drawn() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    X, y, qid = made()
    net = rr.LambdaRank(hidden=(2,), epochs=1).fit(X, y, qid=qid)
    found = rr.local_optimum(net.booster, X, y, qid=qid, directions=5, steps=1, most_weights=3)
    along, _ = found.plot()
    assert along.get_ylabel() == "ndcg@10"
    assert len(found.looked_at) == 3


def test_what_has_no_weights_is_refused() -> None:
    X, y, qid = made()
    net = rr.LambdaRank(epochs=1).fit(X, y, qid=qid).booster
    with pytest.raises(rr.ParamError, match="expected a Booster"):
        rr.local_optimum(3, X, y, qid=qid)  # type: ignore[arg-type]
    with pytest.raises(rr.ParamError, match="distance: got 0"):
        rr.local_optimum(net, X, y, qid=qid, distance=0)
    both = rr.Combiner(method="average").fit([net, net], y, X=X, qid=qid).booster
    with pytest.raises(rr.ParamError, match="not a net alone"):
        rr.local_optimum(both, X, y, qid=qid)
