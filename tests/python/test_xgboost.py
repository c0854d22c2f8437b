"""Models of XGBoost here, and ours there: the same scores, up to the singles that it sums in."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rustrank as rr

xgb = pytest.importorskip("xgboost")

KINDS: dict[str, dict[str, Any]] = {
    "ranking": {"objective": "rank:ndcg"},
    "deep": {
        "objective": "reg:squarederror",
        "max_depth": 0,
        "max_leaves": 600,
        "min_child_weight": 0,
    },
    "stumps": {"objective": "reg:squarederror", "max_depth": 1},
    "logistic": {"objective": "binary:logistic"},
    "dropped": {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.3},
    "linear": {"objective": "reg:squarederror", "booster": "gblinear"},
    "categories": {"objective": "reg:squarederror", "max_cat_to_onehot": 4},
}


def table(seed: int, rows: int = 2000) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 6))
    features[:, 1] = np.round(features[:, 1], 1)
    features[:, 3] = random.integers(0, 40, rows)
    features[:, 4] = random.integers(0, 3, rows)
    features[random.random(features.shape) < 0.15] = np.nan
    features[random.random(features.shape) < 0.15] = 0.0
    features[:, 5] = random.normal(size=rows)
    return features.astype(np.float32)


def matrix(kind: str, rows: NDArray[np.float32], **more: Any) -> Any:
    if kind == "linear":
        rows = np.nan_to_num(rows)
    if kind == "categories":
        types = ["float", "float", "float", "c", "c", "float"]
        return xgb.DMatrix(rows, feature_types=types, enable_categorical=True, **more)
    return xgb.DMatrix(rows, **more)


def train(kind: str, rounds: int = 30) -> Any:
    features = table(1)
    labels = np.nan_to_num(features[:, 0] + features[:, 1] * features[:, 5]) + (
        features[:, 3] % 3 == 1
    )
    labels = np.clip(np.round(labels + 2), 0, 1 if kind == "logistic" else 4)
    group = {"group": [20] * 100} if kind == "ranking" else {}
    data = matrix(kind, features, label=labels, **group)
    params = {"tree_method": "hist", "nthread": 1, "seed": 1} | KINDS[kind]
    if kind == "linear":
        del params["tree_method"]
    return xgb.train(params, data, rounds)


@pytest.mark.parametrize("kind", KINDS)
def test_their_models_score_the_same_here(kind: str, tmp_path: Path) -> None:
    theirs = train(kind)
    path = tmp_path / "model.json"
    theirs.save_model(path)
    ours = rr.Booster.load(path)
    theirs.save_model(tmp_path / "model.ubj")
    assert rr.Booster.load(tmp_path / "model.ubj").to_text() == ours.to_text()
    rows = table(7)
    splits = theirs.trees_to_dataframe()["Split"].dropna() if kind != "linear" else np.zeros(1)
    random = np.random.default_rng(3)
    for column in (0, 1, 2, 5):
        at = random.choice(splits, len(rows)).astype(np.float32)
        rows[:, column] = np.where(random.random(len(rows)) < 0.5, at, rows[:, column])
    if kind == "linear":
        rows = np.nan_to_num(rows)
    wanted = theirs.predict(matrix(kind, rows), output_margin=True)
    found = ours.predict(rows)
    scale = np.abs(wanted).max()
    # So many additions of singles, each wrong by half a unit in the last place at most.
    assert np.abs(found - wanted).max() < 40 * scale * 2**-24
    assert rr.Booster.from_text(ours.to_text()).to_text() == ours.to_text()


def test_our_models_score_the_same_there() -> None:
    features = table(1)
    labels = np.clip(np.round(np.nan_to_num(features[:, 0]) + 2), 0, 4)
    data = rr.Dataset(features, labels, qid=np.repeat(np.arange(100), 20))
    ours = rr.train(data, num_trees=40, num_leaves=20)
    theirs = xgb.Booster()
    theirs.load_model(bytearray(ours.export("xgboost")))
    rows = table(9)
    wanted = ours.predict(rows)
    found = theirs.predict(xgb.DMatrix(rows), output_margin=True)
    assert np.abs(found - wanted).max() < 50 * np.abs(wanted).max() * 2**-24
    back = rr.Booster.from_text(ours.export("xgboost").decode())
    assert np.array_equal(back.predict(rows), wanted)


def test_their_shap_values_of_our_symmetric_trees_are_finite() -> None:
    """Some leaves of such trees are empty."""
    docs = rr.datasets.make_polynomial(60, 20, seed=1)
    booster = rr.train(docs, tree_shape="symmetric", num_trees=50, exportable="xgboost")
    theirs = xgb.Booster()
    theirs.load_model(bytearray(booster.export("xgboost")))
    names = list(booster.feature_names or [])
    rows = xgb.DMatrix(docs.X, feature_names=names)
    values = theirs.predict(rows, pred_contribs=True)
    assert np.abs(values.sum(axis=1) - booster.predict(docs.X)).max() < 1e-4
    again = rr.Booster.from_text(booster.export("xgboost").decode())
    assert np.abs(again.explain(docs.X) - values).max() < 1e-4


def test_what_cannot_be_read_is_said() -> None:
    labels = np.arange(200) % 3
    params = {"objective": "multi:softprob", "num_class": 3}
    classes = xgb.train(params, xgb.DMatrix(table(1, 200), labels), 2)
    with pytest.raises(rr.ModelFormatError, match="more than one score"):
        rr.Booster.from_text(classes.save_raw("json").decode())
    text = train("ranking", 2).save_raw("json").decode()
    for broken in (
        text[: len(text) // 2],
        text.replace('"left_children":[', '"left_children":[7,', 1),
    ):
        with pytest.raises(rr.ModelFormatError):
            rr.Booster.from_text(broken)


def test_broken_binary_files_are_refused(tmp_path: Path) -> None:
    whole = bytes(train("ranking", 2).save_raw("ubj"))
    random = np.random.default_rng(5)
    for cut in [*range(40), *random.integers(40, len(whole), 100)]:
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(rr.ModelFormatError):
            rr.Booster.load(tmp_path / "cut")
    for at in random.integers(0, len(whole), 300):
        changed = bytearray(whole)
        changed[at] ^= 1 << random.integers(8)
        (tmp_path / "changed").write_bytes(changed)
        # Their format has no checksum: a model is read, or the fault is told.
        with contextlib.suppress(rr.ModelFormatError, rr.DataError):
            rr.Booster.load(tmp_path / "changed").predict(table(3, 5))
