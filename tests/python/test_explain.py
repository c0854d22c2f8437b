"""What features contribute, the same as in LightGBM and XGBoost, and pictures of trees."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray

import rustrank as rr
from rustrank.plotting.tree_layout import leaf_color


def table(seed: int, rows: int = 600) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 6)).astype(np.float32)
    features[:, 3] = random.integers(0, 30, rows)
    features[random.random(features.shape) < 0.1] = np.nan
    return features


def labels_of(features: NDArray[np.float32]) -> NDArray[np.float64]:
    known = np.nan_to_num(features)
    labels = known[:, 0] + known[:, 1] * known[:, 5] + (known[:, 3] % 3 == 1)
    clipped: NDArray[np.float64] = np.clip(np.round(labels + 2), 0, 4)
    return clipped


@pytest.fixture(scope="module")
def booster() -> rr.Booster:
    features = table(1)
    data = rr.Dataset(features, labels_of(features), qid=np.repeat(np.arange(30), 20))
    return rr.train(data, num_trees=30, num_leaves=12)


def test_contributions_sum_to_the_score(booster: rr.Booster) -> None:
    rows = table(2)
    values = booster.explain(rows)
    assert values.shape == (600, 7)
    assert np.allclose(values.sum(1), booster.predict(rows), rtol=0, atol=1e-12)
    assert np.ptp(values[:, -1]) == 0
    assert np.array_equal(booster.explain(rows, num_threads=1), values)
    assert np.array_equal(booster.explain(rows[7]), values[7:8])
    assert booster.explain(rows[:0]).shape == (0, 7)
    with pytest.raises(rr.DataError, match="number of features"):
        booster.explain(rows[:, :5])


def test_more_rows_than_a_task_takes(booster: rr.Booster) -> None:
    rows = table(3, 9000)
    values = booster.explain(rows)
    assert np.array_equal(values[4000:4200], booster.explain(rows[4000:4200]))
    by_column = np.asfortranarray(rows)
    assert np.array_equal(booster.explain(by_column), values)


def test_a_contrast_tells_two_docs_apart(booster: rr.Booster) -> None:
    rows = table(4)
    scores = booster.predict(rows)
    for above, below in ((0, 1), (2, 3), (5, 5)):
        values = booster.contrast(rows[above], rows[below])
        assert values.sum() == pytest.approx(scores[above] - scores[below], abs=1e-12)
    changed = rows[0].copy()
    changed[2] += 5
    values = booster.contrast(changed, rows[0])
    assert np.flatnonzero(values).tolist() in ([], [2])
    with pytest.raises(rr.DataError, match="below"):
        booster.contrast(rows[0], rows)
    with pytest.raises(rr.DataError, match="number of features"):
        booster.contrast(rows[0, :3], rows[1, :3])


def test_models_that_do_not_say_their_docs_are_refused(booster: rr.Booster) -> None:
    text = booster.export("lightgbm").decode()
    for name in ("leaf_count", "internal_count", "leaf_weight", "internal_weight"):
        kept = [line for line in text.splitlines() if not line.startswith(f"{name}=")]
        text = "\n".join(kept)
    with pytest.raises(rr.ModelFormatError, match="how many docs"):
        rr.Booster.from_text(text).explain(table(1))


def test_models_whose_docs_do_not_add_up_are_refused(booster: rr.Booster) -> None:
    text = booster.export("lightgbm").decode()
    head, mark, rest = text.partition("\nleaf_count=")
    counts = rest.partition("\n")[0].split()
    odd = text.replace(" ".join(counts), " ".join([f"1{'0' * 15}", *counts[1:]]), 1)
    assert mark
    assert odd.startswith(head)
    with pytest.raises(rr.ModelFormatError, match="tree 0 is inconsistent: its nodes' docs do not"):
        rr.Booster.from_text(odd).explain(table(1))


@pytest.mark.parametrize("categories", [[], [3]])
def test_lightgbm_says_the_same(categories: list[int]) -> None:
    lgb = pytest.importorskip("lightgbm")
    features = table(5)
    params: dict[str, Any] = {"num_leaves": 31, "min_data_in_leaf": 5, "verbose": -1}
    data = lgb.Dataset(
        features, labels_of(features), categorical_feature=categories, params={"verbose": -1}
    )
    theirs = lgb.train(params, data, 30)
    ours = rr.Booster.from_text(theirs.model_to_string())
    rows = table(6)
    wanted = theirs.predict(rows, pred_contrib=True)
    assert np.allclose(ours.explain(rows), wanted, rtol=0, atol=1e-10)


def test_xgboost_says_the_same() -> None:
    xgb = pytest.importorskip("xgboost")
    features = table(7)
    data = xgb.DMatrix(features, labels_of(features))
    theirs = xgb.train({"max_depth": 6, "base_score": 0.5}, data, 20)
    ours = rr.Booster.from_text(theirs.save_raw("json").decode())
    rows = table(8)
    wanted = theirs.predict(xgb.DMatrix(rows), pred_contribs=True)
    assert np.allclose(ours.explain(rows), wanted, rtol=0, atol=1e-5)


def test_a_picture_shows_every_node_of_a_tree(booster: rr.Booster) -> None:
    picture = booster.draw_tree(3)
    assert picture._repr_svg_() == picture
    assert picture in picture._repr_html_()
    # Notebooks shrink pictures to the page otherwise, where none of the text can be read.
    assert "max-width:none" in picture
    # Text has the colour of the page that the picture is on.
    assert 'fill="currentColor"' in picture
    assert "black" not in picture.split("<rect")[0]
    root = ET.fromstring(picture)  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    said = " ".join(node.text or "" for node in root.iter(f"{space}text"))
    assert said.count("\u2264") == len(root.findall(f".//{space}circle")) == 11
    assert len(root.findall(f"{space}rect")) == 12
    assert len(root.findall(f"{space}path")) == 22
    with pytest.raises(rr.ParamError, match="number"):
        booster.draw_tree(30)


def test_pictures_are_readable_on_light_and_dark_pages(booster: rr.Booster) -> None:
    picture = booster.draw_tree(3)
    assert 'fill="currentColor"' in picture
    # As a file it has a background and follows the reader's scheme; `:root` leaves pages around it alone.
    style = re.search(r"<style>(.*?)</style>", picture, re.DOTALL)
    assert style is not None
    assert "prefers-color-scheme: dark" in style[1]
    assert set(re.findall(r"(\S+) \{ --", style[1])) == {"svg:root"}

    def luminance(parts: tuple[int, ...]) -> float:
        shares = np.array(parts) / 255
        linear = np.where(shares <= 0.03928, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for value in np.linspace(-1, 1, 201):
        parts, is_light = leaf_color({"value": value}, 1.0)
        text = 1.0 if is_light else 0.0
        dark, light = sorted((luminance(parts), text))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_pictures_escape_names() -> None:
    X = np.linspace(0, 1, 40)[:, None]
    data = rr.Dataset(X, np.arange(40) % 5, qid=[0] * 40, feature_names=["a<b & c"])
    grown = rr.train(data, num_trees=1, num_leaves=2, min_leaf_docs=1)
    ET.fromstring(grown.draw_tree(0))  # noqa: S314


def test_values_after_another_format_are_as_documented() -> None:
    docs = rr.datasets.make_polynomial(40, 20, seed=1)
    booster = rr.train(rr.Dataset(docs.X, docs.y, qid=docs.qid), num_trees=5)
    values = booster.explain(docs.X)
    from_lightgbm, from_xgboost = (
        rr.Booster.from_text(booster.export(library).decode())
        for library in ("lightgbm", "xgboost")
    )
    assert np.allclose(from_lightgbm.explain(docs.X), values, rtol=0, atol=1e-12)
    found = from_xgboost.explain(docs.X)
    assert not np.allclose(found, values, rtol=0, atol=1e-6)
    assert np.allclose(found.sum(axis=1), values.sum(axis=1), rtol=0, atol=1e-6)
