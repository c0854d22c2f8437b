"""Displays and pictures of models that go on from a base, of weighted ones, and of frames in another order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rustrank as rr

DATA = rr.datasets.make_polynomial(60, 20, seed=1)
LATER = rr.datasets.make_polynomial(40, 20, seed=1, first_query=1000)
TRAIN = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
VALID = rr.Dataset(LATER.X, LATER.y, qid=LATER.qid, like=TRAIN)


@pytest.mark.parametrize(("of_base", "patience"), [(10, 15), (30, 3)])
def test_rounds_of_a_base_are_counted(of_base: int, patience: int) -> None:
    base = rr.train(TRAIN, num_trees=of_base, num_leaves=7)
    more: dict[str, Any] = {"num_trees": 60, "num_leaves": 7, "early_stopping": patience}
    booster = rr.train(TRAIN, base=base, valid=VALID, **more)
    values = booster.all_rounds.history["valid"]["ndcg@10"]
    assert booster.best_round == of_base + 1 + int(np.argmax(values))
    shown = re.findall(r"ndcg@10 ([0-9.]+)", booster._repr_html_())
    assert shown == [f"{booster.evaluate(VALID)['ndcg@10']:.4f}"]
    assert f"{booster.best_round} of {of_base + len(values)}" in booster._repr_html_()
    pytest.importorskip("matplotlib")
    line, point = rr.plot_metric(booster).lines[:2]
    assert line.get_xdata().tolist() == list(range(of_base + 1, of_base + 1 + len(values)))
    assert point.get_xydata().tolist() == [[booster.best_round, max(values)]]


def test_trees_of_a_mixture_show_what_they_add() -> None:
    one = rr.train(TRAIN, num_trees=3, num_leaves=4)
    other = rr.train(TRAIN, num_trees=2, num_leaves=4, seed=5, learning_rate=0.3)
    mixtures = [
        rr.mix([one, other], [10.0, -0.5]),
        rr.mix([one, other], [1.0, 2.0], normalise=[(0.3, 2.0), (-1.0, 0.5)]),
    ]

    def leaf(node: dict[str, Any], row: np.ndarray) -> float:
        while "value" not in node:
            value = row[node["feature"]]
            left = node["missing_left"] if np.isnan(value) else value <= node["threshold"]
            node = node["left" if left else "right"]
        return float(node["value"])

    for mixture in mixtures:
        found = mixture.dump()
        for row, score in zip(DATA.X[:50], mixture.predict(DATA.X[:50]), strict=True):
            added = sum(leaf(tree, row) for tree in found["trees"])
            assert found["intercept"] + added == pytest.approx(score, abs=1e-9)


def test_colours_of_values_go_by_name() -> None:
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("matplotlib")
    frame = pd.DataFrame(DATA.X[:, :4], columns=list("abcd"))
    booster = rr.train(rr.Dataset(frame, DATA.y, qid=DATA.qid), num_trees=10)

    def colours(X: Any) -> list[Any]:
        axes = rr.plots.plot_shap(booster, X)
        return [one.get_facecolor().tolist() for one in axes.collections]

    expected = colours(frame)
    assert len(expected[0]) == len(frame)
    texts = frame.assign(q=[f"q{one}" for one in DATA.qid])
    # Categories have no order: their values are hollow.
    whole = frame.assign(e=np.arange(len(frame)) % 5)
    of_five = rr.train(rr.Dataset(whole, DATA.y, qid=DATA.qid, categorical=["e"]), num_trees=30)
    axes = rr.plots.plot_shap(of_five, whole)
    names = [label.get_text() for label in axes.get_yticklabels()]
    drawn = [
        {round(y) for _, y in one.get_offsets()}
        for one in axes.collections
        if len(one.get_facecolor())
    ]
    assert set().union(*drawn) == set(range(5)) - {names.index("e")}
    for X in (frame[list("dbca")], texts, texts[["q", *"badc"]]):
        assert colours(X) == expected


def test_rounds_of_an_initial_model_are_counted_in_the_drop_in() -> None:
    pytest.importorskip("matplotlib")
    import rustrank.compat.lightgbm as lgb

    few: dict[str, Any] = {"verbose": -1, "n_jobs": 1}
    first = lgb.LGBMRanker(n_estimators=10, **few).fit(DATA.X, DATA.y, group=[20] * 60)
    ranker = lgb.LGBMRanker(n_estimators=60, **few).fit(
        DATA.X,
        DATA.y,
        group=[20] * 60,
        init_model=first,
        eval_set=[(LATER.X, LATER.y)],
        eval_group=[[20] * 40],
        eval_at=[5],
        callbacks=[lgb.early_stopping(4, verbose=False)],
    )
    (values,) = next(iter(ranker.evals_result_.values())).values()
    line, point = rr.plot_metric(ranker).lines[:2]
    assert line.get_xdata().tolist() == list(range(11, 11 + len(values)))
    assert point.get_xydata().tolist() == [[ranker.best_iteration_, max(values)]]
