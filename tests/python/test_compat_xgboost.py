"""The ranking examples and tests of XGBoost run here with only the import changed.

Rewritten from what XGBoost's documentation and tests describe. Where XGBoost is installed, the same code
runs with it, too: what is claimed here is then what XGBoost does.
"""

from __future__ import annotations

import pickle
import warnings
from importlib import import_module, util
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

OURS = "rustrank.compat.xgboost"
LIBRARIES = [OURS, *(["xgboost"] if util.find_spec("xgboost") else [])]
ALL = rr.datasets.make_polynomial(num_queries=100, docs_per_query=20, seed=0)
X, Y, QID = ALL.X[:1200], ALL.y[:1200], ALL.qid[:1200]
V, Z, IDS = ALL.X[1200:], ALL.y[1200:], ALL.qid[1200:]
SIZES = np.full(60, 20)


@pytest.fixture(params=LIBRARIES)
def xgb(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)


def ndcg(scores: Any, k: int) -> float:
    """NDCG as XGBoost reports it."""
    metric = f"ndcg@{k}"
    found = rr.evaluate(scores, Z, qid=IDS, metrics=metric, empty="one", ties="rows")
    return float(found[metric])


# XGBoost has no splits after some rounds either, and says nothing.
@pytest.mark.filterwarnings("ignore:training ended early")
def test_the_tutorial_of_rows_sorted_by_query(xgb: Any) -> None:
    rng = np.random.default_rng(1994)
    y = rng.integers(0, 2, 300)
    data = rng.normal(size=(300, 8)) + y[:, None] * np.linspace(0, 1, 8)
    qid = rng.integers(0, 3, 300)
    sorted_idx = np.argsort(qid)
    data, y, qid = data[sorted_idx, :], y[sorted_idx], qid[sorted_idx]
    ranker = xgb.XGBRanker(
        tree_method="hist",
        lambdarank_num_pair_per_sample=8,
        objective="rank:ndcg",
        lambdarank_pair_method="topk",
    )
    ranker.fit(data, y, qid=qid)
    scores = ranker.predict(data)
    assert scores.dtype == np.float32
    best_first = np.argsort(scores)[::-1]
    assert y[best_first][:30].mean() > 0.9
    # The ids as a column of a frame.
    df = pd.DataFrame(data, columns=[str(i) for i in range(8)])
    df["qid"] = qid
    ranker.fit(df, y)
    assert np.allclose(ranker.predict(df), scores)
    assert 0.5 < ranker.score(df, y) <= 1
    assert ranker.n_features_in_ == 8


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
@pytest.mark.parametrize("method", ["topk", "mean"])
def test_every_objective_learns(xgb: Any, objective: str, method: str) -> None:
    labels = (Y >= 2).astype(int) if objective == "rank:map" else Y
    ranker = xgb.XGBRanker(objective=objective, lambdarank_pair_method=method, n_estimators=30)
    ranker.fit(X, labels, qid=QID)
    chance = ndcg(np.random.default_rng(0).normal(size=len(Z)), 5)
    assert ndcg(ranker.predict(V), 5) > chance + 0.08


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "ndcg@32"),
        ({"lambdarank_num_pair_per_sample": 4}, "ndcg@4"),
        ({"lambdarank_pair_method": "mean"}, "ndcg"),
        ({"objective": "rank:pairwise"}, "ndcg@32"),
        ({"objective": "rank:map"}, "map@32"),
    ],
)
def test_the_metric_follows_from_the_objective(xgb: Any, more: Any, name: str) -> None:
    ranker = xgb.XGBRanker(n_estimators=2, **more)
    labels = (Y >= 2).astype(int)
    ranker.fit(X, labels, qid=QID, eval_set=[(V, (Z >= 2).astype(int))], eval_qid=[IDS])
    assert list(ranker.evals_result()["validation_0"]) == [name]


def test_evaluation_sets_and_early_stopping(xgb: Any) -> None:
    ranker = xgb.XGBRanker(
        n_estimators=200,
        learning_rate=0.1,
        eval_metric=["map@5", "ndcg@5"],
        early_stopping_rounds=4,
        random_state=3,
    )
    labels = [(y >= 2).astype(int) for y in (Y, Z)]
    ranker.fit(
        X,
        labels[0],
        qid=QID,
        eval_set=[(X, labels[0]), (V, labels[1])],
        eval_qid=[QID, IDS],
        verbose=False,
    )
    results = ranker.evals_result()
    assert list(results) == ["validation_0", "validation_1"]
    assert list(results["validation_1"]) == ["map@5", "ndcg@5"]
    values = results["validation_1"]["ndcg@5"]
    assert ranker.best_iteration == int(np.argmax(values)) < 199
    assert ranker.best_score == max(values)
    assert len(values) == ranker.best_iteration + 5 == ranker.get_booster().num_boosted_rounds()
    until = ranker.predict(V, iteration_range=(0, ranker.best_iteration + 1))
    assert (ranker.predict(V) == until).all()


def test_the_native_interface(xgb: Any, tmp_path: Path) -> None:
    dtrain, dtest = xgb.DMatrix(X, Y, qid=QID), xgb.DMatrix(V, label=Z)
    dtest.set_group([20] * 40)
    assert (dtrain.num_row(), dtrain.num_col()) == (1200, 50)
    assert (dtrain.get_label() == Y).all()
    result: dict[str, Any] = {}
    bst = xgb.train(
        {"objective": "rank:ndcg", "eta": 0.1, "gamma": 0.0, "eval_metric": ["ndcg@5", "ndcg"]},
        dtrain,
        num_boost_round=8,
        evals=[(dtrain, "train"), (dtest, "test")],
        evals_result=result,
        verbose_eval=False,
    )
    assert list(result) == ["train", "test"]
    assert len(result["test"]["ndcg@5"]) == 8
    scores = bst.predict(dtest)
    assert ndcg(scores, 5) == pytest.approx(result["test"]["ndcg@5"][-1], abs=1e-6)
    assert bst.eval(dtest, "test", 7).startswith("[7]\ttest-ndcg@5:")
    assert bst.num_boosted_rounds() == 8
    assert bst.num_features() == 50
    assert not hasattr(bst, "best_iteration")
    bst.save_model(tmp_path / "model.json")
    loaded = xgb.Booster()
    loaded.load_model(tmp_path / "model.json")
    for again in (
        xgb.Booster(model_file=tmp_path / "model.json"),
        loaded,
        bst.copy(),
        pickle.loads(pickle.dumps(bst)),  # noqa: S301
    ):
        assert np.allclose(again.predict(dtest), scores, atol=1e-5)
    ranker = xgb.XGBRanker()
    ranker.load_model(tmp_path / "model.json")
    assert np.allclose(ranker.predict(V), scores, atol=1e-5)
    assert np.allclose(bst.inplace_predict(V), scores, atol=1e-5)


def test_some_iterations_and_contributions(xgb: Any) -> None:
    dtrain = xgb.DMatrix(X, Y, group=SIZES)
    bst = xgb.train({"objective": "rank:ndcg"}, dtrain, 10)
    part = bst.predict(dtrain, iteration_range=(0, 4))
    assert np.allclose(bst[:4].predict(dtrain), part)
    parts = bst.predict(dtrain, pred_contribs=True)
    assert parts.shape == (1200, 51)
    assert np.allclose(parts.sum(axis=1), bst.predict(dtrain, output_margin=True), atol=1e-4)
    weight, gain = bst.get_score(importance_type="weight"), bst.get_score(importance_type="gain")
    assert weight == bst.get_fscore()
    assert set(weight) == set(gain)
    total = bst.get_score(importance_type="total_gain")
    assert all(total[name] == pytest.approx(gain[name] * weight[name], rel=1e-4) for name in gain)


def test_names_of_features(xgb: Any) -> None:
    names = [f"name {at}" for at in range(50)]
    frame = pd.DataFrame(X, columns=names)
    ranker = xgb.XGBRanker(n_estimators=5).fit(frame, Y, qid=QID)
    assert list(ranker.feature_names_in_) == names == ranker.get_booster().feature_names
    assert ranker.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="name"):
        ranker.predict(pd.DataFrame(V, columns=[*names[:-1], "other"]))


def test_weights_are_those_of_queries(xgb: Any) -> None:
    weight = np.linspace(0.2, 3, 60)
    ranker = xgb.XGBRanker(n_estimators=8).fit(X, Y, group=SIZES, sample_weight=weight)
    plain = xgb.XGBRanker(n_estimators=8).fit(X, Y, group=SIZES)
    assert not np.allclose(ranker.predict(V), plain.predict(V))
    # Only their proportions count.
    twice = xgb.XGBRanker(n_estimators=8).fit(X, Y, group=SIZES, sample_weight=weight * 2)
    assert np.allclose(ranker.predict(V), twice.predict(V), atol=1e-4)
    with pytest.raises(ValueError, match=r"weight|group"):
        xgb.XGBRanker(n_estimators=8).fit(X, Y, group=SIZES, sample_weight=np.ones(1200))


def test_queries_without_relevant_documents(xgb: Any) -> None:
    labels = Z.copy()
    labels[:200] = 0
    metrics = ["ndcg@5", "ndcg@5-"]
    ranker = xgb.XGBRanker(n_estimators=3, eval_metric=metrics)
    ranker.fit(X, Y, qid=QID, eval_set=[(V, labels)], eval_qid=[IDS])
    values = ranker.evals_result()["validation_0"]
    assert values["ndcg@5"][-1] - values["ndcg@5-"][-1] == pytest.approx(10 / 40, abs=1e-6)


def test_going_on_from_a_model(xgb: Any) -> None:
    first = xgb.XGBRanker(n_estimators=4).fit(X, Y, qid=QID)
    both = xgb.XGBRanker(n_estimators=3).fit(X, Y, qid=QID, xgb_model=first.get_booster())
    assert both.get_booster().num_boosted_rounds() == 7
    assert np.allclose(both.predict(V, iteration_range=(0, 4)), first.predict(V), atol=1e-5)


def test_metrics_and_call_backs_of_ones_own(xgb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    class Ends(xgb.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return bool(epoch == 2 and model.num_boosted_rounds() == 3 and "test" in evals_log)

    def spread(scores: Any, matrix: Any) -> tuple[str, float]:
        return "spread", float(np.std(scores) + 0 * matrix.get_label()[0])

    dtrain, dtest = xgb.DMatrix(X, Y, qid=QID), xgb.DMatrix(V, Z, qid=IDS)
    result: dict[str, Any] = {}
    bst = xgb.train(
        {"objective": "rank:ndcg", "eval_metric": "ndcg@5"},
        dtrain,
        20,
        evals=[(dtest, "test")],
        evals_result=result,
        custom_metric=spread,
        callbacks=[Ends()],
    )
    assert bst.num_boosted_rounds() == 3
    assert list(result["test"]) == ["ndcg@5", "spread"]
    assert result["test"]["spread"][-1] == pytest.approx(np.std(bst.predict(dtest)), rel=1e-4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("[0]\ttest-ndcg@5:0.")


def test_early_stopping_as_a_call_back(xgb: Any) -> None:
    stop = xgb.callback.EarlyStopping(rounds=3, metric_name="ndcg@5", save_best=True)
    ranker = xgb.XGBRanker(n_estimators=100, eval_metric=["ndcg@5", "ndcg@10"], callbacks=[stop])
    ranker.fit(X, Y, qid=QID, eval_set=[(V, Z)], eval_qid=[IDS])
    values = ranker.evals_result()["validation_0"]["ndcg@5"]
    assert ranker.best_iteration == int(np.argmax(values))
    assert ranker.get_booster().num_boosted_rounds() == ranker.best_iteration + 1


def test_scikit_learn_takes_the_ranker(xgb: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    ranker = xgb.XGBRanker(n_estimators=4, max_depth=3, lambdarank_num_pair_per_sample=8)
    again = base.clone(ranker)
    assert again.get_params()["lambdarank_num_pair_per_sample"] == 8
    df = pd.DataFrame(X, columns=[str(i) for i in range(50)])
    df["qid"] = QID
    folds = selection.StratifiedGroupKFold(n_splits=3, shuffle=False)
    scores = selection.cross_val_score(ranker, df, Y, cv=folds, groups=df.qid)
    assert (scores > 0.3).all()
    search = selection.GridSearchCV(ranker, {"max_depth": [2, 4]}, cv=folds)
    search.fit(df, Y, groups=df.qid)
    assert search.best_params_["max_depth"] in (2, 4)
    fitted = ranker.fit(df, Y)
    assert (pickle.loads(pickle.dumps(fitted)).predict(df) == fitted.predict(df)).all()  # noqa: S301


def test_one_split_has_the_values_that_xgboost_computes(xgb: Any) -> None:
    # Two documents: the gradient is that of one pair, the hessian twice its own, and l2 is 1.
    data = xgb.DMatrix(np.array([[0.0], [1.0]]), [0, 1], group=[2])
    delta = 1 - 1 / np.log2(3)
    for objective, weight in (("rank:ndcg", delta), ("rank:pairwise", 1.0), ("rank:map", 0.5)):
        more = {"lambdarank_normalization": False, "min_child_weight": 0, "eta": 1}
        bst = xgb.train({"objective": objective, **more}, data, 1)
        expected = 0.5 * weight / (2 * 0.25 * weight + 1)
        assert np.allclose(bst.predict(data), [-expected, expected], rtol=1e-3)


def test_rounds_among_the_parameters_are_not_used(xgb: Any) -> None:
    data = xgb.DMatrix(X, Y, qid=QID)
    for name in ("n_estimators", "num_boost_round"):
        with pytest.warns(UserWarning, match="not used"):
            made = xgb.train({"objective": "rank:ndcg", name: 9}, data, 3)
        assert made.num_boosted_rounds() == 3
    with pytest.warns(UserWarning, match="not used"):
        ranker = xgb.XGBRanker(n_estimators=5, num_boost_round=9).fit(X, Y, qid=QID)
    assert ranker.get_booster().num_boosted_rounds() == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = xgb.XGBRanker(n_estimators=2).fit(X, Y, qid=QID)
    assert ranker.get_booster().num_boosted_rounds() == 2


def test_features_that_are_missing_are_named(xgb: Any) -> None:
    ranker = xgb.XGBRanker(n_estimators=2).fit(
        pd.DataFrame(X[:, :4], columns=list("abcd")), Y, qid=QID
    )
    for columns in (["a", "b"], ["a", "b", "d", "z"], ["b", "a", "c", "d"], [*"abcd", "e"]):
        with pytest.raises(ValueError, match="feature_names") as raised:
            ranker.predict(pd.DataFrame(X[:, : len(columns)], columns=columns))
        if xgb.__name__ == OURS:
            said = str(raised.value).partition("; expected")[0].removeprefix("feature_names: got ")
            assert (
                said
                == {
                    "ab": "data without ['c', 'd']",
                    "abdz": "data without ['c'] and ['z'], which the model has not",
                    "bacd": "another order, ['b', 'a', 'c', 'd']",
                    "abcde": "['e'], which the model has not",
                }["".join(columns)]
            )


@pytest.mark.parametrize("method", ["exact", "approx"])
def test_methods_with_other_splits_have_those_of_hist_and_a_warning(method: str) -> None:
    ours = import_module(OURS)
    plain = ours.XGBRanker(n_estimators=2, tree_method="hist").fit(X, Y, qid=QID)
    with pytest.warns(UserWarning, match=f"tree_method: got '{method}', and splits are") as found:
        other = ours.XGBRanker(n_estimators=2, tree_method=method).fit(X, Y, qid=QID)
    assert len(found) == 1
    np.testing.assert_array_equal(plain.predict(X), other.predict(X))
