"""Models of LightGBM here, and ours there: the same scores, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rustrank as rr

lgb = pytest.importorskip("lightgbm")

KINDS: dict[str, dict[str, Any]] = {
    "lambdarank": {"objective": "lambdarank"},
    "deep": {"objective": "lambdarank", "num_leaves": 700, "min_data_in_leaf": 1},
    "stumps": {"objective": "regression", "num_leaves": 2},
    "forest": {
        "objective": "regression",
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.5,
    },
    "zeros": {"objective": "regression", "zero_as_missing": True},
    "no missing": {"objective": "regression", "use_missing": False},
    "categories": {"objective": "regression", "cat_smooth": 1, "min_data_per_group": 5},
}


def table(seed: int, rows: int = 2000) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 6))
    features[:, 1] = np.round(features[:, 1], 1)
    features[:, 3] = random.integers(0, 40, rows)
    features[:, 4] = random.integers(0, 5, rows)
    features[random.random(features.shape) < 0.15] = np.nan
    features[random.random(features.shape) < 0.15] = 0.0
    features[:, 5] = random.normal(size=rows)
    return features


def train(kind: str, rounds: int = 30) -> Any:
    features = table(1)
    labels = np.nan_to_num(features[:, 0] + features[:, 1] * features[:, 5]) + (
        features[:, 3] % 3 == 1
    )
    labels = np.clip(np.round(labels + 2), 0, 4)
    params = {"num_leaves": 31, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1} | KINDS[
        kind
    ]
    categories = [3, 4] if kind == "categories" else "auto"
    more = {"categorical_feature": categories, "params": {"verbose": -1}}
    data = lgb.Dataset(features, labels, group=[20] * 100, **more)
    return lgb.train(params, data, rounds)


def hard_rows(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values at, beside and far from the thresholds, missing and infinite ones not left out."""
    rows = table(2, 3000)
    random = np.random.default_rng(3)
    finite = thresholds[np.abs(thresholds) < 1e30]
    for column in (0, 1, 2, 5):
        chosen = random.choice(finite, len(rows))
        beside = np.nextafter(chosen, random.choice([-np.inf, np.inf], len(rows)))
        pick = random.integers(0, 4, len(rows))
        rows[:, column] = np.choose(
            pick, [rows[:, column], chosen, beside, chosen.astype(np.float32)]
        )
    rows[random.random(rows.shape) < 0.02] = 1e-36
    rows[random.random(rows.shape) < 0.02] = -1e30
    rows[:40, 3] = np.arange(-20, 20) + 0.5
    return rows


def thresholds(model: Any) -> NDArray[np.float64]:
    frame = model.trees_to_dataframe()
    return np.array([float(x) for x in frame["threshold"].dropna() if "||" not in str(x)])


@pytest.mark.parametrize("kind", KINDS)
def test_their_models_score_the_same_here(kind: str, tmp_path: Path) -> None:
    theirs = train(kind)
    path = tmp_path / "model.txt"
    theirs.save_model(path)
    assert ("num_cat=0" in path.read_text()) != (kind == "categories")
    ours = rr.Booster.load(path)
    assert ours.num_trees == theirs.num_trees()
    for rows in (table(7), hard_rows(thresholds(theirs)), table(8).astype(np.float32)):
        # Only the plain scores of a random forest are the mean of its trees.
        wanted = theirs.predict(rows, raw_score=kind != "forest")
        assert np.array_equal(ours.predict(rows), wanted)
        assert np.array_equal(ours.predict(rows[:1]), wanted[:1])
    assert rr.Booster.from_text(ours.to_text()).to_text() == ours.to_text()
    # And back again: the division of a mean goes into the leaves.
    back = lgb.Booster(model_str=ours.export("lightgbm").decode())
    rows = hard_rows(thresholds(theirs))
    close = 1e-12 if kind == "forest" else 0
    assert back.predict(rows, raw_score=True) == pytest.approx(ours.predict(rows), rel=close, abs=0)


def test_our_models_score_the_same_there() -> None:
    features = table(1)
    labels = np.clip(np.round(np.nan_to_num(features[:, 0]) + 2), 0, 4)
    data = rr.Dataset(features, labels, qid=np.repeat(np.arange(100), 20))
    ours = rr.train(data, num_trees=40, num_leaves=20)
    theirs = lgb.Booster(model_str=ours.export("lightgbm").decode())
    rows = hard_rows(thresholds(theirs))
    rows[np.abs(rows) < 1e-30] = 0  # Up to 1e-35 is zero there.
    assert np.array_equal(theirs.predict(rows, raw_score=True), ours.predict(rows))
    rows = rows.astype(np.float32)
    assert np.array_equal(theirs.predict(rows, raw_score=True), ours.predict(rows))


def test_their_shap_values_of_our_symmetric_trees_are_finite() -> None:
    """Some leaves of such trees are empty."""
    docs = rr.datasets.make_polynomial(60, 20, seed=1)
    booster = rr.train(docs, tree_shape="symmetric", num_trees=50, exportable="lightgbm")
    theirs = lgb.Booster(model_str=booster.export("lightgbm").decode())
    values = theirs.predict(docs.X, pred_contrib=True)
    scores = booster.predict(docs.X)
    assert np.array_equal(theirs.predict(docs.X, raw_score=True), scores)
    assert np.abs(values.sum(axis=1) - scores).max() < 1e-9
    again = rr.Booster.from_text(booster.export("lightgbm").decode())
    assert np.abs(again.explain(docs.X) - values).max() < 1e-9


def test_what_cannot_be_read_is_said() -> None:
    labels = np.arange(200) % 3
    data = lgb.Dataset(table(1, 200), labels, params={"verbose": -1})
    classes = lgb.train({"objective": "multiclass", "num_class": 3, "verbose": -1}, data, 2)
    with pytest.raises(rr.ModelFormatError, match="more than one score"):
        rr.Booster.from_text(classes.model_to_string())
    text = train("lambdarank", 2).model_to_string()
    for broken in (text[: len(text) // 2], text.replace("left_child=", "left_child=900 ", 1)):
        with pytest.raises(rr.ModelFormatError):
            rr.Booster.from_text(broken)
    with pytest.raises(rr.ParamError, match="library"):
        rr.Booster.from_text(text).export("mystery")


def test_a_shorter_forest_is_the_mean_of_its_trees() -> None:
    model, rows = train("forest"), table(5)
    ours = rr.Booster.from_text(model.model_to_string())
    for rounds in (1, 7, 30):
        wanted = model.predict(rows, num_iteration=rounds)
        assert np.array_equal(ours.truncate(rounds).predict(rows), wanted)
