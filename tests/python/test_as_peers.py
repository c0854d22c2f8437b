"""What LightGBM's and XGBoost's documentation shows of ranking works here, with other names.

Rewritten from what their documentation describes. Each test says what is called otherwise.
"""

from __future__ import annotations

import inspect
import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.inputs.keywords import OF_DATASET
from rustrank.parameters import hints

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def classes(seed: int = 1994) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """As XGBoost's tutorial: rows of two classes, and a random query for each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 8)) + y[:, None] * np.linspace(0, 1, 8)
    return X, y, rng.integers(0, 3, 300)


def graded() -> tuple[Any, ...]:
    """As LightGBM's example: sorted by query, with sizes, and a test set."""
    train = rr.datasets.make_polynomial(num_queries=40, seed=0)
    test = rr.datasets.make_polynomial(num_queries=15, seed=1)
    sizes = [np.bincount(one.qid - one.qid.min()) for one in (train, test)]
    return train.X, train.y, sizes[0], test.X, test.y, sizes[1]


def test_xgboost_a_ranker_of_rows_sorted_by_query() -> None:
    # XGBRanker(tree_method, lambdarank_num_pair_per_sample=8, objective="rank:ndcg",
    # lambdarank_pair_method="topk") is LambdaMART(pairs_to=8).
    X, y, qid = classes()
    sorted_idx = np.argsort(qid)
    X, y, qid = X[sorted_idx, :], y[sorted_idx], qid[sorted_idx]
    ranker = rr.LambdaMART(pairs_to=8)
    ranker.fit(X, y, qid=qid)
    scores = ranker.predict(X)
    best_first = np.argsort(scores)[::-1]
    scores = scores[best_first]
    assert y[best_first][:30].mean() > 0.9
    # Which is not needed here: rows may be in any order.
    order = np.random.default_rng(0).permutation(len(y))
    assert rr.LambdaMART(pairs_to=8).fit(X[order], y[order], qid=qid[order]).booster_ == (
        ranker.booster_
    )


def test_xgboost_query_ids_as_a_column_of_a_frame() -> None:
    X, y, qid = classes()
    df = pd.DataFrame(X, columns=[str(i) for i in range(X.shape[1])])
    df["qid"] = qid
    ranker = rr.LambdaMART(n_estimators=10)
    ranker.fit(df, y)  # No need to pass qid as a separate argument
    assert ranker.n_features_in_ == 8
    assert ranker.predict(df).shape == y.shape
    assert 0 < ranker.score(df, y) <= 1


def test_xgboost_cross_validation_by_scikit_learn() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    X, y, qid = classes()
    df = pd.DataFrame(X, columns=[str(i) for i in range(X.shape[1])])
    df["qid"] = qid
    ranker = rr.LambdaMART(n_estimators=10)
    kfold = selection.StratifiedGroupKFold(n_splits=3, shuffle=False)
    scores = selection.cross_val_score(ranker, df, y, cv=kfold, groups=df.qid)
    assert (scores > 0.5).all()
    search = selection.GridSearchCV(ranker, {"max_depth": [2, 4]}, cv=kfold)
    search.fit(df, y, groups=df.qid)
    assert search.best_params_["max_depth"] in (2, 4)


def test_xgboost_validation_sets_with_query_ids_and_early_stopping() -> None:
    # early_stopping_rounds is early_stopping, eval_metric is metric, best_iteration is best_round_
    # (from 1), evals_result() is history_, get_booster() is booster_.
    X, y, qid = classes()
    V, z, ids = classes(7)
    ranker = rr.LambdaMART(n_estimators=200, early_stopping=4, metric=["ndcg@5", "map"])
    ranker.fit(X, y, qid=qid, eval_set=[(X, y), (V, z)], eval_qid=[qid, ids])
    assert set(ranker.history_) == {"valid_0", "valid_1"}
    assert set(ranker.history_["valid_0"]) == {"ndcg@5", "map"}
    assert ranker.best_round_ is not None
    assert ranker.best_round_ < 200
    assert ranker.booster_.num_trees == ranker.best_round_


def test_xgboost_objectives_by_name() -> None:
    # objective="rank:ndcg", "rank:map", "rank:pairwise".
    X, y, qid = classes()
    for ranker in (
        rr.LambdaMART(n_estimators=5, metric="ndcg"),
        rr.LambdaMART(n_estimators=5, metric="map"),
        rr.RankNetMART(n_estimators=5),
    ):
        assert ranker.fit(X, y, qid=qid).score(X, y, qid=qid) > 0.5


def test_xgboost_saving_and_loading(tmp_path: Path) -> None:
    # save_model and load_model are booster_.save and Booster.load.
    X, y, qid = classes()
    ranker = rr.LambdaMART(n_estimators=5).fit(X, y, qid=qid)
    ranker.booster_.save(tmp_path / "ranker.rrk")
    loaded = rr.Booster.load(tmp_path / "ranker.rrk")
    assert (loaded.predict(X) == ranker.predict(X)).all()


def test_lightgbm_a_ranker_with_sizes_and_a_test_set() -> None:
    # eval_at=[1, 3] is metric=["ndcg@1", "ndcg@3"], the call-back early_stopping(10) an option,
    # best_iteration_ is best_round_, best_score_ the last of history_ that counts.
    X_train, y_train, q_train, X_test, y_test, q_test = graded()
    ranker = rr.LambdaMART(n_estimators=60, metric=["ndcg@1", "ndcg@3"], early_stopping=10)
    ranker.fit(
        X_train,
        y_train,
        group=q_train,
        eval_set=[(X_test, y_test)],
        eval_group=[q_test],
        callbacks=[lambda latest: latest.number >= 50],
    )
    best = ranker.best_round_
    assert best is not None
    assert best <= 50
    values = ranker.history_["valid"]["ndcg@1"]
    assert values[best - 1] == values.max() == ranker.score(X_test, y_test, group=q_test)
    assert len(ranker.history_["valid"]["ndcg@3"]) == len(values)


def test_lightgbm_sizes_counted_from_a_frame() -> None:
    # objective="lambdarank", importance_type="gain".
    X, y, qid = rr.datasets.make_polynomial(num_queries=40, seed=0)
    df = pd.DataFrame({"query": qid, "relevance": y, "a": X[:, 0], "b": X[:, 1]})
    ranker = rr.LambdaMART(n_estimators=10, num_leaves=15, random_state=0)
    ranker.fit(
        X=df[["a", "b"]],
        y=df["relevance"],
        group=df.groupby("query", sort=False)["query"].count().to_numpy(),
    )
    assert list(ranker.feature_names_in_) == ["a", "b"]
    assert ranker.feature_importances_.shape == (2,)
    assert ranker.booster_.feature_importance("count").sum() > 0
    assert ranker.predict(df[["a", "b"]]).shape == y.shape


def test_lightgbm_cross_entropy_and_weights() -> None:
    # objective="rank_xendcg" is XENDCGMART; weights are called sample_weight there, too.
    X, y, sizes, *_ = graded()
    ranker = rr.XENDCGMART(n_estimators=10).fit(X, y, group=sizes)
    weighted = rr.XENDCGMART(n_estimators=10)
    weighted.fit(X, y, group=sizes, sample_weight=np.linspace(0.5, 2, len(y)))
    assert ranker.booster_ != weighted.booster_


def test_lightgbm_going_on_from_a_model_and_pickling() -> None:
    # init_model is base.
    X, y, sizes, V, *_ = graded()
    first = rr.LambdaMART(n_estimators=5).fit(X, y, group=sizes)
    both = rr.LambdaMART(n_estimators=5).fit(X, y, group=sizes, base=first.booster_)
    assert both.booster_.num_trees == 10
    again = pickle.loads(pickle.dumps(both))  # noqa: S301
    assert (again.predict(V) == both.predict(V)).all()


def test_lightgbm_parameters_are_got_and_set() -> None:
    ranker = rr.LambdaMART(num_leaves=5)
    assert ranker.get_params()["num_leaves"] == 5
    ranker.set_params(num_leaves=9, learning_rate=0.05)
    assert (ranker.get_params()["num_leaves"], ranker.get_params()["learning_rate"]) == (9, 0.05)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("n_estimators", "here it is called num_trees"),
        ("num_boost_round", "here it is called num_trees"),
        ("eta", "here it is called learning_rate"),
        ("min_data_in_leaf", "here it is called min_leaf_docs"),
        ("colsample_bytree", "here it is called features_per_tree"),
        ("early_stopping_rounds", "here it is called early_stopping"),
        ("lambdarank_truncation_level", "here it is called pairs_to"),
        ("max_bin", "an option of rr.Dataset: max_bins"),
        ("lerning_rate", "did you mean learning_rate?"),
    ],
)
def test_a_parameter_of_another_library_is_no_alias_but_a_hint(name: str, said: str) -> None:
    X, y, qid = classes()
    given: dict[str, Any] = {name: 1}
    with pytest.raises(rr.ParamError, match=re.escape(said)):
        rr.train(rr.Dataset(X, y, qid=qid), **given)


def test_an_estimator_says_what_is_called_otherwise() -> None:
    with pytest.raises(rr.ParamError, match="here it is called n_estimators"):
        rr.LambdaMART(num_iterations=3)  # type: ignore[call-arg]
    X, y, qid = classes()
    for name, said in (
        ("rank:ndcg", "here it is called lambdamart"),
        ("rank:map", "lambdamart with metric='map'"),
        ("rank_xendcg", "here it is called xendcg"),
        ("lamdamart", "did you mean lambdamart?"),
        ("nonsense", "expected one of lambdamart, "),
    ):
        with pytest.raises(rr.ParamError, match=said):
            rr.train(rr.Dataset(X, y, qid=qid), objective=name)


def test_hints_name_what_there_is() -> None:
    of_data = set(inspect.signature(rr.Dataset).parameters)
    nets, fit = rr.LambdaRank().get_params(), inspect.signature(rr.LambdaMART.fit).parameters
    known = {*inspect.signature(rr.train).parameters, *rr.LambdaMART().get_params(), *nets}
    known |= of_data
    for ours in hints._HERE.values():
        assert set(ours) <= known
    assert set(OF_DATASET.values()) <= of_data
    assert set(hints._OF_FIT.values()) <= set(fit)
    X, y, qid = classes()
    for name in hints.OBJECTIVES:
        assert rr.train(rr.Dataset(X, y, qid=qid), objective=name, num_trees=1).num_trees >= 1
