"""Boosters from Python: values that can be kept and copied, that score what datasets take, and explain."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ROUNDS = 12


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries=60, seed=1)


@pytest.fixture(scope="module")
def train(raw: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


@pytest.fixture(scope="module")
def booster(train: rr.Dataset) -> rr.Booster:
    return rr.train(train, num_trees=ROUNDS, num_leaves=7)


def test_boosters_are_values(raw: rr.datasets.Ranking, train: rr.Dataset, tmp_path: Path) -> None:
    other = rr.datasets.make_polynomial(num_queries=25, seed=2)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)
    booster = rr.train(train, num_trees=ROUNDS, num_leaves=7, valid=valid, early_stopping=5)
    again = pickle.loads(pickle.dumps(booster))  # noqa: S301 - our own
    assert again == booster
    assert again.best_round == booster.best_round
    assert (
        again.history["valid"]["ndcg@10"].tolist() == booster.history["valid"]["ndcg@10"].tolist()
    )
    assert copy.deepcopy(booster) == copy.copy(booster) == booster
    assert {booster: 1}[again] == 1
    booster.save(tmp_path / "a.rrk")
    loaded = rr.Booster.load(tmp_path / "a.rrk")
    assert loaded == booster
    assert np.array_equal(loaded.predict(raw.X), booster.predict(raw.X))
    assert loaded != booster.truncate(0)
    with pytest.raises(TypeError, match=r"made by rustrank\.train"):
        rr.Booster()


def test_the_help_says_what_pickling_keeps(train: rr.Dataset) -> None:
    help_text = " ".join((rr.Booster.__doc__ or "").split())
    kept = "Pickling keeps the text of the model file, `history` and `best_round`, but not the later rounds"
    assert kept in help_text
    other = rr.datasets.make_polynomial(num_queries=25, seed=2)
    valid = rr.Dataset(other.X, other.y, qid=other.qid, like=train)
    stop = rr.EarlyStopping(1)
    booster = rr.train(train, num_trees=40, num_leaves=63, valid=valid, early_stopping=stop)
    assert booster.all_rounds.num_rounds > booster.num_rounds
    again = pickle.loads(pickle.dumps(booster))  # noqa: S301 - our own
    assert (again.best_round, list(again.history)) == (booster.best_round, ["valid"])
    assert again.all_rounds is again


def test_scoring_takes_what_datasets_take(raw: rr.datasets.Ranking, booster: rr.Booster) -> None:
    expected = booster.predict(raw.X)
    assert np.array_equal(booster.predict(raw.X.astype(np.float64)), expected)
    assert np.array_equal(booster.predict(np.asfortranarray(raw.X)), expected)
    assert np.array_equal(booster.predict(raw.X[:5].tolist()), expected[:5])
    assert np.array_equal(booster.predict(raw.X[3]), expected[3:4])
    assert np.array_equal(booster.predict(raw.X[3].tolist()), expected[3:4])
    assert np.array_equal(booster.predict(raw.X, num_threads=1), expected)
    assert len(booster.predict(raw.X[:0])) == 0
    for width in (3, 60):
        with pytest.raises(rr.DataError, match=f"got {width}, expected 50"):
            booster.predict(np.zeros((2, width)))
    with pytest.raises(rr.DataError, match="has another number of features"):
        booster.evaluate(rr.Dataset(raw.X[:, :5], raw.y, qid=raw.qid))
    names = [f"x{i}" for i in range(50)]
    dataset = rr.Dataset(raw.X, raw.y, qid=raw.qid, feature_names=names)
    named = rr.train(dataset, num_trees=ROUNDS, num_leaves=7)
    assert named.feature_names == names
    assert booster.feature_names[:2] == ["f0", "f1"]
    columns = dict(zip(names, raw.X.T, strict=True))
    moved = {"query": raw.qid.astype(str), **dict(reversed(columns.items()))}
    assert np.array_equal(named.predict(moved), named.predict(raw.X))
    assert np.array_equal(named.explain(moved), named.explain(raw.X))
    del columns["x7"]
    with pytest.raises(rr.DataError, match=r"X lacks a feature of the model: .* also 'x7'$"):
        named.predict(columns)


def test_importance_finds_the_features_that_matter(train: rr.Dataset) -> None:
    booster = rr.train(train, num_trees=20, num_leaves=7)
    reduction = booster.feature_importance()
    number = booster.feature_importance("count")
    lost = booster.feature_importance("permutation", dataset=train)
    assert number.sum() == 20 * 6
    assert ((reduction > 0) == (number > 0)).all()
    assert (lost[number == 0] == 0).all()
    assert lost.argmax() in np.argsort(-reduction)[:3]
    again = booster.feature_importance("permutation", dataset=train, num_threads=1)
    assert np.array_equal(again, lost)
    with pytest.raises(rr.ParamError, match="kind: got 'gain'"):
        booster.feature_importance("gain")
    with pytest.raises(rr.ParamError, match="dataset: got None"):
        booster.feature_importance("permutation")


@pytest.fixture(scope="module")
def without_trees(raw: rr.datasets.Ranking) -> dict[str, rr.Booster]:
    net = rr.LambdaRank(epochs=1).fit(raw.X, raw.y, qid=raw.qid).booster
    linear = rr.LambdaBoost(n_estimators=2).fit(raw.X, raw.y, qid=raw.qid).booster
    return {"net": net, "linear": linear, "nets": rr.mix([net, net], [1, 2])}


@pytest.mark.parametrize("name", ["net", "linear", "nets"])
def test_a_model_without_trees_has_no_importance_of_splits(
    without_trees: dict[str, rr.Booster], train: rr.Dataset, name: str
) -> None:
    booster = without_trees[name]
    for kind in ("reduction", "count"):
        with pytest.raises(rr.ParamError, match=r"<Booster: .*> has no trees.*sklearn.inspection"):
            booster.feature_importance(kind)
    with pytest.raises(rr.DataError, match=r"scores raw features only.*sklearn.inspection"):
        booster.feature_importance("permutation", dataset=train)


def test_the_error_of_a_linear_model_names_its_weights(
    without_trees: dict[str, rr.Booster],
) -> None:
    with pytest.raises(rr.ParamError, match=r"booster\.path has the weights"):
        without_trees["linear"].feature_importance()


def test_docs_of_a_node_are_those_with_a_gradient(raw: rr.datasets.Ranking) -> None:
    has_pairs = raw.qid >= 10
    data = rr.Dataset(raw.X, raw.y * has_pairs, qid=raw.qid)
    ranked = rr.train(data, num_trees=1, num_leaves=3).dump()["trees"][0]
    assert ranked["docs"] == has_pairs.sum() < len(raw.y)
    regression = rr.train(data, num_trees=1, num_leaves=3, objective="regression")
    assert regression.dump()["trees"][0]["docs"] == len(raw.y)


def test_features_of_no_trees_have_no_importance(train: rr.Dataset) -> None:
    empty = rr.train(train, num_trees=1).truncate(0)
    assert not empty.feature_importance().any()


def test_the_importance_that_the_error_names_works_for_nets(raw: rr.datasets.Ranking) -> None:
    inspection = pytest.importorskip("sklearn.inspection")
    net = rr.LambdaRank(epochs=2).fit(raw.X, raw.y, qid=raw.qid)
    found = inspection.permutation_importance(
        net,
        raw.X,
        raw.y,
        n_repeats=1,
        scoring=lambda r, X, y: rr.evaluate(r.predict(X, qid=raw.qid), y, qid=raw.qid)["ndcg@10"],
    )
    assert found.importances_mean.any()


def _walk(node: dict[str, Any], row: NDArray[np.float32]) -> float:
    while "value" not in node:
        cell = row[node["feature"]]
        left = node["missing_left"] if np.isnan(cell) else cell <= node["threshold"]
        node = node["left"] if left else node["right"]
    value: float = node["value"]
    return value


def test_the_dump_holds_the_trees(raw: rr.datasets.Ranking, booster: rr.Booster) -> None:
    dump = booster.dump()
    walked = []
    for row in raw.X[:50]:
        total = dump["intercept"]
        for tree in dump["trees"]:
            total += _walk(tree, row)
        walked.append(total)
    assert np.array_equal(walked, booster.predict(raw.X[:50]))
    text = booster.dump_text()
    assert text.count("\ntree ") == ROUNDS
    assert "f" in text
    assert dump["params"]["learning_rate"] == "0.1"


def test_the_flat_dump_holds_the_same_nodes(booster: rr.Booster) -> None:
    def nested(nodes: list[dict[str, Any]], at: int) -> dict[str, Any]:
        if "value" in nodes[at]:
            return nodes[at]
        ends = {side: nested(nodes, nodes[at][side]) for side in ("left", "right")}
        return {**nodes[at], **ends}

    flat, whole = booster.dump(nested=False), booster.dump()
    assert [nested(nodes, 0) for nodes in flat.pop("trees")] == whole.pop("trees")
    assert flat == whole


def test_trees_as_deep_as_they_have_leaves_are_dumped() -> None:
    docs = 1_300
    one_hot = np.eye(docs, dtype=np.float32)
    train = rr.Dataset(one_hot, np.arange(docs) / docs, group=[docs])
    booster = rr.train(
        train, objective="regression", num_trees=1, num_leaves=1_200, min_leaf_docs=1
    )
    nodes = booster.dump(nested=False)["trees"][0]
    assert json.loads(json.dumps(nodes)) == nodes
    depth, node = 0, booster.dump()["trees"][0]
    while "value" not in node:
        depth, node = depth + 1, max(node["left"], node["right"], key=lambda one: one["docs"])
    assert depth > 1_000
    text = booster.dump_text().splitlines()
    assert len(text) == 3 + len(nodes)
    assert "svg" in booster.draw_tree(0)


def test_scores_do_not_depend_on_how_a_table_lies_in_memory(
    raw: rr.datasets.Ranking, booster: rr.Booster
) -> None:
    X = np.tile(raw.X, (4, 1)).astype(np.float64)
    X[::7, 3] = math.nan
    expected = np.concatenate([booster.predict(part) for part in np.array_split(X, 40)])
    columns = {f"c{i}": X[:, i].astype(np.float32 if i % 2 else np.float64) for i in range(50)}
    for table in (X, np.asfortranarray(X), X.astype(np.float32), columns, X.tolist()):
        assert np.array_equal(booster.predict(table), expected)
    marked = np.where(np.isnan(X), -999, X)
    assert np.array_equal(booster.predict(marked, missing=-999), expected)
    assert np.array_equal(
        booster.predict(np.where(np.isnan(X), np.inf, X), infinite="missing"), expected
    )
    infinite = X.copy()
    infinite[10002, 7] = -math.inf
    with pytest.raises(rr.DataError, match=r"infinite \(row 10002, feature 7\)"):
        booster.predict(infinite)


def test_the_text_of_a_model_may_be_bytes(booster: rr.Booster) -> None:
    assert rr.Booster.from_text(booster.to_text().encode()) == booster
    with pytest.raises(
        rr.DataError, match="text: the bytes are no text; write those of a binary model"
    ):
        rr.Booster.from_text(b"\xff\xfe")
    with pytest.raises(TypeError, match="text: got 3"):
        rr.Booster.from_text(3)  # type: ignore[arg-type]
