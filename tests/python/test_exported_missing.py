"""Splits that only tell missing values from known ones, in the formats of other libraries."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import rustrank as rr

if TYPE_CHECKING:
    from pathlib import Path

#: One tree of LightGBM, which writes such a split with the threshold `inf`; then one with a second split.
TEXT = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=lambdarank
feature_names=Column_0 Column_1
feature_infos=[0:1] [0:1]

Tree=0
num_leaves=2
num_cat=0
split_feature=0
split_gain=52.1656
threshold=inf
decision_type=8
left_child=-1
right_child=-2
leaf_value=-0.125 0.25
leaf_weight=14.25 8.25
leaf_count=319 81
internal_value=0
internal_weight=22.5
internal_count=400
is_linear=0
shrinkage=0.1


Tree=1
num_leaves=3
num_cat=0
split_feature=1 1
split_gain=5 4
threshold=inf 0.5
decision_type=8 10
left_child=1 -1
right_child=-2 -3
leaf_value=0.5 -1 2
leaf_weight=3 4 5
leaf_count=3 4 5
internal_value=0 0
internal_weight=12 8
internal_count=12 8
is_linear=0
shrinkage=0.1


end of trees
"""
LARGEST = float(np.finfo(np.float32).max)
VALUES = [math.nan, -LARGEST, -1.0, 0.0, 0.5, np.nextafter(0.5, 1, dtype=np.float32), 1e30, LARGEST]
ROWS = np.array([(a, b) for a in VALUES for b in VALUES])


@pytest.fixture
def model(tmp_path: Path) -> rr.Booster:
    (tmp_path / "a.txt").write_text(TEXT)
    return rr.Booster.load(tmp_path / "a.txt")


def wanted(row: Any) -> float:
    second = -1.0 if math.isnan(row[1]) else 0.5 if row[1] <= 0.5 else 2.0
    return (0.25 if math.isnan(row[0]) else -0.125) + second


def test_the_text_means_missing_against_known(model: rr.Booster) -> None:
    assert model.predict(ROWS).tolist() == [wanted(row) for row in ROWS]


def test_files_that_are_read_back_score_the_same(model: rr.Booster, tmp_path: Path) -> None:
    scores = model.predict(ROWS)
    # Trees from XGBoost's file send known values right, those from LightGBM's left.
    for at, library in enumerate(["xgboost", "lightgbm", "xgboost", "xgboost", "lightgbm"]):
        model.export(library, tmp_path / f"{at}")
        model = rr.Booster.load(tmp_path / f"{at}")
        assert np.array_equal(model.predict(ROWS), scores), library
    text = model.export("lightgbm").decode()
    assert "threshold=inf\ndecision_type=8\n" in text
    assert "num_cat=1" not in text


def test_xgboost_scores_the_same(model: rr.Booster, tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost")
    model.export("xgboost", tmp_path / "a.json")
    theirs = xgb.Booster(model_file=tmp_path / "a.json")
    assert np.array_equal(theirs.predict(xgb.DMatrix(ROWS)), model.predict(ROWS))


def test_lightgbm_scores_the_same(model: rr.Booster) -> None:
    lgb = pytest.importorskip("lightgbm")
    theirs = lgb.Booster(model_str=model.export("lightgbm").decode())
    rows = np.vstack([ROWS, [[math.inf, -math.inf]]])
    assert np.array_equal(theirs.predict(rows), [wanted(row) for row in rows])


def test_ranklib_has_zero_for_missing_values(model: rr.Booster) -> None:
    text = model.export("ranklib").decode()
    root = ET.fromstring(text[text.index("<ensemble>") :])  # noqa: S314

    def leaf(node: ET.Element, row: Any) -> float:
        while (output := node.findtext("output")) is None:
            threshold = np.float32(node.findtext("threshold", ""))
            assert np.isfinite(threshold), "another word in Java"
            value = np.float32(row[int(node.findtext("feature", "")) - 1])
            (node,) = node.findall(f"split[@pos='{'left' if value <= threshold else 'right'}']")
        return float(output)

    for row in np.nan_to_num(ROWS, nan=0.0, posinf=LARGEST, neginf=-LARGEST):
        assert sum(leaf(tree[0], row) for tree in root) == wanted(row)


def test_onnx_compares_with_infinity(model: rr.Booster) -> None:
    file = model.export("onnx")
    packed = struct.pack("<8f", math.inf, 0, 0, math.inf, 0.5, 0, 0, 0)
    assert packed in file, "splits first, then leaves, of each tree"
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"features": ROWS.astype(np.float32)})
    assert np.array_equal(found[:, 0], model.predict(ROWS))


def test_sets_of_categories_are_still_refused() -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 5, (400, 1)).astype(float)
    data = rr.Dataset(X, X[:, 0] % 2, qid=np.repeat(np.arange(20), 20), categorical=[0])
    model = rr.train(data, num_trees=2, num_leaves=2, min_leaf_docs=1)
    for library in ("xgboost", "ranklib", "onnx"):
        with pytest.raises(rr.ParamError, match="cannot hold sets of categories"):
            model.export(library)
