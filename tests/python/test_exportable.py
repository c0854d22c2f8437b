"""What a format cannot hold is said before training: as `Booster.export` says it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
from rustrank import cli
from rustrank.parameters.schema import TRAININGS

if TYPE_CHECKING:
    from pathlib import Path

DATA = rr.datasets.make_polynomial(40, seed=0)
FOREIGN = ("lightgbm", "xgboost", "ranklib", "onnx")
FEW: dict[str, Any] = {"num_trees": 4, "num_leaves": 6, "min_leaf_docs": 5}


def _categories(step: int = 1) -> np.ndarray:
    """Features of which the first holds categories that say more than all others."""
    X = DATA.X[:, :5].astype(np.float64)
    X[:, 0] = (DATA.y * 7 % 5) * step
    return X


def _missing_categories() -> np.ndarray:
    X = _categories()
    X[X[:, 0] == 1, 0] = np.nan
    return X


def _dataset(X: Any = DATA.X, **options: Any) -> rr.Dataset:
    return rr.Dataset(X, DATA.y, qid=DATA.qid, **options)


def _net() -> rr.Booster:
    return rr.RankNet(epochs=1).fit(DATA.X, DATA.y, qid=DATA.qid).booster_


def _trainings() -> dict[str, tuple[rr.Dataset, dict[str, Any]]]:
    missing = DATA.X.copy()
    missing[::7, :3] = np.nan
    numbers, trees = _dataset(), rr.train(_dataset(), **FEW)
    return {
        "numbers": (numbers, {}),
        "missing values": (_dataset(missing), {}),
        "symmetric trees": (numbers, {"tree_shape": "symmetric"}),
        "dropout": (numbers, {"dropout": 0.5, "dropout_skip": 0.0}),
        "exact steps": (numbers, {"step": "exact"}),
        "constraints": (numbers, {"monotone": {"f1": 1}}),
        "positions": (_dataset(position=np.arange(len(DATA.y)) % 9 + 1), {}),
        "a function": (numbers, {"objective": lambda s, y, _: (s - y, np.ones(len(s)))}),
        "categories": (_dataset(_categories(), categorical=[0]), {}),
        "large categories": (_dataset(_categories(1_000_003), categorical=[0]), {}),
        "missing categories": (_dataset(_missing_categories(), categorical=[0]), {}),
        "texts": (_dataset({"t": [f"t{at}" for at in _categories()[:, 0]]}, categorical=["t"]), {}),
        "ranks": (_dataset(query_ranks=True), {}),
        "mcrank": (numbers, {"objective": "mcrank"}),
        "mcrank_ordinal": (numbers, {"objective": "mcrank_ordinal"}),
        "a base of trees": (_dataset(base=trees), {}),
        "a base that is given": (numbers, {"base": trees}),
        "a net as base": (_dataset(base=_net()), {}),
    }


TRAININGS_HERE = _trainings()


@pytest.mark.parametrize("name", TRAININGS_HERE)
def test_what_is_said_before_is_what_export_says(name: str) -> None:
    dataset, given = TRAININGS_HERE[name]
    options = dict(given)
    booster = rr.train(dataset, **FEW, **options)
    assert rr.train(dataset, **FEW, **options, exportable="rustrank") == booster
    rounds: list[rr.Round] = []
    for library in FOREIGN:
        options |= {"exportable": library, "callbacks": rounds.append}
        if _can_hold(library, booster):
            again = rr.train(dataset, **FEW, **options)
            assert again.dump()["trees"] == booster.dump()["trees"]
            rounds.clear()
            continue
        if name == "missing categories" and library == "lightgbm":
            continue
        with pytest.raises(rr.ParamError, match=f"exportable='{library}': ") as caught:
            rr.train(dataset, **FEW, **options)
        assert caught.value.code == "exportable"
        assert not rounds


def _can_hold(library: str, booster: rr.Booster) -> bool:
    try:
        booster.export(library)
    except rr.ParamError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "library", "said"),
    [
        ("categories", "xgboost", r"cannot hold splits on categories \(f0\); lightgbm holds them"),
        ("large categories", "lightgbm", r"cannot hold categories above a million \(f0\)"),
        (
            "ranks",
            "onnx",
            "ONNX cannot hold ranks within queries; make the data set with query_ranks=False",
        ),
        ("mcrank", "ranklib", "RankLib's XML cannot hold the classes of objective='mcrank'"),
        ("a net as base", "lightgbm", "the base is part of the model, and .*cannot hold a net"),
    ],
)
def test_the_reason_and_the_way_out_are_named(name: str, library: str, said: str) -> None:
    dataset, options = TRAININGS_HERE[name]
    with pytest.raises(rr.ParamError, match=said):
        rr.train(dataset, **options, exportable=library)


def test_the_error_of_export_says_what_keeps_the_model(tmp_path: Path) -> None:
    booster = rr.train(TRAININGS_HERE["missing categories"][0], **FEW)
    with pytest.raises(rr.ParamError, match="missing values with some categories; `save` keeps"):
        booster.export("lightgbm")
    booster.save(tmp_path / "m.rrk")
    assert rr.Booster.load(tmp_path / "m.rrk") == booster


@pytest.mark.parametrize("tree_shape", ["leafwise", "symmetric"])
def test_missing_categories_go_where_lightgbm_sends_them(tree_shape: str) -> None:
    X = _missing_categories()
    dataset = _dataset(X, categorical=[0])
    booster = rr.train(dataset, **FEW, tree_shape=tree_shape, exportable="lightgbm")
    assert booster.params["missing_is_unknown"] == "True"
    again = rr.Booster.from_text(booster.export("lightgbm").decode())
    assert np.array_equal(again.predict(X), booster.predict(X))
    unknown, missing = X.copy(), X.copy()
    unknown[:, 0], missing[:, 0] = 12_345, np.nan
    assert np.array_equal(booster.predict(unknown), booster.predict(missing))
    lgb = pytest.importorskip("lightgbm")
    theirs = lgb.Booster(model_str=booster.export("lightgbm").decode())
    for rows in (X, unknown, missing):
        assert np.array_equal(theirs.predict(rows), booster.predict(rows))


def test_formats_are_those_of_export(tmp_path: Path) -> None:
    booster = rr.train(_dataset(), num_trees=1)
    for library in TRAININGS["train"]["exportable"].choices:
        assert booster.export(library)
    with pytest.raises(rr.ParamError, match='exportable is not known: got "pmml", expected'):
        rr.train(_dataset(), exportable="pmml")
    # Not part of the model.
    assert rr.train(_dataset(), num_trees=1, exportable="onnx").params == booster.params
    begun = tmp_path / "c.rrk"
    rr.train(_dataset(), num_trees=1, exportable="onnx", checkpoint=begun)
    assert rr.train(_dataset(), num_trees=1, checkpoint=begun, resume=True) == booster


def test_estimators_and_the_command_line_say_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranker = rr.LambdaMART(n_estimators=1, categorical=[0], exportable="onnx")
    with pytest.raises(rr.ParamError, match=r"cannot hold splits on categories \(f0\)"):
        ranker.fit(_categories(), DATA.y, qid=DATA.qid)
    ranker.set_params(exportable="lightgbm").fit(_categories(), DATA.y, qid=DATA.qid)
    path, model = tmp_path / "t.txt", tmp_path / "m.rrk"
    DATA.to_letor(path)
    options = ("--query-ranks", "--exportable", "xgboost")
    assert cli.main(["train", str(path), str(model), *options]) != 0
    assert "XGBoost's JSON cannot hold ranks within queries" in capsys.readouterr().err
    assert not model.exists()
