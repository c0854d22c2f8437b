"""Errors name the caller's query ids and the first bad row, whatever finds them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

# Interleaved queries whose order of appearance is neither that of their ids nor the order of training.
QID = np.array(["b", "a", "c"] * 4)
X = np.random.default_rng(0).random((12, 3))
Y = np.array([2.0, 1, 0, 0, 2, 1, 1, 0, 2, 0, 1, 2])
SMALL: dict[str, Any] = {"num_trees": 1, "min_leaf_docs": 1}


def changed(values: Any, value: Any) -> Any:
    """Return a copy in which rows 7 (of query a) and 9 (of query b) are bad."""
    values = np.asarray(values, float).copy()
    values[[7, 9]] = value
    return values


def train(y: Any, **more: Any) -> Any:
    return rr.train(rr.Dataset(X, y, qid=QID), **SMALL, **more)


@pytest.mark.parametrize("label", [np.nan, np.inf, -1.0, 1e9, 40.0, 0.5])
@pytest.mark.parametrize(
    "call",
    [
        train,
        lambda y: rr.evaluate(X[:, 0], y, qid=QID),
        lambda y: rr.compare(X[:, 0], X[:, 1], y, qid=QID),
        lambda y: rr.LambdaMART(n_estimators=1).fit(X, y, qid=QID),
        lambda y: rr.LambdaRank(epochs=1).fit(X, y, qid=QID),
        lambda y: rr.LambdaBoost(n_estimators=1).fit(X, y, qid=QID),
        lambda y: rr.Combiner().fit({"a": X[:, 0], "b": X[:, 1]}, y, qid=QID),
        lambda y: rr.cross_validate(rr.LambdaMART(n_estimators=1), X, y, qid=QID, folds=2),
        lambda y: rr.tune(rr.LambdaMART(), (X, y, QID), {"l2": [1.0]}, folds=2),
        lambda y: train(Y).refit(rr.Dataset(X, y, qid=QID, like=train(Y))),
        lambda y: rr.report({"a": X[:, 0]}, y, qid=QID),
    ],
    ids=[
        "train",
        "evaluate",
        "compare",
        "fit",
        "lambdarank",
        "boost",
        "combiner",
        "folds",
        "tune",
        "refit",
        "report",
    ],
)
def test_bad_labels_are_named_alike(call: Callable[[Any], Any], label: float) -> None:
    with pytest.raises(rr.DataError, match=r"^label\[7\].* \(query 'a'\)") as caught:
        call(changed(Y, label))
    assert (caught.value.row, caught.value.query) == (7, "a")


def test_labels_above_a_table_are_named_alike() -> None:
    for more in ({"gain": [0, 1]}, {"metric": "err", "max_label": 1}):
        with pytest.raises(rr.DataError, match=r"^label\[0\] = 2.0 \(query 'b'\)"):
            train(Y, **more)


def test_labels_of_validation_sets_are_named_with_the_set() -> None:
    docs = rr.Dataset(X, Y, qid=QID)
    bad = rr.Dataset(X, changed(Y, 40), qid=[f"other {query}" for query in QID], like=docs)
    for valid, name in ((bad, "valid"), ({"x": docs, "y": bad}, "valid['y']")):
        said = re.escape(f"{name}: label[7] = 40.0 (query 'other a')")
        with pytest.raises(rr.DataError, match=said):
            rr.train(docs, valid=valid, **SMALL)


@pytest.mark.parametrize("kind", [rr.LambdaRank, rr.RankNet, rr.LambdaBoost])
def test_labels_of_validation_sets_of_nets_are_named_with_the_set(kind: Any) -> None:
    bad = (X, changed(Y, 40), [f"other {query}" for query in QID])
    with pytest.raises(rr.DataError, match=r"valid.*: label\[7\] = 40.0 \(query 'other a'\)"):
        kind().fit(X, Y, qid=QID, eval_set=bad)


def test_numbers_of_queries_are_ids_too() -> None:
    qid = np.array([30, 20, 10] * 4)
    with pytest.raises(rr.DataError, match=r"label\[7\] is NaN \(query 20\)") as caught:
        rr.Dataset(X, changed(Y, np.nan), qid=qid)
    assert caught.value.query == "20"
    with pytest.raises(rr.DataError, match=r"label\[7\] is NaN \(query 1\)"):
        rr.Dataset(X, changed(Y, np.nan), group=[4, 4, 4])
    batches = [{"X": X, "y": changed(Y, np.nan), "qid": qid}]
    with pytest.raises(rr.DataError, match=r"label\[7\] is NaN \(query 20\)"):
        rr.Dataset.from_batches(batches)


def test_scores_and_ids_are_named_alike() -> None:
    scores = changed(X[:, 0], np.nan)
    for call in (
        lambda: rr.evaluate(scores, Y, qid=QID),
        lambda: rr.compare(X[:, 1], scores, Y, qid=QID),
    ):
        with pytest.raises(rr.DataError, match=r"scores.*, row 7 \(query 'a'\): got nan"):
            call()
    qid = QID.astype(object)
    qid[[7, 9]] = None
    calls: list[Callable[[], Any]] = [
        lambda: rr.evaluate(X[:, 0], Y, qid=qid),
        lambda: rr.Dataset(X, Y, qid=qid),
        lambda: rr.LambdaMART().fit(X, Y, qid=qid),
    ]
    for of_ids in calls:
        with pytest.raises(rr.DataError, match=r"qid\[7\] is missing"):
            of_ids()


def test_weights_of_queries_are_named_by_ids() -> None:
    weight = {"a": 1.0, "b": -1.0, "c": 2.0}
    calls: list[Callable[[], Any]] = [
        lambda: rr.evaluate(X[:, 0], Y, qid=QID, query_weight=weight),
        lambda: rr.Dataset(X, Y, qid=QID, query_weight=weight),
    ]
    for call in calls:
        with pytest.raises(rr.DataError, match=r"query_weight\[0\] = -1 \(query 'b'\)"):
            call()
