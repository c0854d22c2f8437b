"""Dropout: the best round is the one that was measured, and breaks leave no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

DROPOUT: dict[str, Any] = {
    "dropout": 0.3,
    "dropout_skip": 0.2,
    "num_leaves": 7,
    "learning_rate": 0.5,
    "seed": 3,
}


@pytest.fixture(scope="module")
def train() -> rr.Dataset:
    raw = rr.datasets.make_polynomial(num_queries=60, seed=1)
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


@pytest.fixture(scope="module")
def other() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries=40, seed=2)


@pytest.fixture(scope="module")
def valid(train: rr.Dataset, other: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(other.X, other.y, qid=other.qid, like=train)


@pytest.mark.parametrize("objective", ["lambdamart", "mcrank"])
def test_early_stopping_keeps_the_model_of_the_best_round(
    train: rr.Dataset, valid: rr.Dataset, other: rr.datasets.Ranking, objective: str
) -> None:
    options = {"objective": objective, "valid": valid, "early_stopping": 8, **DROPOUT}
    booster = rr.train(train, num_trees=300, **options)
    best = booster.best_round
    assert best is not None
    assert booster.num_rounds == best < booster.all_rounds.num_rounds
    history = booster.history["valid"]["ndcg@10"]
    assert booster.evaluate(valid, ["ndcg@10"])["ndcg@10"] == history[best - 1] == history.max()
    # What comes of files and of raw rows is the same model.
    again = rr.Booster.from_text(booster.to_text())
    found = rr.evaluate(again.predict(other.X), other.y, qid=other.qid, metrics=["ndcg@10"])
    assert found["ndcg@10"] == history[best - 1]
    # The first trees as the last round left them are another model.
    last = booster.all_rounds
    assert last.evaluate(valid, ["ndcg@10"])["ndcg@10"] == history[-1]
    assert last.truncate(best) != booster
    # Ending there in the first place is the same.
    assert rr.train(train, num_trees=best, **{**options, "early_stopping": None}) == booster


def test_a_callback_that_raises_and_a_resumed_training_leave_no_trace(
    train: rr.Dataset, valid: rr.Dataset, tmp_path: Path
) -> None:
    whole = rr.train(train, num_trees=20, valid=valid, early_stopping=19, **DROPOUT)
    path = tmp_path / "checkpoint.rrk"

    def fail(latest: rr.Round) -> None:
        if latest.number == 13:
            raise ValueError

    begun: dict[str, Any] = {"checkpoint": path, "checkpoint_every": 4, **DROPOUT}
    with pytest.raises(ValueError):  # noqa: PT011 - the callback's own
        rr.train(train, num_trees=20, valid=valid, early_stopping=19, callbacks=fail, **begun)
    resumed = rr.train(train, num_trees=20, valid=valid, early_stopping=19, resume=True, **begun)
    assert resumed == whole
    assert resumed.best_round == whole.best_round
    assert resumed.all_rounds == whole.all_rounds
    assert np.array_equal(resumed.history["valid"]["ndcg@10"], whole.history["valid"]["ndcg@10"])


def test_ten_and_ten_trees_are_twenty(train: rr.Dataset) -> None:
    ten = rr.train(train, num_trees=10, **DROPOUT)
    assert rr.train(train, num_trees=10, base=ten, **DROPOUT) == rr.train(
        train, num_trees=20, **DROPOUT
    )


def test_none_dropped_is_plain_training_on_rounder_numbers(train: rr.Dataset) -> None:
    plain = rr.train(train, num_trees=10, num_leaves=7)
    none = rr.train(train, num_trees=10, num_leaves=7, dropout=0.5, dropout_skip=1.0)
    assert np.allclose(plain.predict(train), none.predict(train), rtol=0, atol=1e-9)


def test_estimators_take_it(train: rr.Dataset) -> None:
    raw = rr.datasets.make_polynomial(num_queries=60, seed=1)
    ranker = rr.LambdaMART(
        n_estimators=10,
        num_leaves=7,
        learning_rate=0.5,
        dropout=0.3,
        dropout_skip=0.2,
        random_state=3,
    )
    booster = ranker.fit(raw.X, raw.y, qid=raw.qid).booster_
    assert booster == rr.train(train, num_trees=10, **DROPOUT)
