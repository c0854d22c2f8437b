"""Boosters whose score is a probability."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def docs() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(60, 20, seed=3)


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    train = rr.datasets.make_polynomial(60, 20, seed=1)
    return rr.train(rr.Dataset(train.X, train.y, qid=train.qid), num_trees=5)


def test_probabilities_are_those_of_isotonic_regression(
    booster: rr.Booster, docs: rr.datasets.Ranking
) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip")
    scores = booster.predict(docs.X)
    other = rr.datasets.make_polynomial(20, 20, seed=9)
    for relevant_from in (1, 3):
        isotonic.fit(scores, docs.y >= relevant_from)
        found = booster.calibrate(docs.X, docs.y, relevant_from=relevant_from).predict(other.X)
        np.testing.assert_allclose(found, isotonic.predict(booster.predict(other.X)), atol=1e-12)
        assert len(np.unique(found)) > 3


def test_no_two_docs_change_places(booster: rr.Booster, docs: rr.datasets.Ranking) -> None:
    scores = booster.predict(docs.X)
    found = booster.calibrate(docs.X, docs.y).predict(docs.X)
    assert np.all(np.diff(found[np.argsort(scores)]) >= 0)


def test_a_dataset_has_its_own_labels(booster: rr.Booster, docs: rr.datasets.Ranking) -> None:
    dataset = rr.Dataset(docs.X, docs.y, qid=docs.qid, like=booster)
    of_dataset = booster.calibrate(dataset)
    assert of_dataset == booster.calibrate(docs.X, docs.y)
    np.testing.assert_array_equal(of_dataset.predict(dataset), of_dataset.predict(docs.X))


def test_a_model_with_ranks_takes_a_dataset_without(docs: rr.datasets.Ranking) -> None:
    train = rr.datasets.make_polynomial(60, 20, seed=1)
    bare = rr.Dataset(train.X, train.y, qid=train.qid)
    chosen = rr.train(bare, progress=False)
    ranked = rr.Dataset(train.X, train.y, qid=train.qid, query_ranks=True)
    other = rr.train(ranked, num_trees=3)
    assert chosen.query_ranks
    for booster in (chosen, rr.mix([chosen, other])):
        calibrated = booster.calibrate(bare)
        assert calibrated == booster.calibrate(train.X, train.y, qid=train.qid)
        np.testing.assert_array_equal(
            calibrated.predict(bare), calibrated.predict(train.X, qid=train.qid)
        )
    held_out = rr.Dataset(docs.X, docs.y, qid=docs.qid, like=chosen)
    assert chosen.calibrate(held_out) == chosen.calibrate(docs.X, docs.y, qid=docs.qid)


def test_it_is_saved_loaded_and_pickled(
    booster: rr.Booster, docs: rr.datasets.Ranking, tmp_path: Path
) -> None:
    calibrated = booster.calibrate(docs.X, docs.y)
    calibrated.save(tmp_path / "model.rrk")
    for other in (rr.Booster.load(tmp_path / "model.rrk"), pickle.loads(pickle.dumps(calibrated))):  # noqa: S301
        assert other == calibrated
        np.testing.assert_array_equal(other.predict(docs.X), calibrated.predict(docs.X))


def test_training_does_not_go_on_from_it(booster: rr.Booster, docs: rr.datasets.Ranking) -> None:
    calibrated = booster.calibrate(docs.X, docs.y)
    dataset = rr.Dataset(docs.X, docs.y, qid=docs.qid, base=calibrated)
    with pytest.raises(rr.ParamError, match="cannot go on from a calibrated model"):
        rr.train(dataset, num_trees=2)


def test_what_cannot_be_used_is_refused(booster: rr.Booster, docs: rr.datasets.Ranking) -> None:
    dataset = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    with pytest.raises(rr.ParamError, match="only a Dataset has its own"):
        booster.calibrate(docs.X)
    with pytest.raises(rr.ParamError, match="a Dataset has its own"):
        booster.calibrate(dataset, docs.y)
    with pytest.raises(rr.DataError, match="labels of 1200 scores"):
        booster.calibrate(docs.X, docs.y[:-1])
    with pytest.raises(rr.DataError, match=r"label\[3\] is NaN"):
        booster.calibrate(docs.X, np.where(np.arange(len(docs.y)) == 3, np.nan, docs.y))
    with pytest.raises(rr.ParamError, match="relevant_from"):
        booster.calibrate(docs.X, docs.y, relevant_from="all")  # type: ignore[arg-type]
    based = rr.Dataset(docs.X, docs.y, qid=docs.qid, base_score=docs.X[:, 0])
    with pytest.raises(rr.DataError, match="cannot score docs that have base scores"):
        rr.train(based, num_trees=2).calibrate(based)


def test_labels_that_are_all_or_none_relevant_are_a_warning(
    booster: rr.Booster, docs: rr.datasets.Ranking
) -> None:
    with pytest.warns(rr.RustrankWarning, match="no label is 5 or more, the largest is 4: .* is 0"):
        none = booster.calibrate(docs.X, docs.y, relevant_from=5)
    assert none.predict(docs.X).max() == 0
    with pytest.warns(rr.RustrankWarning, match="all labels are 0 or more, .* probability is 1"):
        every = booster.calibrate(docs.X, docs.y, relevant_from=0)
    assert every.predict(docs.X).min() == 1
