"""Rank-biased precision from end to end, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rustrank as rr


def rbp(scores: list[float], labels: list[int], p: float, cut: int | None = None) -> float:
    """The mean over all orders of tied docs, each by the definition."""
    docs = range(len(scores))
    values = []
    for order in itertools.permutations(docs):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            hits = [labels[doc] >= 1 for doc in order][:cut]
            values.append(sum((1 - p) * p**at for at, hit in enumerate(hits) if hit))
    return sum(values) / len(values)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("cut", [None, 1, 3])
def test_the_value_is_the_mean_over_the_orders_of_ties(p: float, cut: int | None) -> None:
    rng = np.random.default_rng(3)
    name = f"rbp(p={p})" + (f"@{cut}" if cut else "")
    for _ in range(20):
        scores = rng.integers(0, 4, 6).tolist()
        labels = rng.integers(0, 3, 6).tolist()
        value = rr.evaluate(scores, labels, metrics=[name], empty="zero")[name]
        assert value == pytest.approx(rbp(scores, labels, p, cut), abs=1e-12)


def test_training_by_it_improves_it() -> None:
    train = rr.datasets.make_polynomial(100, docs_per_query=30, seed=1)
    test = rr.datasets.make_polynomial(100, docs_per_query=30, first_query=1000, seed=1)
    values = {}
    for num_trees in (1, 60):
        booster = rr.train(
            rr.Dataset(train.X, train.y, qid=train.qid),
            objective_metric="rbp(p=0.8)",
            relevant_from=2,
            num_trees=num_trees,
        )
        judged = rr.evaluate(
            booster.predict(test.X), test.y, qid=test.qid, metrics=["rbp(p=0.8)"], relevant_from=2
        )
        values[num_trees] = judged["rbp(p=0.8)"]
    assert values[60] > values[1] + 0.01


def test_early_stopping_by_it() -> None:
    data = rr.datasets.make_polynomial(60, docs_per_query=20, seed=2)
    ranker = rr.LambdaMART(metric="rbp(p=0.5)@10", n_estimators=5).fit(data.X, data.y, qid=data.qid)
    assert 0 < ranker.score(data.X, data.y, qid=data.qid) < 1


def test_a_combination_is_as_good_as_a_fine_grid() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 60)
    first = labels + rng.normal(0, 1.5, 60)
    second = labels + rng.normal(0, 1.5, 60)
    group = [10] * 6
    name = "rbp(p=0.8)"
    found = rr.Combiner(name).fit([first, second], labels, group=group)
    for alpha in np.linspace(0, 1, 2001):
        mixed = (1 - alpha) * first + alpha * second
        value = rr.evaluate(mixed, labels, group=group, metrics=[name])[name]
        assert value <= found.value + 1e-12
    mixed = found.predict([first, second])
    assert rr.evaluate(mixed, labels, group=group, metrics=[name])[name] == found.value


def test_two_rankers_are_compared_by_it() -> None:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, 200)
    good, bad = labels + rng.normal(0, 0.5, 200), rng.normal(0, 1, 200)
    found = rr.compare(bad, good, labels, group=[10] * 20, metrics=["rbp(p=0.9)"])
    assert found["rbp(p=0.9)"].difference > 0


def test_a_name_has_one_spelling() -> None:
    with pytest.raises(rr.ParamError, match=r"did you mean rbp\(p=0\.8\)@10\?"):
        rr.evaluate([1.0, 0.0], [0, 1], metrics=["rbp@10"])
    with pytest.raises(rr.ParamError, match="p above 0 and below 1"):
        rr.evaluate([1.0, 0.0], [0, 1], metrics=["rbp(p=1)"])
