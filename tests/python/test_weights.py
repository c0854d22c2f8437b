"""Weights, end to end: a query of weight 2 is the query twice, and one of weight 0 is not there.

Where that holds to the last bit it is said so; where sums are merely rounded otherwise, nearly. It
does not hold for `min_leaf_docs`, which counts docs, nor for the choice of bins, which looks at
distinct rows; and nets take a step a query, so that two small ones are not one large one. A row of
weight 0 has no gradient of its own, but is still there for others to be compared with: in losses
that look at single docs that is being absent, in others not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

POINTWISE = ["regression", "logistic", "mcrank", "mcrank_ordinal"]
ALL = ["lambdamart", "ranknet", "xendcg", "balanced_logistic", "err_logistic", *POINTWISE]
OPTIONS: dict[str, Any] = {"num_trees": 6, "num_leaves": 6, "min_leaf_docs": 1}
QUERIES = 30


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(QUERIES, 12, 8, seed=4, num_terms=20)


@pytest.fixture(scope="module")
def plain(raw: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


@pytest.fixture(scope="module")
def twice(raw: rr.datasets.Ranking) -> NDArrays:
    """Every third query a second time, under another id."""
    some = raw.qid % 3 == 0
    X, y = np.concatenate([raw.X, raw.X[some]]), np.concatenate([raw.y, raw.y[some]])
    return X, y, np.concatenate([raw.qid, raw.qid[some] + 1000])


NDArrays = tuple[Any, Any, Any]
#: Two for every third query.
DOUBLED = {number: 1 + (number % 3 == 0) for number in range(QUERIES)}
#: None for every third query.
ABSENT = {number: float(number % 3 != 0) for number in range(QUERIES)}


def _trained(objective: str, data: rr.Dataset, **options: Any) -> rr.Booster:
    if "logistic" in objective and objective != "err_logistic":
        options["relevant_from"] = 2
    return rr.train(data, objective=objective, **{**OPTIONS, **options})


@pytest.mark.parametrize("objective", ALL)
def test_weight_two_is_twice(
    raw: rr.datasets.Ranking, plain: rr.Dataset, twice: NDArrays, objective: str
) -> None:
    X, y, qid = twice
    weighted = rr.Dataset(raw.X, raw.y, qid=raw.qid, query_weight=DOUBLED, like=plain)
    doubled = rr.Dataset(X, y, qid=qid, like=plain)
    valid = {"valid": weighted, "again": doubled}
    # Leaves of one doc are leaves of two, which other bounds of docs would not tell apart.
    bound = {"min_leaf_hess": 2.0} if objective in ("err_logistic", *POINTWISE) else {}
    one = _trained(objective, weighted, valid=valid, **bound)
    two = _trained(objective, doubled, **bound)
    assert np.allclose(one.predict(raw.X), two.predict(raw.X), rtol=1e-5, atol=1e-6)
    values = one.history
    assert np.allclose(values["valid"]["ndcg@10"], values["again"]["ndcg@10"], rtol=1e-12)
    light = rr.Dataset(raw.X, raw.y, qid=raw.qid, like=plain)
    other = _trained(objective, light, **bound)
    assert not np.allclose(one.predict(raw.X), other.predict(raw.X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("objective", ALL)
def test_weight_zero_is_absent_to_the_last_bit(
    raw: rr.datasets.Ranking, plain: rr.Dataset, objective: str
) -> None:
    kept = raw.qid % 3 != 0
    weighted = rr.Dataset(raw.X, raw.y, qid=raw.qid, query_weight=ABSENT, like=plain)
    ones = np.ones(len(set(raw.qid[kept].tolist())))
    few = rr.Dataset(raw.X[kept], raw.y[kept], qid=raw.qid[kept], query_weight=ones, like=plain)
    one = _trained(objective, weighted, valid={"valid": weighted, "few": few})
    two = _trained(objective, few)
    assert np.array_equal(one.predict(raw.X), two.predict(raw.X))
    assert one.history["valid"]["ndcg@10"].tolist() == one.history["few"]["ndcg@10"].tolist()


@pytest.mark.parametrize("objective", POINTWISE)
def test_rows_of_weight_zero_are_absent_from_losses_on_single_docs(
    raw: rr.datasets.Ranking, plain: rr.Dataset, objective: str
) -> None:
    rng = np.random.default_rng(1)
    weight = (rng.random(len(raw.y)) < 0.7).astype(float)
    kept = weight == 1
    weighted = rr.Dataset(raw.X, raw.y, qid=raw.qid, row_weight=weight, like=plain)
    few = rr.Dataset(
        raw.X[kept], raw.y[kept], qid=raw.qid[kept], row_weight=weight[kept], like=plain
    )
    one, two = _trained(objective, weighted), _trained(objective, few)
    assert np.array_equal(one.predict(raw.X), two.predict(raw.X))


# A doc's weight is part of its content, which all draws of `xendcg` go by.
@pytest.mark.parametrize("objective", sorted({*ALL} - {"xendcg"}))
def test_rows_of_one_weight_are_their_query_with_that_weight(
    raw: rr.datasets.Ranking, plain: rr.Dataset, objective: str
) -> None:
    by_row = np.array([DOUBLED[one] for one in raw.qid.tolist()], float)
    rows = rr.Dataset(raw.X, raw.y, qid=raw.qid, row_weight=by_row, like=plain)
    queries = rr.Dataset(raw.X, raw.y, qid=raw.qid, query_weight=DOUBLED, like=plain)
    one, two = (_trained(objective, data, noise_scale=0.0) for data in (rows, queries))
    assert np.array_equal(one.predict(raw.X), two.predict(raw.X))


@pytest.mark.parametrize(
    "ranker",
    [
        rr.LambdaMART(n_estimators=5, num_leaves=6, min_leaf_docs=1, noise_scale=0.0),
        rr.MART(n_estimators=5, num_leaves=6, min_leaf_docs=1),
        rr.McRank(n_estimators=3, num_leaves=6, min_leaf_docs=1),
        rr.RankNetMART(n_estimators=5, num_leaves=6, min_leaf_docs=1),
        rr.LambdaBoost(n_estimators=8),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_estimators_pass_weights_on(raw: rr.datasets.Ranking, ranker: Any) -> None:
    by_row = np.array([DOUBLED[one] for one in raw.qid.tolist()], float)
    rows = ranker.fit(raw.X, raw.y, qid=raw.qid, sample_weight=by_row).predict(raw.X)
    queries = ranker.fit(raw.X, raw.y, qid=raw.qid, query_weight=DOUBLED).predict(raw.X)
    none = ranker.fit(raw.X, raw.y, qid=raw.qid).predict(raw.X)
    assert np.allclose(rows, queries, rtol=1e-6, atol=1e-7)
    assert not np.allclose(rows, none, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("net", [rr.LambdaRank, rr.RankNet])
def test_nets_see_weights(raw: rr.datasets.Ranking, net: Any) -> None:
    def scores(**weights: Any) -> Any:
        return (
            net(epochs=3, random_state=1).fit(raw.X, raw.y, qid=raw.qid, **weights).predict(raw.X)
        )

    rows = np.where(raw.qid % 3 == 0, 2.0, 1.0)
    assert not np.array_equal(scores(query_weight=DOUBLED), scores())
    assert not np.array_equal(scores(sample_weight=rows), scores())
    assert np.array_equal(scores(sample_weight=rows), scores(sample_weight=rows))


def test_lambdaboost_does_not_see_queries_of_weight_zero(raw: rr.datasets.Ranking) -> None:
    kept = raw.qid % 3 != 0
    ranker = rr.LambdaBoost(n_estimators=8)
    one = ranker.fit(raw.X, raw.y, qid=raw.qid, query_weight=ABSENT).predict(raw.X)
    two = ranker.fit(raw.X[kept], raw.y[kept], qid=raw.qid[kept]).predict(raw.X)
    assert np.allclose(one, two, rtol=1e-9)


def test_metrics_and_the_combiner_count_queries_as_often_as_they_weigh(
    raw: rr.datasets.Ranking, twice: NDArrays
) -> None:
    rng = np.random.default_rng(2)
    a, b = raw.y + rng.normal(size=(2, len(raw.y)))
    some = raw.qid % 3 == 0
    _, y, qid = twice
    more = [np.concatenate([scores, scores[some]]) for scores in (a, b)]
    metrics = ["ndcg@10", "map", "err", "mrr", "precision@3"]
    weighted = rr.evaluate(a, raw.y, qid=raw.qid, metrics=metrics, query_weight=DOUBLED)
    doubled = rr.evaluate(more[0], y, qid=qid, metrics=metrics)
    absent = rr.evaluate(a, raw.y, qid=raw.qid, metrics=metrics, query_weight=ABSENT)
    few = rr.evaluate(a[~some], raw.y[~some], qid=raw.qid[~some], metrics=metrics)
    for metric in metrics:
        assert weighted[metric] == pytest.approx(doubled[metric], rel=1e-12)
        assert absent[metric] == pytest.approx(few[metric], rel=1e-12)
    one = rr.Combiner("ndcg@10").fit([a, b], raw.y, qid=raw.qid, query_weight=DOUBLED)
    two = rr.Combiner("ndcg@10").fit(more, y, qid=qid)
    assert np.allclose(one.weights, two.weights)
    assert one.value == pytest.approx(two.value, rel=1e-12)


def test_early_stopping_looks_at_the_weighted_mean(plain: rr.Dataset) -> None:
    other = rr.datasets.make_polynomial(QUERIES, 12, 8, seed=4, num_terms=20, first_query=QUERIES)
    ids = np.unique(other.qid).tolist()
    weight = {one: float(at % 3 != 0) for at, one in enumerate(ids)}
    kept = np.array([weight[one] for one in other.qid.tolist()]) > 0
    weighted = rr.Dataset(other.X, other.y, qid=other.qid, query_weight=weight, like=plain)
    few = rr.Dataset(other.X[kept], other.y[kept], qid=other.qid[kept], like=plain)
    options: dict[str, Any] = {"num_trees": 60, "num_leaves": 6, "early_stopping": 5}
    one = rr.train(plain, valid=weighted, **options)
    two = rr.train(plain, valid=few, **options)
    assert one == two
    assert one.best_round == two.best_round


def test_cross_validation_means_count_weights(raw: rr.datasets.Ranking) -> None:
    ranker = rr.LambdaMART(n_estimators=3, num_leaves=4)
    found = rr.cross_validate(ranker, raw.X, raw.y, qid=raw.qid, folds=3, query_weight=ABSENT)
    value = next(iter(found.values()))["ndcg@10"]
    weight = np.array([ABSENT[one] for one in range(QUERIES)])
    per_query = np.asarray(value.per_query)
    counted = ~np.isnan(per_query)
    assert value == pytest.approx(np.average(per_query[counted], weights=weight[counted]))
