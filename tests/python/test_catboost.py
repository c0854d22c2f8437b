"""Models of CatBoost here: the same scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rustrank as rr

cb = pytest.importorskip("catboost")

KINDS: dict[str, dict[str, Any]] = {
    "symmetric": {"loss_function": "YetiRank"},
    "stumps": {"depth": 1},
    "deep": {"depth": 10},
    "missing above": {"nan_mode": "Max"},
    "depthwise": {"grow_policy": "Depthwise"},
    "lossguide": {"grow_policy": "Lossguide", "max_leaves": 200, "depth": 16},
    "many borders": {"border_count": 1000},
}


def table(seed: int, rows: int = 2000) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 6)).astype(np.float32)
    features[:, 1] = np.round(features[:, 1], 1)
    features[random.random(features.shape) < 0.1] = np.nan
    return features


def labels_of(features: NDArray[np.float32]) -> NDArray[np.float64]:
    known = np.nan_to_num(features)
    clipped: NDArray[np.float64] = np.clip(
        np.round(known[:, 0] + known[:, 1] * known[:, 5] + 2), 0, 4
    )
    return clipped


def train(kind: str, rounds: int = 30) -> Any:
    features = table(1)
    params: dict[str, Any] = {"iterations": rounds, "depth": 5, "verbose": 0}
    params["allow_writing_files"] = False
    params |= {"loss_function": "RMSE", "random_seed": 1} | KINDS[kind]
    data = cb.Pool(features, labels_of(features), group_id=np.repeat(np.arange(100), 20))
    return cb.CatBoost(params).fit(data)


def loaded(model: Any, path: Path, **more: Any) -> rr.Booster:
    model.save_model(str(path), format="json", **more)
    return rr.Booster.load(path)


def hard_rows(text: str) -> NDArray[np.float32]:
    """Values at and beside the borders, missing ones among them."""
    info = json.loads(text)["features_info"]["float_features"]
    rows = table(2, 3000)
    random = np.random.default_rng(3)
    for feature in info:
        if feature["borders"]:
            at = random.choice(np.asarray(feature["borders"], np.float32), len(rows))
            largest = np.finfo(np.float32).max
            beside = np.nextafter(at, random.choice([-largest, largest], len(rows)))
            column = feature["flat_feature_index"]
            pick = random.integers(0, 3, len(rows))
            rows[:, column] = np.choose(pick, [rows[:, column], at, beside])
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_their_models_score_the_same_here(kind: str, tmp_path: Path) -> None:
    theirs = train(kind)
    ours = loaded(theirs, tmp_path / "model.json")
    assert ours.num_trees == theirs.tree_count_
    for rows in (table(7), hard_rows((tmp_path / "model.json").read_text())):
        wanted = theirs.predict(rows, prediction_type="RawFormulaVal")
        # The same doubles; the order of the sum may differ.
        assert np.abs(ours.predict(rows) - wanted).max() <= 1e-13 * max(1, np.abs(wanted).max())
    assert rr.Booster.from_text(ours.to_text()).to_text() == ours.to_text()
    values = ours.explain(table(7)[:50])
    assert np.allclose(values.sum(1), ours.predict(table(7)[:50]), rtol=0, atol=1e-12)


def test_scale_bias_and_names_are_kept(tmp_path: Path) -> None:
    theirs = train("symmetric", 5)
    theirs.set_scale_and_bias(0.5, -3.0)
    theirs.set_feature_names([f"name {i}" for i in range(6)])
    ours = loaded(theirs, tmp_path / "model.json")
    rows = table(7)
    wanted = theirs.predict(rows, prediction_type="RawFormulaVal")
    assert np.allclose(ours.predict(rows), wanted, rtol=0, atol=1e-13)
    assert ours.feature_names == [f"name {i}" for i in range(6)]


def test_categories_that_are_numbers_are_sets(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = [[int(random.integers(0, 6)), float(x)] for x in random.normal(size=800)]
    labels = np.array([(row[0] % 3) + row[1] for row in rows])
    params = {"iterations": 20, "depth": 4, "verbose": 0, "one_hot_max_size": 50}
    data = cb.Pool(rows, labels, cat_features=[0])
    theirs = cb.CatBoostRegressor(**params, allow_writing_files=False).fit(data)
    ours = loaded(theirs, tmp_path / "model.json", pool=data)
    wanted = theirs.predict(data)
    assert np.allclose(ours.predict(np.array(rows)), wanted, rtol=0, atol=1e-13)
    with pytest.raises(rr.ModelFormatError, match="written with `pool=`"):
        loaded(theirs, tmp_path / "model.json")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    features = table(1, 300)
    params = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False}
    classes = cb.CatBoost(params | {"loss_function": "MultiClass"})
    classes.fit(features, np.arange(300) % 3)
    with pytest.raises(rr.ModelFormatError, match="more than one score"):
        loaded(classes, path)
    rows = [[f"c{i % 5}", float(i)] for i in range(300)]
    data = cb.Pool(rows, np.arange(300) % 7, cat_features=[0])
    statistics = cb.CatBoost(params | {"one_hot_max_size": 1}).fit(data)
    with pytest.raises(rr.ModelFormatError, match="statistics of labels"):
        loaded(statistics, path, pool=data)
    loaded(train("symmetric", 2), path)
    text = json.dumps(json.loads(path.read_text()), separators=(",", ":"))
    for broken in (
        text[: len(text) // 2],
        text.replace('"leaf_values":[', '"leaf_values":[7,', 1),
        text.replace('"float_feature_index":', '"float_feature_index":9', 1),
        text.replace('"flat_feature_index":5', '"flat_feature_index":4000000000', 1),
        text.replace('"oblivious_trees"', '"trees"', 1),
    ):
        assert broken != text
        with pytest.raises(rr.ModelFormatError):
            rr.Booster.from_text(broken)
