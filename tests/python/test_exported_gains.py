"""Gains of splits in the files of other libraries are on the scale of these libraries, and no leaf is empty there.

The SHAP values of these libraries are divided by the documents or hessians of each node.
"""

import json
from typing import Any

import numpy as np
import pytest

import rustrank as rr


def of_lightgbm(booster: rr.Booster) -> list[float]:
    lines = booster.export("lightgbm").decode().splitlines()
    (line,) = [line for line in lines if line.startswith("split_gain=")]
    return [float(gain) for gain in line.partition("=")[2].split()]


def of_xgboost(booster: rr.Booster) -> list[float]:
    tree = json.loads(booster.export("xgboost"))["learner"]["gradient_booster"]["model"]["trees"][0]
    pairs = zip(tree["loss_changes"], tree["left_children"], strict=True)
    return [gain for gain, left in pairs if left >= 0]


@pytest.mark.parametrize("gains", [of_lightgbm, of_xgboost])
def test_a_gain_is_that_of_the_other_library(gains: Any) -> None:
    """Squared error: the sum of squared gradients over hessians of both sides, less that of the node."""
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 3))
    y = np.round(np.clip(X[:, 0] + random.normal(size=400) + 2, 0, 4))
    data = rr.Dataset(X, y, qid=np.repeat(np.arange(20), 20))
    booster = rr.train(data, objective="regression", num_trees=1, num_leaves=2, learning_rate=1.0)
    sides = booster.predict(X)
    residuals = y - y.mean()
    expected = sum(
        residuals[sides == side].sum() ** 2 / (sides == side).sum() for side in set(sides)
    )
    expected -= residuals.sum() ** 2 / len(y)
    assert gains(booster) == pytest.approx([expected], rel=1e-4)
    (reduction,) = booster.feature_importance("reduction")[booster.feature_importance("count") > 0]
    assert reduction == pytest.approx(expected / 2, rel=1e-4)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_model_that_comes_back_has_the_same_reductions(
    library: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    docs = rr.datasets.make_polynomial(40, 10, seed=3)
    booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=5)
    path = tmp_path_factory.mktemp("gains") / "model"
    booster.export(library, path)
    again = rr.Booster.load(path)
    # XGBoost's numbers are of single precision.
    close = 0 if library == "lightgbm" else 1e-6
    assert again.feature_importance("reduction") == pytest.approx(
        booster.feature_importance("reduction"), rel=close
    )


def with_empty_leaves() -> rr.Booster:
    """Symmetric trees, some of which have leaves that no document came to."""
    docs = rr.datasets.make_polynomial(20, 10, seed=1)
    data = rr.Dataset(docs.X, docs.y, qid=docs.qid)
    return rr.train(data, tree_shape="symmetric", num_trees=8, num_leaves=8, min_leaf_docs=5)


def leaves_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    if "left" not in node:
        return [node]
    return leaves_of(node["left"]) + leaves_of(node["right"])


def lines_of(text: str, name: str) -> list[list[float]]:
    lines = [line for line in text.splitlines() if line.startswith(f"{name}=")]
    return [[float(one) for one in line.partition("=")[2].split()] for line in lines]


def without_zeros(text: str) -> None:
    """Each leaf of LightGBM's text has a document, and each split those of its leaves."""
    names = ("leaf_count", "internal_count", "left_child", "right_child")
    for leaves, splits, lefts, rights in zip(
        *(lines_of(text, name) for name in names), strict=True
    ):
        assert min(leaves) >= 1
        for at, sides in enumerate(zip(lefts, rights, strict=True)):
            below = [leaves[-1 - int(one)] if one < 0 else splits[int(one)] for one in sides]
            assert splits[at] == sum(below)


def test_empty_leaves_have_a_document_in_the_file_of_lightgbm() -> None:
    booster = with_empty_leaves()
    text = booster.export("lightgbm").decode()
    without_zeros(text)
    trees = booster.dump()["trees"]
    ours = [sorted(leaf["docs"] for leaf in leaves_of(tree)) for tree in trees]
    empty = [0 in docs for docs in ours]
    assert any(empty)
    assert not all(empty)
    for docs, written in zip(ours, lines_of(text, "leaf_count"), strict=True):
        assert sorted(written) == sorted(max(1, one) for one in docs)
    again = rr.Booster.from_text(text)
    X = np.random.default_rng(2).normal(size=(50, 50))
    assert np.array_equal(again.predict(X), booster.predict(X))
    assert again.explain(X).sum(axis=1) == pytest.approx(booster.predict(X), abs=1e-12)
    assert not np.array_equal(again.explain(X), booster.explain(X))
    without_zeros(again.export("lightgbm").decode())


def test_empty_leaves_have_hessians_in_the_file_of_xgboost() -> None:
    booster = with_empty_leaves()
    text = booster.export("xgboost").decode()
    for tree in json.loads(text)["learner"]["gradient_booster"]["model"]["trees"]:
        hessians, lefts = np.array(tree["sum_hessian"]), np.array(tree["left_children"])
        assert hessians.min() > 0
        splits = np.flatnonzero(lefts >= 0)
        below = hessians[lefts[splits]] + hessians[lefts[splits] + 1]
        assert hessians[splits] == pytest.approx(below, rel=1e-4)
    again = rr.Booster.from_text(text)
    X = np.random.default_rng(2).normal(size=(50, 50))
    assert np.array_equal(again.predict(X), booster.predict(X))
    assert again.explain(X).sum(axis=1) == pytest.approx(booster.predict(X), abs=1e-12)


def test_a_file_that_tells_no_documents_is_given_none() -> None:
    kept = [
        line
        for line in with_empty_leaves().export("lightgbm").decode().splitlines()
        if not line.startswith(("leaf_count", "internal_count", "leaf_weight", "internal_weight"))
    ]
    unknown = rr.Booster.from_text("\n".join(kept))
    assert not np.any(np.concatenate(lines_of(unknown.export("lightgbm").decode(), "leaf_count")))
    with pytest.raises(rr.ModelFormatError, match="how many docs"):
        rr.Booster.from_text(unknown.export("lightgbm").decode()).explain(np.zeros((1, 50)))
