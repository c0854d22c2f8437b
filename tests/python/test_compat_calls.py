"""What people type, of the core and of `rustrank.compat`, and what comes of it: it works, or says what to do."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
import rustrank.compat.xgboost as xgb
from rustrank.compat.lightgbm.parameters import _COMMAND_LINE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALL = rr.datasets.make_polynomial(num_queries=30, docs_per_query=20, seed=0)
X, Y, QID = ALL.X[:, :6], ALL.y, ALL.qid
SIZES = np.full(30, 20)
#: The core without its types: what is typed here need not be right.
CORE: Any = rr
RANK: dict[str, Any] = {"objective": "lambdarank", "verbose": -1}
NDCG: dict[str, Any] = {"objective": "rank:ndcg"}


def ranker(**params: Any) -> Any:
    return lgb.LGBMRanker(**{"n_estimators": 2, **params}).fit(X, Y, group=SIZES)


def fitted(**more: Any) -> Any:
    return lgb.LGBMRanker(n_estimators=2).fit(X, Y, **{"group": SIZES, **more})


def trained(**params: Any) -> Any:
    return lgb.train({**RANK, **params}, lgb.Dataset(X, Y, group=SIZES), 2)


def tall(**params: Any) -> Any:
    return xgb.XGBRanker(**{"n_estimators": 2, **params}).fit(X, Y, qid=QID)


def tall_fitted(**more: Any) -> Any:
    return xgb.XGBRanker(n_estimators=2).fit(X, Y, **{"qid": QID, **more})


def native(**params: Any) -> Any:
    return xgb.train({**NDCG, **params}, xgb.DMatrix(X, Y, qid=QID), 2)


def matrix(**more: Any) -> Any:
    return xgb.train(NDCG, xgb.DMatrix(X, Y, **more), 2)


def core() -> Any:
    return rr.Dataset(X, Y, qid=QID)


def of_towns() -> Any:
    """Return a booster with splits on categories, some of which are missing."""
    random = np.random.default_rng(0)
    town = random.choice(np.array(["u", "v", "w", None]), 600)
    labels = (pd.isna(town) | (town == "u")) + random.integers(0, 2, 600)
    table = pd.DataFrame({"town": pd.Categorical(town), "x": X[:, 0]})
    return lgb.train({**RANK, "cat_smooth": 1}, lgb.Dataset(table, labels, group=SIZES), 10)


#: What is typed, and either nothing, if it works, or a part of the error.
CALLS: list[tuple[Callable[[], Any], str | None]] = [
    # LightGBM: works.
    (lambda: ranker(), None),
    (lambda: ranker(objective="rank_xendcg", random_state=np.random.RandomState(3)), None),
    (lambda: ranker(num_leaves=15, max_depth=5, min_split_gain=0.1, reg_lambda=1.0), None),
    (lambda: ranker(subsample=0.7, subsample_freq=1, colsample_bytree=0.5, n_jobs=-1), None),
    (lambda: ranker(subsample=0.7), None),
    (lambda: ranker(eta=0.05, min_data_in_leaf=5, lambda_l2=2, seed=7, bagging_seed=8), None),
    (lambda: ranker(verbosity=-1, force_row_wise=True, deterministic=True, device="cpu"), None),
    (lambda: ranker(label_gain=[0, 1, 3, 7, 15], lambdarank_truncation_level=10), None),
    (lambda: ranker(lambdarank_norm=False, sigmoid=2.0, max_bin=63), None),
    (lambda: ranker(boosting_type="goss", top_rate=0.3, other_rate=0.2), None),
    (lambda: ranker(monotone_constraints=[1, 0, 0, 0, 0, -1]), None),
    (lambda: ranker(interaction_constraints=[[0, 1], [2, 3]]), None),
    (lambda: ranker(boosting_type="dart", xgboost_dart_mode=True, uniform_drop=True), None),
    (lambda: ranker(interaction_constraints="[0,1],[2,3]"), None),
    (lambda: ranker(interaction_constraints=""), None),
    (lambda: fitted(group=[20.0] * 30, sample_weight=np.ones(600)), None),
    (lambda: fitted(categorical_feature=[], feature_name=list("abcdef")), None),
    (lambda: fitted().predict(X.tolist()), None),
    (lambda: trained(metric="map", eval_at="1,3", num_iterations=3), None),
    (lambda: trained().save_model, None),
    # LightGBM: refused.
    (lambda: ranker(objective="binary"), "objective: got 'binary', expected 'lambdarank' or"),
    (lambda: ranker(objective=np.subtract), "rr.train(objective=function)"),
    (lambda: lgb.train({}, lgb.Dataset(X, Y, group=SIZES)), "LightGBM's default is a regression"),
    (lambda: ranker(reg_alpha=0.5), "reg_alpha: got 0.5, expected 0; rustrank has l2"),
    (
        lambda: ranker(lerning_rate=0.1),
        "there is no parameter lerning_rate; did you mean learning_",
    ),
    (lambda: ranker(class_weight="balanced"), "class_weight: got 'balanced', expected None"),
    (lambda: ranker(boosting_type="dart"), "xgboost_dart_mode=True, uniform_drop=True"),
    (lambda: ranker(boosting_type="rf"), "boosting_type: got 'rf', expected 'gbdt'"),
    (lambda: ranker(subsample=0.7, subsample_freq=5), "subsample_freq: got 5, expected 0 or 1"),
    (lambda: ranker(subsample=1.5), "subsample: got 1.5, expected a number above 0, up to 1"),
    (lambda: trained(bagging_fraction=0), "bagging_fraction: got 0.0, expected a number above 0"),
    (lambda: ranker(extra_trees=True), "random_strength of rr.train"),
    (lambda: ranker(interaction_constraints="0,1"), "or '[0,1],[2]'"),
    (lambda: ranker(interaction_constraints="[a,b]"), "lists of numbers of features"),
    (lambda: trained(header=True), "pass arrays or frames to Dataset"),
    (lambda: trained(output_freq=5), "there is no parameter output_freq, which is of LightGBM's"),
    (lambda: ranker(metric_freq=5), "pass callbacks=[log_evaluation(period)]"),
    (lambda: trained(snapshot_freq=5), "rr.train(checkpoint=)"),
    (lambda: trained(task="train"), "leave it out: call train, or predict of a Booster"),
    (lambda: trained(output_model="model.txt"), "call booster.save_model(path) after training"),
    (lambda: ranker(device="gpu"), "device: got 'gpu', expected 'cpu'; rustrank trains on the CPU"),
    (lambda: ranker(max_bin=1023), "max_bin: got 1023, expected 2 to 255"),
    (lambda: ranker(zero_as_missing=True), "replace 0 by NaN in the data"),
    (lambda: ranker(metric="auc"), "metric: got 'auc', expected 'ndcg' or 'map'"),
    (lambda: fitted(group=None), "group: got None, expected the rows of each query"),
    (lambda: fitted(group=[300, 200]), "group"),
    (lambda: fitted(group=[20.5] * 30), "group[0]: got 20.5, expected a whole number of rows"),
    (lambda: fitted(eval_set=[(X, Y)]), "eval_group: got None, expected the rows of each query"),
    (lambda: fitted(callbacks=[lgb.early_stopping(5)]), "early_stopping: got no metric"),
    (lambda: lgb.reset_parameter(learning_rate=[0.1, 0.05]), "train in parts with init_model="),
    (lambda: lgb.Dataset("train.txt"), "rr.Dataset.from_letor"),
    (lambda: lgb.train(RANK, lgb.Dataset(X, Y)), "pass group= (rows of each query)"),
    (lambda: lgb.Dataset(X, Y, position=QID), "rr.Dataset(position=)"),
    (lambda: fitted().predict(X, pred_leaf=True), "pred_leaf: got True, expected False"),
    (lambda: trained().predict(lgb.Dataset(X)), "raw features in memory, not a Dataset"),
    (
        lambda: trained().dump_model(),
        "Booster has no dump_model; in rustrank: booster.native.dump()",
    ),
    (lambda: lgb.LGBMClassifier(), "has no LGBMClassifier; in rustrank: rustrank ranks"),
    # LightGBM: errors of the core, in LightGBM's names.
    (lambda: ranker(min_child_samples=500), "min_child_samples is too large for the data: got 500"),
    (lambda: trained(reg_lambda=-1), "reg_lambda is out of range: got -1"),
    (lambda: trained(lambda_l2=-1), "lambda_l2 is out of range: got -1"),
    (lambda: trained(min_gain_to_split=-1), "min_gain_to_split: got -1.0, expected a number from"),
    (lambda: trained(colsample_bytree=2), "colsample_bytree is out of range: got 2"),
    (lambda: trained(mc=[1]), "mc has the wrong length: got 1, expected 6, the number of features"),
    (lambda: trained(label_gain=[0, 1]), "; label_gain has the gain of each label"),
    (lambda: ranker(boosting_type="goss", top_rate=0.9, other_rate=0.9), "top_rate + other_rate"),
    (lambda: fitted(sample_weight=-np.ones(600)), "weight[0] = -1: expected a finite number"),
    (lambda: fitted(init_score=np.full(600, np.inf)), "init_score[0] = inf: expected a finite"),
    (lambda: fitted(categorical_feature=[9]), "categorical_feature: a feature: got 9"),
    (
        lambda: lgb.train(RANK, lgb.Dataset([["u", 1.0]] * 40, Y[:40], group=[20] * 2)),
        "categorical_feature=[0]",
    ),
    (
        lambda: of_towns().model_to_string(),
        None,
    ),
    # XGBoost: works.
    (lambda: tall(), None),
    (lambda: tall(objective="rank:pairwise", tree_method="hist", device="cpu", verbosity=0), None),
    (lambda: tall(interaction_constraints="[[0, 1], [2, 3]]"), None),
    (lambda: tall(interaction_constraints=""), None),
    (lambda: tall(interaction_constraints="[0, 1]"), "or '[[0, 1], [2]]'"),
    (lambda: tall(interaction_constraints="[[a, b]]"), "lists of numbers of features"),
    (lambda: tall(interaction_constraints="[]"), "lists of numbers of features"),
    (lambda: tall(max_depth=0), None),
    (lambda: tall(max_depth=0, grow_policy="lossguide"), None),
    (lambda: tall(grow_policy="lossguide", max_leaves=15, max_depth=0, max_bin=256), None),
    (lambda: tall(gamma=1.0, min_child_weight=0.1, subsample=0.5, colsample_bynode=0.5), None),
    (lambda: tall(ndcg_exp_gain=False, lambdarank_normalization=False, missing=0.0), None),
    (lambda: tall(monotone_constraints="(1,0,0,0,0,-1)"), None),
    (lambda: tall_fitted(qid=None, group=SIZES, sample_weight=np.ones(30)), None),
    (lambda: xgb.XGBRanker(n_estimators=2).fit(X[::-1], Y[::-1], qid=QID[::-1]), None),
    (lambda: matrix(group=[20.0] * 30, weight=np.ones(30)), None),
    (lambda: native(eval_metric="ndcg@5-").get_score(importance_type="gain"), None),
    # XGBoost: refused.
    (lambda: tall(objective="reg:squarederror"), "expected 'rank:ndcg' or 'rank:map' or"),
    (lambda: xgb.train({}, xgb.DMatrix(X, Y, qid=QID)), "XGBoost's default is a regression"),
    (lambda: tall(alpha=1), "alpha: got 1, expected 0"),
    (lambda: tall(tree_method="gpu_hist"), "tree_method: got 'gpu_hist', expected 'hist'"),
    (lambda: tall(device="cuda"), "device: got 'cuda', expected 'cpu'"),
    (lambda: tall(lambdarank_unbiased=True), "rr.Dataset(position=) learns a position bias"),
    (lambda: tall(colsample_bylevel=0.5), "draws features for each tree or node"),
    (lambda: tall(max_leaves=15), "grow_policy='lossguide'"),
    (lambda: tall(eval_metric="auc"), "eval_metric: got 'auc', expected ndcg, map or pre"),
    (lambda: tall(booster="dart", rate_drop=0.1), "rr.train(dropout=) has DART"),
    (lambda: tall_fitted(qid=None), "queries are missing: pass group= or qid="),
    (lambda: tall_fitted(sample_weight=np.ones(600)), "weight has the wrong length: got 600"),
    (lambda: xgb.XGBRanker(early_stopping_rounds=5).fit(X, Y, qid=QID), "pass evals= or eval_set="),
    (lambda: xgb.DMatrix("train.txt?format=libsvm"), "rr.Dataset.from_letor"),
    (lambda: native().save_model("model.ubj"), "a name that ends with .json"),
    (lambda: native().get_dump(), "in rustrank: booster.native.dump()"),
    (lambda: native().predict(X), "data: got array"),
    (lambda: tall().best_iteration, "best_iteration is there after early stopping only"),
    (lambda: xgb.cv(NDCG, xgb.DMatrix(X, Y, qid=QID)), "in rustrank: rr.cross_validate"),
    (lambda: xgb.callback.LearningRateScheduler(abs), "go on with xgb_model="),
    (lambda: tall(reg_lambda=-1), "reg_lambda: got -1.0, expected a number from 0 on"),
    (lambda: tall(gamma=-1), "gamma is out of range: got -1"),
    (lambda: tall(colsample_bytree=2), "colsample_bytree is out of range: got 2"),
    (lambda: matrix(qid=QID, base_margin=np.full(600, np.inf)), "base_margin[0] = inf"),
    (lambda: native(monotone_constraints=(1,)), "monotone_constraints has the wrong length: got 1"),
    # The core: one name for each thing, and a hint for the others.
    (lambda: rr.train(core(), num_trees=2).predict(X), None),
    (lambda: rr.LambdaMART(n_estimators=2).fit(X, Y, group=SIZES).predict(X), None),
    (lambda: CORE.train(core(), num_boost_round=2), "here it is called num_trees"),
    (lambda: rr.train(core(), objective="rank:ndcg"), "here it is called lambdamart"),
    (lambda: CORE.train(core(), early_stopping_rounds=5), "here it is called early_stopping"),
    (lambda: CORE.LambdaMART(subsample=0.5), "here it is called docs_per_tree"),
]


@pytest.mark.parametrize("at", range(len(CALLS)))
@pytest.mark.filterwarnings("ignore")
def test_what_people_type_works_or_says_what_to_do(at: int) -> None:
    typed, expected = CALLS[at]
    if expected is None:
        typed()
        return
    with pytest.raises(Exception, match=re.escape(expected)) as found:
        typed()
    assert isinstance(found.value, (rr.RustrankError, AttributeError))


@pytest.mark.parametrize("at", range(len(CALLS)))
@pytest.mark.filterwarnings("ignore")
def test_errors_name_no_options_that_the_library_does_not_have(at: int) -> None:
    typed, expected = CALLS[at]
    if expected is None or typed.__code__.co_names[:1] == ("CORE",):
        return
    with pytest.raises(Exception, match=re.escape(expected)) as found:
        typed()
    # But for those of functions of rustrank that the error names: rr.train(objective=).
    text = re.sub(r"(rr|native)\.[\w.]+(\([^)]*\))?", "", str(found.value))
    ours = r"\b(infinite=|min_leaf_docs|min_leaf_hess|min_reduction|features_per_tree|row_weight|base_score|`save`)"
    assert not re.search(ours, text), text


def test_interactions_as_text_are_those_of_lists() -> None:
    texts = [
        trained(interaction_constraints=one).model_to_string()
        for one in ("[0,1],[2]", "[0, 1], [2]", [[0, 1], [2]])
    ]
    assert texts[0] == texts[1] == texts[2]
    assert trained(interaction_constraints="[0,1]").feature_importance()[2:].sum() == 0


def test_names_of_the_command_line_are_those_of_lightgbm() -> None:
    basic = pytest.importorskip("lightgbm.basic")
    for names in _COMMAND_LINE:
        first, *_ = names.split()
        assert set(names.split()) == basic._ConfigAliases.get(first)


def test_models_of_other_libraries_are_not_refitted() -> None:
    """The hints end at what works, and not at another error."""
    text = trained().model_to_string()
    read = lgb.Booster(model_str=text)
    with pytest.raises(AttributeError, match=r"for models that rustrank trained .*init_model="):
        read.refit(X, Y)
    with pytest.raises(rr.DataError, match="score the raw features"):
        rr.Dataset(X, Y, qid=QID, like=read.native)
    based = rr.Dataset(X, Y, qid=QID, base=read.native)
    refused = "only a model of trees alone, trained by rustrank, can be refitted.*make the Dataset with base="
    for docs in (core(), based):
        with pytest.raises(rr.DataError, match=refused):
            read.native.refit(docs)
    assert rr.train(based, num_trees=1).num_trees == 3
    own = trained().native
    assert own.refit(rr.Dataset(X, Y, group=SIZES, like=own)).num_trees == 2


def test_a_base_of_another_library_goes_through_a_file(tmp_path: Path) -> None:
    theirs = pytest.importorskip("lightgbm")
    ranker = theirs.LGBMRanker(n_estimators=3, verbose=-1).fit(X, Y, group=SIZES)
    through = r"goes through a file: save_model\(.model.txt.\).*rr.Booster.load"
    for one in (ranker, ranker.booster_):
        with pytest.raises(rr.ParamError, match=through):
            rr.Dataset(X, Y, group=SIZES, base=one)
        with pytest.raises(rr.ParamError, match=through):
            rr.train(core(), num_trees=2, base=one)
        with pytest.raises(rr.ParamError, match=r"goes through a file: .* the path of the file"):
            fitted(init_model=one)
    ranker.booster_.save_model(tmp_path / "model.txt")
    assert fitted(init_model=tmp_path / "model.txt").n_estimators_ == 5


def test_a_base_of_another_library_names_how_it_is_saved() -> None:
    base: Any = type("Booster", (), {"__module__": "xgboost.core"})()
    with pytest.raises(rr.ParamError, match=r"expected a Booster; .* save_model\(.model.json.\)"):
        rr.Dataset(X, Y, qid=QID, base=base)
    with pytest.raises(rr.ParamError, match=r"expected a Booster$"):
        rr.Dataset(X, Y, qid=QID, base=CORE)


def test_a_parameter_that_comes_twice_is_refused() -> None:
    with pytest.raises(rr.ParamError, match="min_data_in_leaf is another name of it"):
        trained(min_data_in_leaf=5, min_child_samples=6)
    trained(min_data_in_leaf=5, min_child_samples=5)


def test_every_seed_changes_what_is_drawn() -> None:
    drawn = {"subsample": 0.5, "subsample_freq": 1}
    models = {
        ranker(**drawn, **seeds).booster_.model_to_string()
        for seeds in ({}, {"seed": 1}, {"bagging_seed": 1}, {"seed": 1, "bagging_seed": 2})
    }
    # Seed 1 is seed 1, by whatever name.
    assert len(models) == 3


def test_features_in_no_list_of_interactions_are_left_out() -> None:
    # As in LightGBM. In XGBoost, such a feature stands alone.
    used = ranker(interaction_constraints=[[0, 1], [2]]).booster_.feature_importance()
    assert (used[:3] > 0).any()
    assert (used[3:] == 0).all()


def test_data_are_binned_anew_when_a_field_or_an_option_changes() -> None:
    data = lgb.Dataset(X, Y, group=SIZES)
    first = lgb.train(RANK, data, 3).model_to_string()
    assert lgb.train(RANK, data, 3).model_to_string() == first
    assert lgb.train({**RANK, "max_bin": 7}, data, 3).model_to_string() != first
    assert lgb.train(RANK, data, 3).model_to_string() == first
    data.set_label(Y[::-1].copy())
    assert lgb.train(RANK, data, 3).model_to_string() != first


@pytest.mark.parametrize(
    ("library", "names"),
    [
        (
            "lightgbm",
            "LGBMRanker LGBMRanker.fit LGBMRanker.predict Dataset train cv Booster.predict "
            "plot_importance plot_metric plot_tree",
        ),
        ("xgboost", "XGBRanker.fit XGBRanker.predict DMatrix train Booster.predict"),
    ],
)
def test_arguments_are_those_of_the_library(library: str, names: str) -> None:
    theirs, ours = pytest.importorskip(library), {"lightgbm": lgb, "xgboost": xgb}[library]
    for name in names.split():
        both: list[Any] = [theirs, ours]
        for part in name.split("."):
            both = [getattr(one, part) for one in both]
        expected, found = (inspect.signature(one).parameters for one in both)
        assert set(expected) - set(found) <= {"data_split_mode"}, name
        for one in set(found) & set(expected):
            assert repr(found[one].default) == repr(expected[one].default), f"{name}: {one}"


def test_evaluation_sets_as_features_and_labels() -> None:
    given = lgb.LGBMRanker(n_estimators=2)
    given.fit(X, Y, group=SIZES, eval_X=(X[:200],), eval_y=(Y[:200],), eval_group=[SIZES[:10]])
    assert list(given.evals_result_) == ["valid_0"]
    with pytest.raises(rr.ParamError, match="eval_X together with eval_y"):
        given.fit(X, Y, group=SIZES, eval_X=X, eval_group=[SIZES])


@pytest.mark.filterwarnings("ignore:training ended early")
def test_training_that_cannot_split_has_a_best_iteration() -> None:
    flat, few = np.round(X[:, :1]), [20] * 30
    stop = lgb.early_stopping(1000, verbose=False)
    made = lgb.LGBMRanker(n_estimators=400, min_split_gain=1.0, min_child_samples=100)
    made.fit(
        flat,
        Y,
        group=few,
        eval_set=[(flat[:200], Y[:200])],
        eval_group=[[20] * 10],
        callbacks=[stop],
    )
    rounds = len(made.evals_result_["valid_0"]["ndcg@1"])
    assert rounds < 400
    assert made.best_iteration_ == int(np.argmax(made.evals_result_["valid_0"]["ndcg@1"])) + 1


def test_files_are_read_by_the_library(tmp_path: Path) -> None:
    theirs = pytest.importorskip("lightgbm")
    made = trained()
    made.save_model(tmp_path / "model.txt")
    found = theirs.Booster(model_file=tmp_path / "model.txt").predict(X.astype(np.float64))
    assert np.allclose(found, made.predict(X), atol=1e-12)
    theirs = pytest.importorskip("xgboost")
    tree = native()
    tree.save_model(tmp_path / "model.json")
    found = theirs.Booster(model_file=tmp_path / "model.json").predict(theirs.DMatrix(X))
    assert np.allclose(found, tree.predict(xgb.DMatrix(X)), atol=1e-5)


def test_groups_as_text_are_those_of_lists_in_xgboost() -> None:
    lists = tall(interaction_constraints=[[0, 1], [2, 3]]).predict(X)
    np.testing.assert_array_equal(tall(interaction_constraints="[[0,1],[2,3]]").predict(X), lists)
    assert (tall().predict(X) != lists).any()


def test_a_depth_of_zero_alone_is_no_limit_in_xgboost() -> None:
    def largest(**params: Any) -> int:
        text = tall(n_estimators=1, **params).get_booster().native.dump_text()
        return max(len(line) - len(line.lstrip()) for line in text.splitlines()) // 2 - 1

    assert largest() == 6
    assert largest(max_depth=0) > 6


def test_who_asks_for_quiet_gets_no_warning_of_constant_features() -> None:
    names = [f"quiet {at}" for at in range(X.shape[1])]
    features = np.where(np.arange(X.shape[1]) == 2, 1.0, X)
    frame = pd.DataFrame(features, columns=names)

    def by_lightgbm(**how: Any) -> None:
        data = lgb.Dataset(frame, Y, group=SIZES)
        lgb.train({"objective": "lambdarank", **how}, data, 1)
        lgb.LGBMRanker(n_estimators=1, **how).fit(frame, Y, group=SIZES)

    def by_xgboost(**how: Any) -> None:
        xgb.train({**NDCG, **how}, xgb.DMatrix(frame, Y, qid=QID), 1)
        xgb.XGBRanker(n_estimators=1, **how).fit(frame, Y, qid=QID)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_lightgbm(verbose=-1)
        by_lightgbm(verbosity=-1)
        by_xgboost(verbosity=0)
    # A warning that was not shown comes later where it is wanted.
    with pytest.warns(rr.RustrankWarning, match="1 of 6 features have one value"):
        by_lightgbm(verbose=0)
    frame.columns = [f"again {at}" for at in range(X.shape[1])]
    with pytest.warns(rr.RustrankWarning, match="1 of 6 features have one value"):
        by_xgboost(verbosity=1)
