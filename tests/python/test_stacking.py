"""Mixtures and stacks: one booster of several, which scores as its parts do."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rustrank as rr

Scores = NDArray[np.float64]
DATA = rr.datasets.make_polynomial(num_queries=80, seed=0)
OTHER = rr.datasets.make_polynomial(num_queries=70, seed=1)


def dataset(**options: Any) -> rr.Dataset:
    return rr.Dataset(DATA.X, DATA.y, qid=DATA.qid, **options)


@pytest.fixture(scope="module")
def boosters() -> list[rr.Booster]:
    mart = rr.train(dataset(), objective="logistic", relevant_from=2, num_trees=6)
    ranks = rr.train(dataset(query_ranks=True), num_trees=6, num_leaves=8)
    return [mart, rr.train(dataset(), num_trees=7, num_leaves=5), ranks]


def by_query(values: Scores, work: Callable[[Scores], Scores]) -> Scores:
    result = np.empty(len(values))
    for one in np.unique(OTHER.qid):
        result[OTHER.qid == one] = work(values[OTHER.qid == one])
    return result


def probability(scores: Scores) -> Scores:
    probabilities: Scores = 1 / (1 + np.exp(-scores))
    return probabilities


def topped(scores: Scores) -> Scores:
    top = float(probability(scores).max())
    return top * (1 + probability(scores) - top)


ORACLES: dict[str, Callable[[Scores], Scores]] = {
    "query": lambda s: by_query(s, lambda s: (s - s.mean()) / s.std()),
    "query_range": lambda s: by_query(s, lambda s: (s - s.min()) / (s.max() - s.min())),
    "query_top": lambda s: by_query(s, topped),
    "logistic": probability,
}


@pytest.mark.parametrize("name", ORACLES)
def test_a_mixture_normalises_what_its_boosters_score(
    boosters: list[rr.Booster], name: str
) -> None:
    weights = [0.5, 2.0, 1.0]
    mixed = rr.mix(boosters, weights, normalise=name)
    scores = [one.predict(OTHER.X, qid=OTHER.qid) for one in boosters]
    wanted = sum(w * ORACLES[name](s) for w, s in zip(weights, scores, strict=True))
    assert np.allclose(mixed.predict(OTHER.X, qid=OTHER.qid), wanted, rtol=1e-12, atol=1e-12)


def test_a_set_gives_mean_and_variance_whatever_its_order(boosters: list[rr.Booster]) -> None:
    two = boosters[:2]
    scores = [one.predict(DATA.X) for one in two]
    mixed = rr.mix(two, normalise="set", scores=scores)
    shuffled = [np.random.default_rng(0).permutation(one) for one in scores]
    assert mixed == rr.mix(two, normalise="set", scores=shuffled)
    wanted = sum((s - s.mean()) / s.std() / 2 for s in scores)
    made = mixed.predict(DATA.X)
    assert np.allclose(made, wanted, rtol=1e-9, atol=1e-12)
    pairs = [(math.fsum(s) / len(s), 2.0) for s in scores]
    by_pair = rr.mix(two, normalise=pairs).predict(DATA.X)
    assert np.allclose(by_pair, sum((s - s.mean()) / 4 for s in scores), rtol=1e-9, atol=1e-12)
    each = rr.mix(two, [1, 1], normalise=[None, "set"], scores=[None, scores[1]])
    wanted = scores[0] + (scores[1] - scores[1].mean()) / scores[1].std()
    assert np.allclose(each.predict(DATA.X), wanted, rtol=1e-9, atol=1e-12)


def test_equal_scores_are_scaled_to_nothing(boosters: list[rr.Booster]) -> None:
    mixed = rr.mix(boosters[:1], normalise="set", scores=[np.full(10, 3.0)])
    assert np.allclose(mixed.predict(DATA.X), boosters[0].predict(DATA.X) - 3.0)


@pytest.mark.parametrize("own", [True, False])
def test_a_stack_scores_what_its_outer_booster_scores_on_its_table(
    boosters: list[rr.Booster], own: bool, tmp_path: Path
) -> None:
    features = ["score", "max", (2, "mean"), (0, "top3")]
    stacking = rr.Stacking(boosters, features, own=own, normalise=["query_top", None, "query"])
    table = stacking.table(DATA.X, qid=DATA.qid)
    assert table.shape[1] == len(stacking.names) == own * DATA.X.shape[1] + 8
    assert stacking.names[-8:] == [
        *("ranker0_top3", "ranker0_score", "ranker0_max", "ranker1_score", "ranker1_max"),
        *("ranker2_mean", "ranker2_score", "ranker2_max"),
    ]
    outer = rr.train(rr.Dataset(table, DATA.y, qid=DATA.qid), num_trees=6)
    booster = stacking.booster(outer)
    wanted = outer.predict(stacking.table(OTHER.X, qid=OTHER.qid))
    assert (booster.predict(OTHER.X, qid=OTHER.qid) == wanted).all()
    shuffled = np.random.default_rng(1).permutation(len(wanted))
    scores = booster.predict(OTHER.X[shuffled], qid=OTHER.qid[shuffled], num_threads=2)
    assert (scores == wanted[shuffled]).all()
    booster.save(tmp_path / "stack.rrk")
    read = rr.Booster.load(tmp_path / "stack.rrk")
    assert read == booster == copy.copy(booster)
    assert (read.predict(OTHER.X.astype(np.float64), qid=OTHER.qid) == wanted).all()
    mixed = rr.mix([booster, boosters[2]], normalise="query")
    assert mixed.predict(OTHER.X, qid=OTHER.qid).shape == wanted.shape
    assert repr(booster).startswith("<Booster: 25 trees of models inside, 50 features")
    with pytest.raises(rr.ParamError, match="other docs of the query"):
        booster.predict(OTHER.X)


def test_features_are_those_of_their_definition(boosters: list[rr.Booster]) -> None:
    stacking = rr.Stacking({"mart": boosters[0]}, own=False)
    made = stacking.features(OTHER.X, qid=OTHER.qid)
    scores = boosters[0].predict(OTHER.X)
    assert stacking.names == ["mart_score", "mart_max", "mart_mean", "mart_top3"]
    for one in np.unique(OTHER.qid):
        own = scores[OTHER.qid == one]
        wanted = [own.max(), own.mean(), np.sort(own)[-3:].mean()]
        rows = made[OTHER.qid == one]
        assert np.allclose(rows[:, 1:], wanted, rtol=1e-6)
        assert (rows[:, 0] == own.astype(np.float32)).all()
    assert (stacking.table(OTHER.X, qid=OTHER.qid, scores=[scores]) == made).all()
    assert (stacking.features_of([scores + 1], qid=OTHER.qid)[:, 1] > made[:, 1]).all()


def test_what_is_wrong_is_named(boosters: list[rr.Booster]) -> None:
    two = boosters[:2]
    faults: list[tuple[Callable[[], Any], str]] = [
        (lambda: rr.mix([]), "boosters: got none"),
        (lambda: rr.mix([1]), r"boosters\[0\]"),
        (lambda: rr.mix(two, [1]), "weights: got 1"),
        (lambda: rr.mix(two, normalise="nothing"), "'query_range'"),
        (lambda: rr.mix(two, normalise="set"), "without scores"),
        (lambda: rr.mix(two, normalise=["query"]), "normalise: got 1"),
        (lambda: rr.mix(two, normalise=[(0, 0), None]), "scale above 0"),
        (lambda: rr.mix(two, normalise="set", scores=[[1.0, math.nan]] * 2), "not finite"),
        (lambda: rr.Stacking(two, ["score", 1]), r"features: got \(0, 1\)"),
        (lambda: rr.Stacking(two, [(2, "max")]), "ranker 2"),
        (lambda: rr.Stacking(two).booster(None), "outer: got None"),
        (lambda: rr.Stacking(two).booster(two[0]), "outer model of a stack"),
        (lambda: rr.Stacking(two, ["top0"]).features(DATA.X, qid=DATA.qid), "got top0"),
        (lambda: rr.Stacking(two).features_of([[1.0]], qid=[1]), "got 1 arrays"),
        (lambda: rr.Stacking(two).features_of([[1.0], [1.0, 2.0]], qid=[1]), r"scores\[1\]"),
    ]
    for faulty, said in faults:
        with pytest.raises((rr.RustrankError, ValueError), match=said):
            faulty()
    booster = rr.Stacking(two, ["max"], own=False).booster(
        rr.train(rr.Dataset(np.c_[DATA.X[:, :2]], DATA.y, qid=DATA.qid), num_trees=2)
    )
    with pytest.raises(rr.ParamError, match="stack"):
        booster.explain(DATA.X)
    with pytest.raises(rr.RustrankError, match="score the raw features"):
        booster.evaluate(dataset())
