"""Ranks of documents within queries, and the best rows of each, against a slow version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

X, Y, QID = rr.datasets.make_polynomial(num_queries=40, docs_per_query=15, seed=4)
ROWS = np.random.default_rng(0).permutation(len(Y))
X, Y, QID = X[ROWS, :6], Y[ROWS], QID[ROWS]
BOOSTER = rr.train(rr.Dataset(X, Y, qid=QID), num_trees=8, num_leaves=5)
RANKER = rr.LambdaMART(n_estimators=8, num_leaves=5).fit(X, Y, qid=QID)


def slow_ranks(scores: Any, qid: Any) -> list[int]:
    """A row is behind those with larger scores, and those with its score that come before it."""
    return [
        1 + sum(
            qid[other] == qid[row] and (scores[other], -other) > (scores[row], -row)
            for other in range(len(scores))
        )
        for row in range(len(scores))
    ]  # fmt: skip


@pytest.mark.parametrize("qid", [QID, QID.astype(str)])
def test_ranks_are_those_of_a_slow_version(qid: Any) -> None:
    scores = BOOSTER.predict(X)
    assert (scores == BOOSTER.predict(X)).all()
    expected = slow_ranks(scores, qid)
    assert BOOSTER.rank(X, qid=qid).tolist() == expected
    assert RANKER.rank(X, qid=qid).tolist() == slow_ranks(RANKER.predict(X), qid)
    assert len(set(scores)) < len(scores), "some scores are tied"


def test_the_best_of_each_query_come_in_order_of_queries() -> None:
    ranks, first = BOOSTER.rank(X, qid=QID), list(dict.fromkeys(QID.tolist()))
    rows = BOOSTER.top(X, 3, qid=QID)
    assert ranks[rows].tolist() == [1, 2, 3] * 40
    assert QID[rows].tolist() == [query for query in first for _ in range(3)]
    assert BOOSTER.top(X, 99, qid=QID).shape == (len(Y),)
    assert (BOOSTER.top(rr.Dataset(X, Y, qid=QID, like=BOOSTER), 3) == rows).all()
    frame = pd.DataFrame(X).rename(columns=str).assign(qid=QID)
    named = rr.LambdaMART(n_estimators=8, num_leaves=5).fit(frame, Y)
    assert (named.top(frame, 3) == rows).all()
    assert (RANKER.top(X, 3, qid=QID) == rows).all()


def test_without_queries_all_rows_are_one() -> None:
    assert sorted(BOOSTER.rank(X[:20])) == list(range(1, 21))
    best = int(np.argmax(BOOSTER.predict(X[:20])))
    assert BOOSTER.top(X[:20], 1).tolist() == [best]
    assert RANKER.top(X[:20], 1).tolist() == [best]
    with pytest.raises(rr.ParamError, match="k: got 0"):
        BOOSTER.top(X, 0)
