"""Queries that count again with some of their docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = rr.datasets.make_polynomial(num_queries=60, seed=0)


def dataset(rows: Any = slice(None), qid: Any = DATA.qid, like: Any = None) -> rr.Dataset:
    return rr.Dataset(DATA.X[rows], DATA.y[rows], qid=qid, like=like)


def test_training_with_copies_is_training_on_them() -> None:
    """With the same docs in every leaf: the first tree, before scores differ by rounding."""
    train = dataset()
    augmented = rr.train(train, augment=(0.7, 5), num_trees=1, min_leaf_docs=1, noise_scale=0)
    rows, qid, query_ids = train.augmented((0.7, 5))
    larger = dataset(rows, qid, like=train)
    assert larger.num_queries == len(query_ids) <= 6 * 60
    assert (np.bincount(qid) > 1).all()
    physical = rr.train(larger, num_trees=1, min_leaf_docs=1, noise_scale=0)
    scores = augmented.predict(DATA.X), physical.predict(DATA.X)
    # Gradients are rounded to integers, by the largest of them.
    assert np.corrcoef(*scores)[0, 1] > 0.99
    alone = rr.train(train, num_trees=1, min_leaf_docs=1, noise_scale=0)
    assert augmented != alone
    assert augmented.params["augment"] == "0.7x5"
    assert "augment" not in alone.params


def test_the_rows_of_copies_are_a_share_of_their_queries() -> None:
    train = dataset()
    rows, qid, query_ids = train.augmented((0.5, 10), seed=3)
    assert (np.sort(rows[qid < 60]) == np.arange(len(DATA.y))).all()
    assert (query_ids[qid] == DATA.qid[rows]).all()
    sizes = dict(zip(*np.unique(DATA.qid, return_counts=True), strict=True))
    for copy, count in zip(*np.unique(qid[qid >= 60], return_counts=True), strict=True):
        assert count == np.floor(sizes[query_ids[copy]] / 2 + 0.5)
        assert len(np.unique(rows[qid == copy])) == count
    again = train.augmented("0.5x10", seed=3)
    assert (again.rows == rows).all()
    assert not np.array_equal(train.augmented((0.5, 10), seed=4).rows, rows)


def test_copies_do_not_know_the_order_of_rows_or_threads() -> None:
    order = np.random.default_rng(0).permutation(len(DATA.y))
    options: dict[str, Any] = {"augment": (0.5, 3), "num_trees": 4}
    straight = rr.train(dataset(), num_threads=1, **options)
    assert rr.train(dataset(order, DATA.qid[order]), num_threads=2, **options) == straight


def test_estimators_and_nets_have_copies_too() -> None:
    given = (DATA.X, DATA.y)
    for made in (
        rr.LambdaMART(n_estimators=3, augment=(0.5, 3)),
        rr.RankNetMART(n_estimators=3, augment="0.5x3"),
        rr.XENDCGMART(n_estimators=3, augment=(0.5, 3)),
        rr.LambdaRank(hidden=(), epochs=2, augment=(0.5, 3)),
        rr.RankNet(hidden=(), epochs=2, augment=(0.5, 3)),
    ):
        with_copies = made.fit(*given, qid=DATA.qid).booster_
        assert with_copies.params["augment"] == "0.5x3"
        made.set_params(augment=None)
        assert with_copies != made.fit(*given, qid=DATA.qid).booster_


def loss(scores: Any, labels: Any, _: Any) -> tuple[Any, Any]:
    return scores - labels, np.ones_like(scores)


def test_what_cannot_be_augmented_is_refused() -> None:
    train = dataset()
    pairs, lone, many = [[0, 1]], 0.7, (0.7, 5, 2)
    train_any: Any = rr.train
    faults: list[tuple[Callable[[], Any], str]] = [
        (lambda: train_any(train, augment=lone), "augment: got 0.7"),
        (lambda: rr.train(train, augment="a lot"), "augment: got 'a lot'"),
        (lambda: train_any(train, augment=many), "expected .fraction, copies."),
        (
            lambda: rr.train(train, augment=(0.7, 0)),
            "augment: the number of copies of queries: got 0",
        ),
        (lambda: rr.train(train, augment=(1.0, 5)), "below 1"),
        (lambda: rr.train(train, augment=(0.5, 5), objective="regression"), "losses of queries"),
        (lambda: rr.train(train, augment=(0.5, 5), objective="mcrank"), "losses of queries"),
        (lambda: rr.train(train, augment=(0.5, 5), objective=loss), "leave it None"),
        (
            lambda: rr.train(train, augment=(0.5, 5), objective="ranknet", preferences=pairs),
            "preferences",
        ),
        (lambda: train.augmented(None), "augment: got None"),
        (lambda: train.augmented((2.0, 5)), "below 1"),
    ]
    for faulty, said in faults:
        with pytest.raises(rr.ParamError, match=said):
            faulty()
