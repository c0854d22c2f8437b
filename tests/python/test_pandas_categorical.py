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
    towns = '["10","a","b","q\\"","x y","zz","\u00e9"]'
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
    town = pd.Categorical(frame["town"], categories=sorted(TOWNS)).codes
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
