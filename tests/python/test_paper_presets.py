"""Presets of papers against LambdaMART as the papers write it, pair by pair and split by split."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(3)
QUERIES, DOCS = 30, 20
X = RNG.integers(0, 8, size=(QUERIES * DOCS, 6)).astype(float)
QID = np.repeat(np.arange(QUERIES), DOCS)
Y = np.clip(X[:, 0] / 2 - X[:, 1] / 3 + X[:, 2] * X[:, 3] / 16 + RNG.normal(size=len(X)), 0, 4)
Y = Y.astype(int)
#: Scores without ties: with ties, the papers do not say what the rank of a document is.
START = RNG.normal(scale=0.1, size=len(X))


def lambdas_of_papers(scores: Any, labels: Any) -> tuple[Any, Any]:
    """Return lambdas and their derivatives of a query: Burges 2010, sections 4 and 7."""
    rank = np.empty(len(scores), int)
    rank[np.argsort(-scores)] = np.arange(1, len(scores) + 1)
    ideal = sum((2.0**y - 1) / math.log2(1 + i) for i, y in enumerate(sorted(labels)[::-1], 1))
    lambdas, weights = np.zeros(len(scores)), np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] <= labels[j]:
                continue
            gained = (2.0 ** labels[i] - 2.0 ** labels[j]) / ideal
            delta = abs(gained * (1 / math.log2(1 + rank[i]) - 1 / math.log2(1 + rank[j])))
            rho = 1 / (1 + math.exp(scores[i] - scores[j]))
            lambdas[i] += delta * rho
            lambdas[j] -= delta * rho
            weights[[i, j]] += delta * rho * (1 - rho)
    return lambdas, weights


@dataclass(eq=False)
class Leaf:
    rows: NDArray[np.intp]
    reduction: float = 0.0
    split: NDArray[np.bool_] | None = None


def best_split(rows: Any, lambdas: Any, least: int) -> Leaf:
    """Find the split that takes most off the squared error: Burges 2010, equation 11."""
    leaf = Leaf(rows)
    own = lambdas[rows]
    for feature in range(X.shape[1]):
        values = X[rows, feature]
        for threshold in np.unique(values)[:-1]:
            left = values <= threshold
            if min(left.sum(), (~left).sum()) < least:
                continue
            error = sum(((own[side] - own[side].mean()) ** 2).sum() for side in (left, ~left))
            reduction = ((own - own.mean()) ** 2).sum() - error
            if reduction > leaf.reduction * (1 + 1e-12):
                leaf.reduction, leaf.split = reduction, left
    return leaf


def slow_lambdamart(
    trees: int, leaves: int, rate: float, least: int = 20, mean_leaves: bool = False
) -> NDArray[np.float64]:
    """Return the scores of LambdaMART: the algorithm at the end of Burges 2010, section 7."""
    scores = START.copy()
    for _ in range(trees):
        lambdas, weights = np.zeros(len(X)), np.zeros(len(X))
        for query in range(QUERIES):
            rows = query == QID
            lambdas[rows], weights[rows] = lambdas_of_papers(scores[rows], Y[rows])
        tree = [best_split(np.arange(len(X)), lambdas, least)]
        while len(tree) < leaves:
            chosen = max(tree, key=lambda leaf: leaf.reduction)
            if chosen.split is None:
                break
            tree.remove(chosen)
            sides = (chosen.rows[chosen.split], chosen.rows[~chosen.split])
            tree.extend(best_split(rows, lambdas, least) for rows in sides)
        for leaf in tree:
            weight = len(leaf.rows) if mean_leaves else weights[leaf.rows].sum()
            scores[leaf.rows] += rate * lambdas[leaf.rows].sum() / weight
    return scores


@pytest.mark.parametrize(
    ("preset", "leaves", "rate"),
    [
        ("wu2008", 20, 0.1),
        ("svore2011", 200, 0.1),
        ("yahoo2010", 110, 0.05),
        ("burges2010", 31, 0.1),
    ],
)
def test_a_preset_trains_what_its_paper_writes(preset: str, leaves: int, rate: float) -> None:
    train = rr.Dataset(X, Y, qid=QID, base_score=START)
    ours = rr.train(train, preset=preset, num_trees=4).predict(X) + START
    slow = slow_lambdamart(4, leaves, rate)
    np.testing.assert_allclose(ours, slow, rtol=0, atol=1e-5)
    assert np.abs(slow - START).max() > 0.1
    default = rr.train(train, num_trees=4, num_leaves=leaves, learning_rate=rate).predict(X) + START
    assert np.abs(default - slow).max() > 0.01


def test_leaf_values_can_be_mean_lambdas() -> None:
    train = rr.Dataset(X, Y, qid=QID, base_score=START)
    options: dict[str, Any] = {"preset": "wu2008", "num_trees": 3, "leaf_values": "mean"}
    ours = rr.train(train, learning_rate=5, **options)
    slow = slow_lambdamart(3, 20, 5, mean_leaves=True)
    np.testing.assert_allclose(ours.predict(X) + START, slow, rtol=0, atol=1e-5)
    assert ours.params["leaf_values"] == "mean"
    with pytest.raises(rr.ParamError, match="monotone needs the leaf values"):
        rr.train(train, monotone={0: 1}, leaf_values="mean")
    with pytest.raises(rr.ParamError, match="mean leaf values count docs"):
        rr.train(train, doc_sampling="importance", docs_per_tree=0.5, leaf_values="mean")


def test_the_papers_exact_step_is_the_best_weight_of_mean_lambdas() -> None:
    # Wu et al. 2008, section 5.6: one weight from 0.1 to 100 for the whole tree.
    train = rr.Dataset(X, Y, qid=QID, base_score=START)
    options: dict[str, Any] = {"preset": "wu2008", "num_trees": 1, "leaf_values": "mean"}
    outputs = rr.train(train, learning_rate=1, **options).predict(X)
    ours = rr.train(train, learning_rate=1, step="exact", **options).predict(X)
    same = QID[:, None] == QID
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (START[:, None] - START) / (outputs - outputs[:, None])
    at = np.unique(crossings[same & np.isfinite(crossings)])
    at = np.concatenate([[0.1], at[(at > 0.1) & (at < 100)], [100]])
    values = [
        float(rr.evaluate(START + alpha * outputs, Y, qid=QID, metrics="ndcg@10")["ndcg@10"])
        for alpha in (at[1:] + at[:-1]) / 2
    ]
    found = float(rr.evaluate(START + ours, Y, qid=QID, metrics="ndcg@10")["ndcg@10"])
    assert found == pytest.approx(max(values), abs=1e-12)
    assert max(values) > min(values)
    moved = outputs != 0
    alphas = ours[moved] / outputs[moved]
    np.testing.assert_allclose(alphas, alphas[0], rtol=1e-6)
    best = int(np.argmax(values))
    assert at[best] <= alphas[0] <= at[best + 1]


def test_sizes_of_papers() -> None:
    train = rr.Dataset(X, Y, qid=QID)
    trees = {
        "wu2008": 500,
        "paper": 500,
        "burges2010": 100,
        "gao2009": 500,
        "svore2011": 1000,
        "yahoo2010": 3000,
    }
    for preset, expected in trees.items():
        ranker: Any = rr.LambdaMART(preset=preset)
        assert ranker.n_estimators == expected
    gao = rr.train(train, preset="gao2009", num_trees=1).params
    assert (gao["num_leaves"], gao["learning_rate"]) == ("20", "0.5")
    assert gao["rows_per_node"] == gao["features_per_node"] == "0.7"
    assert (gao["criterion"], gao["pairs_to"], gao["noise_scale"]) == ("least_squares", "none", "0")
    wu = rr.train(train, preset="wu2008", num_trees=1).params
    assert rr.train(train, preset="paper", num_trees=3).num_trees == 3
    ranker = rr.LambdaMART(preset="paper", n_estimators=2, min_leaf_docs=5)
    assert ranker.fit(X, Y, qid=QID).booster_ == rr.train(
        train, preset="wu2008", num_trees=2, min_leaf_docs=5
    )
    assert wu["rows_per_node"] == wu["features_per_node"] == "1"


def test_ranknet_on_trees_takes_all_pairs() -> None:
    train = rr.Dataset(X, Y, qid=QID)
    net = rr.train(train, objective="ranknet", num_trees=2)
    assert net.params["pairs_to"] == "none"
    assert net == rr.train(train, objective="ranknet", num_trees=2, pairs_to=None)
    assert net != rr.train(train, objective="ranknet", num_trees=2, pairs_to=3)
    assert rr.RankNetMART(n_estimators=2).fit(X, Y, qid=QID).booster_ == net
    assert rr.train(train, num_trees=1).params["pairs_to"] == "30"
    with pytest.raises(rr.ParamError, match=r"pairs_to: got 'all', expected .*or None"):
        rr.train(train, pairs_to="all")
