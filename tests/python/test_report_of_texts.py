"""A report explains models that know categories by their texts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rustrank as rr

pd = pytest.importorskip("pandas")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def words_of(page: str) -> str:
    parser = _Words()
    parser.feed(page)
    return " ".join(parser.words)


def docs() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    count = 400
    X = pd.DataFrame(
        {
            "price": rng.random(count),
            "brand": rng.choice(["acme", "bolt", "core", "dyn"], count),
            "size": pd.Categorical(rng.choice([103, 105], count)),
        }
    )
    y = 2 * (X.brand == "acme") + (X.price > 0.5) + (rng.random(count) > 0.7)
    return X, y.to_numpy().astype(int), np.repeat(np.arange(40), 10)


def test_texts_are_explained_and_shown() -> None:
    X, y, qid = docs()
    train = rr.Dataset(X, y, qid=qid, categorical=["brand", "size"])
    many, few = (rr.train(train, num_trees=count, min_leaf_docs=5) for count in (15, 2))
    of_prices = rr.train(rr.Dataset(X[["price"]], y, qid=qid), num_trees=5)
    X.loc[::9, "brand"] = "zeta"
    X.loc[::10, "brand"] = None
    rankers = {"few": few, "many": many, "prices": of_prices}
    shown = words_of(rr.report(rankers, y, X=X, qid=qid, metrics="ndcg@5", resamples=100).html)
    assert "the difference cannot be explained" not in shown
    assert "SHAP: the mean absolute Shapley value" in shown
    assert "feature SHAP reduction brand" in shown
    reasons = [one.split("Shapley values:")[0] for one in shown.split(": why ")[1:]]
    assert reasons
    assert all("price" in one or "brand" in one for one in reasons)
    assert "brand" in " ".join(reasons)
    found = set(" ".join(reasons).split())
    assert {"acme", "bolt", "core", "dyn"} & found
    assert {"103", "105"} & found
    # A category that the models do not know, and a missing one.
    assert "not in training" in " ".join(reasons)
    # What the report shows sums to what the rankers say.
    explained = np.abs(many.explain(X)[:, :-1]).mean(axis=0)
    assert f"{explained[1]:.4g}" in shown


def test_the_legend_of_shap_is_there_if_its_column_is() -> None:
    X, y, qid = docs()
    train = rr.Dataset(X, y, qid=qid, categorical=["brand", "size"])
    booster = rr.train(train, num_trees=5)
    without = words_of(rr.report({"trees": booster}, train, metrics="ndcg@5", resamples=100).html)
    assert "Reduction: the share of the splits" in without
    assert "SHAP:" not in without
