"""Docs that are chosen for their gradients: as good as all of them, and the same every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

SAMPLINGS: list[dict[str, Any]] = [
    {"doc_sampling": "importance", "docs_per_tree": 0.3},
    {"doc_sampling": "one_sided", "docs_per_tree": 0.3},
    {"doc_sampling": "one_sided", "docs_per_tree": 0.3, "top_docs": 0.05},
]


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_web(150, 40, seed=3)


@pytest.fixture(scope="module")
def train(raw: rr.datasets.Ranking) -> rr.Dataset:
    with pytest.warns(rr.RustrankWarning, match="have one value"):
        return rr.Dataset(raw.X, raw.y, qid=raw.qid)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_neither_threads_nor_the_order_of_rows_matter(
    raw: rr.datasets.Ranking, train: rr.Dataset, sampling: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"num_trees": 8, "num_leaves": 7, **sampling}
    one, two = (rr.train(train, num_threads=n, **options) for n in (1, 3))
    assert one == two
    order = np.random.default_rng(1).permutation(len(raw.y))
    shuffled = rr.Dataset(raw.X[order], raw.y[order], qid=raw.qid[order], like=train)
    assert rr.train(shuffled, **options) == one
    four = rr.train(train, **{**options, "num_trees": 4})
    assert rr.train(train, base=four, **{**options, "num_trees": 4}) == one
    assert rr.train(train, **{**options, "seed": 1}) != one


def test_a_third_of_the_docs_by_importance_is_nearly_as_good_as_all(train: rr.Dataset) -> None:
    other = rr.datasets.make_web(150, 40, seed=3, first_query=150)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)

    def value(**options: Any) -> float:
        booster = rr.train(train, num_trees=40, num_leaves=15, **options)
        return float(booster.evaluate(valid, ["ndcg@10"])["ndcg@10"])

    whole = value()
    for sampling in SAMPLINGS[:2]:
        assert abs(value(**sampling) - whole) < 0.02


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"doc_sampling": "best"}, "doc_sampling is not known"),
        ({"doc_sampling": "importance", "top_docs": 0.1}, 'not "one_sided"'),
        ({"doc_sampling": "one_sided", "docs_per_tree": 0.2, "top_docs": 0.2}, "top_docs is out"),
        ({"doc_sampling": "importance", "criterion": "least_squares"}, "least squares counts docs"),
    ],
)
def test_wrong_options_are_named(train: rr.Dataset, options: dict[str, Any], said: str) -> None:
    with pytest.raises(rr.ParamError, match=said):
        rr.train(train, **options)
