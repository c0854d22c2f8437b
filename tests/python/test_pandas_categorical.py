"""Columns of categories in LightGBM's files: a value is known by its name in either library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as compat

if TYPE_CHECKING:
    from pathlib import Path

pd = pytest.importorskip("pandas")

TOWNS = ["x y", "\u00e9", "b", "a", "10", "zz", 'q"']
SIZES = np.full(60, 20)
FEW: dict[str, Any] = {"n_estimators": 12, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}


def _frame(seed: int, rows: int = 1200) -> Any:
    random = np.random.default_rng(seed)
    towns = pd.Categorical(random.choice(TOWNS, rows), categories=TOWNS)
    kinds = pd.Categorical(random.choice(list("abcdef"), rows))
    return pd.DataFrame({"x": random.normal(size=rows), "town": towns, "kind": kinds})


def _labels(frame: Any) -> Any:
    return (frame["town"] == "b") * 2 + frame["kind"].isin(["c", "e"])


def _hard_frames() -> dict[str, Any]:
    """The same rows with categories in another order, unseen ones and missing ones."""
    frame = _frame(1, 300)
    town = frame["town"].astype(str)
    turned = pd.Categorical(town, categories=sorted(TOWNS, reverse=True))
    absent = frame["town"].where(np.arange(300) % 3 > 0)
    return {
        "same": frame,
        "another order": frame.assign(town=turned),
        "unseen": frame.assign(town=pd.Categorical(town.replace("b", "new"))),
        "missing": frame.assign(town=absent),
    }


def _fitted() -> compat.LGBMRanker:
    frame = _frame(0)
    return compat.LGBMRanker(**FEW).fit(frame, _labels(frame), group=SIZES)


def test_a_file_has_the_names_of_categories(tmp_path: Path) -> None:
    ranker = _fitted()
    ranker.booster_.save_model(tmp_path / "m.txt")
    last = (tmp_path / "m.txt").read_text("utf-8").splitlines()[-1]
    towns = '["x y","\u00e9","b","a","10","zz","q\\""]'
    assert last == f'pandas_categorical:[{towns},["a","b","c","d","e","f"]]'
    for again in (
        compat.Booster(model_file=tmp_path / "m.txt"),
        rr.Booster.load(tmp_path / "m.txt"),
        rr.Booster.from_text(rr.Booster.load(tmp_path / "m.txt").to_text()),
    ):
        for frame in _hard_frames().values():
            assert np.array_equal(again.predict(frame), ranker.predict(frame))
        texts = frame.assign(town=frame["town"].astype(object))
        assert np.array_equal(again.predict(texts), ranker.predict(texts))


def test_an_array_has_the_numbers_of_categories_of_a_lightgbm_model(tmp_path: Path) -> None:
    ranker, frame = _fitted(), _frame(1, 300)
    ranker.booster_.save_model(tmp_path / "m.txt")
    town = pd.Categorical(frame["town"], categories=TOWNS).codes
    codes = frame.assign(town=town, kind=frame["kind"].cat.codes)
    again = rr.Booster.load(tmp_path / "m.txt")
    assert np.array_equal(again.predict(codes.to_numpy(np.float64)), ranker.predict(frame))
    with pytest.raises(TypeError, match="got numbers, expected the texts"):
        again.predict(codes)


def test_without_names_lightgbm_is_told_that_there_are_none() -> None:
    frame = _frame(0)[["x"]].assign(y=0.5 * np.arange(1200))
    ranker = compat.LGBMRanker(**FEW).fit(frame, (frame["x"] > 0) * 1, group=SIZES)
    assert ranker.booster_.model_to_string().endswith("\npandas_categorical:[]\n")


def test_a_broken_list_is_refused() -> None:
    text = _fitted().booster_.model_to_string()
    broken = text.replace("pandas_categorical:[[", "pandas_categorical:[")
    with pytest.raises(rr.ModelFormatError, match="`pandas_categorical` is not as LightGBM"):
        rr.Booster.from_text(broken)


def test_lightgbm_scores_the_same(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    ranker = _fitted()
    ranker.booster_.save_model(tmp_path / "m.txt")
    theirs = lgb.Booster(model_file=tmp_path / "m.txt")
    for name, frame in _hard_frames().items():
        assert np.array_equal(theirs.predict(frame), ranker.predict(frame)), name


@pytest.mark.parametrize("numbers", [False, True])
def test_models_of_lightgbm_know_their_categories(tmp_path: Path, numbers: bool) -> None:
    lgb = pytest.importorskip("lightgbm")
    frames = {"train": _frame(0), **_hard_frames()}
    if numbers:  # A value is not its place in the list, and neither is a constant column.
        for name, one in frames.items():
            kind = pd.Categorical(one["kind"].cat.codes * 10, categories=[50, 40, 30, 20, 10, 0])
            constant = pd.Categorical(["one"] * len(one))
            frames[name] = one.assign(kind=kind, constant=constant)
    train = frames.pop("train")
    labels = (train["town"] == "b") * 2 + train["kind"].isin(["c", "e", 20, 40])
    theirs = lgb.LGBMRanker(**FEW).fit(train, labels, group=SIZES).booster_
    theirs.save_model(tmp_path / "m.txt")
    ours = rr.Booster.load(tmp_path / "m.txt")
    back = lgb.Booster(model_str=rr.Booster.from_text(ours.to_text()).export("lightgbm").decode())
    for name, frame in frames.items():
        wanted = theirs.predict(frame)
        assert np.ptp(wanted) > 0.1
        assert np.array_equal(ours.predict(frame), wanted), name
        assert np.array_equal(back.predict(frame), wanted), name


NUMBERS: dict[str, Any] = {
    "whole": [3, 7, 19, 40, 41, 101],
    "negative": [-7, -1, 0, 4, 5, 6],
    "fractions": [0.25, 0.5, 1.5, 2.0, 7.75, 1e9],
    "large": [2**31 + at for at in range(6)],
    "truth": [False, True],
}


def _numbers(kind: str, seed: int, rows: int = 1200) -> Any:
    random = np.random.default_rng(seed)
    shops = pd.Series(random.choice(NUMBERS[kind], rows)).astype("category")
    return pd.DataFrame({"shop": shops, "x": random.normal(size=rows)})


def _worth(frame: Any) -> Any:
    return frame["shop"].astype(float).rank(method="dense") % 3


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_file_has_categories_that_are_numbers(kind: str, tmp_path: Path) -> None:
    frame = _numbers(kind, 0)
    ranker = compat.LGBMRanker(**FEW).fit(frame, _worth(frame), group=SIZES)
    ranker.booster_.save_model(tmp_path / "m.txt")
    again = rr.Booster.load(tmp_path / "m.txt")
    for rows in (
        frame,
        _numbers(kind, 1, 300),
        frame.assign(shop=frame["shop"].where(frame.x > 0)),
    ):
        assert np.array_equal(again.predict(rows), ranker.predict(rows))
        values = rows.assign(shop=rows["shop"].astype(float))
        assert np.array_equal(again.predict(values), ranker.predict(rows))


@pytest.mark.parametrize("kind", NUMBERS)
def test_lightgbm_knows_categories_that_are_numbers(kind: str, tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    frame = _numbers(kind, 0)
    ours = compat.LGBMRanker(**FEW).fit(frame, _worth(frame), group=SIZES)
    ours.booster_.save_model(tmp_path / "ours.txt")
    read = lgb.Booster(model_file=tmp_path / "ours.txt")
    theirs = lgb.LGBMRanker(**FEW).fit(frame, _worth(frame), group=SIZES).booster_
    theirs.save_model(tmp_path / "theirs.txt")
    loaded = rr.Booster.load(tmp_path / "theirs.txt")
    back = lgb.Booster(model_str=rr.Booster.from_text(loaded.to_text()).export("lightgbm").decode())
    for rows in (
        frame,
        _numbers(kind, 1, 300),
        frame.assign(shop=frame["shop"].where(frame.x > 0)),
    ):
        assert np.ptp(ours.predict(rows)) > 0.1
        assert np.array_equal(read.predict(rows), ours.predict(rows))
        assert np.array_equal(loaded.predict(rows), theirs.predict(rows))
        assert np.array_equal(back.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize("kind", ["whole", "negative"])
def test_training_goes_on_from_lightgbm_with_categories(kind: str, tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    frame, later = _numbers(kind, 0, 1500), _numbers(kind, 1)
    frame = frame[frame["shop"] != NUMBERS[kind][3]].head(1000)
    frame = frame.assign(shop=frame["shop"].cat.remove_unused_categories())
    groups = np.full(50, 20)
    theirs = lgb.LGBMRanker(**FEW).fit(frame, _worth(frame), group=groups).booster_
    theirs.save_model(tmp_path / "m.txt")
    for start in (tmp_path / "m.txt", compat.Booster(model_file=tmp_path / "m.txt")):
        ranker = compat.LGBMRanker(**FEW).fit(later, _worth(later), group=SIZES, init_model=start)
        first = ranker.predict(later, num_iteration=FEW["n_estimators"])
        assert np.allclose(first, theirs.predict(later), rtol=0, atol=1e-12)
        assert ranker.booster_.num_trees() == 2 * FEW["n_estimators"]


def test_lists_of_unknown_columns_are_refused(tmp_path: Path) -> None:
    """Beside a list, the file has a column that was declared as numbers: it does not say which is which."""
    lgb = pytest.importorskip("lightgbm")
    frame = _numbers("whole", 0).assign(kind=np.arange(1200) % 4)
    data = lgb.Dataset(frame, _worth(frame), group=SIZES, categorical_feature=["kind", "shop"])
    options = {"objective": "lambdarank", "verbose": -1, "min_data_in_leaf": 5}
    theirs = lgb.train(options, data, 5)
    theirs.save_model(tmp_path / "m.txt")
    ours = rr.Booster.load(tmp_path / "m.txt")
    with pytest.raises(rr.ParamError, match="is not known; give their places"):
        ours.predict(frame)
    codes = frame.assign(shop=frame["shop"].cat.codes)
    assert np.array_equal(ours.predict(codes), theirs.predict(frame))


def _sizes(rows: int = 1000) -> tuple[Any, Any]:
    """Categories that are not in the order of the alphabet, with an unused one at the start."""
    places = np.random.default_rng(0).integers(1, 4, rows)
    sizes = pd.Categorical.from_codes(places, ["zero", "small", "medium", "large"])
    return pd.DataFrame({"x": np.arange(rows) % 7, "size": sizes}), places


def test_files_of_the_drop_in_have_the_order_of_the_frame(tmp_path: Path) -> None:
    frame, places = _sizes()
    ranker = compat.LGBMRanker(**FEW).fit(frame, places, group=[20] * 50)
    ranker.booster_.save_model(tmp_path / "m.txt")
    last = (tmp_path / "m.txt").read_text("utf-8").splitlines()[-1]
    assert last == 'pandas_categorical:[["zero","small","medium","large"]]'
    codes = np.c_[frame["x"], frame["size"].cat.codes]
    assert np.array_equal(rr.Booster.load(tmp_path / "m.txt").predict(codes), ranker.predict(frame))
    lgb = pytest.importorskip("lightgbm")
    theirs = lgb.Booster(model_file=tmp_path / "m.txt")
    assert np.array_equal(theirs.predict(codes), ranker.predict(frame))
    assert np.array_equal(theirs.predict(frame), ranker.predict(frame))


@pytest.mark.parametrize("of", ["drop-in", "native"])
def test_truth_values_are_known_in_any_frame(of: str, tmp_path: Path) -> None:
    flags = np.random.default_rng(0).integers(0, 2, 600) == 1
    frame = pd.DataFrame({"x": np.arange(600) % 7, "flag": pd.Categorical(flags)})
    path = tmp_path / "m.txt"
    if of == "native":
        dataset = rr.Dataset(frame, flags.astype(int), group=[20] * 30)
        assert dataset.categories("flag") in ([False, True], [True, False])
        ranker: Any = rr.train(dataset, num_trees=10)
        ranker.export("lightgbm", path)
    else:
        ranker = compat.LGBMRanker(**FEW).fit(frame, flags.astype(int), group=[20] * 30)
        ranker.booster_.save_model(path)
    assert path.read_text("utf-8").splitlines()[-1] == "pandas_categorical:[[false,true]]"
    one = frame[flags].assign(flag=pd.Categorical(flags[flags]))
    turned = frame.assign(flag=pd.Categorical(flags, categories=[True, False]))
    again = rr.Booster.load(path)
    for rows in (frame, one, turned):
        assert np.array_equal(again.predict(rows), ranker.predict(rows))
    lgb = pytest.importorskip("lightgbm")
    for rows in (frame, one, turned):
        assert np.array_equal(lgb.Booster(model_file=path).predict(rows), ranker.predict(rows))


def test_names_with_spaces_are_those_of_the_file(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(1000, 2)), columns=["title score", "age"])
    ranker = compat.LGBMRanker(**FEW).fit(frame, (frame["age"] > 0) * 1, group=[20] * 50)
    ranker.booster_.save_model(tmp_path / "m.txt")
    turned = frame[["age", "title score"]].assign(more=1.0)
    again = rr.Booster.load(tmp_path / "m.txt")
    assert again.feature_names == ["title_score", "age"]
    assert np.array_equal(again.predict(turned), ranker.predict(frame))
    dataset = rr.Dataset(frame, (frame["age"] > 0) * 1, group=[20] * 50, base=again)
    assert rr.train(dataset, base=again, num_trees=2).num_trees == FEW["n_estimators"] + 2
    with pytest.raises(rr.DataError, match="lacks a feature of the model"):
        again.predict(frame.rename(columns={"age": "old"}))
