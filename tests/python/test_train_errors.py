"""What training refuses, and functions of the caller's that fail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@pytest.fixture(scope="module")
def raw() -> rr.datasets.Ranking:
    return rr.datasets.make_polynomial(num_queries=60, seed=1)


@pytest.fixture(scope="module")
def train(raw: rr.datasets.Ranking) -> rr.Dataset:
    return rr.Dataset(raw.X, raw.y, qid=raw.qid)


def _trained(dataset: rr.Dataset, **options: Any) -> rr.Booster:
    return rr.train(dataset, **{"num_trees": 12, "num_leaves": 7, **options})


def _failing(kind: str) -> Callable[..., Any]:
    def loss(scores: NDArray[np.float64], labels: Any, rows: Any) -> Any:  # noqa: ARG001
        grad, hess = -scores + 1, np.ones(len(scores))
        if kind == "nan":
            grad[1] = math.nan
        elif kind == "negative":
            hess[0] = -1
        elif kind == "short":
            grad = grad[1:]
        elif kind == "none":
            return None
        elif kind == "huge":
            grad[:] = 1e300
        elif kind == "raises":
            message = "mine"
            raise ZeroDivisionError(message)
        return grad, hess

    return loss


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        (
            "nan",
            rr.DataError,
            r"grad of loss\[1\] is NaN \(row \d+, query \d+\): expected a finite",
        ),
        ("negative", rr.DataError, r"hess of loss\[0\] is -1.0 .* expected a finite number >= 0"),
        ("short", rr.DataError, "grad of loss has the wrong length"),
        ("none", rr.DataError, r"loss returned None .*: expected \(grad, hess\)"),
        ("huge", rr.DataError, "too large for single precision"),
        ("raises", ZeroDivisionError, "mine"),
    ],
)
def test_a_loss_that_fails_is_told(
    train: rr.Dataset, kind: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        _trained(train, objective=_failing(kind))


def test_a_metric_that_fails_is_told(train: rr.Dataset) -> None:
    calls = []

    def metric(scores: Any, labels: Any) -> Any:  # noqa: ARG001
        calls.append(1)
        return "many" if len(calls) > 3 * train.num_queries else 0.5

    with pytest.raises(rr.DataError, match="metric returned 'many'") as caught:
        _trained(train, metric=metric, valid={"train": train})
    assert vars(caught.value)["booster"].num_trees == 2
    of_train = rr.EarlyStopping(3, valid="train")
    with pytest.raises(rr.DataError, match="early stopping has nothing to look at"):
        _trained(train, metric=lambda *_: math.nan, valid={"train": train}, early_stopping=of_train)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lerning_rate": 0.3}, "there is no parameter lerning_rate; did you mean learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate is out of range: got NaN, expected a number"),
        ({"learning_rate": -1}, "learning_rate is out of range"),
        ({"learning_rate": "fast"}, "learning_rate: got 'fast', expected a number"),
        ({"num_leaves": 1}, "num_leaves: got 1, expected a whole number from 2"),
        ({"num_trees": -1}, "num_trees: got -1, expected a whole number from 1"),
        ({"max_depth": 0}, "max_depth: got 0"),
        ({"l2": -1}, "l2 is out of range"),
        ({"path_smooth": -1}, "path_smooth is out of range: got -1, expected a number from 0 on"),
        ({"queries_per_tree": 0}, "queries_per_tree is out of range"),
        ({"dropout": 2}, "dropout is out of range: got 2"),
        ({"dropout": 0.1, "dropout_skip": 2}, "dropout_skip is out of range: got 2"),
        ({"dropout_max": 0}, "dropout_max: got 0, expected a whole number from 1"),
        ({"dropout": 0.1, "dropout_normaliser": "leaf"}, "dropout_normaliser is not known"),
        ({"features_per_node": 2}, "features_per_node is out of range"),
        ({"criterion": "best"}, "criterion is not known"),
        ({"tree_shape": "round"}, 'tree_shape is not known: got "round", expected "leafwise" or'),
        ({"random_strength": -1}, "random_strength is out of range"),
        ({"objective": "lambdamrat"}, "unknown objective"),
        ({"metric": "ndgc@10"}, "did you mean ndcg"),
        ({"metric": 3}, "metric: got 3"),
        ({"metric": ["map", "map"]}, "two are called map"),
        ({"sigma": 0}, "sigma"),
        ({"pairs_to": 0}, "pairs_to: got 0"),
        ({"early_stopping": 10}, "early_stopping needs a validation set"),
        ({"num_threads": 0}, "num_threads: got 0"),
        ({"valid": 3}, "valid: got 3, expected a Dataset"),
        ({"base": "model.rrk"}, "base: got 'model.rrk', expected a Booster"),
        ({"callbacks": [3]}, "callbacks: got 3"),
        ({"snapshot": "model.rrk"}, "with {round} in it"),
        ({"progress": 1}, "progress: got 1, expected True or False"),
    ],
)
def test_wrong_options_are_named(train: rr.Dataset, options: dict[str, Any], said: str) -> None:
    with pytest.raises(rr.ParamError) as caught:
        _trained(train, **options)
    assert said in str(caught.value)


def test_validation_sets_must_fit(raw: rr.datasets.Ranking, train: rr.Dataset) -> None:
    own = rr.Dataset(raw.X[::2] * 1.1, raw.y[::2], qid=raw.qid[::2])
    with pytest.raises(rr.DataError, match="`valid` has other bins than the training set; make it"):
        _trained(train, valid=own)
    narrow = rr.Dataset(raw.X[:, :5], raw.y, qid=raw.qid)
    with pytest.raises(rr.DataError, match="`test` has another number of features"):
        _trained(train, valid={"test": narrow})
    names = [f"x{i}" for i in range(raw.X.shape[1])]
    named = rr.Dataset(raw.X, raw.y, qid=raw.qid, feature_names=names)
    other = rr.Dataset(raw.X, raw.y, qid=raw.qid, feature_names=names[::-1])
    with pytest.raises(rr.DataError, match="feature 0 of valid has another name"):
        _trained(named, valid=other)


def test_what_cannot_be_learned_is_told(raw: rr.datasets.Ranking, train: rr.Dataset) -> None:
    single = rr.Dataset(raw.X, raw.y, qid=np.arange(len(raw.y)))
    no_pairs = pytest.raises(
        rr.DataError, match="no pairs to learn from: every query has one document"
    )
    with no_pairs, pytest.warns(rr.RustrankWarning, match="queries have a single doc"):
        _trained(single)
    with pytest.raises(rr.ParamError, match="min_leaf_docs is too large for the data"):
        _trained(train, min_leaf_docs=10**6)


@pytest.mark.parametrize("objective", ["logistic", "balanced_logistic"])
def test_labels_that_are_no_probabilities_are_told(train: rr.Dataset, objective: str) -> None:
    said = (
        r"label\[\d+\] = [2-4].0 \(query \d+\): expected a number from 0 to 1; relevant_from makes"
    )
    with pytest.raises(rr.DataError, match=said):
        _trained(train, objective=objective)
    assert _trained(train, objective=objective, relevant_from=2).num_trees


def test_numbers_of_many_digits_are_shortened(train: rr.Dataset) -> None:
    with pytest.raises(rr.ParamError, match="learning_rate is out of range: got -1e300, expected"):
        _trained(train, learning_rate=-(10**300))
    with pytest.raises(
        rr.ParamError, match="l2 is too large for the data: got 1e300, expected far"
    ):
        _trained(train, l2=1e300)


def test_a_share_of_less_than_a_query_is_a_few(train: rr.Dataset) -> None:
    options = {"min_leaf_docs": 1, "min_leaf_hess": 0, "objective": "regression"}
    booster = _trained(train, queries_per_tree=1e-6, **options)
    docs = [tree["docs"] for tree in booster.dump()["trees"]]
    assert all(0 < count < train.num_docs / 4 for count in docs)
