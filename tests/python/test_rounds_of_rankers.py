"""Call-backs and progress of estimators that learn from raw values: the loop of `rr.train`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

DATA = rr.datasets.make_polynomial(num_queries=40, seed=0)
VALID = rr.datasets.make_polynomial(num_queries=20, seed=1)
EVAL = {"eval_set": (VALID.X, VALID.y, VALID.qid)}
RANKERS = [
    rr.LambdaBoost(n_estimators=6, early_stopping=None),
    rr.LambdaRank(epochs=6, patience=None),
    rr.RankNet(epochs=6, patience=2),
]


def _fitted(ranker: Any, **given: Any) -> Any:
    return ranker._again().fit(DATA.X, DATA.y, qid=DATA.qid, **given)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_call_backs_see_each_round_and_can_end_training(ranker: Any) -> None:
    rounds: list[rr.Round] = []
    scores = []

    def see(latest: rr.Round) -> bool:
        rounds.append(latest)
        scores.append(latest.booster.predict(VALID.X))
        return latest.number == 4

    fitted = _fitted(ranker, callbacks=see, **EVAL)
    values = fitted.history["valid"]["ndcg@10"]
    assert [latest.number for latest in rounds] == [1, 2, 3, 4]
    assert [latest.values["valid"]["ndcg@10"] for latest in rounds] == values.tolist()
    for score, value in zip(scores, values, strict=True):
        assert rr.evaluate(score, VALID.y, qid=VALID.qid)["ndcg@10"] == value
    assert [latest.num_leaves for latest in rounds] == [0] * 4
    silent = _fitted(ranker, **EVAL).history["valid"]["ndcg@10"]
    assert (silent[:4] == values).all()


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_call_back_that_raises_takes_its_round_back(ranker: Any) -> None:
    def fail(latest: rr.Round) -> None:
        if latest.number == 3:
            raise ValueError

    def end(latest: rr.Round) -> bool:
        return latest.number == 2

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - ours
        _fitted(ranker, callbacks=[fail], **EVAL)
    booster = caught.value.booster  # type: ignore[attr-defined]
    assert booster == _fitted(ranker, callbacks=end, **EVAL).booster
    assert len(booster.history["valid"]["ndcg@10"]) == 2


def test_progress_of_lambdaboost_is_lines_where_no_terminal_is(
    capfd: pytest.CaptureFixture[str],
) -> None:
    fitted = _fitted(rr.LambdaBoost(n_estimators=3, progress=True), **EVAL)
    said = capfd.readouterr().err
    assert said.startswith("round 1, valid ndcg@10 0.")
    assert "round 3" in said
    assert fitted.booster.best_round == int(np.argmax(fitted.history["valid"]["ndcg@10"])) + 1


def test_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="expected functions of a round"):
        _fitted(rr.LambdaRank(epochs=1), callbacks=[3])
