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


def test_without_queries_all_rows_are_one_with_a_warning() -> None:
    few = X[:20]
    with pytest.warns(rr.RustrankWarning, match="NO QUERIES ARE GIVEN for X: all 20 rows"):
        assert sorted(BOOSTER.rank(few)) == list(range(1, 21))
    best = int(np.argmax(BOOSTER.predict(few)))
    with pytest.warns(rr.RustrankWarning, match=r"group=\[len\(X\)\]"):
        assert BOOSTER.top(few, 1).tolist() == [best]
    # Nothing is ranked, or somebody says that it is one query.
    assert BOOSTER.rank(few[:1]).tolist() == [1]
    assert BOOSTER.top(few, 1, group=[20]).tolist() == [best]
    assert RANKER.top(few, 1, group=[20]).tolist() == [best]
    for rank in (RANKER.rank, RANKER.top):
        with pytest.raises(rr.DataError, match="X: got no queries, expected some") as found:
            rank(few)
        assert found.value.code == "query.missing"
    with pytest.warns(rr.RustrankWarning):
        alone = rr.LambdaMART(n_estimators=8, num_leaves=5).fit(few, Y[:20])
    assert sorted(alone.rank(few)) == list(range(1, 21))
    with pytest.raises(rr.ParamError, match="k: got 0"):
        BOOSTER.top(X, 0, qid=QID)


def test_queries_are_a_column_of_the_table() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(query_id=QID, label=Y)
    booster = rr.train(frame, y="label", qid="query_id", num_trees=8, num_leaves=5)
    ranks = booster.rank(frame, qid=QID)
    assert (booster.rank(frame, qid="query_id") == ranks).all()
    assert (booster.top(frame, 3, qid="query_id") == booster.top(frame, 3, qid=QID)).all()
    assert (booster.rank(frame.rename(columns={"query_id": "qid"})) == ranks).all()
    assert (booster.predict(frame, qid="query_id") == booster.predict(frame)).all()
    ranked = rr.train(rr.Dataset(frame, "label", qid="query_id", query_ranks=True), num_trees=4)
    assert (ranked.predict(frame, qid="query_id") == ranked.predict(frame, qid=QID)).all()
    fitted = rr.LambdaMART(n_estimators=4).fit(frame, "label", qid="query_id")
    both = rr.Combiner(method="average").fit(
        {"a": fitted, "b": booster}, X=frame[list("abcdef")], y=Y, qid=QID
    )
    found = both.predict(frame[[*"abcdef", "query_id"]], qid="query_id")
    assert (found == both.predict(frame[list("abcdef")], qid=QID)).all()
    with pytest.raises(rr.DataError, match="qid: X has no column 'query', expected one of 'a'"):
        booster.rank(frame, qid="query")


def test_a_ranker_is_scored_with_the_labels_that_fit_took_by_name() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(query_id=QID, label=Y)
    ranker = rr.LambdaMART(n_estimators=4).fit(frame, "label", qid="query_id")
    assert ranker.score(frame) == ranker.score(frame, "label") == ranker.score(frame, Y)
    with pytest.raises(rr.ParamError, match="or X with the column 'label' that fit took"):
        ranker.score(frame.drop(columns="label"))
    with pytest.raises(rr.ParamError, match=r"y: got None, expected the labels of X$"):
        RANKER.score(X, qid=QID)


def test_swapped_arguments_of_top_are_said() -> None:
    docs = rr.datasets.make_polynomial(20, 10, seed=0)
    booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=1)
    swapped: Any = (10, docs.X)
    with pytest.raises(rr.ParamError, match=r"X: got 10, expected the documents first.*top\(X, 10"):
        booster.top(*swapped, qid=docs.qid)
