"""McRank: labels as classes, their probabilities, and the gain that these let expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(num_queries=60, docs_per_query=20, seed=1)
KINDS = ["mcrank", "mcrank_ordinal"]
SMALL = {"num_trees": 6, "num_leaves": 8, "min_leaf_docs": 5}


def _train(objective: str, **options: object) -> tuple[rr.Dataset, rr.Booster]:
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    return train, rr.train(train, objective=objective, **{**SMALL, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", KINDS)
def test_scores_are_the_gains_that_probabilities_let_expect(objective: str) -> None:
    train, booster = _train(objective)
    p = booster.probabilities(DATA.X)
    assert booster.classes is not None
    assert booster.classes.tolist() == [0, 1, 2, 3, 4]
    assert p.shape == (len(DATA.y), 5)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(1), 1, rtol=0, atol=1e-14)
    scores = booster.predict(DATA.X)
    np.testing.assert_allclose(scores, p @ (2**booster.classes - 1), rtol=1e-13)
    assert (booster.predict(train) == scores).all()
    mean = p[np.arange(len(p)), DATA.y.astype(int)].mean()
    assert mean > 0.3, "a fifth is chance"
    linear = booster.with_gain(booster.classes)
    np.testing.assert_allclose(linear.predict(DATA.X), p @ booster.classes, rtol=1e-13)
    _, other = _train(objective, gain="linear")
    assert (linear.predict(DATA.X) == other.predict(DATA.X)).all()


def test_softmax_is_that_of_scikit_learn_in_the_limit() -> None:
    """Many small steps on one feature of few values reach the shares of labels in each."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3000, 1)).astype(np.float32)
    y = rng.binomial(2, 0.2 + 0.3 * X[:, 0]).astype(np.float32)
    train = rr.Dataset(X, y, group=[30] * 100)
    booster = rr.train(train, objective="mcrank", num_trees=300, num_leaves=3, min_leaf_hess=0)
    p = booster.probabilities(np.array([[0], [1], [2]], np.float32))
    for value in range(3):
        shares = [float((y[X[:, 0] == value] == label).mean()) for label in range(3)]
        np.testing.assert_allclose(p[value], shares, atol=2e-3)


@pytest.mark.parametrize("objective", KINDS)
def test_a_booster_of_classes_is_saved_cut_and_continued(objective: str, tmp_path: Path) -> None:
    train, booster = _train(objective)
    margins = 5 if objective == "mcrank" else 4
    assert (booster.num_rounds, booster.num_trees) == (6, 6 * margins)
    booster.save(tmp_path / "m.rrk")
    back = rr.Booster.load(tmp_path / "m.rrk")
    assert back == booster == rr.Booster.from_text(booster.to_text())
    assert (back.predict(DATA.X) == booster.predict(DATA.X)).all()
    short = booster.truncate(4)
    assert (short.num_rounds, short.num_trees) == (4, 4 * margins)
    more = rr.train(train, objective=objective, base=short, **{**SMALL, "num_trees": 2})  # type: ignore[arg-type]
    assert more == booster
    valid = rr.datasets.make_polynomial(20, 20, seed=1, first_query=60)
    held = rr.Dataset(valid.X, valid.y, qid=valid.qid, like=train)
    _, best = _train(objective, valid=held, early_stopping=2, num_trees=40)
    assert best.num_rounds == best.best_round
    shown = best.evaluate(held, "ndcg@10")["ndcg@10"]
    assert float(shown) == max(best.history["valid"]["ndcg@10"])


def test_what_classes_cannot_do_is_told() -> None:
    train, booster = _train("mcrank", num_trees=1)
    with pytest.raises(rr.ParamError, match="not explained"):
        booster.explain(DATA.X)
    with pytest.raises(rr.ParamError, match="not explained"):
        booster.contrast(DATA.X[0], DATA.X[1])
    with pytest.raises(rr.ParamError, match="cannot hold classes"):
        booster.export("lightgbm")
    with pytest.raises(rr.ParamError, match="exact step"):
        rr.train(train, objective="mcrank", step="exact")
    with pytest.raises(rr.ParamError, match="only a model of classes"):
        rr.train(train, num_trees=1).probabilities(DATA.X)
    one = rr.Dataset(DATA.X, np.ones(len(DATA.y)), qid=DATA.qid)
    with pytest.raises(rr.DataError, match="one class: nothing can be learned"):
        rr.train(one, objective="mcrank")
    assert rr.train(train, num_trees=1).classes is None


def test_errs_probabilities_are_learned_as_they_are() -> None:
    train = rr.Dataset(DATA.X, DATA.y, qid=DATA.qid)
    booster = rr.train(train, objective="err_logistic", metric="err@10", num_trees=30)
    learned = 1 / (1 + np.exp(-booster.predict(DATA.X)))
    wanted = (2**DATA.y - 1) / 2 ** DATA.y.max()
    assert abs(learned.mean() - wanted.mean()) < 0.02
    assert np.corrcoef(learned, wanted)[0, 1] > 0.6


def test_relevance_is_normalised_within_queries() -> None:
    rng = np.random.default_rng(0)
    scores, qid = rng.normal(size=30), np.repeat([3, 1, 2], 10)
    p = rr.err_relevance(scores)
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-scores)), rtol=1e-14)
    for given in ({"qid": qid}, {"group": [10, 10, 10]}):
        normalised = rr.err_relevance(scores, **given)
        for query in (1, 2, 3):
            own, top = p[qid == query], p[qid == query].max()
            np.testing.assert_allclose(normalised[qid == query], top * (1 + own - top))
            assert (np.argsort(normalised[qid == query]) == np.argsort(own)).all()
    assert rr.err_relevance([-1e4, 1e4]).tolist() == [0, 1]
