"""Call-backs of LightGBM itself where ours are expected, and the boosters of folds."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = rr.datasets.make_polynomial(num_queries=60, docs_per_query=20, seed=0)
X, Y, SIZES = ALL.X[:800], ALL.y[:800], [20] * 40
V, Z, TEST_SIZES = ALL.X[800:], ALL.y[800:], [20] * 20
PARAMS: dict[str, Any] = {"objective": "lambdarank", "num_leaves": 6, "verbose": -1}


def trained(callbacks: list[Any]) -> lgb.Booster:
    train = lgb.Dataset(X, Y, group=SIZES)
    sets = [lgb.Dataset(V, Z, group=TEST_SIZES, reference=train)]
    return lgb.train(
        {**PARAMS, "eval_at": [3, 10]}, train, 60, valid_sets=sets, callbacks=callbacks
    )


def callbacks_of(module: Any, found: dict[str, Any]) -> list[Any]:
    return [
        module.early_stopping(4, first_metric_only=True, verbose=True, min_delta=0.001),
        module.log_evaluation(2),
        module.record_evaluation(found),
    ]


class Stub:
    """What LightGBM's call-backs have in common, without LightGBM."""

    __module__ = "lightgbm.callback"
    order, before_iteration = 30, False

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def __call__(self, _env: Any) -> None:
        raise AssertionError("this call-back knows boosters of LightGBM only")


def stub(kind: str, **attributes: Any) -> Any:
    return type(kind, (Stub,), {"__module__": "lightgbm.callback"})(**attributes)


def stubs_of(found: dict[str, Any]) -> list[Any]:
    stop = {"stopping_rounds": 4, "first_metric_only": True, "verbose": True, "min_delta": 0.001}
    return [
        stub("_EarlyStoppingCallback", **stop),
        stub("_LogEvaluationCallback", period=2, show_stdv=True),
        stub("_RecordEvaluationCallback", eval_result=found),
    ]


def of_lightgbm(found: dict[str, Any]) -> list[Any]:
    return callbacks_of(pytest.importorskip("lightgbm"), found)


@pytest.mark.parametrize("theirs", [stubs_of, of_lightgbm])
def test_call_backs_of_lightgbm_work_as_ours(
    theirs: Callable[[dict[str, Any]], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    expected_values: dict[str, Any] = {}
    expected = trained(callbacks_of(lgb, expected_values))
    expected_lines = capsys.readouterr().out
    values: dict[str, Any] = {}
    booster = trained(theirs(values))
    assert capsys.readouterr().out == expected_lines
    assert 0 < booster.best_iteration == expected.best_iteration < 60
    assert values == expected_values
    assert len(values["valid_0"]["ndcg@3"]) > booster.best_iteration
    # And of the ranker, and of folds.
    ranker = lgb.LGBMRanker(n_estimators=60, num_leaves=6, verbose=-1)
    how: dict[str, Any] = {"eval_set": [(V, Z)], "eval_group": [TEST_SIZES], "eval_at": [3, 10]}
    ranker.fit(X, Y, group=SIZES, callbacks=theirs({}), **how)
    assert ranker.best_iteration_ == expected.best_iteration
    data = lgb.Dataset(X, Y, group=SIZES)
    folds: dict[str, Any] = {}
    lgb.cv({**PARAMS, "eval_at": [3]}, data, 4, nfold=2, callbacks=theirs(folds)[1:])
    assert len(folds["valid"]["ndcg@3-mean"]) == 4


def test_call_backs_without_a_counterpart_are_refused() -> None:
    with pytest.raises(rr.ParamError, match=r"reset_parameter: got learning_rate.*init_model="):
        trained([stub("_ResetParameterCallback", kwargs={"learning_rate": [0.1, 0.2]})])
    for unknown in (stub("_Unknown"), stub("_EarlyStoppingCallback", rounds=3)):
        with pytest.raises(rr.ParamError, match="early_stopping, log_evaluation or record_evalua"):
            trained([unknown])
    theirs = pytest.importorskip("lightgbm")
    with pytest.raises(rr.ParamError, match="reset_parameter"):
        trained([theirs.reset_parameter(learning_rate=[0.1] * 60)])


def test_the_core_names_what_it_has_instead() -> None:
    data = rr.Dataset(X, Y, group=SIZES)
    cases: list[tuple[Any, str]] = [
        (stub("_EarlyStoppingCallback"), "early_stopping=10 or rr.EarlyStopping ends training"),
        (stub("_RecordEvaluationCallback"), "booster.history has the metrics of all rounds"),
        (stub("_LogEvaluationCallback"), "progress=True shows the metrics"),
        (stub("_ResetParameterCallback"), "base= goes on with others"),
        (stub("_Mystery"), "functions of a rr.Round: this one is of lightgbm.callback"),
        (lgb.early_stopping(3), "this one is of rustrank.compat.lightgbm.callback"),
        (lgb.record_evaluation({}), "booster.history"),
        (xgb.callback.EarlyStopping(rounds=3), "rr.EarlyStopping"),
    ]
    for given, expected in cases:
        for train in (
            lambda one: rr.train(data, num_trees=2, callbacks=[one]),
            lambda one: rr.LambdaMART(n_estimators=2).fit(X, Y, group=SIZES, callbacks=[one]),
            lambda one: rr.LambdaBoost().fit(X, Y, group=SIZES, callbacks=one),
        ):
            with pytest.raises(rr.ParamError) as found:
                train(given)
            assert expected in str(found.value)
    # Functions of one's own still work.
    seen: list[int] = []
    rr.train(data, num_trees=2, callbacks=[lambda latest: seen.append(latest.number)])
    assert seen == [1, 2]


@pytest.mark.parametrize("name", ["early_stopping", "log_evaluation", "record_evaluation"])
def test_the_core_refuses_call_backs_of_lightgbm(name: str) -> None:
    theirs = pytest.importorskip("lightgbm")
    given = getattr(theirs, name)({} if name == "record_evaluation" else 3)
    with pytest.raises(rr.ParamError, match=r"this one is of lightgbm\.callback"):
        rr.train(rr.Dataset(X, Y, group=SIZES), num_trees=2, callbacks=[given])


def cross_validated(module: Any) -> Any:
    rows = [(np.arange(400, 800), np.arange(400)), (np.arange(400), np.arange(400, 800))]
    data = module.Dataset(X, Y, group=SIZES)
    how: dict[str, Any] = {"folds": rows, "return_cvbooster": True}
    return module.cv({**PARAMS, "eval_at": [5]}, data, 6, **how)["cvbooster"]


def test_the_boosters_of_folds_have_the_methods_of_a_booster() -> None:
    model = cross_validated(lgb)
    for one in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301
        for how in ({}, {"num_iteration": 2}, {"pred_contrib": True}):
            found = one.predict(V, **how)
            assert isinstance(found, list)
            expected = [booster.predict(V, **how) for booster in model.boosters]
            assert all((ours == own).all() for ours, own in zip(found, expected, strict=True))
        assert one.num_trees() == one.current_iteration() == [6, 6]
    importance = model.feature_importance(importance_type="gain")
    assert [len(one) for one in importance] == [X.shape[1]] * 2
    with pytest.raises(AttributeError, match="save_model of each of cvbooster"):
        model.save_model("model.txt")
    with pytest.raises(AttributeError, match="Booster has no dump_model; in rustrank"):
        model.dump_model()


def test_the_boosters_of_folds_are_as_those_of_lightgbm() -> None:
    theirs = cross_validated(pytest.importorskip("lightgbm"))
    ours = cross_validated(lgb)
    assert [one.shape for one in theirs.predict(V)] == [one.shape for one in ours.predict(V)]
    assert theirs.num_trees() == ours.num_trees()


def folds_of(module: Any, callbacks: list[Any], **how: Any) -> dict[str, Any]:
    data = module.Dataset(X, Y, group=SIZES)
    params = {**PARAMS, "eval_at": [3, 10], "metric": "ndcg"}
    found: dict[str, Any] = module.cv(params, data, 40, nfold=2, callbacks=callbacks, **how)
    return found


def test_call_backs_of_cv_get_sets_and_metrics_by_name() -> None:
    found: dict[str, Any] = {}
    last: list[Any] = []

    def keep(env: Any) -> None:
        last[:] = env.evaluation_result_list

    means = folds_of(lgb, [lgb.record_evaluation(found), keep], eval_train_metric=True)
    assert list(found) == ["train", "valid"]
    assert list(found["valid"]) == [
        f"ndcg@{cut}-{what}" for cut in (3, 10) for what in ("mean", "stdv")
    ]
    for name, metric in (("train", "ndcg@3"), ("valid", "ndcg@10")):
        assert found[name][f"{metric}-mean"] == means[f"{name} {metric}-mean"]
        assert found[name][f"{metric}-stdv"] == means[f"{name} {metric}-stdv"]
    one = last[2]
    assert one == ("valid", "ndcg@3", one.metric_value, True, one.metric_std_dev)
    assert (one.dataset_name, one.metric_name, one.maximize) == ("valid", "ndcg@3", True)
    assert one.is_cv_result()
    assert one.metric_value == means["valid ndcg@3-mean"][-1]
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one  # noqa: S301


def test_call_backs_of_cv_get_what_lightgbm_gives() -> None:
    theirs = pytest.importorskip("lightgbm")
    if not hasattr(theirs, "EvalResult"):
        pytest.skip("before 4.7, the set is called cv_agg")
    found: dict[Any, list[Any]] = {theirs: [], lgb: []}
    for module, to in found.items():

        def keep(env: Any, to: list[Any] = to) -> None:
            to[:] = [(one.dataset_name, one.metric_name) for one in env.evaluation_result_list]

        recorded: dict[str, Any] = {}
        folds_of(module, [module.record_evaluation(recorded), keep], eval_train_metric=True)
        to.append({name: list(lists) for name, lists in recorded.items()})
    assert found[lgb] == found[theirs]


@pytest.mark.parametrize("theirs", [stubs_of, of_lightgbm, lambda _: callbacks_of(lgb, {})])
def test_early_stopping_of_cv_passes_over_training_sets_and_other_metrics(theirs: Any) -> None:
    every = folds_of(lgb, [], eval_train_metric=True)
    one = "valid ndcg@3-mean"
    best, since = 0, every[one][0]
    for at, value in enumerate(every[one]):
        if value > since + 0.001:
            best, since = at, value
        elif at - best >= 4:
            break
    found = folds_of(lgb, theirs({})[:1], eval_train_metric=True, return_cvbooster=True)
    assert found.pop("cvbooster").best_iteration == len(found[one]) == best + 1 < 36
    assert found == {name: values[: best + 1] for name, values in every.items()}
    assert np.argmax(every["train ndcg@3-mean"]) > best


def test_early_stopping_prints_as_lightgbm_does(capsys: pytest.CaptureFixture[str]) -> None:
    booster = trained([lgb.early_stopping(4, first_metric_only=True, min_delta=[0.001, 0.002])])
    begin, delta, why, best, only = capsys.readouterr().out.splitlines()
    assert begin == "Training until validation scores don't improve for 4 rounds"
    assert delta == "Using only 0.001 as early stopping min_delta."
    assert why == "Early stopping, best iteration is:"
    assert best.startswith(f"[{booster.best_iteration}]\tvalid_0's ndcg@3: ")
    assert only == "Evaluated only: ndcg@3"
    trained([lgb.early_stopping(100, min_delta=0.001)])
    _, delta, why, _ = capsys.readouterr().out.splitlines()
    assert delta == "Using 0.001 as min_delta for all metrics."
    assert why == "Did not meet early stopping. Best iteration is:"


@pytest.mark.parametrize(
    "how", [{"first_metric_only": True}, {"min_delta": 0.001}, {"min_delta": [0.001, 0.002]}]
)
@pytest.mark.parametrize("rounds", [1, 100])
def test_lightgbm_prints_the_same_lines(
    how: dict[str, Any], rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = pytest.importorskip("lightgbm")
    lines = []
    for module in (theirs, lgb):
        data = module.Dataset(X, Y, group=SIZES)
        valid = module.Dataset(V, Z, group=TEST_SIZES, reference=data)
        stop = module.early_stopping(rounds, **how)
        params = {**PARAMS, "eval_at": [3, 10], "metric": "ndcg"}
        module.train(params, data, 20, valid_sets=[valid], callbacks=[stop])
        text = capsys.readouterr().out
        lines.append([one for one in text.splitlines() if not one.startswith("[")])
    assert lines[0] == lines[1]


def test_the_model_of_a_call_back_is_a_booster() -> None:
    kept: list[Any] = []

    def keep(env: Any) -> None:
        assert isinstance(env.model, lgb.Booster)
        if env.iteration == 3:
            assert env.model.num_trees() == env.model.native.num_rounds == 4
            with pytest.raises(AttributeError, match="Booster has no dump_model"):
                env.model.dump_model()
            kept.extend([pickle.loads(pickle.dumps(env.model)), copy.deepcopy(env.model)])  # noqa: S301

    trained([keep])
    assert [one.num_trees() for one in kept] == [4, 4]
