"""The query-centred regression loss, against a boosting by hand and the invariance that defines it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, qid = rr.datasets.make_polynomial(num_queries=50, docs_per_query=20, seed=3)
    return np.asarray(X), np.asarray(y, np.float64), np.asarray(qid)


def centred(scores: np.ndarray, labels: np.ndarray, _rows: object) -> tuple[np.ndarray, np.ndarray]:
    """The loss by its definition, one query at a time."""
    residual = scores - labels
    return residual - residual.mean(), np.ones(len(scores))


def test_it_is_the_loss_written_by_hand() -> None:
    X, y, qid = data()
    train = rr.Dataset(X, y, qid=qid)
    ours = rr.train(train, objective="query_rmse", num_trees=20)
    theirs = rr.train(train, objective=centred, num_trees=20)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


def test_a_constant_added_to_the_labels_of_a_query_changes_nothing() -> None:
    X, y, qid = data()
    codes = np.unique(qid, return_inverse=True)[1]
    moved = y + 2.0 * (codes % 4)
    plain, shifted = (
        rr.QueryRMSEMART(n_estimators=20, metric="pairwise").fit(X, labels, qid=qid)
        for labels in (y, moved)
    )
    np.testing.assert_allclose(plain.predict(X), shifted.predict(X), rtol=1e-4, atol=1e-5)


def test_it_learns_to_rank() -> None:
    X, y, qid = data()
    few, many = (
        rr.QueryRMSEMART(n_estimators=count).fit(X, y, qid=qid).score(X, y, qid=qid)
        for count in (1, 60)
    )
    assert many > few + 0.05


def test_weights_of_rows_weigh_the_mean() -> None:
    X, y, qid = data()
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    options: dict[str, Any] = {"objective": "query_rmse", "num_trees": 10, "min_leaf_docs": 1}
    weighted = rr.train(rr.Dataset(X, y, qid=qid, row_weight=weight), **options)
    repeated = rr.train(rr.Dataset(X[rows], y[rows], qid=qid[rows]), **options)
    # Bins and the least docs of a leaf see copies, so that trees may differ in a few splits.
    values = [rr.evaluate(one.predict(X), y, qid=qid)["ndcg@10"] for one in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], abs=0.03)


def test_copies_of_queries_change_what_is_learned() -> None:
    X, y, qid = data()
    plain, copied = (
        rr.QueryRMSEMART(n_estimators=5, augment=augment).fit(X, y, qid=qid).predict(X)
        for augment in (None, (0.5, 3))
    )
    assert not np.allclose(plain, copied)


def test_its_name_in_catboost_leads_here() -> None:
    X, y, qid = data()
    with pytest.raises(rr.ParamError, match="here it is called query_rmse"):
        rr.train(rr.Dataset(X, y, qid=qid), objective="QueryRMSE")
