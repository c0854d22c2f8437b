"""Columns of a categorical type whose categories are numbers, and models that know different categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rustrank as rr
import rustrank.compat.lightgbm as lgb

if TYPE_CHECKING:
    from pathlib import Path

pd = pytest.importorskip("pandas")

QID = np.repeat(np.arange(60), 20)
FEW: dict[str, Any] = {"num_trees": 8, "num_leaves": 6, "min_leaf_docs": 5, "min_category_docs": 5}
#: What the seven shops are called.
KINDS: dict[str, Any] = {
    "whole": [3, 7, 19, 40, 41, 101, 999],
    "negative": [-7, -1, 0, 4, 5, 6, 8],
    "fractions": [0.25, 0.5, 1.5, 2, 2.5, 7.75, 1e9],
    "large": [2**24, 2**24 + 1, 2**31, 2**40, 2**52, 2**52 + 1, 2**53],
}


def _rows(seed: int, shops: Any, places: Any = range(7)) -> tuple[Any, np.ndarray]:
    """A frame of a shop and a number, and labels that follow the shop by no order."""
    draws = np.random.default_rng(seed)
    place = draws.choice(list(places), len(QID))
    x = draws.normal(size=len(QID))
    worth = np.array([0, 2, -1, 1, 3, -2, 0.5])[place] + x
    y = np.digitize(worth + draws.normal(size=len(QID)) * 0.3, [0, 1.5, 3])
    return pd.DataFrame({"shop": np.asarray(shops)[place], "x": x}), y


def _typed(frame: Any) -> Any:
    return frame.assign(shop=frame["shop"].astype("category"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:no value of column")
def test_numbers_of_any_kind_are_categories(kind: str, tmp_path: Path) -> None:
    frame, y = _rows(0, KINDS[kind])
    texts = frame.assign(
        shop=np.array(list("abcdefg"))[frame["shop"].rank(method="dense").astype(int) - 1]
    )
    train = rr.Dataset(_typed(frame), y, qid=QID)
    assert set(train.categories("shop")) == set(frame["shop"])
    booster = rr.train(train, **FEW)
    # Texts in the same order make the same trees.
    expected = rr.train(rr.Dataset(texts, y, qid=QID, categorical=["shop"]), **FEW)
    scores = expected.predict(texts)
    assert np.ptp(scores) > 0.5
    booster.save(tmp_path / "m.rrk")
    for model in (booster, rr.Booster.load(tmp_path / "m.rrk")):
        assert np.array_equal(model.predict(_typed(frame)), scores)
        assert np.array_equal(model.predict(frame), scores)
        assert np.array_equal(model.predict(frame.astype(np.float64)), scores)
    assert np.array_equal(booster.predict(train), scores)
    some = frame.head(50).assign(shop=pd.Categorical(frame["shop"].head(50)))
    assert np.array_equal(booster.predict(some), scores[:50])
    unknown = booster.predict(frame.assign(shop=12345.5))
    assert np.array_equal(unknown, expected.predict(texts.assign(shop="zzz")))
    missing = booster.predict(frame.assign(shop=np.nan))
    assert np.array_equal(missing, expected.predict(texts.assign(shop=None)))


def test_an_array_does_not_say_what_its_numbers_are() -> None:
    frame, y = _rows(0, KINDS["whole"])
    booster = rr.train(rr.Dataset(_typed(frame), y, qid=QID), **FEW)
    with pytest.raises(rr.ParamError, match=r"holds the categories 3, 7, 19.*give a frame"):
        booster.predict(frame.to_numpy())
    with pytest.raises(rr.ParamError, match=r"holds the categories 3, 7, 19.*give a frame"):
        rr.Dataset(frame.to_numpy(), y, qid=QID, like=booster)
    # Where a category is its own place, both mean the same.
    frame, y = _rows(0, range(7))
    booster = rr.train(rr.Dataset(_typed(frame), y, qid=QID), **FEW)
    assert np.array_equal(booster.predict(frame.to_numpy()), booster.predict(_typed(frame)))


@pytest.mark.parametrize("value", [-1.0, 3.9])
def test_predict_refuses_what_training_refuses(value: float) -> None:
    frame, y = _rows(0, KINDS["whole"])
    with pytest.raises(rr.DataError, match="holds categories: got"):
        rr.Dataset(frame.assign(shop=value), y, qid=QID, categorical=["shop"])
    booster = rr.train(rr.Dataset(frame, y, qid=QID, categorical=["shop"]), **FEW)
    for X in (frame.assign(shop=value), frame.assign(shop=value).to_numpy()):
        with pytest.raises(rr.DataError, match="holds categories: got"):
            booster.predict(X)
    assert len(booster.predict(frame.assign(shop=value), missing=value)) == len(frame)


def test_folds_keep_categorical_columns() -> None:
    frame, y = _rows(0, KINDS["negative"])
    both = _typed(frame).assign(town=pd.Categorical(np.where(frame["x"] > 0, "b", "a")))
    ranker = rr.LambdaMART(n_estimators=4, num_leaves=6, min_leaf_docs=5)
    texts = frame.astype({"shop": str}).assign(town=both["town"].astype(str))
    declared = rr.LambdaMART(
        n_estimators=4, num_leaves=6, min_leaf_docs=5, categorical=["shop", "town"]
    )
    measured = [
        rr.cross_validate({"ours": one}, X, y, qid=QID, folds=3, metrics="ndcg@5")
        for one, X in ((ranker, both), (declared, texts))
    ]
    values = [one["ours"]["ndcg@5"] for one in measured]
    assert values[0] > 0.8
    assert values[0] == pytest.approx(values[1], abs=0.02)
    # These divide rows that were read once.
    kept = rr.tune(ranker, both, {"num_leaves": [4, 6]}, y=y, qid=QID, folds=2)
    assert np.ptp(kept.ranker.predict(both)) > 0.5
    stopping = rr.LambdaMART(n_estimators=20, early_stopping=2, min_leaf_docs=5)
    stopping.fit(both, y, qid=QID)
    assert np.ptp(stopping.predict(both)) > 0.5
    found = lgb.cv(
        {"objective": "lambdarank", "metric": "ndcg", "verbose": -1, "min_data_in_leaf": 5},
        lgb.Dataset(both, y, group=[20] * 60, free_raw_data=False),
        3,
        folds=[(np.flatnonzero(QID % 2 == 0), np.flatnonzero(QID % 2 == 1))],
    )
    assert len(found["valid ndcg@1-mean"]) == 3
    with pytest.raises(rr.ParamError, match="holds categories, expected numbers"):
        rr.ensemble({"one": rr.LambdaMART()}, (both, y, QID))


def test_joined_models_know_the_categories_of_all() -> None:
    """Each model keeps its scores, although they number the shops in different ways."""
    shops = KINDS["whole"]
    models: list[rr.Booster] = []
    frames: list[Any] = []
    for seed, places in enumerate([(0, 1, 2, 3), (2, 3, 4, 5, 6), (0, 6)]):
        frame, y = _rows(seed, shops, places)
        frames.append(_typed(frame))
        models.append(rr.train(rr.Dataset(frames[-1], y, qid=QID), **FEW))
    all_rows = _typed(_rows(7, [*shops[:6], 5000])[0])
    mixed = rr.mix(models, [1.0, 0.5, 2.0])
    for frame in (*frames, all_rows):
        expected = sum(w * m.predict(frame) for w, m in zip([1.0, 0.5, 2.0], models, strict=True))
        assert np.allclose(mixed.predict(frame), expected, rtol=0, atol=1e-12)


def test_texts_of_joined_models_are_matched_by_name() -> None:
    letters = np.array(list("gfedcba"))
    models = []
    for seed, places in enumerate([(0, 1, 2, 3), (2, 3, 4, 5, 6)]):
        frame, y = _rows(seed, letters, places)
        models.append(rr.train(rr.Dataset(frame, y, qid=QID, categorical=["shop"]), **FEW))
    frame = _rows(7, letters)[0]
    mixed = rr.mix(models, [1.0, 1.0])
    assert np.allclose(
        mixed.predict(frame), sum(m.predict(frame) for m in models), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("of_base", ["typed", "plain"])
@pytest.mark.parametrize("of_set", ["typed", "plain"])
@pytest.mark.filterwarnings("ignore:no value of column")
def test_training_goes_on_with_other_categories(of_base: str, of_set: str) -> None:
    shops = KINDS["whole"]

    def data(seed: int, places: Any, form: str, **more: Any) -> tuple[Any, rr.Dataset]:
        frame, y = _rows(seed, shops, places)
        if form == "typed":
            return _typed(frame), rr.Dataset(_typed(frame), y, qid=QID, **more)
        return frame, rr.Dataset(frame, y, qid=QID, categorical=["shop"], **more)

    base = rr.train(data(0, (0, 1, 4, 5), of_base)[1], **FEW)
    frame, train = data(1, (1, 2, 3, 5, 6), of_set, base=base)
    booster = rr.train(train, base=base, **FEW)
    assert booster.num_trees == 2 * FEW["num_trees"]
    for rows in (frame, _rows(7, shops)[0], _typed(_rows(8, shops)[0])):
        later = booster.predict(rows) - base.predict(rows)
        assert np.allclose(booster.truncate(8).predict(rows), base.predict(rows), rtol=0, atol=0)
        assert np.ptp(later) > 0.5
    if of_set == "typed":
        # What the base knows and the training set does not is unknown to the later trees.
        first, unknown = (booster.predict(_typed(frame.assign(shop=shop))) for shop in (3, 4444))
        of_base_only = base.predict(frame.assign(shop=3)) - base.predict(frame.assign(shop=4444))
        assert np.allclose(first - unknown, of_base_only, rtol=0, atol=1e-12)


def test_data_with_other_categories_is_not_scored_by_bins() -> None:
    """Shops in other lists may have the same numbers and the same bins."""
    first, y = _rows(0, ["a", "b", "c", "d", "e", "f", "g"])
    other = first.assign(shop=first["shop"].map(dict(zip("abcdefg", "hijklmn", strict=True))))
    train = rr.Dataset(first, y, qid=QID, categorical=["shop"])
    alike = rr.Dataset(other, y, qid=QID, categorical=["shop"])
    booster = rr.train(train, **FEW)
    with pytest.raises(rr.DataError, match="another list of categories"):
        booster.predict(alike)
    with pytest.raises(rr.DataError, match="other bins"):
        rr.train(train, valid=alike, **FEW)


def test_texts_and_numbers_are_not_joined() -> None:
    frame, y = _rows(0, KINDS["whole"])
    numbers = rr.train(rr.Dataset(_typed(frame), y, qid=QID), **FEW)
    texts = rr.train(rr.Dataset(_typed(frame.astype({"shop": str})), y, qid=QID), **FEW)
    with pytest.raises(rr.DataError, match="texts"):
        rr.mix([numbers, texts], [1.0, 1.0])
    with pytest.raises(TypeError, match="expected the texts"):
        texts.predict(_typed(frame))
    with pytest.raises(TypeError, match="got texts, expected numbers"):
        numbers.predict(frame.astype({"shop": str}))


def test_batches_find_the_list_of_a_categorical_column() -> None:
    frame, y = _rows(0, KINDS["fractions"])
    typed = _typed(frame)

    def batches() -> Any:
        for start in range(0, 1200, 400):
            rows = slice(start, start + 400)
            # Each batch has a list of its own.
            part = typed.iloc[rows].assign(
                shop=typed["shop"].iloc[rows].cat.remove_unused_categories()
            )
            yield {"X": part, "y": y[rows], "qid": QID[rows]}

    whole = rr.train(rr.Dataset(typed, y, qid=QID), **FEW)
    assert rr.train(rr.Dataset.from_batches(batches), **FEW) == whole


@pytest.mark.parametrize("form", ["plain", "typed", "text"])
def test_a_model_knows_categories_that_no_split_uses(form: str, tmp_path: Path) -> None:
    frame, _ = _rows(0, KINDS["whole"])
    frame = frame if form == "plain" else _typed(frame.astype({"shop": str}))
    frame = _typed(_rows(0, KINDS["whole"])[0]) if form == "typed" else frame
    y = (frame["x"] > 0.5).astype(int)
    train = rr.Dataset(frame, y, qid=QID, categorical=["shop"])
    booster = rr.train(train, num_trees=3, num_leaves=2, min_leaf_docs=5)
    assert booster.feature_importance("count")[0] == 0
    booster.save(tmp_path / "m.rrk")
    for model in (booster, rr.Booster.load(tmp_path / "m.rrk"), rr.mix([booster, booster], [1, 2])):
        assert model._core.categorical() == [0]
        if model.num_trees == booster.num_trees:
            made = rr.Dataset(frame, y, qid=QID, like=model)
            assert np.array_equal(model.predict(made), booster.predict(frame))
        with pytest.raises((rr.DataError, TypeError)):
            model.predict(
                frame.assign(shop=-1.5 if form == "plain" else 1.5 if form == "text" else "k")
            )


def test_training_on_the_bins_of_a_booster_is_warned_of() -> None:
    frame, y = _rows(0, KINDS["whole"])
    base = rr.train(rr.Dataset(frame, y, qid=QID), num_trees=1, num_leaves=2)
    like = rr.Dataset(frame, y, qid=QID, like=base)
    with pytest.warns(rr.RustrankWarning, match="1 of 2 features are not used. Make it with base="):
        rr.train(like, base=base, num_trees=1)
