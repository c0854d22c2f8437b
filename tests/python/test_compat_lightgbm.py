"""The ranking examples and tests of LightGBM run here with only the import changed.

Rewritten from what LightGBM's documentation and tests describe. Where LightGBM is installed, the same code
runs with it, too: what is claimed here is then what LightGBM does.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
from rustrank.compat.lightgbm.parameters import ALIASES, KNOWN
from rustrank.parameters.schema import TRAININGS

#: Of LightGBM itself, whose examples still use it.
pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
OURS = "rustrank.compat.lightgbm"
LIBRARIES = [OURS, *(["lightgbm"] if util.find_spec("lightgbm") else [])]
ALL = rr.datasets.make_polynomial(num_queries=100, docs_per_query=20, seed=0)
X, Y, V, Z = ALL.X[:1200], ALL.y[:1200], ALL.X[1200:], ALL.y[1200:]
SIZES, TEST_SIZES = np.full(60, 20), np.full(40, 20)
PARAMS: dict[str, Any] = {"objective": "lambdarank", "num_leaves": 8, "verbose": -1}


@pytest.fixture(params=LIBRARIES)
def lgb(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)


def ndcg(scores: Any, k: int, labels: Any = Z, sizes: Any = TEST_SIZES) -> float:
    """NDCG as LightGBM reports it; no two of these scores are tied."""
    found = rr.evaluate(scores, labels, group=sizes, metrics=f"ndcg@{k}", empty="one", ties="rows")
    return float(found[f"ndcg@{k}"])


def test_the_example_of_a_ranker_with_early_stopping(lgb: Any) -> None:
    gbm = lgb.LGBMRanker(n_estimators=50, verbose=-1)
    gbm.fit(
        X,
        Y,
        group=SIZES,
        eval_set=[(V, Z)],
        eval_group=[TEST_SIZES],
        eval_at=[1, 3],
        callbacks=[lgb.early_stopping(10, verbose=False)],
    )
    assert 1 <= gbm.best_iteration_ <= 50
    assert gbm.n_iter_ == gbm.n_estimators_ == gbm.best_iteration_
    assert set(gbm.best_score_["valid_0"]) == {"ndcg@1", "ndcg@3"}
    values = gbm.evals_result_["valid_0"]["ndcg@3"]
    assert gbm.best_score_["valid_0"]["ndcg@3"] == values[gbm.best_iteration_ - 1]
    assert ndcg(gbm.predict(V), 3) == pytest.approx(gbm.best_score_["valid_0"]["ndcg@3"], abs=1e-9)
    assert gbm.objective_ == "lambdarank"
    assert gbm.fitted_
    assert gbm.n_features_in_ == gbm.n_features_ == 50


def test_both_objectives_learn(lgb: Any) -> None:
    chance = ndcg(np.random.default_rng(0).normal(size=len(Z)), 5)
    for objective in ("lambdarank", "rank_xendcg"):
        gbm = lgb.LGBMRanker(objective=objective, n_estimators=30, random_state=1, verbose=-1)
        gbm.fit(X, Y, group=SIZES)
        assert ndcg(gbm.predict(V), 5) > chance + 0.1
        assert gbm.objective_ == objective


def test_the_training_set_among_the_evaluation_sets(lgb: Any) -> None:
    gbm = lgb.LGBMRanker(n_estimators=5, verbose=-1)
    gbm.fit(
        X,
        Y,
        group=SIZES,
        eval_set=[(X, Y), (V, Z)],
        eval_group=[SIZES, TEST_SIZES],
        eval_metric="map",
    )
    assert list(gbm.evals_result_) == ["training", "valid_1"]
    found = list(gbm.evals_result_["valid_1"])
    assert found == [f"{metric}@{k}" for metric in ("map", "ndcg") for k in range(1, 6)]
    assert gbm.best_iteration_ == 0


def test_a_frame_with_names_and_group_sizes_as_floats(lgb: Any) -> None:
    names = [f"feature_{at}" for at in range(50)]
    frame, labels = pd.DataFrame(X, columns=names), pd.Series(Y)
    gbm = lgb.LGBMRanker(n_estimators=5, importance_type="gain", verbose=-1)
    gbm.fit(frame, labels, group=SIZES.astype(float), eval_names=None)
    assert gbm.feature_name_ == names
    assert list(gbm.feature_names_in_) == names
    assert gbm.feature_importances_.shape == (50,)
    assert gbm.booster_.feature_importance("split").sum() == 5 * 30
    assert gbm.predict(pd.DataFrame(V, columns=names)).shape == Z.shape


def test_the_native_interface(lgb: Any, tmp_path: Path) -> None:
    train = lgb.Dataset(X, label=Y, group=SIZES)
    valid = lgb.Dataset(V, label=Z, group=TEST_SIZES, reference=train)
    result: dict[str, Any] = {}
    bst = lgb.train(
        {**PARAMS, "metric": "ndcg", "ndcg_eval_at": [1, 3, 5], "learning_rate": 0.05},
        train,
        num_boost_round=20,
        valid_sets=[train, valid],
        valid_names=["fit", "new"],
        callbacks=[lgb.record_evaluation(result), lgb.log_evaluation(0)],
    )
    assert list(result) == ["fit", "new"]
    assert list(result["new"]) == ["ndcg@1", "ndcg@3", "ndcg@5"]
    assert len(result["new"]["ndcg@5"]) == 20
    assert result["fit"]["ndcg@5"][-1] > result["fit"]["ndcg@5"][0]
    assert bst.num_trees() == bst.current_iteration() == 20
    assert bst.best_iteration == 0
    assert ndcg(bst.predict(V), 5) == pytest.approx(result["new"]["ndcg@5"][-1], abs=1e-9)
    assert bst.best_score["new"]["ndcg@5"] == result["new"]["ndcg@5"][-1]
    # Saving and loading, by file and by text.
    bst.save_model(str(tmp_path / "model.txt"))
    for again in (
        lgb.Booster(model_file=str(tmp_path / "model.txt")),
        lgb.Booster(model_str=bst.model_to_string()),
        pickle.loads(pickle.dumps(bst)),  # noqa: S301
        copy.deepcopy(bst),
    ):
        assert (again.predict(V) == bst.predict(V)).all()
        assert again.feature_name() == bst.feature_name() == [f"Column_{at}" for at in range(50)]
        assert again.num_trees() == 20


def test_some_iterations_and_contributions(lgb: Any) -> None:
    bst = lgb.train(PARAMS, lgb.Dataset(X, Y, group=SIZES), 12)
    first, rest = bst.predict(V, num_iteration=5), bst.predict(V, start_iteration=5)
    assert np.allclose(first + rest, bst.predict(V, raw_score=True), atol=1e-12)
    parts = bst.predict(V[:50], pred_contrib=True)
    assert parts.shape == (50, 51)
    assert np.allclose(parts.sum(axis=1), bst.predict(V[:50]))
    assert bst.feature_importance("split").dtype == np.int32
    assert (bst.feature_importance("gain") > 0).sum() == (bst.feature_importance() > 0).sum()


def test_texts_have_as_many_iterations_as_the_best_one_counts(lgb: Any, tmp_path: Path) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    bst = lgb.train(PARAMS, train, 8, valid_sets=[valid], keep_training_booster=True)
    bst.best_iteration = 3
    for start, number in ((0, 3), (2, 3), (6, 2), (8, 0)):
        assert bst.model_to_string(start_iteration=start).count("Tree=") == number
        bst.save_model(tmp_path / "model.txt", start_iteration=start)
        assert (tmp_path / "model.txt").read_text().count("Tree=") == number
        assert bst.model_to_string(-1, start).count("Tree=") == 8 - start
        assert bst.model_to_string(1, start).count("Tree=") == min(1, 8 - start)
    # Predictions have all from a start on.
    assert np.allclose(bst.predict(V), bst.predict(V, num_iteration=3))
    assert np.allclose(bst.predict(V, 2), bst.predict(V, num_iteration=8) - bst.predict(V, 0, 2))


def test_going_on_from_a_model(lgb: Any) -> None:
    first = lgb.train(PARAMS, lgb.Dataset(X, Y, group=SIZES), 5)
    ranker = lgb.LGBMRanker(n_estimators=4, num_leaves=8, verbose=-1)
    ranker.fit(X, Y, group=SIZES, init_model=first)
    assert ranker.booster_.num_trees() == 9
    assert np.allclose(ranker.predict(V, num_iteration=5), first.predict(V))


def test_metrics_of_ones_own_and_order_of_results(lgb: Any) -> None:
    def spread(scores: Any, data: Any) -> tuple[str, float, bool]:
        return "spread", float(np.std(scores) + 0 * data.get_label()[0]), False

    def constant(y: Any, scores: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        assert weight is None
        return "sizes", float(len(group) + 0 * len(y) * len(scores)), True

    result: dict[str, Any] = {}
    train = lgb.Dataset(X, Y, group=SIZES)
    bst = lgb.train(
        {**PARAMS, "metric": "None"},
        train,
        4,
        valid_sets=[lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)],
        feval=spread,
        callbacks=[lgb.record_evaluation(result)],
    )
    assert list(result["valid_0"]) == ["spread"]
    assert result["valid_0"]["spread"][-1] == pytest.approx(float(np.std(bst.predict(V))))
    ranker = lgb.LGBMRanker(n_estimators=2, verbose=-1)
    sets: dict[str, Any] = {"eval_set": [(V, Z)], "eval_group": [TEST_SIZES], "eval_at": [3]}
    ranker.fit(X, Y, group=SIZES, eval_metric=constant, **sets)
    assert ranker.evals_result_["valid_0"]["sizes"] == [40, 40]
    assert "ndcg@3" in ranker.evals_result_["valid_0"]


def test_early_stopping_by_the_first_metric_or_by_any(lgb: Any) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    for only in (True, False):
        result: dict[str, Any] = {}
        bst = lgb.train(
            {**PARAMS, "eval_at": [3, 10]},
            train,
            200,
            valid_sets=[train, valid],
            callbacks=[
                lgb.early_stopping(5, first_metric_only=only, verbose=False),
                lgb.record_evaluation(result),
            ],
        )
        lists = result["valid_1"]
        ends = {name: int(np.argmax(values)) for name, values in lists.items()}
        best = bst.best_iteration - 1
        assert best == ends["ndcg@3"] if only else best in ends.values()
        assert len(lists["ndcg@3"]) <= best + 1 + 5
        assert bst.best_score["valid_1"]["ndcg@3"] == lists["ndcg@3"][best]


def test_a_parameter_ends_training_early(lgb: Any) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    params = {**PARAMS, "early_stopping_round": 3, "first_metric_only": True, "eval_at": "5"}
    bst = lgb.train(params, train, 200, valid_sets=valid)
    assert 0 < bst.best_iteration < 200


def test_call_backs_see_and_end_training(lgb: Any) -> None:
    seen = []

    def watch(env: Any) -> None:
        seen.append((env.iteration, env.evaluation_result_list[0][:2]))
        if env.iteration == 3:
            raise lgb.EarlyStopException(env.iteration, env.evaluation_result_list)

    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    bst = lgb.train({**PARAMS, "eval_at": [5]}, train, 30, valid_sets=[valid], callbacks=[watch])
    assert seen == [(at, ("valid_0", "ndcg@5")) for at in range(4)]
    assert bst.best_iteration == 4


def test_cross_validation_of_whole_queries(lgb: Any) -> None:
    data = lgb.Dataset(X, Y, group=SIZES)
    found = lgb.cv({**PARAMS, "eval_at": [5]}, data, 6, nfold=3, metrics="ndcg")
    assert set(found) == {"valid ndcg@5-mean", "valid ndcg@5-stdv"}
    assert len(found["valid ndcg@5-mean"]) == 6
    assert found["valid ndcg@5-mean"][-1] > 0.25
    given = [(np.arange(400, 1200), np.arange(400)), (np.arange(800), np.arange(800, 1200))]
    found = lgb.cv({**PARAMS, "eval_at": [5]}, data, 30, folds=given, return_cvbooster=True)
    for booster, (_, held) in zip(found["cvbooster"].boosters, given, strict=True):
        assert booster.current_iteration() == 30
        assert ndcg(booster.predict(X[held]), 5, Y[held], [20] * 20) > 0.4


def test_metrics_of_ones_own_get_the_fields_of_the_fold(lgb: Any) -> None:
    row = np.arange(1200.0)
    sizes = np.tile([10, 25, 5], 30)
    bounds = np.append(0, np.cumsum(sizes))
    query = np.repeat(np.arange(90), sizes)
    random = np.random.default_rng(0)
    folds = [np.flatnonzero(np.isin(query, one)) for one in random.permutation(90).reshape(3, 30)]
    folds = [random.permutation(one) for one in folds]  # They are taken in the order of rows.
    seen: list[Any] = []

    def fold(scores: Any, data: Any) -> tuple[str, float, bool]:
        group, ends = data.get_group(), data.get_field("group")
        assert np.array_equal(np.append(0, np.cumsum(group)), ends)
        seen.append((scores, data.get_label(), data.get_weight(), group))
        return "queries", float(len(group)), True

    train = lgb.Dataset(
        X, Y, weight=row + 1, group=sizes, init_score=query * 100.0, free_raw_data=False
    )
    parts = [(np.setdiff1d(np.arange(1200), one), one) for one in folds]
    params = {**PARAMS, "metric": "None"}
    found = lgb.cv(params, train, 2, folds=parts, feval=fold, eval_train_metric=False)
    assert found["valid queries-mean"] == [30, 30]
    assert len(seen) == 6
    for scores, labels, weights, group in seen:
        rows = np.asarray(weights).astype(int) - 1
        assert any(np.array_equal(rows, np.sort(one)) for one in folds)
        assert np.array_equal(labels, Y[rows])
        assert np.array_equal(group, sizes[np.unique(query[rows])])
        assert np.array_equal(np.repeat(bounds[np.unique(query[rows])], group), bounds[query[rows]])
        assert (
            np.abs(scores - query[rows] * 100).max() < 50
        )  # The scores that training starts from.


@pytest.mark.parametrize("found", [("own", 0.5), [("own", 0.5)], 0.5])
def test_metrics_of_ones_own_must_say_whether_higher_is_better(lgb: Any, found: Any) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    ours = lgb.__name__ == OURS
    error: Any = rr.ParamError if ours else (ValueError, TypeError, IndexError)
    with pytest.raises(
        error, match=r"^feval: got .*\(name, value, is_higher_better\)" if ours else None
    ):
        lgb.train(PARAMS, train, 2, valid_sets=[valid], feval=lambda *_: found)
    ranker = lgb.LGBMRanker(n_estimators=2, verbose=-1)
    sets: dict[str, Any] = {"eval_set": [(V, Z)], "eval_group": [TEST_SIZES]}
    with pytest.raises(error, match=r"^eval_metric: got .*\(name, value, is_" if ours else None):
        ranker.fit(X, Y, group=SIZES, eval_metric=lambda _y, _s: found, **sets)


def test_log_of_evaluations(lgb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    how = {"valid_sets": [valid], "callbacks": [lgb.log_evaluation(2)]}
    lgb.train({**PARAMS, "eval_at": [5]}, train, 4, **how)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"[{at}]\tvalid_0's ndcg@5" for at in (2, 4)
    ]


def test_values_count_queries_without_relevant_documents_as_one(lgb: Any) -> None:
    labels = Z.copy()
    labels[:200] = 0
    gbm = lgb.LGBMRanker(n_estimators=3, verbose=-1)
    sets: dict[str, Any] = {"eval_set": [(V, labels)], "eval_group": [TEST_SIZES], "eval_at": [5]}
    gbm.fit(X, Y, group=SIZES, eval_metric="map", **sets)
    found, scores = gbm.best_score_["valid_0"], gbm.predict(V)
    assert found["ndcg@5"] == pytest.approx(ndcg(scores, 5, labels), abs=0.02)
    # The cut of average precision is what it is divided by, if more documents are relevant.
    precisions = []
    for at in range(0, 800, 20):
        order = np.argsort(-scores[at : at + 20], kind="stable")
        relevant = labels[at : at + 20][order] > 0
        hits = relevant[:5].cumsum() / np.arange(1, 6) * relevant[:5]
        precisions.append(hits.sum() / min(relevant.sum(), 5) if relevant.any() else 1.0)
    assert found["map@5"] == pytest.approx(np.mean(precisions), abs=1e-9)


def test_weights_of_queries_in_metrics() -> None:
    # LightGBM adds 1 for a query without relevant documents, whatever its weight.
    labels, weight = Z.copy(), np.repeat(np.linspace(0.5, 2, 40), 20)
    labels[:200] = 0
    gbm = import_module(OURS).LGBMRanker(n_estimators=3)
    sets: dict[str, Any] = {"eval_set": [(V, labels)], "eval_group": [TEST_SIZES], "eval_at": [5]}
    gbm.fit(X, Y, group=SIZES, eval_sample_weight=[weight], **sets)
    how: dict[str, Any] = {"metrics": "ndcg@5", "query_weight": weight[::20], "empty": "one"}
    expected = rr.evaluate(gbm.predict(V), labels, group=TEST_SIZES, **how)
    found = gbm.best_score_["valid_0"]["ndcg@5"]
    assert found == pytest.approx(float(expected["ndcg@5"]), abs=1e-9)


def test_weights_gains_and_starting_scores_count(lgb: Any) -> None:
    plain = lgb.LGBMRanker(n_estimators=8, verbose=-1).fit(X, Y, group=SIZES).predict(V)
    weight = np.repeat([1e-6, 1.0], 600)
    for more, fitted in (
        ({}, {"sample_weight": weight}),
        ({"label_gain": [0, 1, 1.5, 2, 40]}, {}),
        ({}, {"init_score": X[:, 0] * 5}),
    ):
        other = lgb.LGBMRanker(n_estimators=8, verbose=-1, **more).fit(X, Y, group=SIZES, **fitted)
        assert not np.allclose(other.predict(V), plain)


def test_scikit_learn_takes_the_ranker(lgb: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    gbm = lgb.LGBMRanker(num_leaves=5, verbose=-1, min_data_in_leaf=10)
    again = base.clone(gbm)
    assert again.get_params() == gbm.get_params()
    assert again.get_params()["min_data_in_leaf"] == 10
    gbm.set_params(num_leaves=9, learning_rate=0.05)
    assert gbm.get_params()["num_leaves"] == 9
    gbm.fit(X, Y, group=SIZES)
    assert (pickle.loads(pickle.dumps(gbm)).predict(V) == gbm.predict(V)).all()  # noqa: S301


def _no_metric(_labels: Any, _scores: Any) -> tuple[str, float, bool]:
    return "mine", 1.0, True


@pytest.mark.parametrize(
    ("eval_metric", "metric", "expected"),
    [
        (None, None, ["ndcg"]),
        (["map"], None, ["map", "ndcg"]),
        (["ndcg", "map"], None, ["ndcg", "map"]),
        (["map", "ndcg"], "map", ["ndcg", "map"]),
        ("ndcg", ["map", "ndcg"], ["map", "ndcg"]),
        ([_no_metric, "map"], "", ["map", "mine"]),
        ([_no_metric], "", ["ndcg", "mine"]),
        ([_no_metric], "None", ["mine"]),
    ],
)
def test_metrics_come_in_the_order_of_lightgbm(
    lgb: Any, eval_metric: Any, metric: Any, expected: list[str]
) -> None:
    more = {} if metric is None else {"metric": metric}
    gbm = lgb.LGBMRanker(n_estimators=1, verbose=-1, **more)
    how = {"eval_set": [(V, Z)], "eval_group": [TEST_SIZES], "eval_at": [10, 3]}
    gbm.fit(X, Y, group=SIZES, eval_metric=eval_metric, **how)
    names = [[one] if one == "mine" else [f"{one}@3", f"{one}@10"] for one in expected]
    assert list(gbm.best_score_["valid_0"]) == [one for each in names for one in each]


@pytest.mark.parametrize("metric", ["ndcg", "map,ndcg", ["map", "ndcg"], ["ndcg", "map"], []])
def test_cuts_of_metrics_are_sorted(lgb: Any, metric: Any) -> None:
    params = {**PARAMS, "metric": metric, "eval_at": "5,1"}
    train = lgb.Dataset(X, Y, group=SIZES)
    valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
    found = lgb.train(params, train, 1, valid_sets=[valid]).best_score["valid_0"]
    listed = metric.split(",") if isinstance(metric, str) else metric or ["ndcg"]
    assert list(found) == [f"{name}@{k}" for name in listed for k in (1, 5)]


def test_each_metric_may_have_its_own_least_improvement(lgb: Any) -> None:
    gbm = lgb.LGBMRanker(n_estimators=30, verbose=-1)
    how = {"eval_set": [(V, Z)], "eval_group": [TEST_SIZES], "eval_at": [1, 3]}

    def best_of(min_delta: Any) -> int:
        stop = lgb.early_stopping(5, verbose=False, min_delta=min_delta)
        return int(gbm.fit(X, Y, group=SIZES, callbacks=[stop], **how).best_iteration_)

    assert best_of([0.0, 1.0]) == best_of([1.0, 0.0]) == best_of([1.0]) == best_of(1.0) == 1
    assert best_of([0.0, 0.0]) == best_of([]) == best_of(0.0) > 1
    with pytest.raises(ValueError, match="min_delta"):
        best_of([0.0, 0.0, 0.0])


def test_early_stopping_of_parameters_is_as_verbose_as_they_say(
    lgb: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    train = lgb.Dataset(X, Y, group=SIZES)
    for verbose, is_silent in ((-1, True), (0, True), (1, False)):
        valid = lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)
        params = {**PARAMS, "verbose": verbose, "early_stopping_round": 3}
        lgb.train(params, train, 60, valid_sets=[valid])
        assert ("best iteration" not in capsys.readouterr().out) == is_silent


def test_the_hint_for_importance_names_a_method() -> None:
    with pytest.raises(rr.ParamError, match=r"Booster\.feature_importance\(kind\)"):
        rr.LambdaMART(importance_type="gain")  # type: ignore[call-arg]
    assert hasattr(rr.Booster, "feature_importance")


def with_categories(*, ordered: bool) -> pd.DataFrame:
    grades, towns = np.random.default_rng(0).integers(0, 6, (2, 1200))
    grade = pd.Categorical.from_codes(grades, list("abcdef"), ordered=ordered)
    town = pd.Categorical.from_codes(towns, list("uvwxyz"))
    return pd.DataFrame({"x": X[:, 0], "grade": grade, "town": town})


#: Whether `grade` is ordered, `categorical_feature`, and the columns that are numbers in LightGBM.
NUMBERS: list[tuple[bool, Any, list[str]]] = [
    (True, "auto", ["grade"]),
    (False, "auto", []),
    (False, [], ["grade", "town"]),
    (False, None, ["grade", "town"]),
    (False, ["grade"], ["town"]),
    (True, ["grade", 2], []),
    (False, [1], ["town"]),
]


@pytest.mark.parametrize(("ordered", "given", "numbers"), NUMBERS)
def test_categories_that_are_numbers_in_lightgbm(
    ordered: bool, given: Any, numbers: list[str]
) -> None:
    """The warning names the columns that LightGBM does not split as sets."""
    frame = with_categories(ordered=ordered)
    labels = frame.grade.cat.codes.to_numpy() // 3 + frame.town.cat.codes.to_numpy() % 2
    ours = import_module(OURS)

    def warned(call: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        return [str(one.message) for one in caught if issubclass(one.category, UserWarning)]

    named = [f"categories of {', '.join(map(repr, numbers))} are split as sets"] if numbers else []
    listed: dict[str, Any] = {"categorical_feature": given}
    train = ours.Dataset(frame, labels, group=SIZES, **listed)
    sets: dict[str, Any] = {"eval_set": [(frame[:600], labels[:600])], "eval_group": [SIZES[:30]]}
    ranker = ours.LGBMRanker(n_estimators=2)
    in_params = {**PARAMS, **listed}
    calls = [
        lambda: ranker.fit(frame, labels, group=SIZES, **sets, **listed),
        lambda: ours.train(PARAMS, train, 2),
        lambda: ours.cv(PARAMS, train, 2, nfold=3),
    ]
    if given is not None:
        plain = ours.Dataset(frame, labels, group=SIZES)
        calls.append(lambda: ours.train(in_params, plain, 2))
        again = ours.Dataset(frame, labels, group=SIZES)
        calls.append(lambda: ours.cv(in_params, again, 2, nfold=3))
    for call in calls:
        texts = warned(call)
        assert [text.split("; ")[0].removesuffix(" of values") for text in texts] == named
        assert all("column.cat.codes" in text for text in texts)
    # With codes, they are numbers here as they are there.
    codes = frame.assign(**{name: frame[name].cat.codes for name in numbers})
    rest = [name for name in ("grade", "town") if name not in numbers]
    assert warned(lambda: ranker.fit(codes, labels, group=SIZES, categorical_feature=rest)) == []
    places = [at for at, name in enumerate(frame.columns) if name in rest]
    assert ranker.booster_.native._core.categorical() == places


@pytest.mark.parametrize(("ordered", "given", "numbers"), NUMBERS)
def test_lightgbm_takes_these_categories_as_numbers(
    ordered: bool, given: Any, numbers: list[str]
) -> None:
    theirs = pytest.importorskip("lightgbm")
    frame = with_categories(ordered=ordered)
    labels = frame.grade.cat.codes.to_numpy() // 3 + frame.town.cat.codes.to_numpy() % 2
    made = theirs.Dataset(frame, labels, group=SIZES, categorical_feature=given)
    infos = theirs.train(PARAMS, made, 2).dump_model()["feature_infos"]
    assert [name for name in ("grade", "town") if not infos[name]["values"]] == numbers


def test_errors_are_those_of_the_library() -> None:
    lgb = import_module(OURS)
    basic = import_module(f"{OURS}.basic")
    assert lgb.LightGBMError is basic.LightGBMError
    with pytest.raises(basic.LightGBMError, match="objective"):
        lgb.train({}, lgb.Dataset(X, Y, group=SIZES))


def test_fields_of_a_data_set(lgb: Any) -> None:
    data = lgb.Dataset(X, free_raw_data=False)
    data.set_label(Y)
    data.set_group(SIZES)
    data.set_weight(np.ones(1200))
    data.construct()
    assert (data.get_label() == Y).all()
    assert (data.get_group() == SIZES).all()
    assert (data.get_field("group") == np.arange(61) * 20).all()
    assert data.get_weight() is None or (data.get_weight() == 1).all()
    assert (data.num_data(), data.num_feature()) == (1200, 50)
    bst = lgb.train(PARAMS, data, 2)
    assert bst.num_feature() == 50


def test_aliases_are_those_of_lightgbm() -> None:
    basic = pytest.importorskip("lightgbm.basic")
    theirs = basic._ConfigAliases._get_all_param_aliases()
    names = {alias: name for name, many in theirs.items() for alias in many}
    assert all(names[alias] == name for alias, name in ALIASES.items())
    assert set(KNOWN) - set(names) == {"class_weight", "silent"}


def test_the_default_is_not_that_of_the_core() -> None:
    # The same trees as the core with LightGBM's loss, spelled out.
    lgb = import_module(OURS)
    ours = lgb.LGBMRanker(n_estimators=10).fit(X, Y, group=SIZES)
    core = rr.train(
        rr.Dataset(X, Y, group=SIZES, sample_rows=200_000),
        num_trees=10,
        noise_scale=0,
        gap_offset=0.01,
        query_normaliser="log_sum",
        objective_metric="ndcg",
    )
    assert (ours.predict(V) == core.predict(V)).all()


def test_what_was_evaluated_last_is_of_the_trees_that_are_kept(lgb: Any) -> None:
    """As in LightGBM, nothing is left where early stopping took the last trees away."""
    data = rr.datasets.make_polynomial(60, 20, seed=1)
    later = rr.datasets.make_polynomial(30, 20, seed=1, first_query=1000)
    train = lgb.Dataset(data.X, data.y, group=[20] * 60)
    valid = lgb.Dataset(later.X, later.y, group=[20] * 30, reference=train)
    params = {"objective": "lambdarank", "eval_at": [10], "learning_rate": 0.3, "verbose": -1}
    for keeps in (False, True):
        booster = lgb.train(
            params,
            train,
            100,
            valid_sets=[valid],
            callbacks=[lgb.early_stopping(5, verbose=False)],
            keep_training_booster=keeps,
        )
        assert len(booster.eval_valid()) == int(keeps)


def test_documents_of_queries_with_one_label_do_not_count_in_leaves() -> None:
    """LightGBM counts them, which the guide and the documentation of the parameter say."""
    labels = Y.copy()
    labels[:600] = 1
    options: dict[str, Any] = {"n_estimators": 1, "num_leaves": 63, "min_child_samples": 200}

    def most_leaves(name: str) -> int:
        ranker = import_module(name).LGBMRanker(**options, verbose=-1).fit(X, labels, group=SIZES)
        booster = rr.Booster.from_text(ranker.booster_.model_to_string())
        return int(booster.feature_importance("count").sum()) + 1

    assert most_leaves(OURS) <= 600 // 200
    if "lightgbm" in LIBRARIES:
        assert most_leaves("lightgbm") > 600 // 200
    documented = TRAININGS["train"]["min_leaf_docs"].doc
    assert "Only docs with a gradient count" in documented
    guide = (Path(__file__).parents[2] / "docs/how-to/lightgbm.md").read_text(encoding="utf-8")
    assert "counts only documents with a gradient" in guide
