"""Model files of LightGBM with other objectives and of random forests: what `predict` returns, what is written."""

from __future__ import annotations

import copy
import math
import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb
from rustrank.compat.lightgbm.model_text import ModelText

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

#: The leaves of three stumps, for values up to 0 and above.
LEAVES = ((-0.5, 0.25), (1.0, -1.75), (0.125, 2.0))
LOW, HIGH = (sum(pair[side] for pair in LEAVES) for side in (0, 1))
X = np.array([[0.0], [1.0]])


def text_of(objective: str | None, *, averages: bool = False) -> str:
    """Return a model file with three stumps."""
    trees = [
        f"Tree={at}\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\nthreshold=0.5\n"
        f"decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value={low} {high}\n"
        "leaf_weight=1 1\nleaf_count=1 1\ninternal_value=0\ninternal_weight=2\ninternal_count=2\n"
        "is_linear=0\nshrinkage=1\n\n\n"
        for at, (low, high) in enumerate(LEAVES)
    ]
    head = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=0\n"
    head += "" if objective is None else f"objective={objective}\n"
    head += "average_output\n" if averages else ""
    head += "feature_names=Column_0\nfeature_infos=[0:1]\n"
    sizes = " ".join(str(len(tree)) for tree in trees)
    tail = "feature_importances:\nColumn_0=3\n\nparameters:\n[seed: 7]\nend of parameters\n\n"
    body = "".join(trees)
    return f"{head}tree_sizes={sizes}\n\n{body}end of trees\n\n{tail}pandas_categorical:null\n"


def sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-score))


OBJECTIVES: dict[str | None, Callable[[float], float]] = {
    None: float,
    "lambdarank": float,
    "regression": float,
    "regression_l1": float,
    "huber": float,
    "fair": float,
    "quantile": float,
    "mape": float,
    "custom": float,
    "binary sigmoid:1": sigmoid,
    "binary sigmoid:2.5": lambda score: sigmoid(2.5 * score),
    "cross_entropy": sigmoid,
    "cross_entropy_lambda": lambda score: math.log(1 + math.exp(score)),
    "poisson": math.exp,
    "gamma": math.exp,
    "tweedie": math.exp,
    "regression sqrt": lambda score: math.copysign(score * score, score),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("averages", [False, True])
def test_scores_are_transformed_as_the_objective_says(
    objective: str | None, averages: bool
) -> None:
    booster, transform = (
        lgb.Booster(model_str=text_of(objective, averages=averages)),
        OBJECTIVES[objective],
    )
    divisor = 3 if averages else 1
    expected = [transform(LOW / divisor), transform(HIGH / divisor)]
    assert booster.predict(X) == pytest.approx(expected, rel=1e-14)
    assert booster.predict(X, raw_score=True).tolist() == [LOW, HIGH]
    assert booster.predict(X, pred_contrib=True).sum(axis=1) == pytest.approx([LOW, HIGH])


@pytest.mark.parametrize("averages", [False, True])
def test_some_iterations_are_divided_by_their_number(averages: bool) -> None:
    booster = lgb.Booster(model_str=text_of("regression", averages=averages))
    for start, number in [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (1, None), (0, -1), (2, 9)]:
        part = LEAVES[start : start + number if number and number > 0 else None]
        total = np.sum(part, axis=0)
        how: dict[str, Any] = {"start_iteration": start, "num_iteration": number}
        expected = total / len(part) if averages else total
        assert booster.predict(X, **how).tolist() == expected.tolist()
        assert booster.predict(X, raw_score=True, **how).tolist() == total.tolist()
        assert booster.predict(X, pred_contrib=True, **how).sum(axis=1) == pytest.approx(total)
        again = lgb.Booster(model_str=booster.model_to_string(**how))
        assert again.predict(X).tolist() == expected.tolist()
        assert again.num_trees() == len(part)


def test_a_file_is_written_as_it_was_read(tmp_path: Path) -> None:
    text = text_of("binary sigmoid:2.5", averages=True)
    (tmp_path / "model.txt").write_text(text)
    booster = lgb.Booster(model_file=tmp_path / "model.txt")
    for one in (booster, copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))):  # noqa: S301
        one.save_model(tmp_path / "again.txt")
        assert (tmp_path / "again.txt").read_text() == one.model_to_string() == text
        assert (one.predict(X, num_iteration=2) == booster.predict(X, num_iteration=2)).all()
    part = booster.model_to_string(num_iteration=2, start_iteration=1)
    assert "objective=binary sigmoid:2.5\naverage_output\n" in part
    assert "Column_0=3" not in part
    assert "[seed: 7]" in part
    parts = ModelText.of(part)
    sizes = [len(f"Tree={at}\n{tree}") for at, tree in enumerate(parts.trees)]
    assert f"\ntree_sizes={sizes[0]} {sizes[1]}\n" in parts.head
    assert lgb.Booster(model_str=text_of(None)).model_from_string(text).model_to_string() == text


def test_a_model_of_another_format_keeps_its_objective(tmp_path: Path) -> None:
    rr.Booster.from_text(text_of("poisson")).save(tmp_path / "model.rrk")
    booster = lgb.Booster(model_file=tmp_path / "model.rrk")
    assert booster.predict(X) == pytest.approx(np.exp([LOW, HIGH]))
    assert "\nobjective=poisson\n" in booster.model_to_string()


def test_our_models_are_written_with_their_objective() -> None:
    data = rr.datasets.make_polynomial(20, 20, seed=0)
    for objective in ("lambdarank", "rank_xendcg"):
        train = lgb.Dataset(data.X, data.y, group=[20] * 20)
        booster = lgb.train({"objective": objective, "verbose": -1}, train, 4)
        text = booster.model_to_string()
        assert f"\nobjective={objective}\n" in text
        assert (booster.predict(data.X) == booster.predict(data.X, raw_score=True)).all()
        rest = lgb.Booster(model_str=booster.model_to_string(start_iteration=1, num_iteration=2))
        expected = booster.predict(data.X, start_iteration=1, num_iteration=2)
        assert np.allclose(rest.predict(data.X), expected, atol=1e-12)


def test_what_has_no_prediction_is_refused() -> None:
    booster = lgb.Booster(model_str=text_of("mystery shape:2"))
    with pytest.raises(rr.ParamError, match=r"objective 'mystery', expected .* raw_score=True"):
        booster.predict(X)
    assert booster.predict(X, raw_score=True).tolist() == [LOW, HIGH]
    with pytest.raises(rr.ParamError, match="sigmoid:'x', expected a number"):
        lgb.Booster(model_str=text_of("binary sigmoid:x")).predict(X)
    classes = text_of("multiclass num_class:3").replace("num_class=1", "num_class=3")
    with pytest.raises(rr.ModelFormatError, match="objective is multiclass or multiclassova"):
        lgb.Booster(model_str=classes)


def labels_of(objective: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return labels that an objective takes."""
    if objective == "binary":
        return np.asarray(scores > 0, np.float64)
    if objective.startswith("cross_entropy"):
        return 1 / (1 + np.exp(-scores))
    return np.asarray(np.round(np.exp(scores)) + 1, np.float64)


FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
#: Parameters of LightGBM.
TRAININGS: list[dict[str, Any]] = [
    {"objective": "binary", "sigmoid": 2.5},
    {"objective": "poisson"},
    {"objective": "gamma"},
    {"objective": "tweedie"},
    {"objective": "cross_entropy"},
    {"objective": "cross_entropy_lambda"},
    {"objective": "regression", "reg_sqrt": True},
    {"objective": "regression_l1", "reg_sqrt": True},
    {"objective": "huber"},
    {"objective": "quantile"},
    {"objective": "mape"},
    {"objective": "binary", **FOREST},
    {"objective": "regression", **FOREST},
    {"objective": "poisson", **FOREST},
]


@pytest.mark.parametrize("params", TRAININGS, ids=lambda one: "-".join(map(str, one.values())))
def test_predictions_are_those_of_lightgbm(params: dict[str, Any]) -> None:
    theirs = pytest.importorskip("lightgbm")
    random = np.random.default_rng(0)
    features, rows = random.normal(size=(600, 4)), random.normal(size=(200, 4))
    rows[::7, 1] = np.nan
    labels = labels_of(params["objective"], features[:, 0] + random.normal(size=600))
    data = theirs.Dataset(features, labels, params={"verbose": -1})
    model = theirs.train({"num_leaves": 7, "verbose": -1, **params}, data, 8)
    ours = lgb.Booster(model_str=model.model_to_string())
    parts: list[dict[str, Any]]
    parts = [{}, {"num_iteration": 3}, {"start_iteration": 2, "num_iteration": 4}]
    for how in parts:
        part = model.model_to_string(**how)
        written = theirs.Booster(model_str=ours.model_to_string(**how))
        for raw in (False, True):
            expected = model.predict(rows, raw_score=raw, **how)
            # Exponentials differ in their last bit.
            assert ours.predict(rows, raw_score=raw, **how) == pytest.approx(expected, rel=1e-14)
            expected = theirs.Booster(model_str=part).predict(rows, raw_score=raw)
            assert (written.predict(rows, raw_score=raw) == expected).all()
        expected = model.predict(rows, pred_contrib=True, **how)
        assert np.allclose(ours.predict(rows, pred_contrib=True, **how), expected, atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_texts_here_are_those_of_lightgbm(objective: str | None) -> None:
    theirs = pytest.importorskip("lightgbm")
    for averages in (False, True):
        text = text_of(objective, averages=averages)
        model, ours = theirs.Booster(model_str=text), lgb.Booster(model_str=text)
        assert model.predict(X) == pytest.approx(ours.predict(X), rel=1e-14)
        assert (model.predict(X, raw_score=True) == ours.predict(X, raw_score=True)).all()


def test_a_shorter_forest_is_the_mean_of_its_trees_without_lightgbm() -> None:
    data = rr.datasets.make_polynomial(30, seed=1)
    booster = rr.train(rr.Dataset(data.X, data.y, qid=data.qid), num_trees=6)
    text = booster.export("lightgbm").decode()
    forest = rr.Booster.from_text(text.replace("\ntree_sizes=", "\naverage_output\ntree_sizes=", 1))
    for rounds in (1, 4, 6):
        total = booster.truncate(rounds).predict(data.X)
        assert np.allclose(forest.truncate(rounds).predict(data.X), total / rounds, rtol=1e-12)


def importance_in(text: str) -> list[str]:
    section = text.partition("feature_importances:\n")[2].partition("\nparameters:")[0]
    return section.split()


def tree_of(features: list[int], gains: list[float]) -> str:
    """Return what the importance of features needs of a tree."""
    return (
        f"Tree=0\nnum_leaves={len(features) + 1}\nsplit_feature={' '.join(map(str, features))}\n"
        f"split_gain={' '.join(map(str, gains))}\n\n"
    )


def test_the_importance_of_features_is_sorted_whole_and_without_zeros() -> None:
    trees = [tree_of([0, 2, 2], [0.25, 3.5, 0.75]), tree_of([], []), tree_of([3, 1, 0], [0, 9, 1])]
    tail = "\nfeature_importances:\nold=7\n\nparameters:\n"
    text = ModelText.of("tree\nfeature_names=a b c d\n" + "".join(trees) + "end of trees\n" + tail)
    for kind, number, expected in [
        ("split", 0, ["a=2", "c=2", "b=1"]),
        ("gain", 0, ["b=9", "c=4", "a=1"]),
        ("gain", 1, ["c=4"]),
        ("split", 2, ["c=2", "a=1"]),
    ]:
        found = str(text.with_importance(kind, number))
        assert str(ModelText.of(found).with_importance(kind, number)) == found
        assert importance_in(found) == expected
        assert found.endswith("\n\nparameters:\n")


def trained() -> tuple[lgb.Booster, list[Any]]:
    docs = rr.datasets.make_polynomial(40, 20, seed=1)
    data = lgb.Dataset(docs.X, docs.y, group=[20] * 40)
    return lgb.train({"objective": "lambdarank", "num_leaves": 7}, data, 8), [docs.X, docs.y]


PARTS: list[dict[str, Any]] = [
    {},
    {"num_iteration": 3},
    {"num_iteration": 2, "start_iteration": 4},
    {"start_iteration": 5},
]


def test_files_have_the_importance_of_features(tmp_path: Path) -> None:
    booster, _ = trained()
    for kind in ("split", "gain"):
        for how in PARTS:
            booster.save_model(tmp_path / "model.txt", importance_type=kind, **how)
            text = (tmp_path / "model.txt").read_text()
            assert text == booster.model_to_string(importance_type=kind, **how)
            values = booster.feature_importance(kind, how.get("num_iteration")).astype(int)
            order = np.argsort(-values, kind="stable")
            expected = [f"Column_{at}={values[at]}" for at in order if values[at] > 0]
            assert importance_in(text) == expected
            # Of a file that was read, too.
            again = lgb.Booster(model_str=booster.model_to_string())
            assert again.model_to_string(importance_type=kind, **how) == text
            assert lgb.Booster(model_file=tmp_path / "model.txt").num_trees() > 0
    with pytest.raises(rr.ParamError, match=r"importance_type: got 'count', expected 'split' or"):
        booster.model_to_string(importance_type="count")


def test_the_importance_in_files_is_that_of_lightgbm() -> None:
    theirs = pytest.importorskip("lightgbm")
    ours, (X, y) = trained()
    same = theirs.Booster(model_str=ours.model_to_string())
    params = {"objective": "lambdarank", "verbose": -1}
    other = theirs.train(params, theirs.Dataset(X.astype(float), y, group=[20] * 40), 8)
    read = lgb.Booster(model_str=other.model_to_string())
    for kind in ("split", "gain"):
        for how in PARTS:
            text = same.model_to_string(importance_type=kind, **how).replace(
                "pandas", "\nparameters:"
            )
            expected = importance_in(text)
            assert importance_in(ours.model_to_string(importance_type=kind, **how)) == expected
            expected = other.model_to_string(importance_type=kind, **how)
            assert read.model_to_string(importance_type=kind, **how) == expected


SECTION = (
    "[objective: lambdarank]\n[metric: ndcg,map]\n[data: 12]\n[valid: ]\n[learning_rate: 0.1]\n"
    "[num_leaves: 31]\n[max_delta_step: 1e-07]\n[deterministic: 0]\n[lambdarank_norm: 1]\n"
    "[monotone_constraints: 1,0,-1]\n[label_gain: 0,1.5]\n[interaction_constraints: [0,1],[2]]\n"
    "[machines: ]\n[a_new_one: 3]\n[a_newer_one: x]\n"
)
VALUES = {
    "objective": "lambdarank",
    "metric": ["ndcg", "map"],
    "data": "12",
    "learning_rate": 0.1,
    "num_leaves": 31,
    "max_delta_step": 1e-7,
    "deterministic": False,
    "lambdarank_norm": True,
    "monotone_constraints": [1, 0, -1],
    "label_gain": [0, 1.5],
    "interaction_constraints": [[0, 1], [2]],
    "a_new_one": 3,
    "a_newer_one": "x",
}


def test_parameters_of_a_file_have_types(tmp_path: Path) -> None:
    text = text_of("lambdarank").replace("[seed: 7]\n", SECTION)
    found = lgb.Booster(model_str=text).params
    assert found == VALUES
    assert [type(one) for one in found.values()] == [type(one) for one in VALUES.values()]
    (tmp_path / "model.txt").write_text(text)
    with pytest.warns(UserWarning, match="params: ignored, the model file has"):
        booster = lgb.Booster({"num_leaves": 5}, model_file=tmp_path / "model.txt")
    assert booster.params == pickle.loads(pickle.dumps(booster)).params == VALUES  # noqa: S301
    # Without parameters in the file, those given are kept.
    assert lgb.Booster({"num_leaves": 5}, model_str=text.replace(SECTION, "")).params == {
        "num_leaves": 5
    }


def test_parameters_of_a_file_are_as_lightgbm_gives_them() -> None:
    theirs = pytest.importorskip("lightgbm")
    _, (X, y) = trained()
    more = {"eval_at": [3, 5], "metric": ["ndcg", "map"], "interaction_constraints": [[0, 1], [2]]}
    more |= {"monotone_constraints": [1, *[0] * (X.shape[1] - 1)], "max_delta_step": 1e-7}
    params = {"objective": "lambdarank", "verbose": -1, "label_gain": [0, 1.5, 3, 7, 15], **more}
    text = theirs.train(params, theirs.Dataset(X, y, group=[20] * 40), 2).model_to_string()
    # Also each parameter that there is, with a value that any kind takes.
    head, _, tail = text.partition("\nparameters:\n")
    ones = re.sub(r"(?m)^\[(\w+): .*\]$", r"[\1: 1]", tail)
    ones = ones.replace("interaction_constraints: 1", "interaction_constraints: [1]")
    for given in (text, f"{head}\nparameters:\n{ones}"):
        expected, found = (module.Booster(model_str=given).params for module in (theirs, lgb))
        assert found == expected
        assert list(map(type, found.values())) == list(map(type, expected.values()))
